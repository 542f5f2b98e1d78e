package survive_test

import (
	"context"
	"slices"
	"testing"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
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

// E167: a run that is cancelled while it has something to keep ends with the cause of
// its context, and keeps it: what was decided, and what the body did.
func TestCancelledRunKeepsWhatItHas(t *testing.T) {
	tests := []struct {
		name    string
		approve func(cancel func()) toolrunner.Approver // nil: none
		body    func(c *runtest.Conversation, cancel func())
	}{
		{name: "the body decides and cancels", body: func(c *runtest.Conversation, cancel func()) {
			_ = c.Decide("a", toolrunner.Deny("no"))
			cancel()
		}},
		{name: "an approver decides and the next cancels", body: func(*runtest.Conversation, func()) {}, approve: func(cancel func()) toolrunner.Approver {
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
			var j runtest.Journal
			var kept store
			c := runtest.New(t, runtest.Calls("change", "a", "b"))
			ctx, cancel := context.WithCancelCause(t.Context())
			stop := func() { cancel(runtest.ErrEnough) }
			params := runtest.Asking("hi")
			params.Checkpoint = kept.keep
			if test.approve != nil {
				params.Approve = test.approve(stop)
			}
			c.Runner = c.NewRunner(t, params, j.Tool("change"))
			_, err := c.TryRun(ctx, func(*toolrunner.Turn) { test.body(c, stop) })
			runtest.WantCause(t, err, runtest.ErrEnough)
			j.Want(t)

			c = c.Resume(t, kept.kept, params, j.Tool("change"))
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
	var j runtest.Journal
	c := runtest.New(t, runtest.Calls("change", "a", "b"), toolrunnertest.Text("done"))
	params := runtest.Asking("hi")
	params.EagerTools, params.Approve = true, runtest.Suspending("a", "b")
	c.Runner = c.NewRunner(t, params, j.Tool("change"))
	c.WantSuspended(t, c.Stream(t.Context(), nil), "a", "b")
	snapshot, err := c.Snapshot()
	if err != nil {
		t.Fatal(err)
	}

	c = c.Resume(t, snapshot, params, j.Tool("change"))
	open := c.Messages()[:2]
	c.MustDecide(t, "a", toolrunner.Allow())
	c.WantSuspended(t, c.Stream(t.Context(), nil), "b")
	if err := c.SetMessages(open...); err != nil {
		t.Fatal(err)
	}
	c.WantSuspended(t, c.Stream(t.Context(), nil), "b")
	c.MustDecide(t, "b", toolrunner.Allow())
	c.MustStream(t, nil)
	j.Want(t, "a", "b")
}

// A follow-up that takes the place of a reply that was dropped is kept like any other
// message.
func TestCheckpointOfATakeoverKeepsTheFollowUp(t *testing.T) {
	var kept store
	c := runtest.New(t, toolrunnertest.Text("no"), toolrunnertest.Text("done"))
	params := runtest.Given(runtest.User("hi"), runtest.Verbatim(`{"role":"assistant","content":[{"type":"text","text":"hi"}]}`), runtest.User("how are you?"))
	params.Checkpoint = kept.keep
	c.Runner = c.NewRunner(t, params)
	for turn, err := range c.All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if turn.Text() == "no" {
			c.MustAppend(t, runtest.User("really?"))
			if err := turn.Retry(); err != nil {
				t.Fatal(err)
			}
		}
	}
	want := runtest.Shape(runtest.Encoded(t, c.Messages()))
	if got := runtest.Shape(runtest.Encoded(t, c.Resume(t, kept.kept, params).Messages())); !slices.Equal(got, want) {
		t.Errorf("Messages() of the resumed run = %q, want %q", got, want)
	}
}
