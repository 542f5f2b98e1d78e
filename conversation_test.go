package toolrunner_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// conversation is a runner, and the scripted API that it talks to.
type conversation struct {
	*toolrunner.Runner

	srv       *toolrunnertest.Server
	client    anthropic.Client
	streaming bool // what play does
}

// converse starts a conversation. When the test ends, every request must have
// continued the one before it, and the script must be used up.
func converse(t *testing.T, params toolrunner.Params, tools []anthropic.BetaTool, replies ...toolrunnertest.Reply) *conversation {
	t.Helper()
	c := newConversation(t, replies...)
	c.Runner = c.runner(t, params, tools...)
	t.Cleanup(func() { c.wantFaithful(t) })
	return c
}

// dialogueWith is converse without the check at the end, for runs whose body changes what
// was sent. What params leave out is filled in; the first message is "hi".
func dialogueWith(t *testing.T, params toolrunner.Params, tools []anthropic.BetaTool, replies ...toolrunnertest.Reply) *conversation {
	t.Helper()
	c := newConversation(t, replies...)
	params.Model, params.MaxTokens = "claude-test", 100
	if params.Messages == nil {
		params.Messages = []anthropic.BetaMessageParam{user("hi")}
	}
	c.Runner = c.runner(t, params, tools...)
	return c
}

// newConversation is converse without a runner and without the check at the end.
func newConversation(t *testing.T, replies ...toolrunnertest.Reply) *conversation {
	t.Helper()
	srv := toolrunnertest.NewServer(t, replies...)
	return &conversation{srv: srv, client: srv.Client()}
}

func (c *conversation) runner(t *testing.T, params toolrunner.Params, tools ...anthropic.BetaTool) *toolrunner.Runner {
	t.Helper()
	r, err := toolrunner.New(&c.client.Beta.Messages, tools, params)
	if err != nil {
		t.Fatalf("New() error = %v", err)
	}
	return r
}

// run goes through the whole loop, and fails the test on an error.
func (c *conversation) run(t *testing.T) []*toolrunner.Turn {
	t.Helper()
	turns, err := c.tryRun(t.Context(), nil)
	if err != nil {
		t.Fatalf("All() error = %v", err)
	}
	return turns
}

// tryRun goes through the loop with a body, which may be nil, and returns the
// turns and the error that ended it.
func (c *conversation) tryRun(ctx context.Context, body func(turn *toolrunner.Turn)) ([]*toolrunner.Turn, error) {
	var turns []*toolrunner.Turn
	for turn, err := range c.All(ctx) {
		if err != nil {
			return turns, err
		}
		turns = append(turns, turn)
		if body != nil {
			body(turn)
		}
	}
	return turns, nil
}

// runBreaking runs the loop up to its first turn.
func (c *conversation) runBreaking(t *testing.T) *toolrunner.Turn {
	t.Helper()
	for turn, err := range c.All(t.Context()) {
		if err != nil {
			t.Fatalf("All() error = %v", err)
		}
		return turn
	}
	t.Fatal("All() gave no turn")
	return nil
}

// play goes through the loop, gives each turn to body, and returns the error that
// ended it.
func (c *conversation) play(ctx context.Context, body func(turn *toolrunner.Turn)) error {
	if c.streaming {
		return c.stream(ctx, body)
	}
	_, err := c.tryRun(ctx, body)
	return err
}

// mustPlay is play for a run without an error.
func (c *conversation) mustPlay(t *testing.T, body func(turn *toolrunner.Turn)) {
	t.Helper()
	if err := c.play(t.Context(), body); err != nil {
		t.Fatalf("the run ended with %v", err)
	}
}

func (c *conversation) append(t *testing.T, messages ...anthropic.BetaMessageParam) {
	t.Helper()
	if err := c.AppendMessages(messages...); err != nil {
		t.Errorf("AppendMessages() error = %v", err)
	}
}

// request returns the request with that index; negative ones count from the end.
func (c *conversation) request(t *testing.T, i int) *toolrunnertest.Request {
	t.Helper()
	requests := c.srv.Requests()
	if i < 0 {
		i += len(requests)
	}
	if i < 0 || i >= len(requests) {
		t.Fatalf("there are %d requests, want one with index %d", len(requests), i)
	}
	return requests[i]
}

