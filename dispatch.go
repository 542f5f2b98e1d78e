package toolrunner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"
)

// The calls of a turn reach this file, and their results leave it. It is the
// only one that starts goroutines.

// grace is how long a handler may take to return after its context has ended.
// One that takes longer is left behind.
const grace = 100 * time.Millisecond

// job is a call that is to be run.
type job struct {
	call    *Call
	tool    *registered
	started func() // called before the handler is
	// finished is called with what became of the call.
	finished func(completion)
}

// completion is what became of a job.
type completion struct {
	index  int
	result *Result // nil: the call was interrupted, and whether it took effect is unknown
	left   bool    // its handler is still running, and what it returns is dropped
	took   time.Duration
}

// dispatch runs jobs, at most limit at once, and returns when each has finished
// or was left behind. started and finished are called on this goroutine. When ctx
// ends, no further job is started, and the error says why it ended.
func dispatch(ctx context.Context, jobs []job, limit int) error {
	completions := make(chan completion, len(jobs)) // never blocks: late results go nowhere
	running, next := 0, 0
	alone := false // the job that runs is exclusive
	for {
		for next < len(jobs) && ctx.Err() == nil {
			exclusive := jobs[next].tool.exclusive
			if running >= limit || running > 0 && (alone || exclusive) {
				break
			}
			jobs[next].started()
			launch(ctx, &jobs[next], next, completions)
			alone = exclusive
			next++
			running++
		}
		if running == 0 {
			return contextError(ctx)
		}
		c := <-completions
		running--
		jobs[c.index].finished(c)
	}
}

// contextError returns the error of an ended context with its cause, or nil.
func contextError(ctx context.Context) error {
	err := ctx.Err()
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); !errors.Is(err, cause) {
		return fmt.Errorf("toolrunner: %w: %w", err, cause)
	}
	return fmt.Errorf("toolrunner: %w", err)
}

// timeoutError is the cause of a call's context whose tool's timeout is over.
type timeoutError struct{ after time.Duration }

func (e *timeoutError) Error() string { return fmt.Sprintf("the call timed out after %v", e.after) }

// panicError is the private cause of a call whose handler panicked.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("the tool panicked: %v", e.value) }

// errGoexit is the private cause of a call whose handler ended its goroutine.
var errGoexit = errors.New("the tool ended its goroutine")

const panicText = "Error: the tool failed unexpectedly."

// launch runs a job on a goroutine of its own. Exactly one completion follows,
// at the latest when the grace after the end of the call's context is over.
func launch(run context.Context, j *job, index int, completions chan<- completion) {
	begin := time.Now()
	ctx, cancel := callContext(run, j.tool.timeout)
	var once sync.Once
	complete := func(c completion) {
		once.Do(func() {
			c.index, c.took = index, time.Since(begin)
			completions <- c
		})
	}
	returned := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		late := time.NewTimer(grace)
		defer late.Stop()
		select {
		case <-returned:
		case <-late.C:
			complete(completion{result: abandoned(run, ctx), left: true})
		}
	})
	go func() {
		defer cancel()
		defer stop()
		defer close(returned)
		result := ErrorResult(panicText)
		result.Err = errGoexit
		defer func() { complete(completion{result: result}) }()
		result = invoke(run, ctx, j)
	}()
}

// callContext returns the context of one call.
func callContext(run context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	if timeout > 0 {
		return context.WithTimeoutCause(run, timeout, &timeoutError{timeout})
	}
	return context.WithCancel(run)
}

// invoke calls the handler. It returns nil for a call that was interrupted.
func invoke(run, ctx context.Context, j *job) (result *Result) {
	defer func() {
		if value := recover(); value != nil {
			result = ErrorResult(panicText)
			result.Err = &panicError{value, debug.Stack()}
		}
	}()
	r, err := j.tool.handler(context.WithValue(ctx, callKey{}, j.call), j.call)
	if err == nil {
		return cmp.Or(r, &Result{})
	}
	if isContextError(ctx, err) {
		if run.Err() != nil {
			return nil
		}
		if cause := (*timeoutError)(nil); errors.As(context.Cause(ctx), &cause) {
			err = cause
		}
	}
	return failedResult(r, err)
}

// isContextError reports whether err says no more than that ctx has ended.
func isContextError(ctx context.Context, err error) bool {
	return ctx.Err() != nil && (errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx)))
}

// abandoned is the result of a call whose handler did not return in time.
func abandoned(run, ctx context.Context) *Result {
	if run.Err() != nil {
		return nil
	}
	return failedResult(nil, fmt.Errorf("%w, and it did not stop: whether it took effect is unknown", context.Cause(ctx)))
}
