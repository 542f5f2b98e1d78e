package toolrunner_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// E48, S32: handlers that run at the same time add and remove tools; the changes
// are one message, and count from the next turn on at the latest.
func TestHandlersChangeToolsAtTheSameTime(t *testing.T) {
	const helpers = 8
	var d *conversation
	var helped tally
	change := raw("change", func(_ context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
		tool := helped.tool("helper_" + call.ID)
		if err := d.AddTools(tool); err != nil {
			return nil, err
		}
		d.RemoveToolsByNames("gone_" + call.ID)
		definition := anthropic.BetaToolUnionParam{OfTool: &anthropic.BetaToolParam{Name: "raw_" + call.ID, InputSchema: anthropic.BetaToolInputSchemaParam{}}}
		if err := d.AddToolParams(definition); err != nil {
			return nil, err
		}
		_ = d.Messages()
		return toolrunner.TextResult("ok"), d.AppendMessages(user("by " + call.ID))
	})
	first, second := make([]string, helpers), make([]toolrunnertest.Block, helpers)
	for i := range helpers {
		first[i] = fmt.Sprint("c", i)
		second[i] = toolrunnertest.Call(fmt.Sprint("h", i), fmt.Sprint("helper_c", i), `{}`)
	}
	d = dialogueWith(t, toolrunner.Params{}, tools(change), calls("change", first...), toolrunnertest.Message(second...), toolrunnertest.Text("done"))
	d.mustPlay(t, func(*toolrunner.Turn) {})
	helped.want(t, helpers)
	messages := shape(d.request(t, 1).Messages())
	if got := len(messages); got != 3+helpers+1 {
		t.Fatalf("the second request has the messages %q, want the results, %d follow-ups and the changes", messages, helpers)
	}
	changes := messages[len(messages)-1]
	if got := strings.Count(changes, "addition(helper_") + strings.Count(changes, "removal(gone_") + strings.Count(changes, "addition(raw_"); got != 3*helpers || !strings.HasPrefix(changes, "system ") {
		t.Errorf("the last message is %q, want one of the system with %d changes", changes, 3*helpers)
	}
	d.wantFaithful(t)
}

// E40, E100: after the results and the follow-ups come the changes of a body, as
// one message, in the order in which they were made.
func TestChangesOfABodyAreOneMessageInOrder(t *testing.T) {
	bothWays(t, func(t *testing.T, streaming bool) {
		var ran, one, two tally
		d := dialogueWith(t, toolrunner.Params{}, tools(ran.tool("work")), calls("work", "a"), toolrunnertest.Text("done"))
		d.streaming = streaming
		d.mustPlay(t, func(turn *toolrunner.Turn) {
			if turn.Iteration() > 1 {
				return
			}
			if err := d.AddTools(two.tool("two"), one.tool("one")); err != nil {
				t.Errorf("AddTools() error = %v", err)
			}
			if err := d.AppendMessages(user("and")); err != nil {
				t.Errorf("AppendMessages() error = %v", err)
			}
			d.RemoveTools(two.tool("two"))
			if err := d.AddTools(two.tool("two")); err != nil {
				t.Errorf("AddTools() error = %v", err)
			}
		})
		d.wantRequest(t, 1, "user 'hi'", "assistant call(a)", "user result(a)", "user 'and'",
			"system addition(two) addition(one) removal(two) addition(two)")
		d.wantFaithful(t)
	})
}

