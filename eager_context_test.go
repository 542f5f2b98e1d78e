package toolrunner_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// A call that began under the context of the loop ends with that one, whatever context
// its result is waited for with.
func TestEagerCallsAreLeftWhenTheirOwnContextHasEnded(t *testing.T) {
	bubble(t, "stubborn", func(t *testing.T) {
		stubborn := readOnly("stubborn", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
			pause(time.Hour)
			return toolrunner.TextResult("late"), nil
		})
		c := newConversation(t, blocks("a stubborn", "text").StopReason("tool_use"))
		c.Runner = c.runner(t, hasty(), stubborn)
		begin := time.Now()
		err := c.stream(cancelling(t, time.Second), func(turn *toolrunner.Turn) {
			results, err := turn.Results(context.Background())
			if took := time.Since(begin); err == nil || took > 2*time.Second {
				t.Errorf("Results() = %v, %v after %v, want an error when the call was left", results, err, took)
			}
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("AllStreaming() error = %v, want that it was cancelled", err)
		}
		pause(2 * time.Hour) // for the handler to return
	})
}

// fragile is a logger that panics once it is armed, at the end of a call.
type fragile struct{ armed *bool }

func (fragile) Enabled(context.Context, slog.Level) bool { return true }
func (f fragile) WithAttrs([]slog.Attr) slog.Handler     { return f }
func (f fragile) WithGroup(string) slog.Handler          { return f }

func (f fragile) Handle(_ context.Context, r slog.Record) error {
	if *f.armed && r.Message == "tool call ended" {
		*f.armed = false
		panic("the logger")
	}
	return nil
}

// A logger that panics at the end of a call loses no result, neither that of the call
// nor of the others, and the next loop comes to an end.
func TestLoggerThatPanicsLosesNoResult(t *testing.T) {
	for _, recovers := range []string{"in the body", "around the loop"} {
		bubble(t, recovers, func(t *testing.T) {
			var log journal
			armed := false
			params := hasty()
			params.Logger = slog.New(fragile{&armed})
			c := newConversation(t, blocks("a look", "b look", "text").StopReason("tool_use"), toolrunnertest.Text("done"))
			c.Runner = c.runner(t, params, log.waits("look", time.Second))
			panicked := false
			guarded := func(f func()) {
				defer func() { panicked = panicked || recover() != nil }()
				f()
			}
			read := func(turn *toolrunner.Turn) {
				for e, err := range turn.Events() {
					if err != nil {
						t.Error(err)
					}
					if e.Type == "message_delta" {
						pause(2 * time.Second)
						synctest.Wait()
						armed = true
					}
				}
			}
			begin := time.Now()
			if recovers == "in the body" {
				c.mustStream(t, func(turn *toolrunner.Turn) { guarded(func() { read(turn) }) })
			} else {
				guarded(func() {
					for turn, err := range c.AllStreaming(t.Context()) {
						if err != nil {
							t.Error(err)
							return
						}
						read(turn)
					}
				})
				c.mustStream(t, nil)
			}
			if took := time.Since(begin); !panicked || took > time.Minute {
				t.Errorf("the logger panicked: %v, and the run took %v", panicked, took)
			}
			log.wantSorted(t, "a", "a ended", "b", "b ended")
			for _, id := range []string{"a", "b"} {
				wantSuccess(t, c.request(t, -1), id, "read "+id)
			}
		})
	}
}
