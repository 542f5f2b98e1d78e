package toolrunner

import (
	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner/internal/history"
	"github.com/toolrunner/toolrunner/internal/machine"
	"github.com/toolrunner/toolrunner/internal/request"
)

// AutoCompact shortens the history once it has grown to a number of tokens. The
// zero value never does.
type AutoCompact struct {
	// Threshold is the number of tokens in the context, input from caches and the
	// last output included, from which on the history is compacted before the
	// next request. Zero: never.
	//
	// If compacting does not bring the context below it, the next one waits until
	// the context has doubled: it never compacts without end. The same holds if it
	// brings no summary, or fails. A request that fails ends the run, and going on
	// sends the history as it was.
	Threshold int64
	// Config is sent with a compaction by the API. The zero value asks for a
	// summary. The API asks for the beta [anthropic.AnthropicBetaCompact2026_09_04],
	// which the caller sets in Params.Betas.
	Config anthropic.BetaCompactionConfigUnionParam
	// Client, if not nil, makes the runner ask the model for a summary, for APIs
	// that cannot compact.
	Client *ClientCompaction
}

// ClientCompaction is how the runner asks the model for a summary, which then
// takes the place of the whole history, as a message of the user. It is asked for
// between turns, when all calls are answered. The request goes out without
// streaming, and its reply is no turn.
type ClientCompaction struct {
	// Prompt asks for the summary. Empty: one of ours.
	Prompt string
	// Model writes it. Empty: that of Params.
	Model anthropic.Model
	// MaxTokens bounds it. Zero: 4,096.
	MaxTokens int64
}

const defaultSummaryPrompt = "Summarize the conversation so far, so that someone who knows only the summary can go on with it: the task, what was decided and found out, what the tools returned that is still needed (names, numbers and ids exactly), and what is left to do. Write only the summary. Do not call tools."

// inside returns what the machine has to know.
func (a AutoCompact) inside() machine.AutoCompact {
	return machine.AutoCompact{Threshold: a.Threshold, Summarize: a.Client != nil}
}

// summarizer returns what the request of a summary has in place of the parameters'.
func (a AutoCompact) summarizer() request.Summarizer {
	if a.Client == nil {
		return request.Summarizer{}
	}
	return request.Summarizer{Model: a.Client.Model, MaxTokens: a.Client.MaxTokens}
}

// prompt returns the message that asks for the summary.
func (c *ClientCompaction) prompt() history.Message {
	text := c.Prompt
	if text == "" {
		text = defaultSummaryPrompt
	}
	return history.TextMessage(text)
}