// wantShape compares the shapes of the messages of the last request.
func (c *conversation) wantShape(t *testing.T, want ...string) {
	t.Helper()
	c.wantRequest(t, -1, want...)
}

// wantRequest compares the shapes of the messages of the request with an index.
func (c *conversation) wantRequest(t *testing.T, i int, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, shape(c.request(t, i).Messages())); diff != "" {
		t.Errorf("messages of request %d (-want +got):\n%s", i, diff)
	}
}

func (c *conversation) wantRequests(t *testing.T, want int) {
	t.Helper()
	if got := len(c.srv.Requests()); got != want {
		t.Errorf("%d requests were sent, want %d", got, want)
	}
}

// wantFaithful checks that each request continued the one before it.
func (c *conversation) wantFaithful(t *testing.T, options ...toolrunnertest.RunOption) {
	t.Helper()
	if err := toolrunnertest.CheckRun(c.srv.Requests(), options...); err != nil {
		t.Errorf("CheckRun(): %v", err)
	}
}

// wantResult compares the tool_result for a call in the last request.
func (c *conversation) wantResult(t *testing.T, callID, want string) {
	t.Helper()
	if got := string(c.request(t, -1).ToolResult(callID)); got != want {
		t.Errorf("result of %s = %s\nwant           %s", callID, got, want)
	}
}

// wantHistory compares the shapes of what Messages returns.
func (c *conversation) wantHistory(t *testing.T, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, shape(encoded(t, c.Messages()))); diff != "" {
		t.Errorf("Messages() (-want +got):\n%s", diff)
	}
}

func (c *conversation) wantOutcome(t *testing.T, want toolrunner.Outcome) {
	t.Helper()
	if got := c.Outcome(); got != want {
		t.Errorf("Outcome() = %v, want %v", got, want)
	}
}

// asking returns params whose history is one message of the user.
func asking(text string) toolrunner.Params { return given(user(text)) }

// given returns params with a history.
func given(messages ...anthropic.BetaMessageParam) toolrunner.Params {
	return toolrunner.Params{BetaMessageNewParams: anthropic.BetaMessageNewParams{
		Model: "claude-test", MaxTokens: 1024, Messages: messages,
	}}
}

func user(text string) anthropic.BetaMessageParam {
	return anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock(text))
}

// tools turns tools of ours into those that New takes.
func tools(list ...*toolrunner.Tool) []anthropic.BetaTool {
	all := make([]anthropic.BetaTool, len(list))
	for i, tool := range list {
		all[i] = tool
	}
	return all
}

// raw is a tool that takes any object.
func raw(name string, handler toolrunner.Handler) *toolrunner.Tool {
	return toolrunner.NewRawTool(anthropic.BetaToolParam{
		Name: name, InputSchema: anthropic.BetaToolInputSchemaParam{Properties: map[string]any{}},
	}, handler)
}

// says is a tool that answers each call with a text.
func says(name, text string) *toolrunner.Tool {
	return raw(name, func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
		return toolrunner.TextResult(text), nil
	})
}

// journal is what happened, in order. It may be written from any goroutine.
type journal struct {
	mu      sync.Mutex
	entries []string
}

func (j *journal) add(format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.entries = append(j.entries, fmt.Sprintf(format, args...))
}

// tool is a tool that notes the id of each call, and answers "ran".
func (j *journal) tool(name string) *toolrunner.Tool {
	return raw(name, func(_ context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
		j.add("%s", call.ID)
		return toolrunner.TextResult("ran"), nil
	})
}

func (j *journal) want(t *testing.T, want ...string) {
	t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	if !slices.Equal(j.entries, want) {
		t.Errorf("what happened = %q, want %q", j.entries, want)
	}
}

// wantSorted is want for what may happen in any order.
func (j *journal) wantSorted(t *testing.T, want ...string) {
	t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	if got := slices.Sorted(slices.Values(j.entries)); !slices.Equal(got, want) {
		t.Errorf("what happened, sorted = %q, want %q", got, want)
	}
}

