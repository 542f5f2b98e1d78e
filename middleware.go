package toolrunner

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner/internal/dispatch"
	"github.com/toolrunner/toolrunner/internal/history"
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
// result. A handler that does not return soon after that is left behind, and what
// it returns is dropped. It panics if the time is not positive.
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

// Limit has at most n calls of the tools named run at once, in all runners that
// share the middleware; without names, of all tools. The others wait. It panics
// if n is not positive.
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
			select {
			case slots <- struct{}{}:
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
			defer func() { <-slots }()
			return next(ctx, call)
		}
	}
}

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
				result, err := next(ctx, call)
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

// CacheResults answers a call of a ReadOnly tool with the result of an earlier
// call of the same tool with the same input, in all runners that share the
// middleware: tools are told apart by name. It keeps up to size results, the newest
// ones, and no failed ones.
// Input is the same if it is but for space. With a size of zero or less it keeps nothing.
func CacheResults(size int) Middleware {
	c := &resultCache{size: size, results: make(map[string][]byte)}
	return func(next Handler) Handler {
		return func(ctx context.Context, call *Call) (*Result, error) {
			if !call.ReadOnly {
				return next(ctx, call)
			}
			key := cacheKey(call)
			if block, ok := c.get(key); ok {
				return readResult(block), nil
			}
			result, err := next(ctx, call)
			if err == nil {
				block := result.encode(history.Use{}) // a failed one if it cannot be encoded
				if !readResult(block).IsError {
					c.put(key, block)
				}
			}
			return result, err
		}
	}
}

func cacheKey(call *Call) string {
	var input bytes.Buffer
	if json.Compact(&input, call.Input) != nil {
		return call.Name + " " + string(call.Input)
	}
	return call.Name + " " + input.String()
}

// resultCache holds encoded results, so that nobody changes them.
type resultCache struct {
	size int

	mu      sync.Mutex // guards what follows
	results map[string][]byte
	keys    []string // oldest first
}

func (c *resultCache) get(key string) ([]byte, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	block, ok := c.results[key]
	return block, ok
}

func (c *resultCache) put(key string, block []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.results[key]; !ok {
		c.keys = append(c.keys, key)
	}
	c.results[key] = block
	for len(c.keys) > max(c.size, 0) {
		delete(c.results, c.keys[0])
		c.keys = c.keys[1:]
	}
}

// Truncate cuts the text of a result after most characters, over all of its text
// blocks, and puts a note for the model in place of the rest. Other blocks stay. With
// most of zero or less, no text is left.
func Truncate(most int) Middleware {
	return func(next Handler) Handler {
		return func(ctx context.Context, call *Call) (*Result, error) {
			result, err := next(ctx, call)
			if result != nil {
				result = truncated(result, most)
			}
			return result, err
		}
	}
}

func truncated(r *Result, most int) *Result {
	cut := *r
	cut.Content = nil
	left := 0
	for _, c := range r.Content {
		if c.OfText == nil {
			cut.Content = append(cut.Content, c)
			continue
		}
		text := *c.OfText
		kept := firstRunes(text.Text, most)
		most -= utf8.RuneCountInString(kept)
		left += utf8.RuneCountInString(text.Text[len(kept):])
		if text.Text = kept; kept != "" {
			cut.Content = append(cut.Content, anthropic.BetaToolResultBlockParamContentUnion{OfText: &text})
		}
	}
	if left == 0 {
		return r
	}
	cut.Content = append(cut.Content, textContent(fmt.Sprintf("[The result was cut here: %d more characters are left out.]", left)))
	return &cut
}

// firstRunes returns the first n characters of text.
func firstRunes(text string, n int) string {
	for i := range text {
		if n <= 0 {
			return text[:i]
		}
		n--
	}
	return text
}
