package streaming_test

import (
	"context"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/internal/wire"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// The event that begins a call names its tool, that of one which the API runs as well; no
// other event does.
func TestEventsNameTheToolOfACall(t *testing.T) {
	reply := toolrunnertest.Message(
		toolrunnertest.Say("tool_use"),
		toolrunnertest.ServerToolUse("srvtoolu_1", "web_search", `{}`),
		toolrunnertest.RawBlock(`{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]}`),
		toolrunnertest.Call("a", "work", `{}`),
	)
	c := runtest.StartUnchecked(t, toolrunner.Params{}, runtest.Tools(runtest.Says("work", "x")), reply, toolrunnertest.Text("done"))
	var got runtest.Journal
	c.MustStream(t, func(turn *toolrunner.Turn) {
		for e, err := range turn.Events() {
			if err != nil {
				t.Fatal(err)
			}
			if e.ToolID != "" || e.ToolName != "" {
				got.Add("%s %d %s %s", e.Type, e.Index, e.ToolID, e.ToolName)
			}
		}
	})
	got.Want(t, "content_block_start 1 srvtoolu_1 web_search", "content_block_start 3 a work")
}

// A body that answers by hand sends what the runner would send.
func TestAResultCanBeGivenByHand(t *testing.T) {
	results := map[string]*toolrunner.Result{
		"a": {Content: []runtest.Content{{}, runtest.TextContent(""), runtest.TextContent("x")}, CacheControl: anthropic.NewBetaCacheControlEphemeralParam()},
		"b": {IsError: true, Err: runtest.ErrBroken},
		"c": nil,
		"d": {Content: []runtest.Content{runtest.RawContentBlock(`{"type":"novelty","n":1}`)}},
		"e": {Content: []runtest.Content{runtest.RawContentBlock(`{"type":`)}},
	}
	ids := []string{"a", "b", "c", "d", "e"}
	play := func(t *testing.T, byHand bool) *runtest.Conversation {
		t.Helper()
		work := runtest.Raw("work", func(_ context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
			return results[call.ID], nil
		})
		c := runtest.StartUnchecked(t, toolrunner.Params{}, runtest.Tools(work), runtest.Calls("work", ids...), toolrunnertest.Text("done"))
		c.MustPlay(t, func(turn *toolrunner.Turn) {
			if !byHand || turn.Iteration() > 1 {
				return
			}
			var blocks []anthropic.BetaContentBlockParamUnion
			for _, id := range ids {
				blocks = append(blocks, results[id].Param(id))
			}
			if err := c.AppendMessages(anthropic.NewBetaUserMessage(blocks...)); err != nil {
				t.Fatal(err)
			}
		})
		return c
	}
	ran, given := play(t, false), play(t, true)
	for _, id := range ids {
		want, got := ran.Request(t, -1).ToolResult(id), given.Request(t, -1).ToolResult(id)
		if want == nil || !wire.Same(got, want) {
			t.Errorf("result of %s by hand = %s, want %s", id, got, want)
		}
	}
}
