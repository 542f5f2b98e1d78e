package runtest

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
)

// ErrEnough is why a test ends a run.
var ErrEnough = errors.New("enough")

// Cancelling returns a context that is cancelled with ErrEnough after d.
func Cancelling(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(d, func() { cancel(ErrEnough) })
	return ctx
}

// HasStatus reports whether an error is one of the API with this status.
func HasStatus(code int) func(error) bool {
	return func(err error) bool {
		var api *anthropic.Error
		return errors.As(err, &api) && api.StatusCode == code
	}
}

// ErrBroken is what a tool fails with.
var ErrBroken = errors.New("broken")

// RawJSON is JSON as it stands.
func RawJSON(s string) json.RawMessage { return json.RawMessage(s) }

// WantAs fails the test unless err is a T, which it returns.
func WantAs[T error](t *testing.T, err error) T {
	t.Helper()
	var target T
	if !errors.As(err, &target) {
		t.Fatalf("error = %v (%T), want a %T", err, err, target)
	}
	return target
}

// Bubble runs a test whose goroutines must all have ended when it has.
func Bubble(t *testing.T, name string, test func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
}

// WantCause checks that err wraps want.
func WantCause(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("error = %v, want one that wraps %v", err, want)
	}
}

// BothWays runs a test over plain replies and over streams.
func BothWays(t *testing.T, test func(t *testing.T, streaming bool)) {
	t.Helper()
	for name, streaming := range map[string]bool{"plain": false, "streaming": true} {
		t.Run(name, func(t *testing.T) { test(t, streaming) })
	}
}

// Exhaust goes through turns, and returns the error that ends them.
func Exhaust(turns func(func(*toolrunner.Turn, error) bool)) error {
	for _, err := range turns {
		if err != nil {
			return err
		}
	}
	return nil
}
