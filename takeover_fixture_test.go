package toolrunner_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"
	"github.com/google/go-cmp/cmp"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// dialogue is a runner whose first message is "hi", beside the scripted API that
// it talks to.
type dialogue struct {
	*toolrunner.Runner

	srv       *toolrunnertest.Server
	streaming bool
}

// dialogueWith starts a dialogue. When the test ends, the script must be used up.
func dialogueWith(t *testing.T, params toolrunner.Params, tools []anthropic.BetaTool, replies ...toolrunnertest.Reply) *dialogue {
	t.Helper()
	srv := toolrunnertest.NewServer(t, replies...)
	client := srv.Client()
	params.Model, params.MaxTokens = "claude-test", 100
	if params.Messages == nil {
		params.Messages = []anthropic.BetaMessageParam{userSays("hi")}
	}
	r, err := toolrunner.New(&client.Beta.Messages, tools, params)
	if err != nil {
		t.Fatalf("New() error = %v", err)
	}
	t.Cleanup(func() {
		if n := srv.Remaining(); n > 0 {
			t.Errorf("%d scripted replies were not asked for", n)
		}
	})
	return &dialogue{Runner: r, srv: srv}
}

// play goes through the loop, gives each turn to body, and returns the error that
// ended it.
func (d *dialogue) play(ctx context.Context, body func(turn *toolrunner.Turn)) error {
	turns := d.All(ctx)
	if d.streaming {
		turns = d.AllStreaming(ctx)
	}
	for turn, err := range turns {
		if err != nil {
			return err
		}
		body(turn)
	}
	return nil
}

// mustPlay is play for a run without an error.
func (d *dialogue) mustPlay(t *testing.T, body func(turn *toolrunner.Turn)) {
	t.Helper()
	if err := d.play(t.Context(), body); err != nil {
		t.Fatalf("the run ended with %v", err)
	}
}

// wantSent compares the outlines of the messages of a request; a negative n
// counts from the last one.
func (d *dialogue) wantSent(t *testing.T, n int, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, outline(d.sent(t, n).Messages())); diff != "" {
		t.Errorf("messages of request %d (-want +got):\n%s", n, diff)
	}
}

// wantHeld compares the outlines of what Messages returns.
func (d *dialogue) wantHeld(t *testing.T, want ...string) {
	t.Helper()
	var held []json.RawMessage
	for _, m := range d.Messages() {
		raw, err := m.MarshalJSON()
		if err != nil {
			t.Fatalf("a message of Messages() cannot be encoded: %v", err)
		}
		held = append(held, raw)
	}
	if diff := cmp.Diff(want, outline(held)); diff != "" {
		t.Errorf("Messages() (-want +got):\n%s", diff)
	}
}

func (d *dialogue) wantRequests(t *testing.T, want int) {
	t.Helper()
	if got := len(d.srv.Requests()); got != want {
		t.Errorf("%d requests were sent, want %d", got, want)
	}
}

func (d *dialogue) sent(t *testing.T, n int) *toolrunnertest.Request {
	t.Helper()
	requests := d.srv.Requests()
	if n < 0 {
		n += len(requests)
	}
	if n < 0 || n >= len(requests) {
		t.Fatalf("%d requests were sent, want one with index %d", len(requests), n)
	}
	return requests[n]
}

// wantFaithful checks that each request continued the one before it.
func (d *dialogue) wantFaithful(t *testing.T, options ...toolrunnertest.RunOption) {
	t.Helper()
	if err := toolrunnertest.CheckRun(d.srv.Requests(), options...); err != nil {
		t.Errorf("CheckRun(): %v", err)
	}
}

// wantResult compares the tool_result for a call in the last request.
func (d *dialogue) wantResult(t *testing.T, callID, want string) {
	t.Helper()
	if got := string(d.sent(t, -1).ToolResult(callID)); got != want {
		t.Errorf("result of %s = %s\nwant           %s", callID, got, want)
	}
}

