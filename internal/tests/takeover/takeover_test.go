// Package takeover_test tests loop bodies that replace the history: Retry, Replace,
// SetMessages.
package takeover_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// takeovers are the ways to drop a second reply. Each leaves "hi", the first turn
// and what it says itself, if anything, as the history.
var takeovers = []struct {
	name string
	take func(d *runtest.Conversation, turn *toolrunner.Turn) error
	adds []string
}{
	{"retry", func(_ *runtest.Conversation, turn *toolrunner.Turn) error { return turn.Retry() }, nil},
	{"replace", func(_ *runtest.Conversation, turn *toolrunner.Turn) error { return turn.Replace(runtest.User("again")) }, []string{"user 'again'"}},
	{"retry twice", func(_ *runtest.Conversation, turn *toolrunner.Turn) error {
		return errors.Join(turn.Retry(), turn.Retry())
	}, nil},
	{"replace twice", func(_ *runtest.Conversation, turn *toolrunner.Turn) error {
		return errors.Join(turn.Replace(runtest.User("no")), turn.Replace(runtest.User("again")))
	}, []string{"user 'again'"}},
	{"replace, then retry", func(_ *runtest.Conversation, turn *toolrunner.Turn) error {
		return errors.Join(turn.Replace(runtest.User("no")), turn.Retry())
	}, nil},
	{"retry, then replace", func(_ *runtest.Conversation, turn *toolrunner.Turn) error {
		return errors.Join(turn.Retry(), turn.Replace(runtest.User("again")))
	}, []string{"user 'again'"}},
	{"set", func(d *runtest.Conversation, _ *toolrunner.Turn) error {
		return d.SetMessages(append(d.Messages()[:3], runtest.User("again"))...)
	}, []string{"user 'again'"}},
	{"set, then retry", func(d *runtest.Conversation, turn *toolrunner.Turn) error {
		return errors.Join(d.SetMessages(append(d.Messages()[:3], runtest.User("again"))...), turn.Retry())
	}, []string{"user 'again'"}},
	{"set, then replace", func(d *runtest.Conversation, turn *toolrunner.Turn) error {
		return errors.Join(d.SetMessages(d.Messages()[:3]...), turn.Replace(runtest.User("again")))
	}, []string{"user 'again'"}},
	{"retry, then set", func(d *runtest.Conversation, turn *toolrunner.Turn) error {
		return errors.Join(turn.Retry(), d.SetMessages(append(d.Messages()[:3], runtest.User("again"))...))
	}, []string{"user 'again'"}},
}

// E108, E109, E113, E116, E118: whatever the stop reason, a takeover drops the
// reply of its own turn and nothing else, however often it is made in one body.
func TestTakeoverDropsTheReplyOfItsTurnOnly(t *testing.T) {
	reasons := []string{"tool_use", "end_turn", "stop_sequence", "max_tokens", "model_context_window_exceeded", "refusal", "pause_turn", "compaction", "tomorrow"}
	runtest.BothWays(t, func(t *testing.T, streaming bool) {
		for _, takeover := range takeovers {
			for _, reason := range reasons {
				t.Run(takeover.name+"/"+reason, func(t *testing.T) {
					var ran runtest.Tally
					d := runtest.StartUnchecked(t, toolrunner.Params{}, runtest.Tools(ran.Tool("work")),
						runtest.Calls("work", "a"), runtest.Calls("work", "b").StopReason(reason), runtest.Calls("work", "c"), toolrunnertest.Text("done"))
					d.Streaming = streaming
					var iterations []int
					d.MustPlay(t, func(turn *toolrunner.Turn) {
						iterations = append(iterations, turn.Iteration())
						if turn.Iteration() != 2 {
							return
						}
						if err := takeover.take(d, turn); err != nil {
							t.Errorf("the takeover failed: %v", err)
						}
						if calls := turn.Calls(); len(calls) > 0 {
							t.Errorf("Calls() = %v after the takeover, want none", calls)
						}
						if results, err := turn.Results(t.Context()); len(results) > 0 || err != nil {
							t.Errorf("Results() = %v, %v after the takeover, want none", results, err)
						}
					})
					ran.Want(t, 2)
					if want := []int{1, 2, 3, 4}; !slices.Equal(iterations, want) {
						t.Errorf("iterations = %v, want %v", iterations, want)
					}
					d.WantRequest(t, 2, append([]string{"user 'hi'", "assistant call(a)", "user result(a)"}, takeover.adds...)...)
					d.WantFaithful(t, toolrunnertest.Takeover(toolrunnertest.Nth(2)))
				})
			}
		}
	})
}

// E118, E143: a stream that breaks can be taken over like a reply; without that it
// ends the run.
func TestTakeoverOfABrokenStreamKeepsTheEarlierTurns(t *testing.T) {
	for _, takeover := range takeovers {
		t.Run(takeover.name, func(t *testing.T) {
			var ran runtest.Tally
			d := runtest.StartUnchecked(t, toolrunner.Params{}, runtest.Tools(ran.Tool("work")),
				runtest.Calls("work", "a"), runtest.Calls("work", "b").EndAfter(4), toolrunnertest.Text("done"))
			d.Streaming = true
			err := d.Play(t.Context(), func(turn *toolrunner.Turn) {
				var broken error
				for _, err := range turn.Events() {
					broken = err
				}
				if broken == nil {
					return
				}
				if err := takeover.take(d, turn); err != nil {
					t.Errorf("the takeover failed: %v", err)
				}
			})
			if err != nil {
				t.Errorf("the run ended with %v, want the takeover to go on", err)
			}
			ran.Want(t, 1)
			d.WantRequest(t, 2, append([]string{"user 'hi'", "assistant call(a)", "user result(a)"}, takeover.adds...)...)
		})
	}
}

