// Package tools_test tests tools: their schemas, the input that reaches a handler, what an
// output and an error become.
package tools_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

type forecastInput struct {
	City string   `json:"city" jsonschema:"required,description=Name of the city"`
	Days *int64   `json:"days,omitempty"`
	Tags []string `json:"tags,omitempty"`
}

// E57-E62, G23: input that breaks the schema does not reach the handler, and the
// model reads which field is wrong.
func TestInputThatBreaksTheSchemaDoesNotReachTheHandler(t *testing.T) {
	tests := []struct {
		name, input string
		want        []string // in the failed result; nil if the call runs
	}{
		{"good", `{"city":"Paris","days":9007199254740993}`, nil},
		{"missing field", `{}`, []string{"city"}},
		{"wrong type", `{"city":7}`, []string{"city", "string"}},
		{"wrong type of an element", `{"city":"Paris","tags":["a",1]}`, []string{"tags", "1"}},
		{"fraction", `{"city":"Paris","days":1.5}`, []string{"days", "integer"}},
		{"unknown field", `{"city":"Paris","town":"x"}`, []string{"town"}},
		{"list", `[]`, []string{"not a JSON object"}},
		{"null, which is no input (W10)", `null`, []string{"city", "missing"}},
		{"string", `"{\"city\":\"Paris\"}"`, []string{"not a JSON object", "Paris"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var ran runtest.Journal
			weather := toolrunner.NewTool("weather", "", func(_ context.Context, in forecastInput) (string, error) {
				ran.Add("%s", in.City)
				return "sunny", nil
			})
			c := runtest.New(t, toolrunnertest.Message(toolrunnertest.RawBlock(
				`{"type":"tool_use","id":"a","name":"weather","input":`+test.input+`}`)), toolrunnertest.Text("done"))
			c.Runner = c.NewRunner(t, runtest.Asking("hi"), weather)
			c.Run(t)
			if test.want == nil {
				ran.Want(t, "Paris")
				runtest.WantSuccess(t, c.Request(t, -1), "a", "sunny")
				return
			}
			ran.Want(t)
			text, failed := runtest.ResultText(t, c.Request(t, -1), "a")
			for _, want := range test.want {
				if !failed || !strings.Contains(text, want) {
					t.Errorf("result = %q, failed %v; want %q in it, failed", text, failed, want)
				}
			}
		})
	}
}

// E62: the schema that is derived has what strict mode asks for, and no more.
func TestDerivedSchemaIsSent(t *testing.T) {
	weather := toolrunner.NewTool("weather", "Tells the weather.", func(context.Context, forecastInput) (string, error) { return "", nil })
	bare := toolrunner.NewTool("bare", "", func(context.Context, struct{}) (string, error) { return "", nil })
	weather.Definition.Strict = anthropic.Bool(true)
	c := runtest.Start(t, runtest.Asking("hi"), runtest.Tools(weather, bare), toolrunnertest.Text("done"))
	c.Run(t)
	var sent []struct {
		Description *string
		Strict      bool
		InputSchema map[string]json.RawMessage `json:"input_schema"`
	}
	if err := json.Unmarshal(c.Request(t, 0).Field("tools"), &sent); err != nil || len(sent) != 2 {
		t.Fatalf("tools = %s, %v", c.Request(t, 0).Field("tools"), err)
	}
	schema := sent[0].InputSchema
	if !sent[0].Strict || string(schema["required"]) != `["city","days","tags"]` || string(schema["additionalProperties"]) != "false" || schema["$schema"] != nil {
		t.Errorf("weather is sent as %s", c.Request(t, 0).Field("tools"))
	}
	if sent[1].Description != nil { // G26
		t.Errorf("a tool without a description is sent with %q", *sent[1].Description)
	}
}

// E59, G16: a raw tool gets its input unchecked, as the API sent it.
func TestRawToolsGetTheirInputAsItCame(t *testing.T) {
	const input = `{"z":9007199254740993, "a":"\u003c"}`
	var got []string
	schema := []byte(`{"type":"object","properties":{"z":{"type":"string"}},"required":["missing"]}`)
	bytesTool, err := toolrunner.NewBetaToolFromBytes("bytes", "", schema,
		func(_ context.Context, in json.RawMessage) (runtest.Content, error) {
			got = append(got, string(in))
			return runtest.TextContent("ok"), nil
		})
	if err != nil {
		t.Fatal(err)
	}
	rawTool := runtest.Raw("raw", func(_ context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
		got = append(got, string(call.Input))
		return toolrunner.TextResult("ok"), nil
	})
	foreign := &runtest.OtherTool{ToolName: "foreign", Run: func(in json.RawMessage) ([]runtest.Content, error) {
		got = append(got, string(in))
		return []runtest.Content{runtest.TextContent("ok")}, nil
	}}
	params := runtest.Asking("hi")
	params.MaxConcurrency = 1
	call := func(id, name string) toolrunnertest.Block {
		return toolrunnertest.RawBlock(`{"type":"tool_use","id":"` + id + `","name":"` + name + `","input":` + input + `}`)
	}
	c := runtest.Start(t, params, []anthropic.BetaTool{bytesTool, rawTool, foreign},
		toolrunnertest.Message(call("a", "bytes"), call("b", "raw"), call("c", "foreign")), toolrunnertest.Text("done"))
	c.Run(t)
	if len(got) != 3 || got[0] != input || got[1] != input || got[2] != input {
		t.Errorf("inputs = %q, want %q three times", got, input)
	}
}

