package toolrunner_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

var errEnough = errors.New("enough")

// cancelling returns a context that is cancelled with errEnough after d.
func cancelling(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(d, func() { cancel(errEnough) })
	return ctx
}

func wantCancelled(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, context.Canceled) || !errors.Is(err, errEnough) {
		t.Errorf("error = %v, want context.Canceled and its cause", err)
	}
}

// E167: cancelling a request leaves the history as it was, and the run goes on.
func TestCancellingARequestChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newConversation(t, toolrunnertest.Text("slow").Delay(time.Hour), toolrunnertest.Text("done"))
		c.Runner = c.runner(t, asking("hi"))
		begin := time.Now()
		turns, err := c.tryRun(cancelling(t, time.Minute), nil)
		wantCancelled(t, err)
		if took := time.Since(begin); took != time.Minute || len(turns) != 0 {
			t.Errorf("the run ended after %v with %d turns, want 1m0s and none", took, len(turns))
		}
		c.wantOutcome(t, toolrunner.OutcomeFailed)
		c.wantHistory(t, "user 'hi'")
		if n := c.IterationCount(); n != 0 {
			t.Errorf("IterationCount() = %d, want 0: a request that failed does not count", n)
		}
		c.run(t)
		c.wantHistory(t, "user 'hi'", "assistant 'done'")
	})
}

// E168, G11, B049, B069: what had ended keeps its result, what had not begun runs
// later, and what was interrupted is told as such, and not run again.
func TestCancellingToolsRunsNoneAgain(t *testing.T) {
	const unknown = "Error: this call was interrupted while it ran. Whether it took effect is unknown."
	synctest.Test(t, func(t *testing.T) {
		var log journal
		work := raw("work", func(ctx context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
			log.add("%s+", call.ID)
			if call.ID == "b" {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return toolrunner.TextResult("ran " + call.ID), nil
		})
		params := asking("hi")
		params.MaxConcurrency = 1
		c := converse(t, params, tools(work), calls("work", "a", "b", "c"), toolrunnertest.Text("done"))
		_, err := c.tryRun(cancelling(t, time.Minute), nil)
		wantCancelled(t, err)
		log.want(t, "a+", "b+")
		c.wantOutcome(t, toolrunner.OutcomeFailed)
		c.wantHistory(t, "user 'hi'", "assistant call(a) call(b) call(c)", "user result(a) error(b) error(c)")

		c.run(t)
		log.want(t, "a+", "b+", "c+")
		wantSuccess(t, c.request(t, -1), "a", "ran a")
		wantFailure(t, c.request(t, -1), "b", unknown)
		wantSuccess(t, c.request(t, -1), "c", "ran c")
	})
}

// Promise 2: a call that has no side effects may run again.
func TestInterruptedReadOnlyCallRunsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log journal
		look := raw("look", func(ctx context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
			log.add("%s", call.ID)
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-time.After(2 * time.Minute):
				return toolrunner.TextResult("seen"), nil
			}
		})
		look.ReadOnly = true
		c := converse(t, asking("hi"), tools(look), calls("look", "a"), toolrunnertest.Text("done"))
		_, err := c.tryRun(cancelling(t, time.Minute), nil)
		wantCancelled(t, err)
		c.run(t)
		log.want(t, "a", "a")
		wantSuccess(t, c.request(t, -1), "a", "seen")
	})
}

// A tool whose work ended before the run was cancelled keeps its result, even
// when it returns afterwards: it is not the run's error that it returned.
func TestResultThatArrivesWithTheCancelIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		work := raw("work", func(ctx context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
			<-ctx.Done()
			if call.ID == "b" {
				return nil, errBroken
			}
			return toolrunner.TextResult("ran"), nil
		})
		c := converse(t, asking("hi"), tools(work), calls("work", "a", "b"), toolrunnertest.Text("done"))
		_, err := c.tryRun(cancelling(t, time.Minute), nil)
		wantCancelled(t, err)
		c.run(t)
		wantSuccess(t, c.request(t, -1), "a", "ran")
		wantFailure(t, c.request(t, -1), "b", "Error: broken")
	})
}

// E169, B021, promise 5: a handler that ignores its context is left behind after
// a short grace, and what it returns later is dropped.
func TestHandlersThatIgnoreTheirContextAreLeftBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log journal
		work := raw("work", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
			pause(time.Hour)
			log.add("late")
			return toolrunner.TextResult("late"), nil
		})
		c := converse(t, asking("hi"), tools(work), calls("work", "a", "b", "c"), toolrunnertest.Text("done"))
		begin := time.Now()
		_, err := c.tryRun(cancelling(t, time.Minute), nil)
		wantCancelled(t, err)
		if took := time.Since(begin); took > time.Minute+time.Second {
			t.Errorf("the run ended after %v, want about a minute", took)
		}
		log.want(t)
		pause(2 * time.Hour)
		log.want(t, "late", "late", "late")
		c.wantHistory(t, "user 'hi'", "assistant call(a) call(b) call(c)", "user error(a) error(b) error(c)")
		c.run(t)
	})
}

// A run does not begin, and runs no tool, with a context that has ended.
func TestNothingHappensWithAContextThatHasEnded(t *testing.T) {
	var ran journal
	c := converse(t, asking("hi"), tools(ran.tool("work")), calls("work", "a"), toolrunnertest.Text("done"))
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(errEnough)
	_, err := c.tryRun(ended, nil)
	wantCancelled(t, err)
	if n := len(c.srv.Requests()); n != 0 {
		t.Errorf("%d requests, want none", n)
	}
	c.runBreaking(t)
	_, err = c.tryRun(ended, nil)
	wantCancelled(t, err)
	ran.want(t)
	c.run(t)
	ran.want(t, "a")
}

// Cancelling in the body of the last turn does not make a run fail that is over.
func TestCancellingInTheLastBodyLeavesTheRunCompleted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := converse(t, asking("hi"), nil, toolrunnertest.Text("done"))
	if _, err := c.tryRun(ctx, func(*toolrunner.Turn) { cancel() }); err != nil {
		t.Errorf("All() error = %v, want none", err)
	}
	c.wantOutcome(t, toolrunner.OutcomeCompleted)
}

// A deadline of the run is told from one of a tool.
func TestDeadlineOfTheRunIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		work := raw("work", func(ctx context.Context, _ *toolrunner.Call) (*toolrunner.Result, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		work.Timeout = time.Hour
		c := converse(t, asking("hi"), tools(work), calls("work", "a"))
		if _, err := c.tryRun(ctx, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("All() error = %v, want context.DeadlineExceeded", err)
		}
		c.wantHistory(t, "user 'hi'", "assistant call(a)", "user error(a)")
	})
}
