// Package runtest is what the tests of the runner share: a runner beside a scripted API,
// and one notation for the messages that go between them, such as "user result(a) 'text'".
package runtest

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"
	"github.com/google/go-cmp/cmp"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// Conversation is a runner, and the scripted API that it talks to.
type Conversation struct {
	*toolrunner.Runner

	Server    *toolrunnertest.Server
	Client    anthropic.Client
	Streaming bool // Play goes through AllStreaming
}

// Start starts a conversation. When the test ends, every request must have
// continued the one before it, and the script must be used up.
func Start(t *testing.T, params toolrunner.Params, tools []anthropic.BetaTool, replies ...toolrunnertest.Reply) *Conversation {
	t.Helper()
	c := New(t, replies...)
	c.Runner = c.NewRunner(t, params, tools...)
	t.Cleanup(func() { c.WantFaithful(t) })
	return c
}

// StartUnchecked is Start for runs whose body changes what was sent: no request need
// continue the one before it. What params leave out is filled in; the first message is "hi".
func StartUnchecked(t *testing.T, params toolrunner.Params, tools []anthropic.BetaTool, replies ...toolrunnertest.Reply) *Conversation {
	t.Helper()
	c := New(t, replies...)
	params.Model, params.MaxTokens = "claude-test", 100
	if params.Messages == nil {
		params.Messages = []anthropic.BetaMessageParam{User("hi")}
	}
	c.Runner = c.NewRunner(t, params, tools...)
	return c
}

// New returns a conversation without a runner, and checks nothing at the end.
func New(t *testing.T, replies ...toolrunnertest.Reply) *Conversation {
	t.Helper()
	srv := toolrunnertest.NewServer(t, replies...)
	return &Conversation{Server: srv, Client: srv.Client()}
}

// NewRunner returns a runner for the server.
func (c *Conversation) NewRunner(t *testing.T, params toolrunner.Params, tools ...anthropic.BetaTool) *toolrunner.Runner {
	t.Helper()
	r, err := toolrunner.New(&c.Client.Beta.Messages, tools, params)
	if err != nil {
		t.Fatalf("New() error = %v", err)
	}
	return r
}

// Run goes through the whole loop, and fails the test on an error.
func (c *Conversation) Run(t *testing.T) []*toolrunner.Turn {
	t.Helper()
	turns, err := c.TryRun(t.Context(), nil)
	if err != nil {
		t.Fatalf("All() error = %v", err)
	}
	return turns
}

// TryRun goes through the loop with a body, which may be nil, and returns the
// turns and the error that ended it.
func (c *Conversation) TryRun(ctx context.Context, body func(turn *toolrunner.Turn)) ([]*toolrunner.Turn, error) {
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

// FirstTurn runs the loop up to its first turn.
func (c *Conversation) FirstTurn(t *testing.T) *toolrunner.Turn {
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

// Play goes through the loop, gives each turn to body, and returns the error that
// ended it.
func (c *Conversation) Play(ctx context.Context, body func(turn *toolrunner.Turn)) error {
	if c.Streaming {
		return c.Stream(ctx, body)
	}
	_, err := c.TryRun(ctx, body)
	return err
}

// MustPlay is Play for a run without an error.
func (c *Conversation) MustPlay(t *testing.T, body func(turn *toolrunner.Turn)) {
	t.Helper()
	if err := c.Play(t.Context(), body); err != nil {
		t.Fatalf("the run ended with %v", err)
	}
}

// MustAppend is AppendMessages for messages that must be accepted.
func (c *Conversation) MustAppend(t *testing.T, messages ...anthropic.BetaMessageParam) {
	t.Helper()
	if err := c.AppendMessages(messages...); err != nil {
		t.Errorf("AppendMessages() error = %v", err)
	}
}

// Request returns the request with that index; negative ones count from the end.
func (c *Conversation) Request(t *testing.T, i int) *toolrunnertest.Request {
	t.Helper()
	requests := c.Server.Requests()
	if i < 0 {
		i += len(requests)
	}
	if i < 0 || i >= len(requests) {
		t.Fatalf("there are %d requests, want one with index %d", len(requests), i)
	}
	return requests[i]
}

// WantShape compares the shapes of the messages of the last request.
func (c *Conversation) WantShape(t *testing.T, want ...string) {
	t.Helper()
	c.WantRequest(t, -1, want...)
}

// WantRequest compares the shapes of the messages of the request with an index.
func (c *Conversation) WantRequest(t *testing.T, i int, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, Shape(c.Request(t, i).Messages())); diff != "" {
		t.Errorf("messages of request %d (-want +got):\n%s", i, diff)
	}
}

// WantRequests compares how many requests were sent.
func (c *Conversation) WantRequests(t *testing.T, want int) {
	t.Helper()
	if got := len(c.Server.Requests()); got != want {
		t.Errorf("%d requests were sent, want %d", got, want)
	}
}

// WantFaithful checks that each request continued the one before it.
func (c *Conversation) WantFaithful(t *testing.T, options ...toolrunnertest.RunOption) {
	t.Helper()
	if err := toolrunnertest.CheckRun(c.Server.Requests(), options...); err != nil {
		t.Errorf("CheckRun(): %v", err)
	}
}

// WantResult compares the tool_result for a call in the last request.
func (c *Conversation) WantResult(t *testing.T, callID, want string) {
	t.Helper()
	if got := string(c.Request(t, -1).ToolResult(callID)); got != want {
		t.Errorf("result of %s = %s\nwant           %s", callID, got, want)
	}
}

// WantHistory compares the shapes of what Messages returns.
func (c *Conversation) WantHistory(t *testing.T, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, Shape(Encoded(t, c.Messages()))); diff != "" {
		t.Errorf("Messages() (-want +got):\n%s", diff)
	}
}

