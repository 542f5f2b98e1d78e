package toolrunner

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner/internal/history"
	"github.com/toolrunner/toolrunner/internal/machine"
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
	// Client, if not nil, has the runner ask for a summary by itself, for APIs
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

const (
	defaultSummaryTokens = 4096
	defaultSummaryPrompt = "Summarize the conversation so far, so that someone who knows only the summary can go on with it: the task, what was decided and found out, what the tools returned that is still needed (names, numbers and ids exactly), and what is left to do. Write only the summary. Do not call tools."
)

// inside returns what the machine has to know.
func (a *AutoCompact) inside() machine.AutoCompact {
	return machine.AutoCompact{Threshold: a.Threshold, Summarize: a.Client != nil}
}

// configOr returns the config, or one that asks for a summary in place of none.
func configOr(config anthropic.BetaCompactionConfigUnionParam) anthropic.BetaCompactionConfigUnionParam {
	if _, raw := config.Overrides(); config.OfSummarize == nil && !raw {
		return anthropic.BetaCompactionConfigUnionParam{OfSummarize: &anthropic.BetaSummarizeCompactionParam{}}
	}
	return config
}

// encodedConfig returns the config as a snapshot holds it.
func encodedConfig(config anthropic.BetaCompactionConfigUnionParam) ([]byte, error) {
	data, err := history.EncodeJSON(configOr(config))
	if err != nil {
		return nil, fmt.Errorf("the config of the compaction cannot be encoded: %w", err)
	}
	return data, nil
}

// checkCompactable reports parameters beside which the API cannot compact on
// demand: it would take the compaction, and refuse the next request.
func checkCompactable(p *anthropic.BetaMessageNewParams) error {
	data, err := history.EncodeJSON(p.ContextManagement)
	if err != nil {
		return fmt.Errorf("Params.ContextManagement: %w", err)
	}
	var management struct{ Edits []struct{ Type string } }
	if err := json.Unmarshal(data, &management); err != nil {
		return fmt.Errorf("Params.ContextManagement: %w", err)
	}
	for _, edit := range management.Edits {
		if strings.HasPrefix(edit.Type, "compact_") {
			return fmt.Errorf("Params.ContextManagement has the edit %q, beside which the API does not compact on demand; use one of the two", edit.Type)
		}
	}
	return nil
}

// compactParams returns p for a request that compacts: without what shapes a
// reply, which the API refuses there.
func compactParams(p anthropic.BetaMessageNewParams) anthropic.BetaMessageNewParams {
	p.ContextManagement = anthropic.BetaContextManagementConfigParam{}
	p.StopSequences = nil
	p.OutputFormat = anthropic.BetaJSONOutputFormatParam{} //nolint:staticcheck // callers may still set it
	p.OutputConfig.Format = anthropic.BetaJSONOutputFormatParam{}
	if p.ToolChoice.OfAny != nil || p.ToolChoice.OfTool != nil {
		p.ToolChoice = anthropic.BetaToolChoiceUnionParam{}
	}
	p.Fallbacks.OfBetaFallbackArray = slices.Clone(p.Fallbacks.OfBetaFallbackArray)
	for i := range p.Fallbacks.OfBetaFallbackArray {
		p.Fallbacks.OfBetaFallbackArray[i].OutputConfig.Format = anthropic.BetaJSONOutputFormatParam{}
	}
	return p
}

// summaryParams returns p for the request of a summary by the runner.
func (c *ClientCompaction) summaryParams(p anthropic.BetaMessageNewParams, hasTools bool) anthropic.BetaMessageNewParams {
	p = compactParams(p)
	if c.Model != "" {
		p.Model = c.Model
	}
	p.MaxTokens = c.MaxTokens
	if p.MaxTokens == 0 {
		p.MaxTokens = defaultSummaryTokens
	}
	p.Thinking = anthropic.BetaThinkingConfigParamUnion{}
	p.ToolChoice = anthropic.BetaToolChoiceUnionParam{}
	if hasTools { // the history holds calls, which the API only takes beside tools
		p.ToolChoice.OfNone = &anthropic.BetaToolChoiceNoneParam{}
	}
	return p
}

// prompt returns the message that asks for the summary.
func (c *ClientCompaction) prompt() history.Message {
	text := c.Prompt
	if text == "" {
		text = defaultSummaryPrompt
	}
	return history.TextMessage(text)
}