// Any BetaTool runs, and what it returns follows the same rules as that of ours.
func TestToolsOfOthersRun(t *testing.T) {
	tests := []struct {
		name    string
		execute func(json.RawMessage) ([]runtest.Content, error)
		want    string
		failed  bool
	}{
		{"content", func(json.RawMessage) ([]runtest.Content, error) {
			return []runtest.Content{runtest.TextContent("x"), runtest.TextContent("y")}, nil
		}, "xy", false},
		{"nothing", func(json.RawMessage) ([]runtest.Content, error) { return nil, nil }, "", false},
		{"error", func(json.RawMessage) ([]runtest.Content, error) { return nil, runtest.ErrBroken }, "Error: broken", true},
		{"content beside an error", func(json.RawMessage) ([]runtest.Content, error) {
			return []runtest.Content{runtest.TextContent("x")}, runtest.ErrBroken
		}, "xError: broken", true},
		{"panic", func(json.RawMessage) ([]runtest.Content, error) { panic("x") }, "Error: the tool failed unexpectedly.", true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := runtest.Start(t, runtest.Asking("hi"), []anthropic.BetaTool{&runtest.OtherTool{ToolName: "work", Run: test.execute}}, runtest.Calls("work", "a"), toolrunnertest.Text("done"))
			c.Run(t)
			if got, failed := runtest.ResultText(t, c.Request(t, -1), "a"); got != test.want || failed != test.failed {
				t.Errorf("result = %q, failed %v; want %q, failed %v", got, failed, test.want, test.failed)
			}
		})
	}
}

// A Tool works with any runner that takes a BetaTool.
func TestToolExecutesOnItsOwn(t *testing.T) {
	weather := toolrunner.NewTool("weather", "d", func(_ context.Context, in forecastInput) (*toolrunner.Result, error) {
		if in.City == "" {
			return toolrunner.ErrorResult("which city?"), nil
		}
		return toolrunner.TextResult("sunny in " + in.City), nil
	})
	if got, err := weather.Execute(t.Context(), json.RawMessage(`{"city":"Paris"}`)); err != nil || len(got) != 1 || got[0].OfText.Text != "sunny in Paris" {
		t.Errorf("Execute() = %v, %v; want one block", got, err)
	}
	for _, input := range []string{`{}`, `{"city":1}`, `[]`, `null`, ``, `{"city":""}`} {
		if got, err := weather.Execute(t.Context(), json.RawMessage(input)); err == nil {
			t.Errorf("Execute(%q) = %v, want an error", input, got)
		}
	}
}

// A type without a schema is a fault of the program, and the message names the tool.
func TestNewToolPanicsOnATypeWithoutASchema(t *testing.T) {
	defer func() {
		if got, ok := recover().(string); !ok || !strings.HasPrefix(got, `toolrunner: tool "bad": `) {
			t.Errorf("NewTool panicked with %v, want one that names the tool", got)
		}
	}()
	toolrunner.NewTool("bad", "", func(context.Context, struct{ C chan int }) (string, error) { return "", nil })
}

// What comes from data is an error: the official constructors, and New for the
// one that returns none.
func TestBadSchemasAreErrors(t *testing.T) {
	handler := func(context.Context, forecastInput) (runtest.Content, error) { return runtest.TextContent(""), nil }
	for _, schema := range []string{``, `[]`, `{"type":"string"}`, `{"anyOf":[{"type":"object"}],"type":"object"}`, `{"type":`} {
		if _, err := toolrunner.NewBetaToolFromBytes("bad", "", []byte(schema), handler); err == nil || !strings.Contains(err.Error(), `"bad"`) {
			t.Errorf("NewBetaToolFromBytes(%s) error = %v, want one that names the tool", schema, err)
		}
	}
	if _, err := toolrunner.NewBetaToolFromJSONSchema("bad", "", func(context.Context, func()) (runtest.Content, error) { return runtest.TextContent(""), nil }); err == nil {
		t.Error("NewBetaToolFromJSONSchema() of a func: error = nil, want one")
	}
	tool := toolrunner.NewBetaTool("bad", "", anthropic.BetaToolInputSchemaParam{ExtraFields: map[string]any{"anyOf": []any{}}}, handler)
	c := runtest.New(t)
	if _, err := toolrunner.New(&c.Client.Beta.Messages, []anthropic.BetaTool{tool}, runtest.Asking("hi")); err == nil || !strings.Contains(err.Error(), `"bad"`) {
		t.Errorf("New() with a bad schema: error = %v, want one that names the tool", err)
	}
}