// WantOutcome compares how the run stands.
func (c *Conversation) WantOutcome(t *testing.T, want toolrunner.Outcome) {
	t.Helper()
	if got := c.Outcome(); got != want {
		t.Errorf("Outcome() = %v, want %v", got, want)
	}
}

// Stream goes through the loop under AllStreaming, gives each turn to body, which
// may be nil, and returns the error that ended it.
func (c *Conversation) Stream(ctx context.Context, body func(turn *toolrunner.Turn)) error {
	for turn, err := range c.AllStreaming(ctx) {
		if err != nil {
			return err
		}
		if body != nil {
			body(turn)
		}
	}
	return nil
}

// MustStream is Stream for a run without an error.
func (c *Conversation) MustStream(t *testing.T, body func(turn *toolrunner.Turn)) {
	t.Helper()
	if err := c.Stream(t.Context(), body); err != nil {
		t.Fatalf("AllStreaming() error = %v", err)
	}
}

// RunSuspended runs up to the end for want of decisions, and returns the error.
func (c *Conversation) RunSuspended(t *testing.T, ids ...string) *toolrunner.SuspendedError {
	t.Helper()
	_, err := c.TryRun(t.Context(), nil)
	return c.WantSuspended(t, err, ids...)
}

// WantSuspended checks the end of a run that waits for these calls.
func (c *Conversation) WantSuspended(t *testing.T, err error, ids ...string) *toolrunner.SuspendedError {
	t.Helper()
	suspended := WantAs[*toolrunner.SuspendedError](t, err)
	want := strings.Join(ids, " ")
	if got := IDsOf(suspended.Calls); got != want {
		t.Errorf("the error lists %q, want %q", got, want)
	}
	if got := IDsOf(c.Pending()); got != want {
		t.Errorf("Pending() lists %q, want %q", got, want)
	}
	for _, id := range ids {
		if !strings.Contains(err.Error(), id) {
			t.Errorf("the error reads %q, want %s in it", err, id)
		}
	}
	c.WantOutcome(t, toolrunner.OutcomeSuspended)
	return suspended
}

// MustDecide is Decide for a call that waits.
func (c *Conversation) MustDecide(t *testing.T, id string, d toolrunner.Decision) {
	t.Helper()
	if err := c.Decide(id, d); err != nil {
		t.Fatalf("Decide(%s, %v) error = %v", id, d, err)
	}
}

// MustAddTools is AddTools for tools that must be accepted.
func (c *Conversation) MustAddTools(t *testing.T, list ...*toolrunner.Tool) {
	t.Helper()
	if err := c.AddTools(Tools(list...)...); err != nil {
		t.Errorf("AddTools() error = %v", err)
	}
}

// MustAddDefinition is AddToolParams for a definition in JSON.
func (c *Conversation) MustAddDefinition(t *testing.T, definition string) {
	t.Helper()
	if err := c.AddToolParams(param.Override[anthropic.BetaToolUnionParam](json.RawMessage(definition))); err != nil {
		t.Errorf("AddToolParams() error = %v", err)
	}
}

// Resume returns the runner of another process.
func (c *Conversation) Resume(t *testing.T, snapshot []byte, params toolrunner.Params, list ...*toolrunner.Tool) *Conversation {
	t.Helper()
	params.Messages = nil
	r, err := toolrunner.Resume(&c.Client.Beta.Messages, Tools(list...), params, snapshot)
	if err != nil {
		t.Fatalf("Resume() error = %v", err)
	}
	return &Conversation{Runner: r, Server: c.Server, Client: c.Client}
}