// outline describes messages in a line each, such as "user result(a) text(hi)".
func outline(messages []json.RawMessage) []string {
	lines := make([]string, 0, len(messages))
	for _, raw := range messages {
		var m struct {
			Role    string
			Content json.RawMessage
		}
		_ = json.Unmarshal(raw, &m)
		var blocks []outlinedBlock
		if json.Unmarshal(m.Content, &blocks) != nil {
			var text string
			_ = json.Unmarshal(m.Content, &text)
			blocks = []outlinedBlock{{Type: "text", Text: text}}
		}
		parts := []string{m.Role}
		for _, b := range blocks {
			parts = append(parts, b.String())
		}
		lines = append(lines, strings.Join(parts, " "))
	}
	return lines
}

type outlinedBlock struct {
	Type, Text, ID string
	ToolUseID      string `json:"tool_use_id"`
	Tool           struct {
		Name       string
		Definition struct{ Name string }
	}
}

func (b outlinedBlock) String() string {
	switch b.Type {
	case "text":
		return "text(" + b.Text + ")"
	case "tool_use":
		return "call(" + b.ID + ")"
	case "tool_result":
		return "result(" + b.ToolUseID + ")"
	case "tool_addition", "tool_removal":
		return strings.TrimPrefix(b.Type, "tool_") + "(" + b.Tool.Name + b.Tool.Definition.Name + ")"
	}
	return b.Type
}

func userSays(text string) anthropic.BetaMessageParam {
	return anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock(text))
}

// verbatim is a message of exactly this JSON.
func verbatim(raw string) anthropic.BetaMessageParam {
	return param.Override[anthropic.BetaMessageParam](json.RawMessage(raw))
}

// calling is a message of the assistant that calls a tool.
func calling(id, tool string) anthropic.BetaMessageParam {
	return verbatim(fmt.Sprintf(`{"role":"assistant","content":[{"type":"tool_use","id":%q,"name":%q,"input":{}}]}`, id, tool))
}

// answering is a message of the user that answers a call by hand.
func answering(id, text string) anthropic.BetaMessageParam {
	return verbatim(fmt.Sprintf(`{"role":"user","content":[{"type":"tool_result","tool_use_id":%q,"content":%q}]}`, id, text))
}

// tally counts how often its tool has run.
type tally struct{ atomic.Int32 }

// tool answers each call with "ran" and its number.
func (n *tally) tool(name string) *toolrunner.Tool {
	return plainTool(name, func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
		return toolrunner.TextResult(fmt.Sprintf("ran %d", n.Add(1))), nil
	})
}

func (n *tally) want(t *testing.T, want int32) {
	t.Helper()
	if got := n.Load(); got != want {
		t.Errorf("the tool ran %d times, want %d", got, want)
	}
}

func plainTool(name string, handler toolrunner.Handler) *toolrunner.Tool {
	return toolrunner.NewRawTool(anthropic.BetaToolParam{Name: name}, handler)
}

func toolList(tools ...*toolrunner.Tool) []anthropic.BetaTool {
	list := make([]anthropic.BetaTool, len(tools))
	for i, tool := range tools {
		list[i] = tool
	}
	return list
}

// callsOf is a reply that calls one tool under several ids.
func callsOf(tool string, ids ...string) toolrunnertest.Reply {
	blocks := make([]toolrunnertest.Block, len(ids))
	for i, id := range ids {
		blocks[i] = toolrunnertest.Call(id, tool, `{}`)
	}
	return toolrunnertest.Message(blocks...)
}

// bothWays runs a test over plain replies and over streams.
func bothWays(t *testing.T, test func(t *testing.T, streaming bool)) {
	t.Helper()
	for name, streaming := range map[string]bool{"plain": false, "streaming": true} {
		t.Run(name, func(t *testing.T) { test(t, streaming) })
	}
}

// rawContentBlock is a block of a result with exactly this JSON.
func rawContentBlock(raw string) anthropic.BetaToolResultBlockParamContentUnion {
	return param.Override[anthropic.BetaToolResultBlockParamContentUnion](json.RawMessage(raw))
}
