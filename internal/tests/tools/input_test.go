package tools_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

type sized struct {
	Size int    `json:"size,omitempty" jsonschema:"default=3"`
	Name string `json:"name"`
}

type withDefaults struct {
	Unit  string           `json:"unit" jsonschema:"enum=celsius,enum=kelvin,default=celsius"`
	Days  *int             `json:"days,omitempty" jsonschema:"default=7"`
	Ratio float64          `json:"ratio,string,omitempty" jsonschema:"default=0.5"`
	One   sized            `json:"one,omitzero"`
	Some  []sized          `json:"some,omitempty"`
	ByKey map[string]sized `json:"by_key,omitempty"`
	To    *sized           `json:"to,omitempty"`
}

// P15: a handler gets the default of a property that the model has left out, at each depth,
// however its input is checked, early or not, under another runner as well. What is given
// stands.
func TestDefaultsReachTheHandler(t *testing.T) {
	seven, two := 7, 2
	tests := []struct {
		input string
		want  withDefaults
	}{
		{`{}`, withDefaults{Unit: "celsius", Days: &seven, Ratio: 0.5}},
		{`{"unit":"kelvin","days":2,"ratio":"1.5"}`, withDefaults{Unit: "kelvin", Days: &two, Ratio: 1.5}},
		{
			`{"one":{"name":"a"},"some":[{"name":"b"},{"name":"c","size":0}],"by_key":{"k":{"name":"d"}},"to":{"name":"e"}}`,
			withDefaults{
				Unit: "celsius", Days: &seven, Ratio: 0.5, One: sized{3, "a"}, Some: []sized{{3, "b"}, {0, "c"}},
				ByKey: map[string]sized{"k": {3, "d"}}, To: &sized{3, "e"},
			},
		},
	}
	for _, test := range tests {
		var got withDefaults
		tool := toolrunner.NewTool("f", "", func(_ context.Context, in withDefaults) (string, error) {
			got = in
			return "ok", nil
		})
		tool.ReadOnly = true
		want := func(how string) {
			t.Helper()
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", test.input, how, diff)
			}
			got = withDefaults{}
		}
		for _, validate := range []toolrunner.Validation{toolrunner.ValidateInput, toolrunner.ValidateOff, toolrunner.ValidateLenient} {
			for _, eager := range []bool{false, true} {
				params := toolrunner.Params{Validate: validate, EagerTools: eager}
				c := runtest.StartUnchecked(t, params, runtest.Tools(tool), toolrunnertest.Message(toolrunnertest.Call("a", "f", test.input)), toolrunnertest.Text("done"))
				c.Streaming = eager
				c.MustPlay(t, func(*toolrunner.Turn) {})
				want(fmt.Sprintf("%v, eager %v: %s", validate, eager, c.Request(t, -1).ToolResult("a")))
			}
		}
		if _, err := tool.Execute(t.Context(), json.RawMessage(test.input)); err != nil {
			t.Error(err)
		}
		want("Execute")
	}
}

// A14: a key that comes twice means one thing to whoever approves and another to the tool:
// no tool with a schema gets such input, at any depth, whoever wrote the schema.
func TestKeysThatComeTwiceReachNoTypedTool(t *testing.T) {
	type input struct {
		To  string                    `json:"to"`
		Any any                       `json:"any,omitempty"`
		Map map[string]map[string]int `json:"map,omitempty"`
		Raw json.RawMessage           `json:"raw,omitempty"`
	}
	const written = `{"type":"object","properties":{"to":{"type":"string"}}}`
	fail := func(what string) { t.Errorf("%s reached its handler", what) }
	typed := toolrunner.NewTool("typed", "", func(_ context.Context, in input) (string, error) { fail("typed"); return "", nil })
	given, err := toolrunner.NewBetaToolFromBytes("given", "", []byte(written), func(context.Context, map[string]any) (runtest.Content, error) {
		fail("given")
		return runtest.TextContent(""), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	param := toolrunner.NewBetaTool("param", "", anthropic.BetaToolInputSchemaParam{Properties: map[string]any{"to": map[string]any{"type": "string"}}},
		func(context.Context, input) (runtest.Content, error) {
			fail("param")
			return runtest.TextContent(""), nil
		})
	for _, in := range []string{
		`{"to":"ann","to":"eve"}`, `{"to":"ann","t\u006f":"eve"}`, `{"to":"ann","any":{"a":1,"a":2}}`, `{"to":"ann","any":[{"a":{"b":1,"b":2}}]}`,
		`{"to":"ann","map":{"k":{"n":1,"n":2}}}`, `{"to":"ann","map":{"k":{},"k":{}}}`, `{"to":"ann","raw":{"a":{"a":1,"a":2}}}`,
	} {
		for _, tool := range []anthropic.BetaTool{typed, given, param} {
			if _, err := tool.Execute(t.Context(), json.RawMessage(in)); err == nil || !strings.Contains(err.Error(), "given more than once") {
				t.Errorf("%s: Execute(%s) error = %v", tool.Name(), in, err)
			}
			for _, validate := range []toolrunner.Validation{toolrunner.ValidateInput, toolrunner.ValidateLenient, toolrunner.ValidateOff} {
				c := runtest.StartUnchecked(t, toolrunner.Params{Validate: validate}, []anthropic.BetaTool{tool}, toolrunnertest.Message(toolrunnertest.Call("a", tool.Name(), in)), toolrunnertest.Text("done"))
				c.Run(t)
				if got, failed := runtest.ResultText(t, c.Request(t, -1), "a"); !failed || !strings.Contains(got, "given more than once") {
					t.Errorf("%s, %v: %s: result %q, failed %v", tool.Name(), validate, in, got, failed)
				}
			}
		}
	}
}
