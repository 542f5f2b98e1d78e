package agenttoolset_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	sdktools "github.com/anthropics/anthropic-sdk-go/v2/tools/agenttoolset"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// E23, E57, E59, E66: the official tools run unchanged, and input that breaks the
// schemas that they give does not reach them.
func TestTheAgentToolsetRuns(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the toolset needs a shell")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("one\ntwo\nthree\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tools := sdktools.BetaAgentToolset20260401(&sdktools.AgentToolContext{Workdir: dir})
	defer sdktools.CloseAll(tools)

	calls := []struct {
		tool, input string
		want        string // in the text of the result
		failed      bool
	}{
		{"read", `{"file_path":"notes.txt"}`, "two", false},
		{"read", `{"file_path":"notes.txt","view_range":[2,2]}`, "two", false},
		{"read", `{"file_path":"notes.txt","view_range":null}`, "three", false},
		{"read", `{"file_path":"notes.txt","why":"because"}`, "one", false},
		{"read", `{}`, "invalid input: file_path: missing; expected string", true},
		{"read", `{"file_path":"notes.txt","view_range":"[1,2]"}`, "give the value itself", true},
		{"read", `{"file_path":"none.txt"}`, "no such file", true},
		{"write", `{"file_path":"new.txt","content":"fresh"}`, "", false},
		{"write", `{"file_path":"new.txt","content":["fresh"]}`, `invalid input: content: expected string, got array ["fresh"]`, true},
		{"edit", `{"file_path":"notes.txt","old_string":"two","new_string":"2"}`, "", false},
		{"edit", `{"file_path":"notes.txt","old_string":"one","replace_all":"yes"}`, `replace_all: expected boolean, got string "yes"`, true},
		{"glob", `{"pattern":"*.txt"}`, "new.txt", false},
		{"grep", `{"pattern":"thr.e"}`, "three", false},
		{"grep", `{"pattern":5}`, "pattern: expected string, got 5", true},
		{"bash", `{"command":"cat notes.txt"}`, "one\n2\nthree", false},
		{"bash", `{"command":"true","timeout_ms":1.5}`, "timeout_ms: expected integer, got 1.5", true},
	}
	blocks := make([]toolrunnertest.Block, len(calls))
	id := func(i int) string { return "toolu_" + string(rune('a'+i)) }
	for i, call := range calls {
		blocks[i] = toolrunnertest.Call(id(i), call.tool, call.input)
	}
	srv := toolrunnertest.NewServer(t, toolrunnertest.Message(blocks...), toolrunnertest.Text("done"))
	client := srv.Client()
	runner, err := toolrunner.New(&client.Beta.Messages, tools, toolrunner.Params{
		MaxConcurrency: 1, // the calls build on each other
		BetaMessageNewParams: anthropic.BetaMessageNewParams{
			Model: anthropic.ModelClaudeSonnet5_5, MaxTokens: 1024,
			Messages: []anthropic.BetaMessageParam{anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock("Look around."))},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := runner.RunToCompletion(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, call := range calls {
		var result struct {
			IsError bool `json:"is_error"`
			Content []struct{ Text string }
		}
		if err := json.Unmarshal(srv.Requests()[1].ToolResult(id(i)), &result); err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		for _, c := range result.Content {
			text.WriteString(c.Text)
		}
		if result.IsError != call.failed || !strings.Contains(text.String(), call.want) {
			t.Errorf("%s(%s) = %q, failed %v; want %q in it, failed %v", call.tool, call.input, text.String(), result.IsError, call.want, call.failed)
		}
	}
	if got, err := os.ReadFile(filepath.Join(dir, "new.txt")); err != nil || string(got) != "fresh" {
		t.Errorf("new.txt = %q, %v; want what was written", got, err)
	}
}
