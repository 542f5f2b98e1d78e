// Package toolchanges_test tests tools that are added and removed while a run goes on.
package toolchanges_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// E48, S32: handlers that run at the same time add and remove tools; the changes
// are one message, and count from the next turn on at the latest.
func TestHandlersChangeToolsAtTheSameTime(t *testing.T) {
	const helpers = 20
	var d *runtest.Conversation
	var helped runtest.Tally
	change := runtest.Raw("change", func(_ context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
		tool := helped.Tool("helper_" + call.ID)
		if err := d.AddTools(tool); err != nil {
			return nil, err
		}
		d.RemoveToolsByNames("gone_" + call.ID)
		definition := anthropic.BetaToolUnionParam{OfTool: &anthropic.BetaToolParam{Name: "raw_" + call.ID, InputSchema: anthropic.BetaToolInputSchemaParam{}}}
		if err := d.AddToolParams(definition); err != nil {
			return nil, err
		}
		_ = d.Messages()
		return toolrunner.TextResult("ok"), d.AppendMessages(runtest.User("by " + call.ID))
	})
	first, second := make([]string, helpers), make([]toolrunnertest.Block, helpers)
	for i := range helpers {
		first[i] = fmt.Sprint("c", i)
		second[i] = toolrunnertest.Call(fmt.Sprint("h", i), fmt.Sprint("helper_c", i), `{}`)
	}
	d = runtest.StartUnchecked(t, toolrunner.Params{}, runtest.Tools(change), runtest.Calls("change", first...), toolrunnertest.Message(second...), toolrunnertest.Text("done"))
	d.MustPlay(t, func(*toolrunner.Turn) {})
	helped.Want(t, helpers)
	messages := runtest.Shape(d.Request(t, 1).Messages())
	if got := len(messages); got != 3+helpers+1 {
		t.Fatalf("the second request has the messages %q, want the results, %d follow-ups and the changes", messages, helpers)
	}
	changes := messages[len(messages)-1]
	if got := strings.Count(changes, "addition(helper_") + strings.Count(changes, "removal(gone_") + strings.Count(changes, "addition(raw_"); got != 3*helpers || !strings.HasPrefix(changes, "system ") {
		t.Errorf("the last message is %q, want one of the system with %d changes", changes, 3*helpers)
	}
	d.WantFaithful(t)
}

// E40, E100: after the results and the follow-ups come the changes of a body, as
// one message, in the order in which they were made.
func TestChangesOfABodyAreOneMessageInOrder(t *testing.T) {
	runtest.BothWays(t, func(t *testing.T, streaming bool) {
		var ran, one, two runtest.Tally
		d := runtest.StartUnchecked(t, toolrunner.Params{}, runtest.Tools(ran.Tool("work")), runtest.Calls("work", "a"), toolrunnertest.Text("done"))
		d.Streaming = streaming
		d.MustPlay(t, func(turn *toolrunner.Turn) {
			if turn.Iteration() > 1 {
				return
			}
			if err := d.AddTools(two.Tool("two"), one.Tool("one")); err != nil {
				t.Errorf("AddTools() error = %v", err)
			}
			if err := d.AppendMessages(runtest.User("and")); err != nil {
				t.Errorf("AppendMessages() error = %v", err)
			}
			d.RemoveTools(two.Tool("two"))
			if err := d.AddTools(two.Tool("two")); err != nil {
				t.Errorf("AddTools() error = %v", err)
			}
		})
		d.WantRequest(t, 1, "user 'hi'", "assistant call(a)", "user result(a)", "user 'and'",
			"system addition(one) addition(two)")
		d.WantFaithful(t)
	})
}

