package toolrunner_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"
	"github.com/google/go-cmp/cmp"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

const (
	removeWork = `{"role":"system","content":[{"type":"tool_removal","tool":{"type":"tool_reference","name":"work"}}]}`
	addWork    = `{"role":"system","content":[{"type":"tool_addition","tool":{"type":"tool_reference","name":"work"}}]}`
	defineWork = `{"role":"system","content":[{"type":"tool_addition","tool":{"type":"tool_definition","definition":{"name":"work","input_schema":{"type":"object"}}}}]}`
)

// E25, E26, E29-E32: messages of the system change what can be called.
func TestHistoryTellsWhichToolsAreAvailable(t *testing.T) {
	tests := []struct {
		name    string
		changes []string
		ran     bool
	}{
		{"removed", []string{removeWork}, false},
		{"removed and added", []string{removeWork, addWork}, true},
		{"removed and defined", []string{removeWork, defineWork}, true},
		{"removed twice, added once", []string{removeWork, removeWork, addWork}, true},
		{"added and removed", []string{addWork, removeWork}, false},
		{"other tool removed", []string{strings.ReplaceAll(removeWork, `"work"`, `"other"`)}, true},
		{"tool of an MCP server removed", []string{strings.ReplaceAll(removeWork, `"tool_reference"`, `"mcp_tool_reference","server_name":"s"`)}, true},
		{"toolset of an MCP server removed", []string{strings.ReplaceAll(removeWork, `"tool_reference","name":"work"`, `"mcp_toolset_reference","server_name":"work"`)}, true},
		{"unknown reference removed", []string{strings.ReplaceAll(removeWork, `"tool_reference"`, `"reference_of_tomorrow"`)}, true},
		{"removed in a message of the user", []string{strings.Replace(removeWork, "system", "user", 1)}, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			messages := []anthropic.BetaMessageParam{user("hi")}
			for _, raw := range test.changes {
				messages = append(messages, verbatim(raw))
			}
			c := converse(t, given(messages...), tools(says("work", "ran")), calls("work", "a"), toolrunnertest.Text("done"))
			c.run(t)
			if test.ran {
				wantSuccess(t, c.request(t, -1), "a", "ran")
			} else {
				wantFailure(t, c.request(t, -1), "a", "Error: Tool 'work' not found")
			}
		})
	}
}

// E31: a message whose role says system counts, whatever variant holds it.
func TestSystemRoleSetByHandIsUnderstood(t *testing.T) {
	remove := anthropic.NewBetaUserMessage(anthropic.NewBetaToolRemovalBlock(anthropic.BetaToolChangeToolReferenceParam{Name: "work"}))
	remove.OfUser.Role = "system"
	c := converse(t, given(user("hi"), remove), tools(says("work", "ran")), calls("work", "a"), toolrunnertest.Text("done"))
	c.run(t)
	wantFailure(t, c.request(t, -1), "a", "Error: Tool 'work' not found")
}

// E34: the changes that a compaction block carries count as well.
func TestCompactionBlockTellsWhichToolsAreGone(t *testing.T) {
	summary := verbatim(`{"role":"assistant","content":[{"type":"compaction","content":"so far","tool_changes":[` +
		`{"type":"tool_removal","tool":{"type":"tool_reference","name":"work"}}]}]}`)
	c := converse(t, given(user("hi"), summary, user("go on")), tools(says("work", "ran")), calls("work", "a"), toolrunnertest.Text("done"))
	c.run(t)
	wantFailure(t, c.request(t, -1), "a", "Error: Tool 'work' not found")
}

// E27, E28, E35-E40, E44: changes in a loop body count at once for the turn that
// is open, and the model reads them in one message after its results.
func TestChangesInTheBodyCountForTheOpenTurn(t *testing.T) {
	const gone = "Error: Tool 'work' not found"
	tests := []struct {
		name   string
		change func(t *testing.T, c *conversation)
		want   string // result of the call of work; "Error: ..." if it fails
		system string
	}{
		{"removed", func(_ *testing.T, c *conversation) { c.RemoveToolsByNames("work") }, gone, "system removal(work)"},
		{"removed and added", func(t *testing.T, c *conversation) {
			c.RemoveTools(says("work", ""))
			c.addTools(t, says("work", "second"))
		}, "second", "system removal(work) addition(work)"},
		{"replaced", func(t *testing.T, c *conversation) { c.addTools(t, says("work", "second")) }, "second", "system addition(work)"},
		{"several", func(t *testing.T, c *conversation) {
			c.addTools(t, says("x", ""), says("y", ""))
			c.RemoveToolsByNames("x", "unknown")
		}, "first", "system addition(x) addition(y) removal(x) removal(unknown)"},
		{"raw definition", func(t *testing.T, c *conversation) {
			c.addDefinition(t, `{"name":"work","input_schema":{"type":"object"},"x":1}`)
		}, gone, "system addition(work)"},
		{"definition without a name", func(t *testing.T, c *conversation) {
			c.addDefinition(t, `{"type":"mcp_toolset","mcp_server_name":"work"}`)
		}, "first", "system addition()"},
		{"removed by a follow-up", func(t *testing.T, c *conversation) { c.append(t, user("note"), verbatim(removeWork)) }, gone, "user 'note'"},
		{"removed, added by a follow-up", func(t *testing.T, c *conversation) {
			c.append(t, user("note"), verbatim(removeWork), verbatim(addWork))
		}, "first", "user 'note'"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := converse(t, asking("hi"), tools(says("work", "first")), calls("work", "a"), toolrunnertest.Text("done"))
			if _, err := c.tryRun(t.Context(), func(turn *toolrunner.Turn) {
				if turn.Iteration() == 1 {
					test.change(t, c)
				} else {
					c.RemoveToolsByNames("never sent") // E44
				}
			}); err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(test.want, "Error: ") {
				wantFailure(t, c.request(t, -1), "a", test.want)
			} else {
				wantSuccess(t, c.request(t, -1), "a", test.want)
			}
			if got := shape(c.request(t, -1).Messages())[3]; got != test.system {
				t.Errorf("the message after the results = %q, want %q", got, test.system)
			}
		})
	}
}

