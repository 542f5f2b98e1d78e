package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"

	"github.com/toolrunner/toolrunner"
)

// What of the public API may change its form is used in this file alone.

func newParams() toolrunner.Params {
	return toolrunner.Params{BetaMessageNewParams: anthropic.BetaMessageNewParams{Model: "m", MaxTokens: 1024}}
}

func systemOf(text string) []anthropic.BetaTextBlockParam {
	return []anthropic.BetaTextBlockParam{{Text: text}}
}

// toolNames are the tools of a world; the last is not there at the beginning.
var toolNames = []string{"pay", "look", "again", "alone", "late"}

func tool(name string, handler toolrunner.Handler) *toolrunner.Tool {
	t := toolrunner.NewRawTool(anthropic.BetaToolParam{Name: name, InputSchema: anthropic.BetaToolInputSchemaParam{Properties: map[string]any{}}}, handler)
	t.ReadOnly, t.Idempotent, t.Exclusive = name == "look", name == "again", name == "alone"
	return t
}

// toolset returns the tools that a runner of the world is given.
func (w *world) toolset(handler toolrunner.Handler) []anthropic.BetaTool {
	var all []anthropic.BetaTool
	for _, name := range toolNames {
		if name != "late" || w.late {
			all = append(all, tool(name, handler))
			if _, known := w.tools[name]; !known {
				w.tools[name] = true
			}
		}
	}
	return all
}

// limitCalls bounds how often any tool is called.
func limitCalls(p *toolrunner.Params, most int) {
	p.Limits.ToolCalls = map[string]int{"pay": most}
}

func userSays(text string) anthropic.BetaMessageParam {
	return anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock(text))
}

func systemSays(text string) anthropic.BetaMessageParam {
	return verbatim(fmt.Sprintf(`{"role":"system","content":[{"type":"text","text":%q}]}`, text))
}

func assistantSays(text string) anthropic.BetaMessageParam {
	return verbatim(fmt.Sprintf(`{"role":"assistant","content":[{"type":"text","text":%q}]}`, text))
}

func resultFor(id, text string) anthropic.BetaMessageParam {
	return anthropic.NewBetaUserMessage(anthropic.NewBetaToolResultBlock(id, text, false))
}

// verbatim is a message of exactly this JSON.
func verbatim(raw string) anthropic.BetaMessageParam {
	return param.Override[anthropic.BetaMessageParam](json.RawMessage(raw))
}

// endErr checks that the outcome and the error of a loop agree. The error of a loop
// over turns is the one that it yields; complete says that RunToCompletion returned it.
func (w *world) endErr(err error, complete bool) {
	outcome := w.runner.Outcome()
	ends := []toolrunner.Outcome{
		toolrunner.OutcomeCompleted, toolrunner.OutcomeMaxIterations, toolrunner.OutcomeLimitReached,
		toolrunner.OutcomeTruncated, toolrunner.OutcomeRefused,
	}
	suspended := isSuspended(err)
	switch {
	case suspended && outcome != toolrunner.OutcomeSuspended,
		!suspended && outcome == toolrunner.OutcomeSuspended,
		err == nil && !slices.Contains(ends, outcome),
		err != nil && !suspended && !complete && outcome != toolrunner.OutcomeFailed,
		complete && (err == nil) != (outcome == toolrunner.OutcomeCompleted):
		w.flunk("end/outcome", "the loop ends with %v, and the outcome is %v", err, outcome)
	}
}

// ended reports whether an error of RunToCompletion says how the run has ended.
func ended(err error) bool {
	for _, end := range []error{toolrunner.ErrMaxIterations, toolrunner.ErrLimitReached, toolrunner.ErrTruncated, toolrunner.ErrRefused} {
		if errors.Is(err, end) {
			return true
		}
	}
	return false
}

// resume makes a runner of a snapshot.
func (w *world) resume(snapshot []byte) (*toolrunner.Runner, error) {
	params := w.runner.Params
	params.Messages = nil
	params.Checkpoint, params.Approve = w.params.Checkpoint, w.params.Approve
	return toolrunner.Resume(&w.client.Beta.Messages, w.toolset(w.handle), params, snapshot)
}

// peekParams are the params of a runner beside the one of the world.
func (w *world) peekParams() toolrunner.Params {
	params := w.runner.Params
	params.Messages, params.Checkpoint = nil, nil
	if params.Approve != nil {
		params.Approve = func(context.Context, *toolrunner.Call) (toolrunner.Decision, error) { return toolrunner.Allow(), nil }
	}
	return params
}
