package tools_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	official "github.com/anthropics/anthropic-sdk-go/v2/toolrunner"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// schemaTool is a tool that is not ours and has a schema.
type schemaTool struct {
	runtest.OtherTool
	schema anthropic.BetaToolInputSchemaParam
}

func (s *schemaTool) InputSchema() anthropic.BetaToolInputSchemaParam { return s.schema }

// E57, E58, G23: what reaches a tool that is not ours fits the schema that it gave, and only what that schema surely
// forbids is refused. What passes arrives byte for byte.
func TestToolsOfOthersGetAFairCheck(t *testing.T) {
	properties := map[string]any{
		"path":  map[string]any{"type": "string", "format": "uri", "x-hint": true},
		"lines": map[string]any{"type": "array", "items": map[string]any{"type": "integer"}},
		"mode":  map[string]any{"enum": []string{"r", "w"}},
		"other": map[string]any{"not": map[string]any{"type": "string"}},
	}
	open := anthropic.BetaToolInputSchemaParam{Properties: properties, Required: []string{"path"}}
	closed := open
	closed.ExtraFields = map[string]any{"additionalProperties": false}
	for _, tt := range []struct {
		name   string
		schema anthropic.BetaToolInputSchemaParam
		input  string
		want   string // of the failed result; empty if the call runs
	}{
		{"good", open, `{"path":"a", "lines":[1, 2.0], "mode":"r"}`, ""},
		{"an additional property", open, `{"path":"a","more":1}`, ""},
		{"an additional property that is forbidden", closed, `{"path":"a","more":1}`, "more: unknown property; known: lines, mode, other, path"},
		{"null for what may be missing", closed, `{"path":"a","lines":null}`, ""},
		{"null for what may not", open, `{"path":null}`, "path: expected string, got null"},
		{"keywords that are not checked", open, `{"path":"not a uri","other":"text"}`, ""},
		{"missing", open, `{}`, "path: missing; expected string"},
		{"wrong type", open, `{"path":"a","lines":["1"]}`, "lines[0]: expected integer, got string \"1\"; give the value itself"},
		{"no such value", open, `{"path":"a","mode":"x"}`, `mode: expected one of "r", "w", got string "x"`},
		{"no schema", anthropic.BetaToolInputSchemaParam{}, `{"z":9007199254740993}`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var ran runtest.Journal
			foreign := &schemaTool{runtest.OtherTool{ToolName: "work", Run: func(in json.RawMessage) ([]runtest.Content, error) {
				ran.Add("%s", in)
				return []runtest.Content{runtest.TextContent("ok")}, nil
			}}, tt.schema}
			c := runtest.Start(t, runtest.Asking("hi"), []anthropic.BetaTool{foreign}, toolrunnertest.Message(toolrunnertest.Call("a", "work", tt.input)), toolrunnertest.Text("done"))
			c.Run(t)
			if tt.want == "" {
				ran.Want(t, tt.input)
				runtest.WantSuccess(t, c.Request(t, -1), "a", "ok")
				return
			}
			ran.Want(t)
			if got, failed := runtest.ResultText(t, c.Request(t, -1), "a"); !failed || !strings.Contains(got, tt.want) {
				t.Errorf("result = %q, failed %v; want %q in it, failed", got, failed, tt.want)
			}
		})
	}
}

// B045: one schema that the API refuses makes it refuse every request, so New says which tool it is.
func TestNewNamesTheForeignToolWhoseSchemaTheAPIRefuses(t *testing.T) {
	for name, schema := range map[string]anthropic.BetaToolInputSchemaParam{
		"anyOf":         {ExtraFields: map[string]any{"anyOf": []any{map[string]any{"type": "object"}}}},
		`"int"`:         {Properties: map[string]any{"a": map[string]any{"type": "int"}}},
		"leads nowhere": {Properties: map[string]any{"a": map[string]any{"$ref": "#/$defs/A"}}},
	} {
		c := runtest.New(t)
		_, err := toolrunner.New(&c.Client.Beta.Messages, []anthropic.BetaTool{&schemaTool{runtest.OtherTool{ToolName: "odd"}, schema}}, runtest.Asking("hi"))
		if err == nil || !strings.Contains(err.Error(), `tool "odd"`) || !strings.Contains(err.Error(), name) {
			t.Errorf("New() error = %v, want one that names the tool and %s", err, name)
		}
	}
}

// The tools of the official constructors run unchanged beside ours.
func TestToolsOfTheOfficialConstructorsRun(t *testing.T) {
	handler := func(_ context.Context, in forecastInput) (runtest.Content, error) {
		return runtest.TextContent("in " + in.City), nil
	}
	derived, err := official.NewBetaToolFromJSONSchema("derived", "", handler)
	if err != nil {
		t.Fatal(err)
	}
	written, err := official.NewBetaToolFromBytes("written", "", []byte(`{"type":"object","properties":{"city":{"type":"string"}}}`), handler)
	if err != nil {
		t.Fatal(err)
	}
	bytesTool := official.NewBetaTool("bytes", "", anthropic.BetaToolInputSchemaParam{}, func(_ context.Context, in json.RawMessage) (runtest.Content, error) {
		return runtest.TextContent(string(in)), nil
	})
	c := runtest.Start(t, runtest.Asking("hi"), []anthropic.BetaTool{derived, written, bytesTool}, toolrunnertest.Message(
		toolrunnertest.Call("a", "derived", `{"city":"Oslo","days":null}`), toolrunnertest.Call("b", "derived", `{"days":1}`),
		toolrunnertest.Call("c", "derived", `{"city":"Oslo","town":1}`), toolrunnertest.Call("d", "written", `{"City":"Rome"}`),
		toolrunnertest.Call("e", "bytes", `{"b":1, "a":9007199254740993}`),
	), toolrunnertest.Text("done"))
	c.Run(t)
	runtest.WantSuccess(t, c.Request(t, -1), "a", "in Oslo")
	runtest.WantFailure(t, c.Request(t, -1), "b", "Error: invalid input: city: missing; expected string")
	runtest.WantFailure(t, c.Request(t, -1), "c", "Error: invalid input: town: unknown property; known: city, days, tags")
	runtest.WantSuccess(t, c.Request(t, -1), "d", "in Rome")
	runtest.WantSuccess(t, c.Request(t, -1), "e", `{"b":1, "a":9007199254740993}`)
}