func (c *conversation) addTools(t *testing.T, list ...*toolrunner.Tool) {
	t.Helper()
	if err := c.AddTools(tools(list...)...); err != nil {
		t.Errorf("AddTools() error = %v", err)
	}
}

func (c *conversation) addDefinition(t *testing.T, definition string) {
	t.Helper()
	if err := c.AddToolParams(param.Override[anthropic.BetaToolUnionParam](json.RawMessage(definition))); err != nil {
		t.Errorf("AddToolParams() error = %v", err)
	}
}

// E35, E38: a tool that was added is there for later turns, and its definition
// is sent as given.
func TestAddedToolIsCalledInLaterTurns(t *testing.T) {
	c := converse(t, asking("hi"), tools(says("work", "ran")), calls("work", "a"), calls("more", "b"), toolrunnertest.Text("done"))
	if _, err := c.tryRun(t.Context(), func(turn *toolrunner.Turn) {
		if turn.Iteration() == 1 {
			c.addTools(t, says("more", "more ran"))
			c.addDefinition(t, `{"type":"web_search_20250305","name":"web_search","max_uses":3}`)
		}
	}); err != nil {
		t.Fatal(err)
	}
	wantSuccess(t, c.request(t, -1), "b", "more ran")
	if want := `{"type":"tool_definition","definition":{"type":"web_search_20250305","name":"web_search","max_uses":3}}`; !strings.Contains(string(c.request(t, 1).Body), want) {
		t.Errorf("request 1 has no %s: %s", want, c.request(t, 1).Body)
	}
}

// E41: changes before the first request follow the first messages.
func TestChangesBeforeTheFirstRequestFollowTheUsersMessage(t *testing.T) {
	c := converse(t, asking("hi"), tools(says("work", "ran")), toolrunnertest.Text("done"))
	c.addTools(t, says("more", ""))
	c.run(t)
	c.wantShape(t, "user 'hi'", "system addition(more)")
}

// E42: a paused turn is resumed before the model reads of changes. E43: so is,
// as the API refuses them after an assistant message, a compaction.
func TestChangesWaitForTheEndOfAPausedTurn(t *testing.T) {
	c := converse(t, asking("hi"), tools(says("work", "ran")),
		toolrunnertest.Text("wait").StopReason("pause_turn"), calls("work", "a"), toolrunnertest.Text("done"))
	if _, err := c.tryRun(t.Context(), func(turn *toolrunner.Turn) {
		if turn.Iteration() == 1 {
			c.addTools(t, says("more", ""))
		}
	}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"user 'hi'", "assistant 'wait'"}, shape(c.request(t, 1).Messages())); diff != "" {
		t.Errorf("the resumed request (-want +got):\n%s", diff)
	}
	c.wantShape(t, "user 'hi'", "assistant 'wait'", "assistant call(a)", "user result(a)", "system addition(more)")
}

// E44, E129: changes after the last reply go out if the conversation goes on, and
// then only after a message of the user.
func TestChangesAfterTheEndWaitForTheNextRun(t *testing.T) {
	c := converse(t, asking("hi"), tools(says("work", "ran")), toolrunnertest.Text("one"), toolrunnertest.Text("two"))
	c.run(t)
	c.RemoveToolsByNames("work")
	if turns := c.run(t); len(turns) != 0 {
		t.Errorf("%d turns after the end, want none", len(turns))
	}
	c.append(t, user("again"))
	c.run(t)
	c.wantShape(t, "user 'hi'", "assistant 'one'", "user 'again'", "system removal(work)")
}

