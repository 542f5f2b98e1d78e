package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolrunner/toolrunner/internal/dispatch"
)

// fixture runs calls by name, and keeps a journal of what happened.
type fixture struct {
	*dispatch.Dispatcher

	plans map[string]dispatch.Plan
	mu    sync.Mutex
	log   []string
	atEnd func(dispatch.Completion) error
}

func newFixture(limit int) *fixture {
	f := &fixture{plans: make(map[string]dispatch.Plan)}
	f.Dispatcher = dispatch.New(limit, dispatch.Hooks{
		Prepare: func(j *dispatch.Job) (dispatch.Plan, bool) {
			plan, ok := f.plans[j.Key.(string)]
			return plan, ok
		},
		Start: func(j *dispatch.Job, _ dispatch.Plan) (bool, error) {
			f.note("start %v", j.Key)
			return true, nil
		},
		Finish: func(c dispatch.Completion) error {
			f.note("finish %v: %v, %v", c.Job.Key, c.Result, c.Err)
			if f.atEnd != nil {
				return f.atEnd(c)
			}
			return nil
		},
	})
	return f
}

func (f *fixture) note(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.log = append(f.log, fmt.Sprintf(format, args...))
}

// plan says how a call runs.
func (f *fixture) plan(name string, call func(context.Context) (any, error)) *dispatch.Job {
	f.plans[name] = dispatch.Plan{Call: call, Goexit: func() (any, error) { return "gone", dispatch.ErrGoexit }}
	return &dispatch.Job{Key: name}
}

// takes is a call that takes a time, and heeds its context.
func takes(d time.Duration) func(context.Context) (any, error) {
	return func(ctx context.Context) (any, error) {
		select {
		case <-time.After(d):
			return "done", nil
		case <-ctx.Done():
			return "cancelled", context.Cause(ctx)
		}
	}
}

func (f *fixture) want(t *testing.T, want ...string) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if !slices.Equal(f.log, want) {
		t.Errorf("journal =\n%s\nwant\n%s", strings.Join(f.log, "\n"), strings.Join(want, "\n"))
	}
}

func TestRunIsBoundedAndInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(2)
		jobs := []*dispatch.Job{
			f.plan("a", takes(3*time.Second)), f.plan("b", takes(time.Second)), {Key: "not to run"}, f.plan("c", takes(time.Second)),
		}
		began := time.Now()
		if err := f.Run(t.Context(), jobs); err != nil {
			t.Fatal(err)
		}
		f.want(t, "start a", "start b", "finish b: done, <nil>", "start c", "finish c: done, <nil>", "finish a: done, <nil>")
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("it took %v, want 3s", took)
		}
		if f.SetLimit(5); f.Limit() != 5 {
			t.Errorf("Limit() = %d, want 5", f.Limit())
		}
	})
}

func TestExclusiveJobsRunAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(3)
		jobs := []*dispatch.Job{f.plan("a", takes(time.Second)), f.plan("alone", takes(time.Second)), f.plan("b", takes(time.Second))}
		plan := f.plans["alone"]
		plan.Exclusive = true
		f.plans["alone"] = plan
		if err := f.Run(t.Context(), jobs); err != nil {
			t.Fatal(err)
		}
		f.want(t, "start a", "finish a: done, <nil>", "start alone", "finish alone: done, <nil>", "start b", "finish b: done, <nil>")
	})
}

func TestAnEndedContextCancelsWhatRunsAndStartsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(1)
		because := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(because) })
		err := f.Run(ctx, []*dispatch.Job{f.plan("a", takes(time.Minute)), f.plan("b", takes(time.Second))})
		var ended *dispatch.EndedError
		if !errors.As(err, &ended) || !errors.Is(err, because) || !errors.Is(err, context.Canceled) {
			t.Errorf("error = %v, want an *EndedError with the cause", err)
		}
		f.want(t, "start a", "finish a: cancelled, enough")
	})
}