// E114: streams that break without end are bounded as well.
func TestMaxIterationsBoundsRetriesOfBrokenStreams(t *testing.T) {
	for _, takeover := range takeovers[:4] {
		t.Run(takeover.name, func(t *testing.T) {
			broken := toolrunnertest.Text("no").EndAfter(4)
			d := runtest.StartUnchecked(t, toolrunner.Params{MaxIterations: 3}, nil, broken, broken, broken)
			d.Streaming = true
			var iterations []int
			d.MustPlay(t, func(turn *toolrunner.Turn) {
				iterations = append(iterations, turn.Iteration())
				_ = turn.Text() // reads to the error
				if err := takeover.take(d, turn); err != nil {
					t.Errorf("the takeover failed: %v", err)
				}
			})
			if want := []int{1, 2, 3}; !slices.Equal(iterations, want) || d.IterationCount() != 3 {
				t.Errorf("iterations = %v, want %v", iterations, want)
			}
			if got := d.Outcome(); got != toolrunner.OutcomeMaxIterations {
				t.Errorf("Outcome() = %v, want max iterations", got)
			}
		})
	}
}

// E111, E112, S13: a truncated reply is asked for again with a larger budget, up
// to a ceiling at which the run ends with it.
func TestRetryWithALargerBudgetUpToACeiling(t *testing.T) {
	runtest.BothWays(t, func(t *testing.T, streaming bool) {
		truncated := toolrunnertest.Text("so far").StopReason("max_tokens")
		d := runtest.StartUnchecked(t, toolrunner.Params{}, nil, truncated, truncated, truncated)
		d.Streaming = streaming
		d.MustPlay(t, func(turn *toolrunner.Turn) {
			_ = turn.Text() // reads the stop reason of a stream
			if turn.StopReason == anthropic.BetaStopReasonMaxTokens && d.Params.MaxTokens < 400 {
				d.Params.MaxTokens *= 2
				if err := turn.Retry(); err != nil {
					t.Errorf("Retry() error = %v", err)
				}
			}
		})
		for i, want := range []string{"100", "200", "400"} {
			d.WantRequest(t, i, "user 'hi'")
			if got := string(d.Request(t, i).Field("max_tokens")); got != want {
				t.Errorf("request %d: max_tokens = %s, want %s", i, got, want)
			}
		}
		if got := d.Outcome(); got != toolrunner.OutcomeTruncated {
			t.Errorf("Outcome() = %v, want truncated", got)
		}
		if last := d.LastMessage(); last == nil || last.StopReason != "max_tokens" {
			t.Errorf("LastMessage() = %v, want the truncated reply", last)
		}
		d.WantHistory(t, "user 'hi'", "assistant 'so far'")
	})
}

// E114: takeovers without end are bounded by MaxIterations.
func TestMaxIterationsBoundsTakeovers(t *testing.T) {
	runtest.BothWays(t, func(t *testing.T, streaming bool) {
		for _, takeover := range takeovers[:4] {
			t.Run(takeover.name, func(t *testing.T) {
				reply := toolrunnertest.Text("no")
				d := runtest.StartUnchecked(t, toolrunner.Params{MaxIterations: 3}, nil, reply, reply, reply)
				d.Streaming = streaming
				d.MustPlay(t, func(turn *toolrunner.Turn) {
					if err := takeover.take(d, turn); err != nil {
						t.Errorf("the takeover failed: %v", err)
					}
				})
				d.WantRequests(t, 3)
				if got := d.Outcome(); got != toolrunner.OutcomeMaxIterations {
					t.Errorf("Outcome() = %v, want max iterations", got)
				}
			})
		}
	})
}

// A turn that is over takes nothing over.
func TestTakeoverOutsideOfTheTurnChangesNothing(t *testing.T) {
	runtest.BothWays(t, func(t *testing.T, streaming bool) {
		var ran runtest.Tally
		d := runtest.StartUnchecked(t, toolrunner.Params{}, runtest.Tools(ran.Tool("work")), runtest.Calls("work", "a"), toolrunnertest.Text("done"))
		d.Streaming = streaming
		var first *toolrunner.Turn
		expectOver := func(turn *toolrunner.Turn) {
			if err := turn.Retry(); !errors.Is(err, toolrunner.ErrTurnOver) {
				t.Errorf("Retry() error = %v, want ErrTurnOver", err)
			}
			if err := turn.Replace(runtest.User("late")); !errors.Is(err, toolrunner.ErrTurnOver) {
				t.Errorf("Replace() error = %v, want ErrTurnOver", err)
			}
			if results, err := turn.Results(t.Context()); results != nil || !errors.Is(err, toolrunner.ErrTurnOver) {
				t.Errorf("Results() = %v, %v; want ErrTurnOver", results, err)
			}
		}
		d.MustPlay(t, func(turn *toolrunner.Turn) {
			if first != nil {
				expectOver(first)
			}
			first = turn
		})
		expectOver(first)
		ran.Want(t, 1)
		d.WantRequests(t, 2)
		d.WantHistory(t, "user 'hi'", "assistant call(a)", "user result(a)", "assistant 'done'")
		d.WantFaithful(t)
	})
}
