// Package corpus_test tests the runner with exchanges that were recorded at the Messages
// API.
package corpus_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"
	"github.com/google/go-cmp/cmp"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// notReplayed are recorded loops that are no conversation of one runner, each
// with the reason.
var notReplayed = map[string]string{
	"anthropic-sdk-python/TestSyncRunTools__f59a9391-643b-422c-96dc-1f28bc7ea4d7":                                              "the API refused the second request, as the client had dropped the reply",
	"crewai/agents__TestAnthropicNativeToolCalling.test_anthropic_agent_with_native_tool_calling":                              "the client adds a text of its own after the results",
	"crewai/agents__TestAnthropicNativeToolCalling.test_anthropic_parallel_native_tool_calling_test_crew":                      "the client adds a text of its own after the results",
	"pydantic-ai/test_anthropic__test_anthropic_deferred_capability_tool_callable_without_tool_search":                         "the client puts a call of its own between the reply and the results",
	"pydantic-ai/test_anthropic__test_anthropic_deferred_capability_without_tool_search_across_models-claude-opus-5":           "the client puts a call of its own between the reply and the results",
	"pydantic-ai/test_anthropic__test_anthropic_deferred_capability_without_tool_search_across_models-claude-sonnet-4-6":       "the client puts a call of its own between the reply and the results",
	"pydantic-ai/test_anthropic__test_anthropic_lazy_advertisement_live":                                                       "the client adds a system message after the results",
	"pydantic-ai/test_tool_search__test_anthropic_to_google_deferred_capability_history_replay":                                "the client puts a call of its own between the reply and the results",
	"pydantic-ai/test_tool_search__test_cross_provider_capability_replay-anthropic-claude-sonnet-4-5-openai-responses-gpt-5.4": "the client puts a call of its own between the reply and the results",
	"rig/messages_sessions__long_history_replay_nonstreaming":                                                                  "the second request belongs to another conversation",
}

// recordedLoop is an entry of the corpus's list: a client that answered calls.
type recordedLoop struct {
	Dir   string `json:"dir"`
	Steps []struct {
		N         int    `json:"n"`
		Next      int    `json:"next"`
		Kind      string `json:"kind"`
		Assistant string `json:"assistant"` // exact: the client sent back what it got
		Calls     []struct {
			ID   string `json:"id"`
			Name string `json:"name"`
		} `json:"tool_uses"`
	} `json:"steps"`
}

// recordedResult is a tool_result block.
type recordedResult struct {
	Type    string          `json:"type"`
	ID      string          `json:"tool_use_id"`
	Content json.RawMessage `json:"content"`
	IsError bool            `json:"is_error"`
}

func TestRunnerSendsWhatRecordedClientsSent(t *testing.T) {
	root, ok := runtest.CorpusRoot()
	if !ok {
		t.Skipf("there is no corpus at %s; TOOLRUNNER_CORPUS says where one is", root)
	}
	list, err := os.ReadFile(filepath.Join(root, "loops.json"))
	if err != nil {
		t.Fatal(err)
	}
	var loops []recordedLoop
	if err := json.Unmarshal(list, &loops); err != nil {
		t.Fatal(err)
	}
	replayed := 0
	for _, l := range loops {
		if notReplayed[l.Dir] != "" {
			continue
		}
		replayed++
		t.Run(l.Dir, func(t *testing.T) { replay(t, filepath.Join(root, l.Dir), l) })
	}
	if replayed < 20 {
		t.Errorf("%d loops were replayed, want 20 or more", replayed)
	}
}

// replay runs the loop with the recorded replies and results, and compares what
// is sent with what was recorded.
func replay(t *testing.T, dir string, l recordedLoop) {
	for i := 1; i < len(l.Steps); i++ {
		if l.Steps[i].N != l.Steps[i-1].Next {
			l.Steps = l.Steps[:i] // another conversation
		}
	}
	first, streaming := l.Steps[0].N, l.Steps[0].Kind == "sse"
	replies := []toolrunnertest.Reply{recordedReply(t, dir, first, streaming)}
	results := make(map[string]recordedResult)
	names := make(map[string]bool)
	for _, s := range l.Steps {
		replies = append(replies, recordedReply(t, dir, s.Next, streaming))
		for _, call := range s.Calls {
			names[call.Name] = true
		}
		for _, m := range recordedMessages(t, dir, s.Next) {
			for _, r := range resultsIn(m) {
				results[r.ID] = r
			}
		}
	}
	server := toolrunnertest.NewServer(t, replies...)
	client := server.Client()
	runner, err := toolrunner.New(&client.Beta.Messages, recordedTools(names, results), toolrunner.Params{
		BetaMessageNewParams: anthropic.BetaMessageNewParams{Model: "m", MaxTokens: 1024, Messages: rawParams(recordedMessages(t, dir, first))},
		MaxIterations:        len(replies),
	})
	if err != nil {
		t.Fatal(err)
	}
	turns := runner.All
	if streaming {
		turns = runner.AllStreaming
	}
	for _, err := range turns(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
	}
	requests := server.Requests()
	if len(requests) != len(replies) {
		t.Fatalf("%d requests, want %d; the run is %v", len(requests), len(replies), runner.Outcome())
	}
	for i, s := range l.Steps {
		compareStep(t, requests[i].Messages(), requests[i+1].Messages(), recordedMessages(t, dir, s.Next), s.Assistant == "exact")
		if !streaming {
			var reply struct {
				Content json.RawMessage `json:"content"`
			}
			readJSON(t, filepath.Join(dir, fmt.Sprintf("%03d.response.json", s.N)), &reply)
			got := runtest.Object(requests[i+1].Messages()[len(requests[i].Messages())])
			if diff := cmp.Diff(sendable(reply.Content), runtest.Decoded(got["content"])); diff != "" {
				t.Errorf("reply %d does not go back as it came (-API +sent):\n%s", s.N, diff)
			}
		}
	}
}

