package toolrunner_test

import (
	"context"
	"testing"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// After a takeover the waiting calls are gone; should they come back, they are asked
// about anew.
func TestTakeoversOfASuspendedTurn(t *testing.T) {
	takeovers := map[string]struct {
		do    func(c *conversation, turn *toolrunner.Turn) error
		shape []string
	}{
		"Retry":             {func(_ *conversation, turn *toolrunner.Turn) error { return turn.Retry() }, []string{"user 'hi'"}},
		"Replace":           {func(_ *conversation, turn *toolrunner.Turn) error { return turn.Replace(user("anew")) }, []string{"user 'hi'", "user 'anew'"}},
		"SetMessages":       {func(c *conversation, _ *toolrunner.Turn) error { return c.SetMessages(user("anew")) }, []string{"user 'anew'"}},
		"SetMessages, same": {func(c *conversation, _ *toolrunner.Turn) error { return c.SetMessages(c.Messages()...) }, []string{"user 'hi'", "assistant call(a) call(b)", "user error(a) result(b)"}},
	}
	for name, tt := range takeovers {
		t.Run(name, func(t *testing.T) {
			var ran journal
			c := newConversation(t, calls("work", "a", "b"), toolrunnertest.Text("done"))
			c.Runner = c.runner(t, approving(suspending("a")), ran.tool("work"))
			_, err := c.tryRun(t.Context(), func(turn *toolrunner.Turn) {
				if turn.Iteration() > 1 {
					return
				}
				_, err := turn.Results(t.Context())
				wantAs[*toolrunner.SuspendedError](t, err)
				if err := tt.do(c, turn); err != nil {
					t.Errorf("the takeover failed: %v", err)
				}
				if got := c.Pending(); len(got) != 0 {
					t.Errorf("Pending() = %s, want none", idsOf(got))
				}
				wantAs[*toolrunner.DecisionError](t, c.Decide("a", toolrunner.Allow()))
			})
			if err != nil {
				t.Fatal(err)
			}
			ran.want(t, "b")
			c.wantShape(t, tt.shape...)
		})
	}
	t.Run("the same calls in their place", func(t *testing.T) {
		var ran, asked journal
		c := newConversation(t, calls("work", "a", "b"), toolrunnertest.Text("done"))
		c.Runner = c.runner(t, approving(func(_ context.Context, call *toolrunner.Call) (toolrunner.Decision, error) {
			asked.add("%s", call.ID)
			return toolrunner.Suspend(), nil
		}), ran.tool("work"))
		_, err := c.tryRun(t.Context(), func(turn *toolrunner.Turn) {
			c.decide(t, "b", toolrunner.Deny(""))
			_, _ = turn.Results(t.Context())
			if err := turn.Replace(turn.ToParam()); err != nil {
				t.Error(err)
			}
		})
		c.wantSuspended(t, err, "a")
		asked.want(t, "a", "a")
		c.decide(t, "a", toolrunner.Deny(""))
		c.run(t)
		ran.want(t)
		c.wantShape(t, "user 'hi'", "assistant call(a) call(b)", "user error(a) error(b)")
	})
	t.Run("after the run has ended so", func(t *testing.T) {
		var ran journal
		c := newConversation(t, calls("work", "a"), toolrunnertest.Text("done"))
		c.Runner = c.runner(t, approving(suspending("a")), ran.tool("work"))
		c.runSuspended(t, "a")
		if err := c.SetMessages(user("anew")); err != nil {
			t.Fatal(err)
		}
		c.run(t)
		ran.want(t)
		c.wantShape(t, "user 'anew'")
	})
}
