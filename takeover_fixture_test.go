package toolrunner_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"

	"github.com/toolrunner/toolrunner"
)

// verbatim is a message of exactly this JSON.
func verbatim(raw string) anthropic.BetaMessageParam {
	return param.Override[anthropic.BetaMessageParam](json.RawMessage(raw))
}

// calling is a message of the assistant that calls a tool.
func calling(id, tool string) anthropic.BetaMessageParam {
	return verbatim(fmt.Sprintf(`{"role":"assistant","content":[{"type":"tool_use","id":%q,"name":%q,"input":{}}]}`, id, tool))
}

// answering is a message of the user that answers a call by hand.
func answering(id, text string) anthropic.BetaMessageParam {
	return verbatim(fmt.Sprintf(`{"role":"user","content":[{"type":"tool_result","tool_use_id":%q,"content":%q}]}`, id, text))
}

// tally counts how often its tool has run.
type tally struct{ atomic.Int32 }

// tool answers each call with "ran" and its number.
func (n *tally) tool(name string) *toolrunner.Tool {
	return raw(name, func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
		return toolrunner.TextResult(fmt.Sprintf("ran %d", n.Add(1))), nil
	})
}

func (n *tally) want(t *testing.T, want int32) {
	t.Helper()
	if got := n.Load(); got != want {
		t.Errorf("the tool ran %d times, want %d", got, want)
	}
}

// bothWays runs a test over plain replies and over streams.
func bothWays(t *testing.T, test func(t *testing.T, streaming bool)) {
	t.Helper()
	for name, streaming := range map[string]bool{"plain": false, "streaming": true} {
		t.Run(name, func(t *testing.T) { test(t, streaming) })
	}
}

// rawContentBlock is a block of a result with exactly this JSON.
func rawContentBlock(raw string) anthropic.BetaToolResultBlockParamContentUnion {
	return param.Override[anthropic.BetaToolResultBlockParamContentUnion](json.RawMessage(raw))
}
