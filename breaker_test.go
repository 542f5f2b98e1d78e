package toolrunner_test

import (
	"context"
	"slices"
	"testing"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// store is a checkpoint that keeps what it gets, and says so as a database does: not
// beside a context that has ended.
type store struct{ kept []byte }

func (s *store) keep(ctx context.Context, delta toolrunner.Delta) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if delta.Full {
		s.kept = nil
	}
	s.kept = append(s.kept, delta.Data...)
	return nil
}

// resume returns the runner of another process.
func (c *conversation) resume(t *testing.T, snapshot []byte, params toolrunner.Params, list ...*toolrunner.Tool) *conversation {
	t.Helper()
	params.Messages = nil
	r, err := toolrunner.Resume(&c.client.Beta.Messages, tools(list...), params, snapshot)
	if err != nil {
		t.Fatalf("Resume() error = %v", err)
	}
	return &conversation{Runner: r, srv: c.srv, client: c.client}
}

// E167: a run that is cancelled while it has something to keep ends with the cause of
// its context, and keeps it: what was decided, and what the body did.
func TestCancelledRunKeepsWhatItHas(t *testing.T) {
	tests := []struct {
		name    string
		approve func(cancel func()) toolrunner.Approver // nil: none
		body    func(c *conversation, cancel func())
	}{
		{name: "the body decides and cancels", body: func(c *conversation, cancel func()) {
			_ = c.Decide("a", toolrunner.Deny("no"))
			cancel()
		}},
		{name: "an approver decides and the next cancels", body: func(*conversation, func()) {}, approve: func(cancel func()) toolrunner.Approver {
			return func(_ context.Context, call *toolrunner.Call) (toolrunner.Decision, error) {
				if call.ID == "b" {
					cancel()
				}
				return toolrunner.Deny("no"), nil
			}
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var j journal
			var kept store
			c := newConversation(t, calls("change", "a", "b"))
			ctx, cancel := context.WithCancelCause(t.Context())
			stop := func() { cancel(errEnough) }
			params := asking("hi")
			params.Checkpoint = kept.keep
			if test.approve != nil {
				params.Approve = test.approve(stop)
			}
			c.Runner = c.runner(t, params, j.tool("change"))
			_, err := c.tryRun(ctx, func(*toolrunner.Turn) { test.body(c, stop) })
			wantCause(t, err, errEnough)
			j.want(t)

			c = c.resume(t, kept.kept, params, j.tool("change"))
			if err := c.Decide("a", toolrunner.Allow()); err == nil {
				t.Error("a can be decided on again: the decision was not kept")
			}
			if err := c.Decide("b", toolrunner.Allow()); err != nil {
				t.Errorf("Decide(b) error = %v", err)
			}
		})
	}
}

// What has become of a call is kept once: in a resumed run, a takeover does not bring
// back an older state of it.
func TestResumedEagerRunKnowsWhatHasRun(t *testing.T) {
	var j journal
	c := newConversation(t, calls("change", "a", "b"), toolrunnertest.Text("done"))
	params := asking("hi")
	params.EagerTools, params.Approve = true, suspending("a", "b")
	c.Runner = c.runner(t, params, j.tool("change"))
	c.wantSuspended(t, c.stream(t.Context(), nil), "a", "b")
	snapshot, err := c.Snapshot()
	if err != nil {
		t.Fatal(err)
	}

	c = c.resume(t, snapshot, params, j.tool("change"))
	open := c.Messages()[:2]
	c.decide(t, "a", toolrunner.Allow())
	c.wantSuspended(t, c.stream(t.Context(), nil), "b")
	if err := c.SetMessages(open...); err != nil {
		t.Fatal(err)
	}
	c.wantSuspended(t, c.stream(t.Context(), nil), "b")
	c.decide(t, "b", toolrunner.Allow())
	c.mustStream(t, nil)
	j.want(t, "a", "b")
}

// A body under AllStreaming may run the rest of the loop before it has read its reply;
// the turn is complete all the same.
func TestTurnIsCompleteAfterRunToCompletionInItsBody(t *testing.T) {
	c := newConversation(t, toolrunnertest.Message(toolrunnertest.Say("one moment"), toolrunnertest.Call("a", "look", `{}`)).StopReason("tool_use"), toolrunnertest.Text("done"))
	c.Runner = c.runner(t, asking("hi"), says("look", "seen"))
	c.mustStream(t, func(turn *toolrunner.Turn) {
		message, err := c.RunToCompletion(t.Context())
		if err != nil || toolrunner.Text(message) != "done" {
			t.Errorf("RunToCompletion() = %q, %v", toolrunner.Text(message), err)
		}
		if got := turn.Text(); got != "one moment" || len(turn.Content) != 2 {
			t.Errorf("the turn has the text %q and %d blocks, want %q and 2", got, len(turn.Content), "one moment")
		}
	})
}

// A follow-up that takes the place of a reply that was dropped is kept like any other
// message.
func TestCheckpointOfATakeoverKeepsTheFollowUp(t *testing.T) {
	var kept store
	c := newConversation(t, toolrunnertest.Text("no"), toolrunnertest.Text("done"))
	params := given(user("hi"), verbatim(`{"role":"assistant","content":[{"type":"text","text":"hi"}]}`), user("how are you?"))
	params.Checkpoint = kept.keep
	c.Runner = c.runner(t, params)
	for turn, err := range c.All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if turn.Text() == "no" {
			c.append(t, user("really?"))
			if err := turn.Retry(); err != nil {
				t.Fatal(err)
			}
		}
	}
	want := shape(encoded(t, c.Messages()))
	if got := shape(encoded(t, c.resume(t, kept.kept, params).Messages())); !slices.Equal(got, want) {
		t.Errorf("Messages() of the resumed run = %q, want %q", got, want)
	}
}