func encoded(t *testing.T, messages []anthropic.BetaMessageParam) []json.RawMessage {
	t.Helper()
	raws := make([]json.RawMessage, len(messages))
	for i, m := range messages {
		var err error
		if raws[i], err = m.MarshalJSON(); err != nil {
			t.Fatalf("message %d cannot be encoded: %v", i, err)
		}
	}
	return raws
}

type wireBlock struct {
	Type      string          `json:"type"`
	ID        string          `json:"id"`
	Text      string          `json:"text"`
	ToolUseID string          `json:"tool_use_id"`
	IsError   json.RawMessage `json:"is_error"`
	Content   json.RawMessage `json:"content"`
	Tool      struct {
		Name       string `json:"name"`
		Definition struct {
			Name string `json:"name"`
		} `json:"definition"`
	} `json:"tool"`
}

func wireBlocks(content json.RawMessage) []wireBlock {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return []wireBlock{{Type: "text", Text: text}}
	}
	var blocks []wireBlock
	_ = json.Unmarshal(content, &blocks) // what is no list has no blocks
	return blocks
}

// shape tells messages in short: "user result(a) 'text'".
func shape(messages []json.RawMessage) []string {
	var lines []string
	for _, raw := range messages {
		var m struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		}
		_ = json.Unmarshal(raw, &m) // the server has checked it
		words := []string{m.Role}
		for _, b := range wireBlocks(m.Content) {
			words = append(words, b.short())
		}
		lines = append(lines, strings.Join(words, " "))
	}
	return lines
}

func (b wireBlock) short() string {
	switch b.Type {
	case "text":
		return "'" + b.Text + "'"
	case "tool_use":
		return "call(" + b.ID + ")"
	case "tool_result":
		if string(b.IsError) == "true" {
			return "error(" + b.ToolUseID + ")"
		}
		return "result(" + b.ToolUseID + ")"
	case "tool_addition", "tool_removal":
		return strings.TrimPrefix(b.Type, "tool_") + "(" + b.Tool.Name + b.Tool.Definition.Name + ")"
	}
	return b.Type
}

// resultText is the text of a call's result in a request, and whether it failed.
func resultText(t *testing.T, q *toolrunnertest.Request, callID string) (text string, failed bool) {
	t.Helper()
	var b wireBlock
	if err := json.Unmarshal(q.ToolResult(callID), &b); err != nil {
		t.Fatalf("there is no result for %q in %s", callID, q.Body)
	}
	for _, c := range wireBlocks(b.Content) {
		text += c.Text
	}
	return text, string(b.IsError) == "true"
}

func wantFailure(t *testing.T, q *toolrunnertest.Request, callID, want string) {
	t.Helper()
	if text, failed := resultText(t, q, callID); !failed || text != want {
		t.Errorf("the result of %s = %q, failed %v; want %q, failed", callID, text, failed, want)
	}
}

func wantSuccess(t *testing.T, q *toolrunnertest.Request, callID, want string) {
	t.Helper()
	if text, failed := resultText(t, q, callID); failed || text != want {
		t.Errorf("the result of %s = %q, failed %v; want %q, not failed", callID, text, failed, want)
	}
}

// calls is a reply that calls a tool once for each id.
func calls(tool string, ids ...string) toolrunnertest.Reply {
	blocks := make([]toolrunnertest.Block, len(ids))
	for i, id := range ids {
		blocks[i] = toolrunnertest.Call(id, tool, `{}`)
	}
	return toolrunnertest.Message(blocks...)
}

var errBroken = errors.New("broken")

// rawContent is the content of a message, as it was sent.
func rawContent(t *testing.T, message json.RawMessage) json.RawMessage {
	t.Helper()
	var m struct {
		Content json.RawMessage `json:"content"`
	}
	if err := json.Unmarshal(message, &m); err != nil {
		t.Fatalf("%s is no message: %v", message, err)
	}
	return m.Content
}

// rawJSON is JSON as it stands.
func rawJSON(s string) json.RawMessage { return json.RawMessage(s) }

// wantAs fails the test unless err is a T, which it returns.
func wantAs[T error](t *testing.T, err error) T {
	t.Helper()
	var target T
	if !errors.As(err, &target) {
		t.Fatalf("error = %v (%T), want a %T", err, err, target)
	}
	return target
}