// E35, E36, E38: what is registered when a call runs answers it, whatever was
// registered when it was made.
func TestChangedToolsAnswerTheOpenTurn(t *testing.T) {
	var before, after runtest.Tally
	definition := anthropic.BetaToolUnionParam{OfTool: &anthropic.BetaToolParam{Name: "work"}}
	tests := []struct {
		name          string
		change        func(d *runtest.Conversation) error
		before, after int32
	}{
		{"nothing", func(*runtest.Conversation) error { return nil }, 1, 0},
		{"replaced", func(d *runtest.Conversation) error { return d.AddTools(after.Tool("work")) }, 0, 1},
		{"removed", func(d *runtest.Conversation) error { d.RemoveToolsByNames("work"); return nil }, 0, 0},
		{"removed and added", func(d *runtest.Conversation) error {
			d.RemoveToolsByNames("work")
			return d.AddTools(after.Tool("work"))
		}, 0, 1},
		{"added and removed", func(d *runtest.Conversation) error {
			err := d.AddTools(after.Tool("work"))
			d.RemoveToolsByNames("work")
			return err
		}, 0, 0},
		{"taken over by a definition", func(d *runtest.Conversation) error { return d.AddToolParams(definition) }, 0, 0},
		{"invalid beside valid", func(d *runtest.Conversation) error {
			if err := d.AddTools(after.Tool("work"), after.Tool("no name")); err == nil {
				return fmt.Errorf("a name with a space was taken")
			}
			return nil
		}, 1, 0},
		{"nil", func(d *runtest.Conversation) error {
			if err := d.AddTools(after.Tool("work"), (*toolrunner.Tool)(nil)); err == nil {
				return fmt.Errorf("a nil tool was taken")
			}
			return nil
		}, 1, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			before.Store(0)
			after.Store(0)
			d := runtest.StartUnchecked(t, toolrunner.Params{}, runtest.Tools(before.Tool("work")), runtest.Calls("work", "a"), toolrunnertest.Text("done"))
			tools := ""
			d.MustPlay(t, func(turn *toolrunner.Turn) {
				if turn.Iteration() > 1 {
					return
				}
				tools = string(d.Request(t, 0).Field("tools"))
				if err := test.change(d); err != nil {
					t.Errorf("the change failed: %v", err)
				}
			})
			before.Want(t, test.before)
			after.Want(t, test.after)
			if got := string(d.Request(t, 1).Field("tools")); got != tools {
				t.Errorf("tools = %s, want %s as before", got, tools)
			}
			if test.before+test.after == 0 {
				d.WantResult(t, "a", `{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"Error: Tool 'work' not found"}],"is_error":true}`)
			}
		})
	}
}

// E42: changes made while a turn is paused wait until it has ended, over several
// pauses, and with the follow-ups.
func TestChangesWaitForAllOfAPausedTurn(t *testing.T) {
	runtest.BothWays(t, func(t *testing.T, streaming bool) {
		var ran runtest.Tally
		d := runtest.StartUnchecked(t, toolrunner.Params{}, nil,
			toolrunnertest.Message(runtest.ServerSearch).StopReason("pause_turn"),
			toolrunnertest.Message(runtest.ServerFound, toolrunnertest.Say("and")).StopReason("pause_turn"),
			runtest.Calls("work", "a"), toolrunnertest.Text("done"))
		d.Streaming = streaming
		d.MustPlay(t, func(turn *toolrunner.Turn) {
			if turn.Iteration() > 1 {
				return
			}
			if err := d.AddTools(ran.Tool("work")); err != nil {
				t.Errorf("AddTools() error = %v", err)
			}
		})
		ran.Want(t, 1)
		d.WantRequest(t, 2, "user 'hi'", "assistant server_tool_use", "assistant web_search_tool_result 'and'")
		d.WantRequest(t, 3, "user 'hi'", "assistant server_tool_use", "assistant web_search_tool_result 'and'", "assistant call(a)", "user result(a)", "system addition(work)")
		d.WantFaithful(t)
	})
}

// E37: a tool that was taken away stays away when the message that told of it is
// taken out of the history; one that was added stays.
func TestRegistryOutlivesTheMessagesThatToldOfIt(t *testing.T) {
	var old, fresh runtest.Tally
	d := runtest.StartUnchecked(t, toolrunner.Params{}, runtest.Tools(old.Tool("old")), toolrunnertest.Text("one"),
		toolrunnertest.Message(toolrunnertest.Call("a", "old", `{}`), toolrunnertest.Call("b", "fresh", `{}`)), toolrunnertest.Text("done"))
	d.RemoveToolsByNames("old")
	if err := d.AddTools(fresh.Tool("fresh")); err != nil {
		t.Fatalf("AddTools() error = %v", err)
	}
	d.MustPlay(t, func(turn *toolrunner.Turn) {
		if turn.Iteration() == 1 {
			if err := d.SetMessages(runtest.User("new")); err != nil {
				t.Errorf("SetMessages() error = %v", err)
			}
		}
	})
	d.WantRequest(t, 0, "user 'hi'", "system removal(old) addition(fresh)")
	d.WantRequest(t, 1, "user 'new'", "system removal(old) addition(fresh)") // F11: the model is told again
	old.Want(t, 0)
	fresh.Want(t, 1)
}

// Changes that were queued stay queued when a request fails or is taken over.
func TestChangesGoOutOnce(t *testing.T) {
	var ran runtest.Tally
	d := runtest.StartUnchecked(t, toolrunner.Params{}, nil, toolrunnertest.Status(500, "api_error", "no"), toolrunnertest.Text("no"), toolrunnertest.Text("done"))
	if err := d.AddTools(ran.Tool("work")); err != nil {
		t.Fatalf("AddTools() error = %v", err)
	}
	if err := d.Play(t.Context(), func(*toolrunner.Turn) {}); err == nil {
		t.Error("the run did not end with the error of the API")
	}
	d.MustPlay(t, func(turn *toolrunner.Turn) {
		if turn.Iteration() == 1 {
			if err := turn.Retry(); err != nil {
				t.Errorf("Retry() error = %v", err)
			}
		}
	})
	for i := range 3 {
		d.WantRequest(t, i, "user 'hi'", "system addition(work)")
	}
}
