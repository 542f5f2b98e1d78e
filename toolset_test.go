package toolrunner

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/google/go-cmp/cmp"
)

// namedTool is a tool that is not ours.
type namedTool struct {
	anthropic.BetaTool
	name   string
	schema anthropic.BetaToolInputSchemaParam
}

func (n namedTool) Name() string                                    { return n.name }
func (n namedTool) Description() string                             { return "" }
func (n namedTool) InputSchema() anthropic.BetaToolInputSchemaParam { return n.schema }

func TestNewToolsetRefusesWhatCannotBeCalled(t *testing.T) {
	run := func(context.Context, *Call) (*Result, error) { return nil, nil }
	raw := func(name string) *Tool { return NewRawTool(anthropic.BetaToolParam{Name: name}, run) }
	for _, tt := range []struct {
		name  string
		tools []anthropic.BetaTool
		want  string
	}{
		{"nil", []anthropic.BetaTool{raw("a"), nil}, "tools[1]: the tool is nil"},
		{"nil pointer", []anthropic.BetaTool{(*Tool)(nil)}, "tools[0]: the tool is nil"},
		{"no name (B046)", []anthropic.BetaTool{raw("")}, `the name ""`},
		{"illegal name (B046)", []anthropic.BetaTool{namedTool{name: "a.b"}}, `the name "a.b"`},
		{"long name (B046)", []anthropic.BetaTool{raw(strings.Repeat("x", 129))}, "1 to 128"},
		{"name twice (E49, B084)", []anthropic.BetaTool{raw("a"), namedTool{name: "b"}, raw("b")}, `tools[2]: the name "b" is taken`},
		{"no handler", []anthropic.BetaTool{NewRawTool(anthropic.BetaToolParam{Name: "a"}, nil)}, "no Handler"},
		{"schema that cannot be encoded", []anthropic.BetaTool{namedTool{name: "a", schema: anthropic.BetaToolInputSchemaParam{ExtraFields: map[string]any{"x": func() {}}}}}, `tool "a": schema cannot be encoded`},
		{"longest name", []anthropic.BetaTool{raw(strings.Repeat("x", 128))}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := newToolset(tt.tools)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("error = %v, want %q", err, tt.want)
			}
		})
	}
}

// B029: the bytes of a definition are the same each time.
func TestDefinitionsAreEncodedInAStableOrder(t *testing.T) {
	extra := make(map[string]any)
	for _, key := range []string{"default", "x-f", "x-e", "x-d", "x-b", "x-a", "x-c", "$defs"} {
		extra[key] = map[string]any{"k1": true, "k2": false}
	}
	schema := anthropic.BetaToolInputSchemaParam{Properties: map[string]any{"b": map[string]any{}, "a": map[string]any{}}, Required: []string{"b", "a"}, ExtraFields: extra}
	var first string
	for i := range 50 {
		r, err := register(namedTool{name: "a", schema: schema})
		if err != nil {
			t.Fatal(err)
		}
		if first == "" {
			first = string(r.definition)
		}
		if got := string(r.definition); got != first {
			t.Fatalf("encoding %d is %s, want %s", i, got, first)
		}
	}
	want, err := schema.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	if got := `{"input_schema":` + string(want) + `,"name":"a"}`; !sameJSON([]byte(first), []byte(got)) {
		t.Errorf("definition = %s, want %s", first, got)
	}
	if len(schema.ExtraFields) != 8 {
		t.Error("the caller's schema was changed")
	}
}

// B138: a tool without parameters has properties all the same.
func TestDefinitionsAlwaysHaveProperties(t *testing.T) {
	r, err := register(namedTool{name: "a"})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(r.definition), `{"input_schema":{"properties":{},"type":"object"},"name":"a"}`; !sameJSON([]byte(got), []byte(want)) {
		t.Errorf("definition = %s, want %s", got, want)
	}
}

