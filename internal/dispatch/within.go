package dispatch

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrUnwanted is the cause of a call's context whose reply was discarded, or whose run
// has ended.
var ErrUnwanted = errors.New("the result of the call is not wanted any more")

// ErrGoexit is the private cause of a call whose handler ended its goroutine.
var ErrGoexit = errors.New("the tool ended its goroutine")

// AbortError is the error of a call that ends the run.
type AbortError struct{ Err error }

// Error says that a tool ended the run.
func (e *AbortError) Error() string {
	return fmt.Sprintf("toolrunner: a tool ended the run: %v", e.Err)
}

// Unwrap returns the cause.
func (e *AbortError) Unwrap() error { return e.Err }

// TimeoutError is the cause of a call's context whose time is over.
type TimeoutError struct{ After time.Duration }

// Error names the time.
func (e *TimeoutError) Error() string { return fmt.Sprintf("the call timed out after %v", e.After) }

// AbandonedError is the private cause of a call whose handler did not return in time.
type AbandonedError struct{ Cause error }

// Error says what the handler should have ended for.
func (e *AbandonedError) Error() string {
	return fmt.Sprintf("%v, and did not stop: whether it took effect is unknown", e.Cause)
}

// Unwrap returns the cause.
func (e *AbandonedError) Unwrap() error { return e.Cause }

// EndedError says that a context has ended, and why.
type EndedError struct{ Err, Cause error }

// Error names the error of the context, and its cause if that says more.
func (e *EndedError) Error() string {
	if errors.Is(e.Err, e.Cause) {
		return "toolrunner: " + e.Err.Error()
	}
	return fmt.Sprintf("toolrunner: %v: %v", e.Err, e.Cause)
}

// Unwrap returns the error of the context and its cause.
func (e *EndedError) Unwrap() []error { return []error{e.Err, e.Cause} }

// Within makes a call with a context that ends after a time, with a *[TimeoutError].
// A call that does not return soon after that is abandoned: what it returns is
// discarded, and the error is an *[AbandonedError]. If the call ends its goroutine, the
// error is ErrGoexit.
func Within[T any](ctx context.Context, after time.Duration, call func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, after, &TimeoutError{after})
	defer cancel()
	type answer struct {
		value T
		err   error
	}
	answers := make(chan answer, 1)
	go func() {
		a := answer{err: ErrGoexit}
		defer func() { answers <- a }()
		a.value, a.err = call(ctx)
	}()
	var a answer
	select {
	case a = <-answers:
	case <-ctx.Done():
		late := time.NewTimer(Grace)
		defer late.Stop()
		select {
		case a = <-answers:
		case <-late.C:
			return a.value, &AbandonedError{context.Cause(ctx)}
		}
	}
	if a.err != nil && SaysEnded(ctx, a.err) {
		a.err = context.Cause(ctx)
	}
	return a.value, a.err
}

// SaysEnded reports whether err says no more than that ctx has ended.
func SaysEnded(ctx context.Context, err error) bool {
	return ctx.Err() != nil && (errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx)))
}