// E48, G13: handlers may change the tools while others run and look at them.
func TestHandlersChangeToolsWhileOthersRun(t *testing.T) {
	var c *conversation
	work := raw("work", func(_ context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
		c.addTools(t, says("tool_"+call.ID, "late"))
		c.RemoveToolsByNames("unknown_" + call.ID)
		c.addDefinition(t, `{"name":"raw_`+call.ID+`","input_schema":{"type":"object"}}`)
		c.append(t, user("from "+call.ID))
		_ = c.Messages()
		return toolrunner.TextResult("ran"), nil
	})
	ids := make([]string, 20)
	for i := range ids {
		ids[i] = fmt.Sprintf("t%d", i)
	}
	c = converse(t, asking("hi"), tools(work), calls("work", ids...), calls("tool_t7", "x"), toolrunnertest.Text("done"))
	c.run(t)
	wantSuccess(t, c.request(t, -1), "x", "late")
	lines := shape(c.request(t, 1).Messages())
	if want := 3 + len(ids) + 1; len(lines) != want {
		t.Fatalf("%d messages, want %d: %q", len(lines), want, lines)
	}
	if last := lines[len(lines)-1]; strings.Count(last, "(") != 3*len(ids) || !strings.HasPrefix(last, "system ") {
		t.Errorf("the changes = %q, want %d of them", last, 3*len(ids))
	}
}

// E49, G27: New refuses two tools of one name, and AddTools what cannot be called.
func TestToolsThatCannotBeToldApartAreRefused(t *testing.T) {
	c := newConversation(t)
	tests := []struct {
		name  string
		tools []anthropic.BetaTool
		want  string
	}{
		{"one name twice", tools(says("x", ""), says("work", ""), says("work", "")), `tools[2]: the name "work" is taken`},
		{"nil", []anthropic.BetaTool{nil}, "tools[0]: the tool is nil"},
		{"typed nil", []anthropic.BetaTool{(*toolrunner.Tool)(nil)}, "tools[0]: the tool is nil"},
		{"empty name", tools(says("", "")), `tools[0]: the name ""`},
		{"illegal name", tools(says("a.b", "")), `tools[0]: the name "a.b"`},
		{"long name", tools(says(strings.Repeat("x", 129), "")), "tools[0]: the name"},
		{"no handler", tools(raw("work", nil)), `tools[0]: tool "work" has no Handler`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := toolrunner.New(&c.client.Beta.Messages, test.tools, asking("hi"))
			if err == nil || !strings.HasPrefix(err.Error(), "toolrunner: "+test.want) {
				t.Errorf("New() error = %v, want %q", err, test.want)
			}
			if test.name == "one name twice" {
				return
			}
			if err := c.runner(t, asking("hi")).AddTools(test.tools...); err == nil || !strings.HasPrefix(err.Error(), "toolrunner: "+test.want) {
				t.Errorf("AddTools() error = %v, want %q", err, test.want)
			}
		})
	}
}

// E50, E86: definitions in Params.Tools are sent as given, first, and one with
// the name of a tool of the runner is sent in its place.
func TestDefinitionsInParamsAreKept(t *testing.T) {
	params := asking("hi")
	const search = `{"type":"web_search_20250305","name":"web_search"}`
	const own = `{"name":"work","description":"mine","input_schema":{"type":"object"},"strict":true}`
	for _, d := range []string{search, own} {
		params.Tools = append(params.Tools, param.Override[anthropic.BetaToolUnionParam](json.RawMessage(d)))
	}
	c := converse(t, params, tools(says("more", ""), says("work", "ran")), calls("work", "a"), toolrunnertest.Text("done"))
	c.run(t)
	wantSuccess(t, c.request(t, -1), "a", "ran")
	want := `[` + search + `,` + own + `,{"input_schema":{"type":"object","properties":{}},"name":"more"}]`
	if got := string(c.request(t, 0).Field("tools")); got != want {
		t.Errorf("tools = %s\nwant    %s", got, want)
	}
}

// E48: what a handler changes counts for the calls that have not begun, those of
// its own turn too.
func TestChangesByAHandlerCountForTheCallsAfterIt(t *testing.T) {
	var c *conversation
	load := raw("load", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
		c.RemoveToolsByNames("work")
		c.addTools(t, says("more", "more ran"))
		return toolrunner.TextResult("loaded"), nil
	})
	params := asking("hi")
	params.MaxConcurrency = 1
	call := toolrunnertest.Call
	c = converse(t, params, tools(load, says("work", "ran")), toolrunnertest.Message(
		call("a", "work", `{}`), call("b", "load", `{}`), call("c", "work", `{}`), call("d", "more", `{}`),
	), toolrunnertest.Text("done"))
	c.run(t)
	wantSuccess(t, c.request(t, -1), "a", "ran")
	wantFailure(t, c.request(t, -1), "c", "Error: Tool 'work' not found")
	wantSuccess(t, c.request(t, -1), "d", "more ran")
}
