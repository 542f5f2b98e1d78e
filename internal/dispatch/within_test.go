package dispatch_test

import (
	"context"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolrunner/toolrunner/internal/dispatch"
)

func TestWithinBoundsACall(t *testing.T) {
	failed := errors.New("failed")
	for _, tt := range []struct {
		name string
		call func(context.Context) (any, error)
		want string
		err  func(error) bool
		took time.Duration
	}{
		{"in time", takes(time.Second), "done", func(err error) bool { return err == nil }, time.Second},
		{"an error", func(context.Context) (any, error) { return "x", failed }, "x", func(err error) bool { return err == failed }, 0}, //nolint:errorlint // as it is
		{"too long", takes(time.Hour), "cancelled", func(err error) bool {
			var timeout *dispatch.TimeoutError
			return errors.As(err, &timeout) && timeout.After == time.Minute && strings.Contains(err.Error(), "1m0s")
		}, time.Minute},
		{"an error after the time", func(ctx context.Context) (any, error) { <-ctx.Done(); return "x", failed }, "x", func(err error) bool { return errors.Is(err, failed) }, time.Minute},
		{"abandoned", func(context.Context) (any, error) { time.Sleep(time.Hour); return "late", nil }, "", func(err error) bool {
			var abandoned *dispatch.AbandonedError
			var timeout *dispatch.TimeoutError
			return errors.As(err, &abandoned) && errors.As(err, &timeout)
		}, time.Minute + dispatch.Grace},
		{"goroutine ended", func(context.Context) (any, error) { runtime.Goexit(); return nil, nil }, "", func(err error) bool { return errors.Is(err, dispatch.ErrGoexit) }, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				got, err := dispatch.Within(t.Context(), time.Minute, tt.call)
				if text, _ := got.(string); text != tt.want || !tt.err(err) {
					t.Errorf("Within() = %v, %v, want %q", got, err, tt.want)
				}
				if took := time.Since(began); took != tt.took {
					t.Errorf("it took %v, want %v", took, tt.took)
				}
				time.Sleep(2 * time.Hour) // the abandoned goroutine ends
			})
		})
	}
}

func TestEndedErrorNamesTheCauseOnce(t *testing.T) {
	for _, tt := range []struct {
		err  *dispatch.EndedError
		want string
	}{
		{&dispatch.EndedError{Err: context.Canceled, Cause: context.Canceled}, "toolrunner: context canceled"},
		{&dispatch.EndedError{Err: context.Canceled, Cause: errors.New("bye")}, "toolrunner: context canceled: bye"},
	} {
		if got := tt.err.Error(); got != tt.want {
			t.Errorf("Error() = %q, want %q", got, tt.want)
		}
	}
}

// A reader that nobody waits for any more keeps its line for the next caller, unless
// that one asks for a fresh one.
func TestLinesOutliveTheirCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, out := io.Pipe()
		lines := dispatch.NewLines(in, dispatch.ReadLine)
		gone, cancel := context.WithCancelCause(t.Context())
		left := errors.New("left")
		cancel(left)
		if _, err := lines.Next(gone); !errors.Is(err, left) {
			t.Fatalf("error = %v, want the cause", err)
		}
		lines.Fresh() // nothing has come
		write := func(text string) {
			if _, err := io.WriteString(out, text); err != nil {
				t.Error(err)
			}
		}
		go write("one\r\n")
		if got, err := lines.Next(t.Context()); got != "one" || err != nil {
			t.Errorf("Next() = %q, %v, want the line that came late", got, err)
		}
		if _, err := lines.Next(gone); !errors.Is(err, left) {
			t.Fatalf("error = %v, want the cause", err)
		}
		write("stale\n")
		synctest.Wait()
		lines.Fresh()
		go func() {
			write("last")
			_ = out.Close()
		}()
		if got, err := lines.Next(t.Context()); got != "last" || err != nil {
			t.Errorf("Next() = %q, %v, want the fresh line", got, err)
		}
		if _, err := lines.Next(t.Context()); err != io.EOF { //nolint:errorlint // as the reader has it
			t.Errorf("error = %v, want EOF", err)
		}
	})
}
