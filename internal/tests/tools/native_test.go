package tools_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// echo answers with its input.
func echo(_ context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
	return toolrunner.TextResult(call.Name + " " + string(call.Input)), nil
}

// Q8: a tool that the API defines has a handler: its definition goes out as the SDK has it,
// and its calls reach the handler by the API's name.
func TestNativeToolsHaveHandlers(t *testing.T) {
	for name, test := range map[string]struct {
		native anthropic.BetaToolUnionParam
		want   string
	}{
		"memory":                      {anthropic.BetaToolUnionParam{OfMemoryTool20250818: &anthropic.BetaMemoryTool20250818Param{}}, `{"name":"memory","type":"memory_20250818"}`},
		"bash":                        {anthropic.BetaToolUnionParam{OfBashTool20250124: &anthropic.BetaToolBash20250124Param{}}, `{"name":"bash","type":"bash_20250124"}`},
		"str_replace_based_edit_tool": {anthropic.BetaToolUnionParam{OfTextEditor20250728: &anthropic.BetaToolTextEditor20250728Param{MaxCharacters: anthropic.Int(5)}}, `{"max_characters":5,"name":"str_replace_based_edit_tool","type":"text_editor_20250728"}`},
		"novelty":                     {param.Override[anthropic.BetaToolUnionParam](json.RawMessage(`{"type":"novelty_20270101","name":"novelty"}`)), `{"name":"novelty","type":"novelty_20270101"}`},
	} {
		t.Run(name, func(t *testing.T) {
			tool := &toolrunner.Tool{Native: test.native, Handler: echo}
			if tool.Name() != name {
				t.Errorf("Name() = %q, want %q", tool.Name(), name)
			}
			c := runtest.Start(t, runtest.Asking("hi"), []anthropic.BetaTool{tool}, toolrunnertest.Message(toolrunnertest.Call("a", name, `{"x": 1}`)), toolrunnertest.Text("so"))
			c.Run(t)
			var tools []any
			if err := json.Unmarshal(c.Request(t, 0).Field("tools"), &tools); err != nil || len(tools) != 1 {
				t.Fatalf("tools = %s, %v", c.Request(t, 0).Field("tools"), err)
			}
			if got, err := json.Marshal(tools[0]); err != nil || string(got) != test.want {
				t.Errorf("the definition is %s, %v, want %s", got, err, test.want)
			}
			if text, isError := runtest.ResultText(t, c.Request(t, -1), "a"); isError || text != name+` {"x": 1}` {
				t.Errorf("the result is %q, %v", text, isError)
			}
		})
	}
}

// What cannot be a native tool is refused when the runner is made.
func TestNativeToolsThatAreNone(t *testing.T) {
	for want, tool := range map[string]*toolrunner.Tool{
		"use Definition":   {Native: anthropic.BetaToolUnionParam{OfTool: &anthropic.BetaToolParam{Name: "x"}}, Handler: echo},
		"the API runs":     {Native: anthropic.BetaToolUnionParam{OfWebSearchTool20250305: &anthropic.BetaWebSearchTool20250305Param{}}, Handler: echo},
		"leave Definition": {Native: anthropic.BetaToolUnionParam{OfBashTool20250124: &anthropic.BetaToolBash20250124Param{}}, Definition: anthropic.BetaToolParam{Name: "x"}, Handler: echo},
		"no Handler":       {Native: anthropic.BetaToolUnionParam{OfBashTool20250124: &anthropic.BetaToolBash20250124Param{}}},
		"the name":         {Native: param.Override[anthropic.BetaToolUnionParam](json.RawMessage(`{"type":"x"}`)), Handler: echo},
		"not a JSON":       {Native: param.Override[anthropic.BetaToolUnionParam](json.RawMessage(`[]`)), Handler: echo},
	} {
		c := runtest.New(t)
		if _, err := toolrunner.New(&c.Client.Beta.Messages, []anthropic.BetaTool{tool}, runtest.Asking("hi")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("New() error = %v, want one with %q", err, want)
		}
	}
}