func TestAJobThatIgnoresItsContextIsAbandoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(1)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		stubborn := func(context.Context) (any, error) {
			time.Sleep(time.Hour)
			return "too late", nil
		}
		began := time.Now()
		err := f.Run(ctx, []*dispatch.Job{f.plan("a", stubborn)})
		if took := time.Since(began); took != time.Second+dispatch.Grace {
			t.Errorf("it took %v, want the timeout and the grace", took)
		}
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error = %v, want the deadline", err)
		}
		time.Sleep(2 * time.Hour)
		f.Collect() // what came too late is discarded
		f.want(t, "start a", "finish a: <nil>, context deadline exceeded, and did not stop: whether it took effect is unknown")
	})
}

func TestAnAbortCancelsTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(2)
		abort := &dispatch.AbortError{Err: errors.New("no more")}
		err := f.Run(t.Context(), []*dispatch.Job{
			f.plan("a", takes(time.Minute)), f.plan("b", func(context.Context) (any, error) { return "b", abort }), f.plan("c", takes(0)),
		})
		if !errors.Is(err, abort) || !errors.Is(f.Aborted(), abort) {
			t.Errorf("error = %v, Aborted() = %v, want the abort", err, f.Aborted())
		}
		f.want(t, "start a", "start b", "finish b: b, "+abort.Error(), "finish a: cancelled, "+abort.Error())
		if f.Forgive(); f.Aborted() != nil {
			t.Error("the abort is not forgiven")
		}
	})
}

func TestACallThatEndsItsGoroutineCompletes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(1)
		if err := f.Run(t.Context(), []*dispatch.Job{f.plan("a", func(context.Context) (any, error) { runtime.Goexit(); return nil, nil })}); err != nil {
			t.Fatal(err)
		}
		f.want(t, "start a", "finish a: gone, "+dispatch.ErrGoexit.Error())
	})
}

func TestAnInterruptedCallEndsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(1)
		broken := errors.New("torn")
		err := f.Run(t.Context(), []*dispatch.Job{f.plan("a", func(context.Context) (any, error) { return nil, broken })})
		if err == nil || err.Error() != "toolrunner: torn" {
			t.Errorf("error = %v, want one that says what interrupted the call", err)
		}
	})
}

func TestAHookThatFailsStartsNothingMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(1)
		broken := errors.New("disk full")
		f.atEnd = func(dispatch.Completion) error { return broken }
		if err := f.Run(t.Context(), []*dispatch.Job{f.plan("a", takes(0)), f.plan("b", takes(0))}); !errors.Is(err, broken) {
			t.Errorf("error = %v, want that of the hook", err)
		}
		f.want(t, "start a", "finish a: done, <nil>")
	})
}

func TestAHookThatPanicsCancelsWhatRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(2)
		f.atEnd = func(c dispatch.Completion) error {
			if c.Job.Key == "b" {
				panic("hook")
			}
			return nil
		}
		func() {
			defer func() {
				if v := recover(); v != "hook" {
					t.Errorf("recovered %v, want the hook's panic", v)
				}
			}()
			_ = f.Run(t.Context(), []*dispatch.Job{f.plan("a", takes(time.Hour)), f.plan("b", takes(0))})
		}()
		synctest.Wait()
		f.Collect()
		f.want(t, "start a", "start b", "finish b: done, <nil>", "finish a: cancelled, context canceled")
	})
}

// Calls that begin before Run go on under their own context.
func TestJobsThatBeganEarlyAreJoinedWatchedAndDiscarded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(3)
		early, cancel := context.WithCancel(t.Context())
		f.Watch(early)
		f.Add(f.plan("a", takes(time.Hour)))
		f.Add(f.plan("b", takes(time.Hour)))
		f.Fill(early)
		f.Discard(func(j *dispatch.Job) bool { return j.Key == "b" })
		time.AfterFunc(time.Second, cancel)
		if err := f.Run(t.Context(), []*dispatch.Job{f.plan("c", takes(2*time.Second))}); err != nil {
			t.Fatal(err)
		}
		f.want(t, "start a", "start b", "start c", "finish b: cancelled, "+dispatch.ErrUnwanted.Error(),
			"finish a: cancelled, context canceled", "finish c: done, <nil>")
	})
}

func TestCloseDiscardsAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(1)
		f.Add(f.plan("a", takes(time.Hour)))
		f.Add(f.plan("b", takes(time.Hour)))
		f.Fill(t.Context())
		f.Close()
		f.want(t, "start a", "finish a: cancelled, "+dispatch.ErrUnwanted.Error())
	})
}