// E25 to E32, E35 to E39.
func TestLookupFollowsTheChanges(t *testing.T) {
	reference := func(kind, name string) string {
		return `{"role":"system","content":[{"type":"tool_` + kind + `","tool":{"type":"tool_reference","name":"` + name + `"}}]}`
	}
	const user = `{"role":"user","content":"hi"}`
	for _, tt := range []struct {
		name     string
		messages []string
		change   func(*toolset)
		want     []string
	}{
		{"no change", []string{user}, nil, []string{"impure", "pure"}},
		{"removed in the history (E25)", []string{user, reference("removal", "pure")}, nil, []string{"impure"}},
		{"and added again (E26)", []string{user, reference("removal", "pure"), reference("addition", "pure")}, nil, []string{"impure", "pure"}},
		{"added by a definition (E29)", []string{user, reference("removal", "pure"), `{"role":"system","content":[{"type":"tool_addition","tool":{"type":"tool_definition","definition":{"name":"pure","input_schema":{"type":"object"}}}}]}`}, nil, []string{"impure", "pure"}},
		{"references of servers (E30)", []string{user, `{"role":"system","content":[{"type":"tool_removal","tool":{"type":"mcp_tool_reference","name":"pure"}},{"type":"tool_removal","tool":{"type":"news","name":"pure"}}]}`}, nil, []string{"impure", "pure"}},
		{"another role (E32)", []string{`{"role":"user","content":[{"type":"tool_removal","tool":{"type":"tool_reference","name":"pure"}}]}`}, nil, []string{"impure", "pure"}},
		{"a name that nothing has", []string{user, reference("addition", "late")}, nil, []string{"impure", "pure"}},
		{"removed (E37)", []string{user}, func(s *toolset) { s.remove([]string{"pure"}) }, []string{"impure"}},
		{"removed in the history, then added (E36)", []string{user, reference("removal", "pure")}, func(s *toolset) { s.add(&registered{name: "pure", definition: []byte(`{"name":"pure"}`)}) }, []string{"impure", "pure"}},
		{"a new one (E35)", []string{user}, func(s *toolset) { s.add(&registered{name: "late", definition: []byte(`{"name":"late"}`)}) }, []string{"impure", "late", "pure"}},
		{"a definition takes over (E38)", []string{user}, func(s *toolset) { s.addDefinition([]byte(`{"type":"later","name":"pure"}`)) }, []string{"impure"}},
		{"a definition without name (E39)", []string{user}, func(s *toolset) { s.addDefinition([]byte(`{"type":"mcp_toolset","mcp_server_name":"pure"}`)) }, []string{"impure", "pure"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l, err := newLoop(fuzzTools(), rawMessages(tt.messages...))
			if err != nil {
				t.Fatal(err)
			}
			for sent := range 2 {
				if tt.change != nil && sent == 0 {
					tt.change(l.tools)
				}
				if got := l.tools.names(l.history.changes, l.queue.changes); !slices.Equal(got, tt.want) {
					t.Errorf("names = %q, want %q (sent: %d)", got, tt.want, sent)
				}
				wantValidRequest(t, l) // the changes become a message, and mean the same
			}
		})
	}
}

// E27, E28: a follow-up's change counts for the turn that is open.
func TestLookupFollowsTheFollowUpsOfTheOpenTurn(t *testing.T) {
	l := startLoop(t, [2]string{callA, "tool_use"})
	if err := l.follow(rawMessages(`{"role":"system","content":[{"type":"tool_removal","tool":{"type":"tool_reference","name":"pure"}}]}`)); err != nil {
		t.Fatal(err)
	}
	if l.lookup("pure") != nil {
		t.Error("the tool is found after its removal")
	}
	if err := l.follow(rawMessages(`{"role":"system","content":[{"type":"tool_addition","tool":{"type":"tool_reference","name":"pure"}}]}`)); err != nil {
		t.Fatal(err)
	}
	if l.lookup("pure") == nil {
		t.Error("the tool is not found after it was added again")
	}
}

// E41, E42, E44: changes wait until a message of the user is last.
func TestToolChangesWaitForAMessageOfTheUser(t *testing.T) {
	l := startLoop(t, [2]string{`{"type":"text","text":"wait"}`, "pause_turn"})
	l.tools.remove([]string{"pure"})
	wantValidRequest(t, l)
	if got := l.history.last().role; got != roleAssistant {
		t.Fatalf("the request after a pause ends with a message of the %s, want the paused reply", got)
	}
	take(t, l, `{"type":"text","text":"bye"}`, "end_turn")
	if s := l.step(limits{}); s.kind != stepEnd {
		t.Fatalf("step = %d, want the end", s.kind)
	}
	if err := l.follow(rawMessages(`{"role":"user","content":"more"}`)); err != nil {
		t.Fatal(err)
	}
	wantValidRequest(t, l)
	want := `{"role":"system","content":[{"type":"tool_removal","tool":{"type":"tool_reference","name":"pure"}}]}`
	if diff := cmp.Diff(want, string(l.history.last().raw)); diff != "" {
		t.Errorf("last message (-want +got):\n%s", diff)
	}
}
