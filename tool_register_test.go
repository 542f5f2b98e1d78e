package toolrunner

import (
	"context"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner/internal/machine"
	"github.com/toolrunner/toolrunner/internal/wire"
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
			tools, err := registerAll(tt.tools)
			if err == nil {
				_, err = machine.NewTools(tools, nil)
			}
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
	if got := `{"input_schema":` + string(want) + `,"name":"a"}`; !wire.Same([]byte(first), []byte(got)) {
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
	if got, want := string(r.definition), `{"input_schema":{"properties":{},"type":"object"},"name":"a"}`; !wire.Same([]byte(got), []byte(want)) {
		t.Errorf("definition = %s, want %s", got, want)
	}
}
