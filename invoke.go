package toolrunner

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"
)

// A handler is called here; whatever it does, a result or an error comes back.

// grace is how long a handler may take to return after its context has ended.
// One that takes longer is left behind.
const grace = 100 * time.Millisecond

// panicError is the private cause of a call whose handler panicked.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("the tool panicked: %v", e.value) }

// errGoexit is the private cause of a call whose handler ended its goroutine.
var errGoexit = errors.New("the tool ended its goroutine")

// timeoutError is the cause of a call's context whose time is over.
type timeoutError struct{ after time.Duration }

func (e *timeoutError) Error() string { return fmt.Sprintf("the call timed out after %v", e.after) }

// leftError is the private cause of a call whose handler did not return in time.
type leftError struct{ cause error }

func (e *leftError) Error() string {
	return fmt.Sprintf("%v, and did not stop: whether it took effect is unknown", e.cause)
}

func (e *leftError) Unwrap() error { return e.cause }

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
