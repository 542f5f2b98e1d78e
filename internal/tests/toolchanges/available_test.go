package toolchanges_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"
	"github.com/google/go-cmp/cmp"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// E25, E26, E29-E32: messages of the system change what can be called.
func TestHistoryTellsWhichToolsAreAvailable(t *testing.T) {
	tests := []struct {
		name    string
		changes []string
		ran     bool
	}{
		{"removed", []string{runtest.RemoveWork}, false},
		{"removed and added", []string{runtest.RemoveWork, runtest.AddWork}, true},
		{"removed and defined", []string{runtest.RemoveWork, runtest.DefineWork}, true},
		{"removed twice, added once", []string{runtest.RemoveWork, runtest.RemoveWork, runtest.AddWork}, true},
		{"added and removed", []string{runtest.AddWork, runtest.RemoveWork}, false},
		{"other tool removed", []string{strings.ReplaceAll(runtest.RemoveWork, `"work"`, `"other"`)}, true},
		{"tool of an MCP server removed", []string{strings.ReplaceAll(runtest.RemoveWork, `"tool_reference"`, `"mcp_tool_reference","server_name":"s"`)}, true},
		{"toolset of an MCP server removed", []string{strings.ReplaceAll(runtest.RemoveWork, `"tool_reference","name":"work"`, `"mcp_toolset_reference","server_name":"work"`)}, true},
		{"unknown reference removed", []string{strings.ReplaceAll(runtest.RemoveWork, `"tool_reference"`, `"reference_of_tomorrow"`)}, true},
		{"removed in a message of the user", []string{strings.Replace(runtest.RemoveWork, "system", "user", 1)}, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			messages := []anthropic.BetaMessageParam{runtest.User("hi")}
			for _, raw := range test.changes {
				messages = append(messages, runtest.Verbatim(raw))
			}
			c := runtest.Start(t, runtest.Given(messages...), runtest.Tools(runtest.Says("work", "ran")), runtest.Calls("work", "a"), toolrunnertest.Text("done"))
			c.Run(t)
			if test.ran {
				runtest.WantSuccess(t, c.Request(t, -1), "a", "ran")
			} else {
				runtest.WantFailure(t, c.Request(t, -1), "a", "Error: Tool 'work' not found")
			}
		})
	}
}

// E31: a message whose role says system counts, whatever variant holds it.
func TestSystemRoleSetByHandIsUnderstood(t *testing.T) {
	remove := anthropic.NewBetaUserMessage(anthropic.NewBetaToolRemovalBlock(anthropic.BetaToolChangeToolReferenceParam{Name: "work"}))
	remove.OfUser.Role = "system"
	c := runtest.Start(t, runtest.Given(runtest.User("hi"), remove), runtest.Tools(runtest.Says("work", "ran")), runtest.Calls("work", "a"), toolrunnertest.Text("done"))
	c.Run(t)
	runtest.WantFailure(t, c.Request(t, -1), "a", "Error: Tool 'work' not found")
}

// E34: the changes that a compaction block carries count as well.
func TestCompactionBlockTellsWhichToolsAreGone(t *testing.T) {
	summary := runtest.Verbatim(`{"role":"assistant","content":[{"type":"compaction","content":"so far","tool_changes":[` +
		`{"type":"tool_removal","tool":{"type":"tool_reference","name":"work"}}]}]}`)
	c := runtest.Start(t, runtest.Given(runtest.User("hi"), summary, runtest.User("go on")), runtest.Tools(runtest.Says("work", "ran")), runtest.Calls("work", "a"), toolrunnertest.Text("done"))
	c.Run(t)
	runtest.WantFailure(t, c.Request(t, -1), "a", "Error: Tool 'work' not found")
}

