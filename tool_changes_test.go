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
	var d *dialogue
	var helped tally
	change := plainTool("change", func(_ context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
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
		return toolrunner.TextResult("ok"), d.AppendMessages(userSays("by " + call.ID))
	})
	first, second := make([]string, helpers), make([]toolrunnertest.Block, helpers)
	for i := range helpers {
		first[i] = fmt.Sprint("c", i)
		second[i] = toolrunnertest.Call(fmt.Sprint("h", i), fmt.Sprint("helper_c", i), `{}`)
	}
	d = dialogueWith(t, toolrunner.Params{}, toolList(change), callsOf("change", first...), toolrunnertest.Message(second...), toolrunnertest.Text("done"))
	d.mustPlay(t, func(*toolrunner.Turn) {})
	helped.want(t, helpers)
	messages := outline(d.sent(t, 1).Messages())
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
		d := dialogueWith(t, toolrunner.Params{}, toolList(ran.tool("work")), callsOf("work", "a"), toolrunnertest.Text("done"))
		d.streaming = streaming
		d.mustPlay(t, func(turn *toolrunner.Turn) {
			if turn.Iteration() > 1 {
				return
			}
			if err := d.AddTools(two.tool("two"), one.tool("one")); err != nil {
				t.Errorf("AddTools() error = %v", err)
			}
			if err := d.AppendMessages(userSays("and")); err != nil {
				t.Errorf("AppendMessages() error = %v", err)
			}
			d.RemoveTools(two.tool("two"))
			if err := d.AddTools(two.tool("two")); err != nil {
				t.Errorf("AddTools() error = %v", err)
			}
		})
		d.wantSent(t, 1, "user text(hi)", "assistant call(a)", "user result(a)", "user text(and)",
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
		change        func(d *dialogue) error
		before, after int32
	}{
		{"nothing", func(*dialogue) error { return nil }, 1, 0},
		{"replaced", func(d *dialogue) error { return d.AddTools(after.tool("work")) }, 0, 1},
		{"removed", func(d *dialogue) error { d.RemoveToolsByNames("work"); return nil }, 0, 0},
		{"removed and added", func(d *dialogue) error { d.RemoveToolsByNames("work"); return d.AddTools(after.tool("work")) }, 0, 1},
		{"added and removed", func(d *dialogue) error {
			err := d.AddTools(after.tool("work"))
			d.RemoveToolsByNames("work")
			return err
		}, 0, 0},
		{"taken over by a definition", func(d *dialogue) error { return d.AddToolParams(definition) }, 0, 0},
		{"invalid beside valid", func(d *dialogue) error {
			if err := d.AddTools(after.tool("work"), after.tool("no name")); err == nil {
				return fmt.Errorf("a name with a space was taken")
			}
			return nil
		}, 1, 0},
		{"nil", func(d *dialogue) error {
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
			d := dialogueWith(t, toolrunner.Params{}, toolList(before.tool("work")), callsOf("work", "a"), toolrunnertest.Text("done"))
			tools := ""
			d.mustPlay(t, func(turn *toolrunner.Turn) {
				if turn.Iteration() > 1 {
					return
				}
				tools = string(d.sent(t, 0).Field("tools"))
				if err := test.change(d); err != nil {
					t.Errorf("the change failed: %v", err)
				}
			})
			before.want(t, test.before)
			after.want(t, test.after)
			if got := string(d.sent(t, 1).Field("tools")); got != tools {
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
			callsOf("work", "a"), toolrunnertest.Text("done"))
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
		d.wantSent(t, 2, "user text(hi)", "assistant server_tool_use", "assistant web_search_tool_result text(and)")
		d.wantSent(t, 3, "user text(hi)", "assistant server_tool_use", "assistant web_search_tool_result text(and)", "assistant call(a)", "user result(a)", "system addition(work)")
		d.wantFaithful(t)
	})
}

// E37: a tool that was taken away stays away when the message that told of it is
// taken out of the history; one that was added stays.
func TestRegistryOutlivesTheMessagesThatToldOfIt(t *testing.T) {
	var old, fresh tally
	d := dialogueWith(t, toolrunner.Params{}, toolList(old.tool("old")), toolrunnertest.Text("one"),
		toolrunnertest.Message(toolrunnertest.Call("a", "old", `{}`), toolrunnertest.Call("b", "fresh", `{}`)), toolrunnertest.Text("done"))
	d.RemoveToolsByNames("old")
	if err := d.AddTools(fresh.tool("fresh")); err != nil {
		t.Fatalf("AddTools() error = %v", err)
	}
	d.mustPlay(t, func(turn *toolrunner.Turn) {
		if turn.Iteration() == 1 {
			if err := d.SetMessages(userSays("new")); err != nil {
				t.Errorf("SetMessages() error = %v", err)
			}
		}
	})
	d.wantSent(t, 0, "user text(hi)", "system removal(old) addition(fresh)")
	d.wantSent(t, 1, "user text(new)", "system removal(old) addition(fresh)") // F11: the model is told again
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
		d.wantSent(t, i, "user text(hi)", "system addition(work)")
	}
}
