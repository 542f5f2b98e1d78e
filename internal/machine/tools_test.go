package machine

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolrunner/toolrunner/internal/history"
)

// E25 to E32, E35 to E39.
func TestLookupFollowsTheChanges(t *testing.T) {
	reference := func(kind, name string) string {
		return `{"role":"system","content":[{"type":"tool_` + kind + `","tool":{"type":"tool_reference","name":"` + name + `"}}]}`
	}
	const user = `{"role":"user","content":"hi"}`
	for _, tt := range []struct {
		name     string
		messages []string
		change   func(*Machine)
		want     []string
	}{
		{"no change", []string{user}, nil, []string{"impure", "pure"}},
		{"removed in the history (E25)", []string{user, reference("removal", "pure")}, nil, []string{"impure"}},
		{"and added again (E26)", []string{user, reference("removal", "pure"), reference("addition", "pure")}, nil, []string{"impure", "pure"}},
		{"added by a definition (E29)", []string{user, reference("removal", "pure"), `{"role":"system","content":[{"type":"tool_addition","tool":{"type":"tool_definition","definition":{"name":"pure","input_schema":{"type":"object"}}}}]}`}, nil, []string{"impure", "pure"}},
		{"references of servers (E30)", []string{user, `{"role":"system","content":[{"type":"tool_removal","tool":{"type":"mcp_tool_reference","name":"pure"}},{"type":"tool_removal","tool":{"type":"news","name":"pure"}}]}`}, nil, []string{"impure", "pure"}},
		{"another role (E32)", []string{`{"role":"user","content":[{"type":"tool_removal","tool":{"type":"tool_reference","name":"pure"}}]}`}, nil, []string{"impure", "pure"}},
		{"a name that nothing has", []string{user, reference("addition", "late")}, nil, []string{"impure", "pure"}},
		{"removed (E37)", []string{user}, func(m *Machine) { m.RemoveTools([]string{"pure"}) }, []string{"impure"}},
		{"removed in the history, then added (E36)", []string{user, reference("removal", "pure")}, func(m *Machine) { m.AddTools([]*Tool{testTool("pure")}) }, []string{"impure", "pure"}},
		{"a new one (E35)", []string{user}, func(m *Machine) { m.AddTools([]*Tool{testTool("late")}) }, []string{"impure", "late", "pure"}},
		{"a definition takes over (E38)", []string{user}, func(m *Machine) { m.AddDefinitions([][]byte{[]byte(`{"type":"later","name":"pure"}`)}) }, []string{"impure"}},
		{"a definition without name (E39)", []string{user}, func(m *Machine) {
			m.AddDefinitions([][]byte{[]byte(`{"type":"mcp_toolset","mcp_server_name":"pure"}`)})
		}, []string{"impure", "pure"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMachine(t, tt.messages...)
			for sent := range 2 {
				if tt.change != nil && sent == 0 {
					tt.change(m)
				}
				if got := m.ToolNames(); !slices.Equal(got, tt.want) {
					t.Errorf("ToolNames() = %q, want %q (sent: %d)", got, tt.want, sent)
				}
				wantValidRequest(t, m) // the changes become a message, and mean the same
			}
		})
	}
}

// E27, E28: a follow-up's change counts for the turn that is open.
func TestLookupFollowsTheFollowUpsOfTheOpenTurn(t *testing.T) {
	m := startMachine(t, [2]string{callA, "tool_use"})
	if err := follow(m, `{"role":"system","content":[{"type":"tool_removal","tool":{"type":"tool_reference","name":"pure"}}]}`); err != nil {
		t.Fatal(err)
	}
	if m.Lookup("pure") != nil {
		t.Error("the tool is found after its removal")
	}
	if err := follow(m, `{"role":"system","content":[{"type":"tool_addition","tool":{"type":"tool_reference","name":"pure"}}]}`); err != nil {
		t.Fatal(err)
	}
	if m.Lookup("pure") == nil {
		t.Error("the tool is not found after it was added again")
	}
}

// E41, E42, E44: changes wait until a message of the user is last.
func TestToolChangesWaitForAMessageOfTheUser(t *testing.T) {
	m := startMachine(t, [2]string{`{"type":"text","text":"wait"}`, "pause_turn"})
	m.RemoveTools([]string{"pure"})
	wantValidRequest(t, m)
	if got := m.s.history.Last().Role; got != history.RoleAssistant {
		t.Fatalf("the request after a pause ends with a message of the %s, want the paused reply", got)
	}
	take(t, m, `{"type":"text","text":"bye"}`, "end_turn")
	if s := next(m, StepLimits{}); s.Kind != End {
		t.Fatalf("step = %d, want the end", s.Kind)
	}
	if err := follow(m, `{"role":"user","content":"more"}`); err != nil {
		t.Fatal(err)
	}
	wantValidRequest(t, m)
	want := `{"role":"system","content":[{"type":"tool_removal","tool":{"type":"tool_reference","name":"pure"}}]}`
	if diff := cmp.Diff(want, string(m.s.history.Last().Raw)); diff != "" {
		t.Errorf("last message (-want +got):\n%s", diff)
	}
}