type folder map[string]folder

// Promise 6: a type that contains itself ends no process.
func TestAWrittenSchemaGoesWithATypeThatContainsItself(t *testing.T) {
	tree, err := toolrunner.NewBetaToolFromBytes("tree", "", []byte(`{"type":"object"}`), func(_ context.Context, root folder) (runtest.Content, error) {
		return runtest.TextContent(strings.Repeat("sub", len(root["a"]))), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := tree.Execute(t.Context(), json.RawMessage(`{"a":{"b":{},"c":{"d":{}}}}`)); err != nil || len(got) != 1 || got[0].OfText.Text != "subsub" {
		t.Errorf("Execute() = %v, %v; want two folders in a", got, err)
	}
}

// Validation can be turned off; input that cannot be decoded still fails.
func TestValidationCanBeTurnedOff(t *testing.T) {
	weather := toolrunner.NewTool("weather", "", func(_ context.Context, in forecastInput) (string, error) { return "in " + in.City, nil })
	params := runtest.Asking("hi")
	params.Validate = toolrunner.ValidateOff
	c := runtest.Start(t, params, runtest.Tools(weather), toolrunnertest.Message(
		toolrunnertest.Call("a", "weather", `{"days":1}`), toolrunnertest.Call("b", "weather", `{"city":1}`),
	), toolrunnertest.Text("done"))
	c.Run(t)
	runtest.WantSuccess(t, c.Request(t, -1), "a", "in ")
	if text, failed := runtest.ResultText(t, c.Request(t, -1), "b"); !failed || !strings.Contains(text, "city") {
		t.Errorf("result = %q, failed %v; want one that names city, failed", text, failed)
	}
}

// What a middleware does to the input of a call is what the handler gets, though the
// input was parsed when it was checked.
func TestAHandlerGetsTheInputAsAMiddlewareLeavesIt(t *testing.T) {
	call := func(input string) *toolrunner.Call {
		return &toolrunner.Call{Name: "weather", Input: json.RawMessage(input)}
	}
	for _, tt := range []struct {
		name   string
		change func(call *toolrunner.Call) *toolrunner.Call
		want   string
		failed bool
	}{
		{"untouched", func(c *toolrunner.Call) *toolrunner.Call { return c }, "in Paris", false},
		{"changed in place", func(c *toolrunner.Call) *toolrunner.Call { copy(c.Input[9:], "Lyons"); return c }, "in Lyons", false},
		{"replaced", func(c *toolrunner.Call) *toolrunner.Call { c.Input = json.RawMessage(`{"city":"Rome"}`); return c }, "in Rome", false},
		{"cut off", func(c *toolrunner.Call) *toolrunner.Call { c.Input = c.Input[:12]; return c }, "not valid JSON", true},
		{"another call", func(*toolrunner.Call) *toolrunner.Call { return call(`{"city":"Oslo"}`) }, "in Oslo", false},
		{"another call of the wrong type", func(*toolrunner.Call) *toolrunner.Call { return call(`{"city":1}`) }, "expected string, got number", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			weather := toolrunner.NewTool("weather", "", func(_ context.Context, in forecastInput) (string, error) { return "in " + in.City, nil })
			params := runtest.Asking("hi")
			params.Middleware = []toolrunner.Middleware{func(next toolrunner.Handler) toolrunner.Handler {
				return func(ctx context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
					return next(ctx, tt.change(call))
				}
			}}
			c := runtest.Start(t, params, runtest.Tools(weather), toolrunnertest.Message(
				toolrunnertest.Call("a", "weather", `{"city":"Paris"}`)), toolrunnertest.Text("done"))
			c.Run(t)
			if text, failed := runtest.ResultText(t, c.Request(t, -1), "a"); failed != tt.failed || !strings.Contains(text, tt.want) {
				t.Errorf("result = %q, failed %v; want %q in it, failed %v", text, failed, tt.want, tt.failed)
			}
		})
	}
}

// A tool is encoded once for all its runners; a copy of it is another tool.
func TestCopyOfAToolMayBeChanged(t *testing.T) {
	first := toolrunner.NewTool("first", "One.", func(context.Context, struct{}) (string, error) { return "1", nil })
	for range 2 {
		c := runtest.New(t, toolrunnertest.Text("done"))
		second := *first
		second.Definition.Name = "second"
		second.Definition.Strict = anthropic.Bool(true)
		c.Runner = c.NewRunner(t, runtest.Asking("hi"), first, &second)
		c.Run(t)
		type tool struct {
			Name   string
			Strict bool
		}
		var sent []tool
		if err := json.Unmarshal(c.Request(t, -1).Field("tools"), &sent); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]tool{{"first", false}, {"second", true}}, sent); diff != "" {
			t.Errorf("tools (-want +got):\n%s", diff)
		}
	}
}