// compareStep compares what a turn added to the messages with what the recorded
// client added.
func compareStep(t *testing.T, before, after, recorded []json.RawMessage, exact bool) {
	t.Helper()
	if len(after) != len(before)+2 || len(recorded) < 2 {
		t.Errorf("%d messages follow %d, want the reply and the results", len(after), len(before))
		return
	}
	for i := range before {
		if string(after[i]) != string(before[i]) {
			t.Errorf("message %d was sent as %s, then as %s", i, before[i], after[i])
		}
	}
	if exact {
		got, want := plain(runtest.Decoded(after[len(before)])), plain(runtest.Decoded(recorded[len(recorded)-2]))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("reply in the history (-recorded +sent):\n%s", diff)
		}
	}
	got, want := resultsIn(after[len(after)-1]), resultsIn(recorded[len(recorded)-1])
	slices.SortStableFunc(want, func(a, b recordedResult) int { return position(got, a.ID) - position(got, b.ID) })
	if diff := cmp.Diff(plainResults(want), plainResults(got)); diff != "" {
		t.Errorf("results (-recorded +sent):\n%s", diff)
	}
}

func position(results []recordedResult, id string) int {
	return slices.IndexFunc(results, func(r recordedResult) bool { return r.ID == id })
}

// plainResults returns results as values, whose content is a list of blocks.
func plainResults(results []recordedResult) []any {
	var all []any
	for _, r := range results {
		content := runtest.Decoded(r.Content)
		if list, ok := content.([]any); ok && len(list) == 0 || content == "" {
			content = nil
		}
		all = append(all, plain(map[string]any{"id": r.ID, "content": content, "is_error": r.IsError}))
	}
	return all
}

// plain returns a value without what clients may set as they like: text content
// as a string, nulls, and cache_control.
func plain(v any) any {
	switch v := v.(type) {
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = plain(v[i])
		}
		return list
	case map[string]any:
		o := make(map[string]any)
		for key, value := range v {
			if text, ok := value.(string); ok && key == "content" {
				value = []any{map[string]any{"type": "text", "text": text}}
			}
			if key != "cache_control" && value != nil {
				o[key] = plain(value)
			}
		}
		return o
	}
	return v
}

// sendable returns the content of a reply without the blocks that the API
// refuses to take back.
func sendable(content json.RawMessage) any {
	blocks, _ := runtest.Decoded(content).([]any)
	return slices.DeleteFunc(blocks, func(b any) bool {
		o, _ := b.(map[string]any)
		return o["type"] == "text" && o["text"] == ""
	})
}

func recordedReply(t *testing.T, dir string, n int, streaming bool) toolrunnertest.Reply {
	t.Helper()
	name, reply := "%03d.response.json", toolrunnertest.RawJSON
	if streaming {
		name, reply = "%03d.response.sse", toolrunnertest.RawSSE
	}
	body, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf(name, n)))
	if err != nil {
		t.Fatal(err)
	}
	return reply(string(body))
}

func recordedMessages(t *testing.T, dir string, n int) []json.RawMessage {
	t.Helper()
	var request struct {
		Messages []json.RawMessage `json:"messages"`
	}
	readJSON(t, filepath.Join(dir, fmt.Sprintf("%03d.request.json", n)), &request)
	return request.Messages
}

func readJSON(t *testing.T, path string, v any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, v)
	}
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

func rawParams(messages []json.RawMessage) []anthropic.BetaMessageParam {
	params := make([]anthropic.BetaMessageParam, len(messages))
	for i, m := range messages {
		params[i] = param.Override[anthropic.BetaMessageParam](m)
	}
	return params
}

// recordedTools returns tools that answer with the recorded results.
func recordedTools(names map[string]bool, results map[string]recordedResult) []anthropic.BetaTool {
	var tools []anthropic.BetaTool
	for name := range names {
		tools = append(tools, toolrunner.NewRawTool(anthropic.BetaToolParam{Name: name}, func(_ context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
			recorded, ok := results[call.ID]
			if !ok {
				return nil, fmt.Errorf("no result was recorded for %s", call.ID)
			}
			result := &toolrunner.Result{IsError: recorded.IsError}
			var text string
			var blocks []json.RawMessage
			if json.Unmarshal(recorded.Content, &text) == nil {
				result.Content = toolrunner.TextResult(text).Content
			} else if err := json.Unmarshal(recorded.Content, &blocks); err != nil {
				return nil, err
			}
			for _, b := range blocks {
				result.Content = append(result.Content, param.Override[anthropic.BetaToolResultBlockParamContentUnion](b))
			}
			return result, nil
		}))
	}
	return tools
}

// resultsIn returns the tool_result blocks of a message.
func resultsIn(message json.RawMessage) []recordedResult {
	var blocks []recordedResult
	if json.Unmarshal(runtest.Object(message)["content"], &blocks) != nil {
		return nil
	}
	return slices.DeleteFunc(blocks, func(r recordedResult) bool { return r.Type != "tool_result" })
}
