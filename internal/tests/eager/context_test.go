package eager_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// A call that began under the context of the loop ends with that one, whatever context
// its result is waited for with.
func TestEagerCallsAreLeftWhenTheirOwnContextHasEnded(t *testing.T) {
	runtest.Bubble(t, "stubborn", func(t *testing.T) {
		stubborn := runtest.ReadOnly("stubborn", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
			runtest.Pause(time.Hour)
			return toolrunner.TextResult("late"), nil
		})
		c := runtest.New(t, runtest.Blocks("a stubborn", "text").StopReason("tool_use"))
		c.Runner = c.NewRunner(t, runtest.EagerParams(), stubborn)
		begin := time.Now()
		err := c.Stream(runtest.Cancelling(t, time.Second), func(turn *toolrunner.Turn) {
			results, err := turn.Results(context.Background())
			if took := time.Since(begin); err == nil || took > 2*time.Second {
				t.Errorf("Results() = %v, %v after %v, want an error when the call was left", results, err, took)
			}
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("AllStreaming() error = %v, want that it was cancelled", err)
		}
		runtest.Pause(2 * time.Hour) // for the handler to return
	})
}

// fragile is a logger that panics once it is armed, at the end of a call.
type fragile struct{ armed *bool }

func (fragile) Enabled(context.Context, slog.Level) bool { return true }

func (f fragile) WithAttrs([]slog.Attr) slog.Handler { return f }

func (f fragile) WithGroup(string) slog.Handler { return f }

func (f fragile) Handle(_ context.Context, r slog.Record) error {
	if *f.armed && r.Message == "tool call ended" {
		*f.armed = false
		panic("the logger")
	}
	return nil
}

// A logger that panics at the end of a call loses no result, neither that of the call
// nor of the others, and the next loop comes to an end.
func TestLoggerThatPanicsLosesNoResult(t *testing.T) {
	for _, recovers := range []string{"in the body", "around the loop"} {
		runtest.Bubble(t, recovers, func(t *testing.T) {
			var log runtest.Journal
			armed := false
			params := runtest.EagerParams()
			params.Logger = slog.New(fragile{&armed})
			c := runtest.New(t, runtest.Blocks("a look", "b look", "text").StopReason("tool_use"), toolrunnertest.Text("done"))
			c.Runner = c.NewRunner(t, params, log.Waits("look", time.Second))
			panicked := false
			guarded := func(f func()) {
				defer func() { panicked = panicked || recover() != nil }()
				f()
			}
			read := func(turn *toolrunner.Turn) {
				for e, err := range turn.Events() {
					if err != nil {
						t.Error(err)
					}
					if e.Type == "message_delta" {
						runtest.Pause(2 * time.Second)
						synctest.Wait()
						armed = true
					}
				}
			}
			begin := time.Now()
			if recovers == "in the body" {
				c.MustStream(t, func(turn *toolrunner.Turn) { guarded(func() { read(turn) }) })
			} else {
				guarded(func() {
					for turn, err := range c.AllStreaming(t.Context()) {
						if err != nil {
							t.Error(err)
							return
						}
						read(turn)
					}
				})
				c.MustStream(t, nil)
			}
			if took := time.Since(begin); !panicked || took > time.Minute {
				t.Errorf("the logger panicked: %v, and the run took %v", panicked, took)
			}
			log.WantSorted(t, "a", "a ended", "b", "b ended")
			for _, id := range []string{"a", "b"} {
				runtest.WantSuccess(t, c.Request(t, -1), id, "read "+id)
			}
		})
	}
}

// E167, promise 5: cancelling ends the loop at once; a handler that ignores its
// context is left behind after a grace, and what it returns is dropped.
func TestEagerCallsEndWhenTheRunIsCancelled(t *testing.T) {
	reply := runtest.Blocks("a stubborn", "b wait", "text").StopReason("tool_use")
	events := runtest.EventCount(t, reply)
	reply = reply.Trickle(time.Second)
	for n := range events + 2 {
		runtest.Bubble(t, fmt.Sprintf("after %d", n), func(t *testing.T) {
			var log runtest.Journal
			stubborn := runtest.ReadOnly("stubborn", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
				runtest.Pause(time.Minute)
				return toolrunner.TextResult("late"), nil
			})
			after := time.Duration(n)*time.Second + time.Millisecond
			c := runtest.New(t, reply)
			c.Runner = c.NewRunner(t, runtest.EagerParams(), stubborn, log.Waits("wait", time.Hour))
			begin := time.Now()
			err := c.Stream(runtest.Cancelling(t, after), nil)
			runtest.WantCause(t, err, runtest.ErrEnough)
			if late := time.Since(begin) - after; late != 0 && late != 100*time.Millisecond {
				t.Errorf("the loop ended %v after it was cancelled, want at once or after the grace", late)
			}
			if log.Has("b") && !log.Has("b cancelled") {
				t.Error("call b still runs after the loop")
			}
			c.WantOutcome(t, toolrunner.OutcomeFailed)
			runtest.Pause(2 * time.Minute) // what was left behind returns
			if strings.Contains(fmt.Sprint(runtest.Shape(runtest.Encoded(t, c.Messages()))), "result(a)") {
				t.Error("the late result is in the history")
			}
		})
	}
}

// The context of the run may end while Results has one that goes on.
func TestResultsSaysThatTheRunWasCancelled(t *testing.T) {
	runtest.Bubble(t, "cancel", func(t *testing.T) {
		var log runtest.Journal
		c := runtest.New(t, runtest.Blocks("a wait", "text").StopReason("tool_use"))
		c.Runner = c.NewRunner(t, runtest.EagerParams(), log.Waits("wait", time.Hour))
		err := c.Stream(runtest.Cancelling(t, time.Minute), func(turn *toolrunner.Turn) {
			_, err := turn.Results(t.Context())
			runtest.WantCause(t, err, runtest.ErrEnough)
		})
		runtest.WantCause(t, err, runtest.ErrEnough)
		log.Want(t, "a", "a cancelled")
	})
}
