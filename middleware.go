package toolrunner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/toolrunner/toolrunner/internal/dispatch"
	"github.com/toolrunner/toolrunner/internal/media"
)

// What goes around handlers:
//
//	call ─► first middleware ─► second ─► ... ─► the tool's handler
//	result ◄─────────────────────────────────────────┘

// Middleware goes around a [Handler]. What it returns may answer a call by
// itself, change the call on its way in and the result on its way out, or return
// an error in its place.
//
// It sees the calls that are run, each with input that was checked: calls of
// unknown tools and calls with invalid input are answered before. A tool's
// Timeout goes around all middleware; what panics inside is recovered outside.
// Handlers of one turn run at the same time, so a middleware must be safe for
// concurrent use.
type Middleware func(next Handler) Handler

// wrap puts middleware around a handler, the first outermost. It is code of the
// caller, so it is applied where a panic is recovered: when the call is run.
func wrap(handler Handler, middleware []Middleware) Handler {
	if len(middleware) == 0 {
		return handler
	}
	middleware = slices.Clone(middleware)
	return func(ctx context.Context, call *Call) (*Result, error) {
		wrapped := handler
		for _, m := range slices.Backward(middleware) {
			wrapped = m(wrapped)
		}
		return wrapped(ctx, call)
	}
}

// Timeout ends the context of each call after a time, and the call with a failed
// result. A handler that does not return soon after that is abandoned: its
// goroutine may go on, and its result is discarded. It panics if the time is not
// positive.
func Timeout(after time.Duration) Middleware {
	if after <= 0 {
		panic(fmt.Sprintf("toolrunner: Timeout(%v): the time must be positive", after))
	}
	return func(next Handler) Handler {
		return func(ctx context.Context, call *Call) (*Result, error) {
			return within(ctx, after, next, call)
		}
	}
}

// Limit runs at most n calls of the tools named at once, in all runners that share the
// middleware; without names, of all tools. The others wait. A call that is made within
// another one, by an agent that is a tool, may take the place of the call that waits for
// it, so nested runs cannot block each other. It panics if n is not positive.
func Limit(n int, names ...string) Middleware {
	if n <= 0 {
		panic(fmt.Sprintf("toolrunner: Limit(%d): the limit must be positive", n))
	}
	names = slices.Clone(names)
	slots := make(chan struct{}, n)
	return func(next Handler) Handler {
		return func(ctx context.Context, call *Call) (*Result, error) {
			if len(names) > 0 && !slices.Contains(names, call.Name) {
				return next(ctx, call)
			}
			lent, _ := ctx.Value(lentSlot{slots}).(chan struct{}) // nil, and never ready, outside of another call
			select {
			case slots <- struct{}{}:
				defer func() { <-slots }()
			case lent <- struct{}{}:
				defer func() { <-lent }()
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
			return next(context.WithValue(ctx, lentSlot{slots}, make(chan struct{}, 1)), call)
		}
	}
}

// lentSlot is the key of the slot that a call lends to one call within it at a time.
type lentSlot struct{ slots chan struct{} }

// Temporary marks err as one that may not come again: [Retry] tries once more.
func Temporary(err error) error { return &temporaryError{err} }

type temporaryError struct{ err error }

func (e *temporaryError) Error() string   { return e.err.Error() }
func (e *temporaryError) Unwrap() error   { return e.err }
func (e *temporaryError) Temporary() bool { return true }

// Retry calls the handler of a ReadOnly or Idempotent tool again, up to attempts times in all,
// after an error that says it is temporary: one made by [Temporary], or any that
// has a method Temporary() bool. It waits before the second attempt, and twice
// as long before each further one. Other tools are called once: what they have
// done must not be done twice. With attempts of one or less it calls once.
func Retry(attempts int, wait time.Duration) Middleware {
	return func(next Handler) Handler {
		return func(ctx context.Context, call *Call) (*Result, error) {
			pause := wait
			for attempt := 1; ; attempt++ {
				its := ctx
				if attempt > 1 { // the calls that it makes have the same keys again
					its = context.WithValue(ctx, attemptKey{}, &innerKeys{})
				}
				result, err := next(its, call)
				if err == nil || !call.repeatable || attempt >= attempts || ctx.Err() != nil || !isTemporary(err) {
					return result, err
				}
				timer := time.NewTimer(pause)
				select {
				case <-timer.C:
				case <-ctx.Done():
					timer.Stop()
					return nil, context.Cause(ctx)
				}
				pause *= 2
			}
		}
	}
}

// isTemporary reports whether err says so. One that ends the run does not.
func isTemporary(err error) bool {
	var t interface{ Temporary() bool }
	var aborted *dispatch.AbortError
	return errors.As(err, &t) && t.Temporary() && !errors.As(err, &aborted)
}

// Truncate cuts the text of a result after most characters, over all of its content,
// and puts a note for the model in place of the rest. Text blocks and plain-text
// documents are cut; other blocks that hold text, such as search results, are left out
// when they do not fit. Images and files stay. The content of a [ToolError] is cut in
// the same way; the text of another error is bounded by the runner. With most of zero
// or less, no text is left.
func Truncate(most int) Middleware {
	return func(next Handler) Handler {
		return func(ctx context.Context, call *Call) (*Result, error) {
			result, err := next(ctx, call)
			if own := (*ToolError)(nil); errors.As(err, &own) && own != nil {
				if content, left := media.Cut(own.Content, most); left > 0 {
					err = &ToolError{Content: content, Err: err}
				}
			}
			if result != nil {
				if content, left := media.Cut(result.Content, most); left > 0 {
					cut := *result
					cut.Content = content
					result = &cut
				}
			}
			return result, err
		}
	}
}