// E27, E28, E35-E40, E44, MC3: changes in a loop body count at once for the turn that
// is open, and the model reads them in one message after its results: of each name the
// last, and none that leaves it with what it knows.
func TestChangesInTheBodyCountForTheOpenTurn(t *testing.T) {
	const gone = "Error: Tool 'work' not found"
	tests := []struct {
		name   string
		change func(t *testing.T, c *runtest.Conversation)
		want   string // result of the call of work; "Error: ..." if it fails
		system string
	}{
		{"removed", func(_ *testing.T, c *runtest.Conversation) { c.RemoveToolsByNames("work") }, gone, "system removal(work)"},
		{"removed and added", func(t *testing.T, c *runtest.Conversation) {
			c.RemoveTools(runtest.Says("work", ""))
			c.MustAddTools(t, runtest.Says("work", "second"))
		}, "second", ""}, // the model knows this definition
		{"removed, and another added", func(t *testing.T, c *runtest.Conversation) {
			c.RemoveToolsByNames("work")
			c.MustAddDefinition(t, `{"name":"work","input_schema":{"type":"object"},"x":1}`)
		}, gone, "system addition(work)"},
		{"replaced", func(t *testing.T, c *runtest.Conversation) { c.MustAddTools(t, runtest.Says("work", "second")) }, "second", "system addition(work)"},
		{"several", func(t *testing.T, c *runtest.Conversation) {
			c.MustAddTools(t, runtest.Says("x", ""), runtest.Says("y", ""))
			c.RemoveToolsByNames("x", "unknown")
		}, "first", "system addition(y) removal(unknown)"},
		{"raw definition", func(t *testing.T, c *runtest.Conversation) {
			c.MustAddDefinition(t, `{"name":"work","input_schema":{"type":"object"},"x":1}`)
		}, gone, "system addition(work)"},
		{"definition without a name", func(t *testing.T, c *runtest.Conversation) {
			c.MustAddDefinition(t, `{"type":"mcp_toolset","mcp_server_name":"work"}`)
		}, "first", "system addition()"},
		{"removed by a follow-up", func(t *testing.T, c *runtest.Conversation) {
			c.MustAppend(t, runtest.User("note"), runtest.Verbatim(runtest.RemoveWork))
		}, gone, "user 'note'; system removal(work)"},
		{"removed, added by a follow-up", func(t *testing.T, c *runtest.Conversation) {
			c.MustAppend(t, runtest.User("note"), runtest.Verbatim(runtest.RemoveWork), runtest.Verbatim(runtest.AddWork))
		}, "first", "user 'note'; system removal(work); system addition(work)"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := runtest.Start(t, runtest.Asking("hi"), runtest.Tools(runtest.Says("work", "first")), runtest.Calls("work", "a"), toolrunnertest.Text("done"))
			if _, err := c.TryRun(t.Context(), func(turn *toolrunner.Turn) {
				if turn.Iteration() == 1 {
					test.change(t, c)
				} else {
					c.RemoveToolsByNames("never sent") // E44
				}
			}); err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(test.want, "Error: ") {
				runtest.WantFailure(t, c.Request(t, -1), "a", test.want)
			} else {
				runtest.WantSuccess(t, c.Request(t, -1), "a", test.want)
			}
			if got := strings.Join(runtest.Shape(c.Request(t, -1).Messages())[3:], "; "); got != test.system {
				t.Errorf("what comes after the results = %q, want %q", got, test.system)
			}
		})
	}
}

// E35, E38: a tool that was added is there for later turns, and its definition
// is sent as given.
func TestAddedToolIsCalledInLaterTurns(t *testing.T) {
	c := runtest.Start(t, runtest.Asking("hi"), runtest.Tools(runtest.Says("work", "ran")), runtest.Calls("work", "a"), runtest.Calls("more", "b"), toolrunnertest.Text("done"))
	if _, err := c.TryRun(t.Context(), func(turn *toolrunner.Turn) {
		if turn.Iteration() == 1 {
			c.MustAddTools(t, runtest.Says("more", "more ran"))
			c.MustAddDefinition(t, `{"type":"web_search_20250305","name":"web_search","max_uses":3}`)
		}
	}); err != nil {
		t.Fatal(err)
	}
	runtest.WantSuccess(t, c.Request(t, -1), "b", "more ran")
	if want := `{"type":"tool_definition","definition":{"type":"web_search_20250305","name":"web_search","max_uses":3}}`; !strings.Contains(string(c.Request(t, 1).Body), want) {
		t.Errorf("request 1 has no %s: %s", want, c.Request(t, 1).Body)
	}
}

// E41: changes before the first request follow the first messages.
func TestChangesBeforeTheFirstRequestFollowTheUsersMessage(t *testing.T) {
	c := runtest.Start(t, runtest.Asking("hi"), runtest.Tools(runtest.Says("work", "ran")), toolrunnertest.Text("done"))
	c.MustAddTools(t, runtest.Says("more", ""))
	c.Run(t)
	c.WantShape(t, "user 'hi'", "system addition(more)")
}

// E42: a paused turn is resumed before the model reads of changes. E43: so is,
// as the API refuses them after an assistant message, a compaction.
func TestChangesWaitForTheEndOfAPausedTurn(t *testing.T) {
	c := runtest.Start(t, runtest.Asking("hi"), runtest.Tools(runtest.Says("work", "ran")),
		toolrunnertest.Text("wait").StopReason("pause_turn"), runtest.Calls("work", "a"), toolrunnertest.Text("done"))
	if _, err := c.TryRun(t.Context(), func(turn *toolrunner.Turn) {
		if turn.Iteration() == 1 {
			c.MustAddTools(t, runtest.Says("more", ""))
		}
	}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"user 'hi'", "assistant 'wait'"}, runtest.Shape(c.Request(t, 1).Messages())); diff != "" {
		t.Errorf("the resumed request (-want +got):\n%s", diff)
	}
	c.WantShape(t, "user 'hi'", "assistant 'wait'", "assistant call(a)", "user result(a)", "system addition(more)")
}

