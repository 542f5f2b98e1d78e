package requests_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
)

func refersTo(name string) string {
	return fmt.Sprintf(`{"type":"tool_reference","tool_name":%q}`, name)
}

// searched are messages in which a tool search has found a tool.
func searched(name string) []string {
	return []string{
		`{"role":"user","content":"u0"}`,
		`{"role":"assistant","content":[` + useOf("tool_search_tool_regex", "srvtoolu_1") +
			`,{"type":"tool_search_tool_result","tool_use_id":"srvtoolu_1","content":{"type":"tool_search_tool_search_result","tool_references":[` + refersTo(name) + `]}},{"type":"text","text":"so"}]}`,
		`{"role":"user","content":"u1"}`,
	}
}

// found are messages in which a tool of the client has found one.
func found(name string) []string {
	return []string{
		`{"role":"user","content":"u0"}`,
		`{"role":"assistant","content":[` + callBlock("a") + `]}`,
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[` + refersTo(name) + `]}]}`,
	}
}

// W8: messages that refer to a tool which no request defines are refused: by New,
// SetMessages, Replace and AppendMessages, with the tool's name.
func TestReferencesToToolsThatAreNotThereAreRefused(t *testing.T) {
	wantRefused(t, searched("gone"), 1)
	wantRefused(t, found("gone"), 2)
	a := &api{script: []string{message("tool_use", callBlock("a"))}}
	client := a.client()
	r, err := toolrunner.New(&client.Beta.Messages, runtest.Tools(runtest.Says("work", "ran")), runtest.Asking("u"))
	if err != nil {
		t.Fatal(err)
	}
	result := runtest.Verbatim(`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[` + refersTo("gone") + `]}]}`)
	for turn, err := range r.All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if turn.Iteration() == 1 {
			for what, err := range map[string]error{"AppendMessages": r.AppendMessages(result), "Replace": turn.Replace(turn.ToParam(), result)} {
				if err == nil || !strings.Contains(err.Error(), `"gone"`) {
					t.Errorf("%s: %v, want an error that names the tool", what, err)
				}
			}
		}
	}
}

// W8: references to tools that are there are taken: tools of the runner, also those that
// were added or taken away, and those of Params.Tools, whose toolsets tell no names.
func TestReferencesToToolsThatAreThereAreTaken(t *testing.T) {
	for name, tt := range map[string]struct {
		tools  []anthropic.BetaTool
		params []anthropic.BetaToolUnionParam
		before string
	}{
		"a tool":       {tools: runtest.Tools(runtest.Says("there", ""))},
		"of Params":    {params: []anthropic.BetaToolUnionParam{runtest.RawDefinition(`{"name":"there","input_schema":{"type":"object"},"defer_loading":true}`)}},
		"of a toolset": {params: []anthropic.BetaToolUnionParam{runtest.RawDefinition(`{"type":"mcp_toolset","mcp_server_name":"s"}`)}},
		"of a message": {before: `{"role":"system","content":[{"type":"tool_addition","tool":{"type":"tool_definition","definition":{"name":"there","input_schema":{"type":"object"}}}}]}`},
	} {
		for what, messages := range map[string][]string{"searched": searched("there"), "found": found("there")} {
			t.Run(name+"/"+what, func(t *testing.T) {
				client := (&api{}).client()
				params := runtest.Given()
				params.Tools = tt.params
				for i, m := range messages {
					params.Messages = append(params.Messages, runtest.Verbatim(m))
					if i == 0 && tt.before != "" {
						params.Messages = append(params.Messages, runtest.Verbatim(tt.before))
					}
				}
				r, err := toolrunner.New(&client.Beta.Messages, tt.tools, params)
				if err != nil {
					t.Fatalf("New() error = %v", err)
				}
				r.RemoveToolsByNames("there")
				if err := r.SetMessages(r.Messages()...); err != nil {
					t.Errorf("SetMessages() error = %v", err)
				}
			})
		}
	}
}

// W8: a handler that finds a tool which is not there fails, and the model reads why; one
// that adds it first does not.
func TestHandlersReferToToolsThatAreThere(t *testing.T) {
	for _, adds := range []bool{false, true} {
		var r *toolrunner.Runner
		tool := runtest.Raw("work", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
			if adds {
				if err := r.AddTools(runtest.Says("late", "ran")); err != nil {
					t.Error(err)
				}
			}
			return &toolrunner.Result{Content: []runtest.Content{runtest.RawContentBlock(refersTo("late"))}}, nil
		})
		a := &api{script: []string{message("tool_use", callBlock("a"))}}
		client := a.client()
		var err error
		if r, err = toolrunner.New(&client.Beta.Messages, runtest.Tools(tool), runtest.Asking("u")); err != nil {
			t.Fatal(err)
		}
		if _, err := r.RunToCompletion(t.Context()); err != nil {
			t.Error(err)
		}
		for _, fault := range a.faults {
			t.Error(fault)
		}
		if failed := strings.Contains(string(a.requests[1]), `"is_error":true`); failed == adds {
			t.Errorf("the result failed: %v, want %v: %s", failed, !adds, a.requests[1])
		}
	}
}
