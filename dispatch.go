package toolrunner

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strings"
	"sync"
	"time"
)

// The calls of a turn reach this file, and their results leave it. It is the
// only one that starts goroutines, and whatever a handler does, a result or an
// error comes back.

// job is a call that is to be run.
type job struct {
	call *Call
	// prepare says how the call is to be run. It is called when there is room for
	// it, perhaps more than once, and reports false if it has been answered.
	prepare  func() (plan, bool)
	started  func(plan) bool  // called before the handler is, which is not if it reports false
	finished func(completion) // called with what became of the call
}

// plan is how a call is to be run.
type plan struct {
	handler   Handler       // of the tool, in its middleware
	timeout   time.Duration // 0: none
	exclusive bool          // no other call runs beside it
	repeat    bool          // it may run again if its result is lost
}

// completion is what became of a job.
type completion struct {
	index  int
	result *Result // nil: the call was interrupted, and whether it took effect is unknown
	err    error   // what the handler returned
	took   time.Duration
}

// grace is how long a handler may take to return after its context has ended.
// One that takes longer is left behind.
const grace = 100 * time.Millisecond

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
		for next < len(jobs) && running < limit && run.Err() == nil {
			j := &jobs[next]
			p, ok := j.prepare()
			if ok && running > 0 && (alone || p.exclusive) {
				break
			}
			if ok && j.started(p) {
				launch(run, j.call, p, next, completions)
				alone = p.exclusive
				running++
			}
			next++
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

// launch runs a call on a goroutine of its own. Exactly one completion follows,
// at the latest when the grace after the end of run is over.
func launch(run context.Context, call *Call, p plan, index int, completions chan<- completion) {
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
		result, err = perform(run, call, p)
	}()
}

// perform calls a handler. The result is nil if it was interrupted.
func perform(run context.Context, call *Call, p plan) (result *Result, err error) {
	defer func() {
		if value := recover(); value != nil { // of an error whose text panics
			err = &panicError{value: value}
			result = failedResult(nil, err)
		}
	}()
	ctx := context.WithValue(run, callKey{}, call)
	var r *Result
	if p.timeout > 0 {
		r, err = within(ctx, p.timeout, p.handler, call)
	} else {
		r, err = invoke(ctx, p.handler, call)
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

// invoke calls a handler and turns a panic into an error.
func invoke(ctx context.Context, handler Handler, call *Call) (result *Result, err error) {
	defer func() {
		if value := recover(); value != nil {
			result, err = nil, &panicError{value, debug.Stack()}
		}
	}()
	return handler(ctx, call)
}

// within calls a handler with a context that ends after a time. A handler that
// does not return soon after that is left behind: what it returns is dropped.
func within(ctx context.Context, after time.Duration, handler Handler, call *Call) (*Result, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, after, &timeoutError{after})
	defer cancel()
	type answer struct {
		result *Result
		err    error
	}
	answers := make(chan answer, 1)
	go func() {
		a := answer{err: errGoexit}
		defer func() { answers <- a }()
		a.result, a.err = invoke(ctx, handler, call)
	}()
	var a answer
	select {
	case a = <-answers:
	case <-ctx.Done():
		late := time.NewTimer(grace)
		defer late.Stop()
		select {
		case a = <-answers:
		case <-late.C:
			return nil, &leftError{context.Cause(ctx)}
		}
	}
	if a.err != nil && isContextError(ctx, a.err) {
		a.err = context.Cause(ctx)
	}
	return a.result, a.err
}

// isContextError reports whether err says no more than that ctx has ended.
func isContextError(ctx context.Context, err error) bool {
	return ctx.Err() != nil && (errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx)))
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

// lineReader reads lines for callers that cannot wait for longer than a context. A
// read that was left goes on, and the next caller has it.
type lineReader struct {
	in      *bufio.Reader
	pending chan readLine // nil if no read is under way
}

type readLine struct {
	text string
	err  error
}

// fresh drops a line that was meant for a caller who has left.
func (l *lineReader) fresh() {
	select {
	case <-l.pending:
		l.pending = nil
	default:
	}
}

// next returns the next line without its end.
func (l *lineReader) next(ctx context.Context) (string, error) {
	if l.pending == nil {
		pending := make(chan readLine, 1)
		l.pending = pending
		go func() {
			text, err := l.in.ReadString('\n')
			if err == io.EOF && text != "" {
				err = nil
			}
			pending <- readLine{strings.TrimRight(text, "\r\n"), err}
		}()
	}
	select {
	case line := <-l.pending:
		l.pending = nil
		return line.text, line.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}