// E44, E129: changes after the last reply go out if the conversation goes on, and
// then only after a message of the user.
func TestChangesAfterTheEndWaitForTheNextRun(t *testing.T) {
	c := runtest.Start(t, runtest.Asking("hi"), runtest.Tools(runtest.Says("work", "ran")), toolrunnertest.Text("one"), toolrunnertest.Text("two"))
	c.Run(t)
	c.RemoveToolsByNames("work")
	if turns := c.Run(t); len(turns) != 0 {
		t.Errorf("%d turns after the end, want none", len(turns))
	}
	c.MustAppend(t, runtest.User("again"))
	c.Run(t)
	c.WantShape(t, "user 'hi'", "assistant 'one'", "user 'again'", "system removal(work)")
}

// E49, G27: New refuses two tools of one name, and AddTools what cannot be called.
func TestToolsThatCannotBeToldApartAreRefused(t *testing.T) {
	c := runtest.New(t)
	tests := []struct {
		name  string
		tools []anthropic.BetaTool
		want  string
	}{
		{"one name twice", runtest.Tools(runtest.Says("x", ""), runtest.Says("work", ""), runtest.Says("work", "")), `tools[2]: the name "work" is taken`},
		{"nil", []anthropic.BetaTool{nil}, "tools[0]: the tool is nil"},
		{"typed nil", []anthropic.BetaTool{(*toolrunner.Tool)(nil)}, "tools[0]: the tool is nil"},
		{"empty name", runtest.Tools(runtest.Says("", "")), `tools[0]: the name ""`},
		{"illegal name", runtest.Tools(runtest.Says("a.b", "")), `tools[0]: the name "a.b"`},
		{"long name", runtest.Tools(runtest.Says(strings.Repeat("x", 129), "")), "tools[0]: the name"},
		{"no handler", runtest.Tools(runtest.Raw("work", nil)), `tools[0]: tool "work" has no Handler`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := toolrunner.New(&c.Client.Beta.Messages, test.tools, runtest.Asking("hi"))
			if err == nil || !strings.HasPrefix(err.Error(), "toolrunner: "+test.want) {
				t.Errorf("New() error = %v, want %q", err, test.want)
			}
			if test.name == "one name twice" {
				return
			}
			if err := c.NewRunner(t, runtest.Asking("hi")).AddTools(test.tools...); err == nil || !strings.HasPrefix(err.Error(), "toolrunner: "+test.want) {
				t.Errorf("AddTools() error = %v, want %q", err, test.want)
			}
		})
	}
}

// E50, E86: definitions in Params.Tools are sent as given, first, and one with
// the name of a tool of the runner is sent in its place.
func TestDefinitionsInParamsAreKept(t *testing.T) {
	params := runtest.Asking("hi")
	const search = `{"type":"web_search_20250305","name":"web_search"}`
	const own = `{"name":"work","description":"mine","input_schema":{"type":"object"},"strict":true}`
	for _, d := range []string{search, own} {
		params.Tools = append(params.Tools, param.Override[anthropic.BetaToolUnionParam](json.RawMessage(d)))
	}
	c := runtest.Start(t, params, runtest.Tools(runtest.Says("more", ""), runtest.Says("work", "ran")), runtest.Calls("work", "a"), toolrunnertest.Text("done"))
	c.Run(t)
	runtest.WantSuccess(t, c.Request(t, -1), "a", "ran")
	want := `[` + search + `,` + own + `,{"input_schema":{"type":"object","properties":{}},"name":"more"}]`
	if got := string(c.Request(t, 0).Field("tools")); got != want {
		t.Errorf("tools = %s\nwant    %s", got, want)
	}
}

// E48: what a handler changes counts for the calls that have not begun, those of
// its own turn too.
func TestChangesByAHandlerCountForTheCallsAfterIt(t *testing.T) {
	var c *runtest.Conversation
	load := runtest.Raw("load", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
		c.RemoveToolsByNames("work")
		c.MustAddTools(t, runtest.Says("more", "more ran"))
		return toolrunner.TextResult("loaded"), nil
	})
	params := runtest.Asking("hi")
	params.MaxConcurrency = 1
	call := toolrunnertest.Call
	c = runtest.Start(t, params, runtest.Tools(load, runtest.Says("work", "ran")), toolrunnertest.Message(
		call("a", "work", `{}`), call("b", "load", `{}`), call("c", "work", `{}`), call("d", "more", `{}`),
	), toolrunnertest.Text("done"))
	c.Run(t)
	runtest.WantSuccess(t, c.Request(t, -1), "a", "ran")
	runtest.WantFailure(t, c.Request(t, -1), "c", "Error: Tool 'work' not found")
	runtest.WantSuccess(t, c.Request(t, -1), "d", "more ran")
}