// E35, E36, E38: what is registered when a call runs answers it, whatever was
// registered when it was made.
func TestChangedToolsAnswerTheOpenTurn(t *testing.T) {
	var before, after tally
	definition := anthropic.BetaToolUnionParam{OfTool: &anthropic.BetaToolParam{Name: "work"}}
	tests := []struct {
		name          string
		change        func(d *conversation) error
		before, after int32
	}{
		{"nothing", func(*conversation) error { return nil }, 1, 0},
		{"replaced", func(d *conversation) error { return d.AddTools(after.tool("work")) }, 0, 1},
		{"removed", func(d *conversation) error { d.RemoveToolsByNames("work"); return nil }, 0, 0},
		{"removed and added", func(d *conversation) error { d.RemoveToolsByNames("work"); return d.AddTools(after.tool("work")) }, 0, 1},
		{"added and removed", func(d *conversation) error {
			err := d.AddTools(after.tool("work"))
			d.RemoveToolsByNames("work")
			return err
		}, 0, 0},
		{"taken over by a definition", func(d *conversation) error { return d.AddToolParams(definition) }, 0, 0},
		{"invalid beside valid", func(d *conversation) error {
			if err := d.AddTools(after.tool("work"), after.tool("no name")); err == nil {
				return fmt.Errorf("a name with a space was taken")
			}
			return nil
		}, 1, 0},
		{"nil", func(d *conversation) error {
			if err := d.AddTools(after.tool("work"), (*toolrunner.Tool)(nil)); err == nil {
				return fmt.Errorf("a nil tool was taken")
			}
			return nil
		}, 1, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			before.Store(0)
			after.Store(0)
			d := dialogueWith(t, toolrunner.Params{}, tools(before.tool("work")), calls("work", "a"), toolrunnertest.Text("done"))
			tools := ""
			d.mustPlay(t, func(turn *toolrunner.Turn) {
				if turn.Iteration() > 1 {
					return
				}
				tools = string(d.request(t, 0).Field("tools"))
				if err := test.change(d); err != nil {
					t.Errorf("the change failed: %v", err)
				}
			})
			before.want(t, test.before)
			after.want(t, test.after)
			if got := string(d.request(t, 1).Field("tools")); got != tools {
				t.Errorf("tools = %s, want %s as before", got, tools)
			}
			if test.before+test.after == 0 {
				d.wantResult(t, "a", `{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"Error: Tool 'work' not found"}],"is_error":true}`)
			}
		})
	}
}

// E42: changes made while a turn is paused wait until it has ended, over several
// pauses, and with the follow-ups.
func TestChangesWaitForAllOfAPausedTurn(t *testing.T) {
	bothWays(t, func(t *testing.T, streaming bool) {
		var ran tally
		d := dialogueWith(t, toolrunner.Params{}, nil,
			toolrunnertest.Message(serverSearch).StopReason("pause_turn"),
			toolrunnertest.Message(serverFound, toolrunnertest.Say("and")).StopReason("pause_turn"),
			calls("work", "a"), toolrunnertest.Text("done"))
		d.streaming = streaming
		d.mustPlay(t, func(turn *toolrunner.Turn) {
			if turn.Iteration() > 1 {
				return
			}
			if err := d.AddTools(ran.tool("work")); err != nil {
				t.Errorf("AddTools() error = %v", err)
			}
		})
		ran.want(t, 1)
		d.wantRequest(t, 2, "user 'hi'", "assistant server_tool_use", "assistant web_search_tool_result 'and'")
		d.wantRequest(t, 3, "user 'hi'", "assistant server_tool_use", "assistant web_search_tool_result 'and'", "assistant call(a)", "user result(a)", "system addition(work)")
		d.wantFaithful(t)
	})
}

// E37: a tool that was taken away stays away when the message that told of it is
// taken out of the history; one that was added stays.
func TestRegistryOutlivesTheMessagesThatToldOfIt(t *testing.T) {
	var old, fresh tally
	d := dialogueWith(t, toolrunner.Params{}, tools(old.tool("old")), toolrunnertest.Text("one"),
		toolrunnertest.Message(toolrunnertest.Call("a", "old", `{}`), toolrunnertest.Call("b", "fresh", `{}`)), toolrunnertest.Text("done"))
	d.RemoveToolsByNames("old")
	if err := d.AddTools(fresh.tool("fresh")); err != nil {
		t.Fatalf("AddTools() error = %v", err)
	}
	d.mustPlay(t, func(turn *toolrunner.Turn) {
		if turn.Iteration() == 1 {
			if err := d.SetMessages(user("new")); err != nil {
				t.Errorf("SetMessages() error = %v", err)
			}
		}
	})
	d.wantRequest(t, 0, "user 'hi'", "system removal(old) addition(fresh)")
	d.wantRequest(t, 1, "user 'new'")
	old.want(t, 0)
	fresh.want(t, 1)
}

// Changes that were queued stay queued when a request fails or is taken over.
func TestChangesGoOutOnce(t *testing.T) {
	var ran tally
	d := dialogueWith(t, toolrunner.Params{}, nil, toolrunnertest.Status(500, "api_error", "no"), toolrunnertest.Text("no"), toolrunnertest.Text("done"))
	if err := d.AddTools(ran.tool("work")); err != nil {
		t.Fatalf("AddTools() error = %v", err)
	}
	if err := d.play(t.Context(), func(*toolrunner.Turn) {}); err == nil {
		t.Error("the run did not end with the error of the API")
	}
	d.mustPlay(t, func(turn *toolrunner.Turn) {
		if turn.Iteration() == 1 {
			if err := turn.Retry(); err != nil {
				t.Errorf("Retry() error = %v", err)
			}
		}
	})
	for i := range 3 {
		d.wantRequest(t, i, "user 'hi'", "system addition(work)")
	}
}
