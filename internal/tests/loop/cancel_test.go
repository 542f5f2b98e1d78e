package loop_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

func wantCancelled(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, context.Canceled) || !errors.Is(err, runtest.ErrEnough) {
		t.Errorf("error = %v, want context.Canceled and its cause", err)
	}
}

// E167: cancelling a request leaves the history as it was, and the run goes on.
func TestCancellingARequestChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := runtest.New(t, toolrunnertest.Text("slow").Delay(time.Hour), toolrunnertest.Text("done"))
		c.Runner = c.NewRunner(t, runtest.Asking("hi"))
		begin := time.Now()
		turns, err := c.TryRun(runtest.Cancelling(t, time.Minute), nil)
		wantCancelled(t, err)
		if took := time.Since(begin); took != time.Minute || len(turns) != 0 {
			t.Errorf("the run ended after %v with %d turns, want 1m0s and none", took, len(turns))
		}
		c.WantOutcome(t, toolrunner.OutcomeFailed)
		c.WantHistory(t, "user 'hi'")
		if n := c.IterationCount(); n != 0 {
			t.Errorf("IterationCount() = %d, want 0: a request that failed does not count", n)
		}
		c.Run(t)
		c.WantHistory(t, "user 'hi'", "assistant 'done'")
	})
}

// E168, G11, B049, B069: what had ended keeps its result, what had not begun runs
// later, and what was interrupted is told as such, and not run again.
func TestCancellingToolsRunsNoneAgain(t *testing.T) {
	const unknown = "Error: this call was interrupted while it ran. Whether it took effect is unknown."
	synctest.Test(t, func(t *testing.T) {
		var log runtest.Journal
		work := runtest.Raw("work", func(ctx context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
			log.Add("%s+", call.ID)
			if call.ID == "b" {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return toolrunner.TextResult("ran " + call.ID), nil
		})
		params := runtest.Asking("hi")
		params.MaxConcurrency = 1
		c := runtest.Start(t, params, runtest.Tools(work), runtest.Calls("work", "a", "b", "c"), toolrunnertest.Text("done"))
		_, err := c.TryRun(runtest.Cancelling(t, time.Minute), nil)
		wantCancelled(t, err)
		log.Want(t, "a+", "b+")
		c.WantOutcome(t, toolrunner.OutcomeFailed)
		c.WantHistory(t, "user 'hi'", "assistant call(a) call(b) call(c)", "user result(a) error(b) error(c)")

		c.Run(t)
		log.Want(t, "a+", "b+", "c+")
		runtest.WantSuccess(t, c.Request(t, -1), "a", "ran a")
		runtest.WantFailure(t, c.Request(t, -1), "b", unknown)
		runtest.WantSuccess(t, c.Request(t, -1), "c", "ran c")
	})
}

// Promise 2: a call that has no side effects may run again.
func TestInterruptedReadOnlyCallRunsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log runtest.Journal
		look := runtest.Raw("look", func(ctx context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
			log.Add("%s", call.ID)
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-time.After(2 * time.Minute):
				return toolrunner.TextResult("seen"), nil
			}
		})
		look.ReadOnly = true
		c := runtest.Start(t, runtest.Asking("hi"), runtest.Tools(look), runtest.Calls("look", "a"), toolrunnertest.Text("done"))
		_, err := c.TryRun(runtest.Cancelling(t, time.Minute), nil)
		wantCancelled(t, err)
		c.Run(t)
		log.Want(t, "a", "a")
		runtest.WantSuccess(t, c.Request(t, -1), "a", "seen")
	})
}

// A tool whose work ended before the run was cancelled keeps its result, even
// when it returns afterwards: it is not the run's error that it returned.
func TestResultThatArrivesWithTheCancelIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		work := runtest.Raw("work", func(ctx context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
			<-ctx.Done()
			if call.ID == "b" {
				return nil, runtest.ErrBroken
			}
			return toolrunner.TextResult("ran"), nil
		})
		c := runtest.Start(t, runtest.Asking("hi"), runtest.Tools(work), runtest.Calls("work", "a", "b"), toolrunnertest.Text("done"))
		_, err := c.TryRun(runtest.Cancelling(t, time.Minute), nil)
		wantCancelled(t, err)
		c.Run(t)
		runtest.WantSuccess(t, c.Request(t, -1), "a", "ran")
		runtest.WantFailure(t, c.Request(t, -1), "b", "Error: broken")
	})
}

// E169, B021, promise 5: a handler that ignores its context is left behind after
// a short grace, and what it returns later is dropped.
func TestHandlersThatIgnoreTheirContextAreLeftBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log runtest.Journal
		work := runtest.Raw("work", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
			runtest.Pause(time.Hour)
			log.Add("late")
			return toolrunner.TextResult("late"), nil
		})
		c := runtest.Start(t, runtest.Asking("hi"), runtest.Tools(work), runtest.Calls("work", "a", "b", "c"), toolrunnertest.Text("done"))
		begin := time.Now()
		_, err := c.TryRun(runtest.Cancelling(t, time.Minute), nil)
		wantCancelled(t, err)
		if took := time.Since(begin); took > time.Minute+time.Second {
			t.Errorf("the run ended after %v, want about a minute", took)
		}
		log.Want(t)
		runtest.Pause(2 * time.Hour)
		log.Want(t, "late", "late", "late")
		c.WantHistory(t, "user 'hi'", "assistant call(a) call(b) call(c)", "user error(a) error(b) error(c)")
		c.Run(t)
	})
}

// A run does not begin, and runs no tool, with a context that has ended.
func TestNothingHappensWithAContextThatHasEnded(t *testing.T) {
	var ran runtest.Journal
	c := runtest.Start(t, runtest.Asking("hi"), runtest.Tools(ran.Tool("work")), runtest.Calls("work", "a"), toolrunnertest.Text("done"))
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(runtest.ErrEnough)
	_, err := c.TryRun(ended, nil)
	wantCancelled(t, err)
	if n := len(c.Server.Requests()); n != 0 {
		t.Errorf("%d requests, want none", n)
	}
	c.FirstTurn(t)
	_, err = c.TryRun(ended, nil)
	wantCancelled(t, err)
	ran.Want(t)
	c.Run(t)
	ran.Want(t, "a")
}

// Cancelling in the body of the last turn does not make a run fail that is over.
func TestCancellingInTheLastBodyLeavesTheRunCompleted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := runtest.Start(t, runtest.Asking("hi"), nil, toolrunnertest.Text("done"))
	if _, err := c.TryRun(ctx, func(*toolrunner.Turn) { cancel() }); err != nil {
		t.Errorf("All() error = %v, want none", err)
	}
	c.WantOutcome(t, toolrunner.OutcomeCompleted)
}

// A deadline of the run is told from one of a tool.
func TestDeadlineOfTheRunIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		work := runtest.Raw("work", func(ctx context.Context, _ *toolrunner.Call) (*toolrunner.Result, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		work.Timeout = time.Hour
		c := runtest.Start(t, runtest.Asking("hi"), runtest.Tools(work), runtest.Calls("work", "a"))
		if _, err := c.TryRun(ctx, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("All() error = %v, want context.DeadlineExceeded", err)
		}
		c.WantHistory(t, "user 'hi'", "assistant call(a)", "user error(a)")
	})
}
