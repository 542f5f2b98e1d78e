package approval_test

import (
	"context"
	"testing"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// After a takeover the waiting calls are gone; should they come back, they still wait.
func TestTakeoversOfASuspendedTurn(t *testing.T) {
	takeovers := map[string]struct {
		do    func(c *runtest.Conversation, turn *toolrunner.Turn) error
		shape []string
	}{
		"Retry":             {func(_ *runtest.Conversation, turn *toolrunner.Turn) error { return turn.Retry() }, []string{"user 'hi'"}},
		"Replace":           {func(_ *runtest.Conversation, turn *toolrunner.Turn) error { return turn.Replace(runtest.User("anew")) }, []string{"user 'hi'", "user 'anew'"}},
		"SetMessages":       {func(c *runtest.Conversation, _ *toolrunner.Turn) error { return c.SetMessages(runtest.User("anew")) }, []string{"user 'anew'"}},
		"SetMessages, same": {func(c *runtest.Conversation, _ *toolrunner.Turn) error { return c.SetMessages(c.Messages()...) }, []string{"user 'hi'", "assistant call(a) call(b)", "user error(a) result(b)"}},
	}
	for name, tt := range takeovers {
		t.Run(name, func(t *testing.T) {
			var ran runtest.Journal
			c := runtest.New(t, runtest.Calls("work", "a", "b"), toolrunnertest.Text("done"))
			c.Runner = c.NewRunner(t, approving(runtest.Suspending("a")), ran.Tool("work"))
			_, err := c.TryRun(t.Context(), func(turn *toolrunner.Turn) {
				if turn.Iteration() > 1 {
					return
				}
				_, err := turn.Results(t.Context())
				runtest.WantAs[*toolrunner.SuspendedError](t, err)
				if err := tt.do(c, turn); err != nil {
					t.Errorf("the takeover failed: %v", err)
				}
				if got := c.Pending(); len(got) != 0 {
					t.Errorf("Pending() = %s, want none", runtest.IDsOf(got))
				}
				runtest.WantAs[*toolrunner.DecisionError](t, c.Decide("a", toolrunner.Allow()))
			})
			if err != nil {
				t.Fatal(err)
			}
			ran.Want(t, "b")
			c.WantShape(t, tt.shape...)
		})
	}
	t.Run("the same calls in their place", func(t *testing.T) {
		var ran, asked runtest.Journal
		c := runtest.New(t, runtest.Calls("work", "a", "b"), toolrunnertest.Text("done"))
		c.Runner = c.NewRunner(t, approving(func(_ context.Context, call *toolrunner.Call) (toolrunner.Decision, error) {
			asked.Add("%s", call.ID)
			return toolrunner.Suspend(), nil
		}), ran.Tool("work"))
		_, err := c.TryRun(t.Context(), func(turn *toolrunner.Turn) {
			c.MustDecide(t, "b", toolrunner.Deny(""))
			_, _ = turn.Results(t.Context())
			if err := turn.Replace(turn.ToParam()); err != nil {
				t.Error(err)
			}
		})
		c.WantSuspended(t, err, "a")
		asked.Want(t, "a")
		c.MustDecide(t, "a", toolrunner.Deny(""))
		c.Run(t)
		ran.Want(t)
		c.WantShape(t, "user 'hi'", "assistant call(a) call(b)", "user error(a) error(b)")
	})
	t.Run("after the run has ended so", func(t *testing.T) {
		var ran runtest.Journal
		c := runtest.New(t, runtest.Calls("work", "a"), toolrunnertest.Text("done"))
		c.Runner = c.NewRunner(t, approving(runtest.Suspending("a")), ran.Tool("work"))
		c.RunSuspended(t, "a")
		if err := c.SetMessages(runtest.User("anew")); err != nil {
			t.Fatal(err)
		}
		c.Run(t)
		ran.Want(t)
		c.WantShape(t, "user 'anew'")
	})
}
