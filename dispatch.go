package toolrunner

import (
	"context"
	"errors"
	"sync"
	"time"
)

// The calls of a turn reach this file, and their results leave it.

// job is a call that is to be run.
type job struct {
	call     *Call
	tool     *registered
	handler  Handler          // of the tool, in its middleware
	started  func()           // called before the handler is
	finished func(completion) // called with what became of the call
}

// completion is what became of a job.
type completion struct {
	index  int
	result *Result // nil: the call was interrupted, and whether it took effect is unknown
	err    error   // what the handler returned
	took   time.Duration
}

// dispatch runs jobs, at most limit at once, and returns when each has finished
// or was left behind. started and finished are called on this goroutine. When ctx
// ends or a handler aborts, no further job is started, and the error says why.
func dispatch(ctx context.Context, jobs []job, limit int) error {
	run, abort := context.WithCancelCause(ctx)
	defer abort(nil)
	completions := make(chan completion, len(jobs)) // never blocks: late results go nowhere
	running, next := 0, 0
	alone := false // the job that runs is exclusive
	var aborted *abortError
	for {
		for next < len(jobs) && run.Err() == nil {
			exclusive := jobs[next].tool.exclusive
			if running >= limit || running > 0 && (alone || exclusive) {
				break
			}
			jobs[next].started()
			launch(run, &jobs[next], next, completions)
			alone = exclusive
			next++
			running++
		}
		if running == 0 {
			break
		}
		c := <-completions
		running--
		if a := (*abortError)(nil); aborted == nil && errors.As(c.err, &a) {
			aborted = a
			abort(a)
		}
		jobs[c.index].finished(c)
	}
	if aborted != nil {
		return aborted
	}
	return contextError(ctx)
}

// launch runs a job on a goroutine of its own. Exactly one completion follows,
// at the latest when the grace after the end of run is over.
func launch(run context.Context, j *job, index int, completions chan<- completion) {
	begin := time.Now()
	var once sync.Once
	complete := func(result *Result, err error) {
		once.Do(func() {
			completions <- completion{index: index, result: result, err: err, took: time.Since(begin)}
		})
	}
	returned := make(chan struct{})
	stop := context.AfterFunc(run, func() {
		late := time.NewTimer(grace)
		defer late.Stop()
		select {
		case <-returned:
		case <-late.C:
			complete(nil, &leftError{context.Cause(run)})
		}
	})
	go func() {
		defer stop()
		defer close(returned)
		result, err := failedResult(nil, errGoexit), errGoexit
		defer func() { complete(result, err) }()
		result, err = perform(run, j)
	}()
}

// perform calls the handler of a job. The result is nil if it was interrupted.
func perform(run context.Context, j *job) (result *Result, err error) {
	defer func() {
		if value := recover(); value != nil { // of an error whose text panics
			err = &panicError{value: value}
			result = failedResult(nil, err)
		}
	}()
	ctx := context.WithValue(run, callKey{}, j.call)
	var r *Result
	if j.tool.timeout > 0 {
		r, err = within(ctx, j.tool.timeout, j.handler, j.call)
	} else {
		r, err = invoke(ctx, j.handler, j.call)
	}
	switch {
	case err == nil && r == nil:
		return &Result{}, nil
	case err == nil:
		return r, nil
	case isContextError(run, err):
		return nil, err
	}
	return failedResult(r, err), err
}
