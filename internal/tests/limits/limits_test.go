// Package limits_test tests what bounds a run: Params.MaxIterations and Params.Limits.
package limits_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// busy is a model that calls a tool in each reply, with 17 tokens in, of which 7 are
// about the cache, and 5 out.
func busy(q *toolrunnertest.Request) toolrunnertest.Reply {
	id := fmt.Sprintf("toolu_%d", len(q.Messages()))
	return toolrunnertest.Message(toolrunnertest.Call(id, "work", `{}`)).Usage(10, 5).CacheUsage(3, 4)
}

// E128, B112: each limit ends the run between turns, with the results of the last
// one in the history. Raising it lets the run go on, in another process as well.
func TestLimitEndsTheRunBetweenTurns(t *testing.T) {
	limit := func(set func(l *toolrunner.Limits, times int)) func(times int) toolrunner.Limits {
		return func(times int) (l toolrunner.Limits) {
			set(&l, times)
			return l
		}
	}
	tests := []struct {
		name    string
		limits  func(times int) toolrunner.Limits
		replies int // that reach it once
		tool    func() *toolrunner.Tool
		text    string // in the error
	}{
		{"input tokens, those of the cache included", limit(func(l *toolrunner.Limits, n int) { l.InputTokens = int64(34 * n) }), 2, nil, "Limits.InputTokens is 34"},
		{"output tokens", limit(func(l *toolrunner.Limits, n int) { l.OutputTokens = int64(15*n - 1) }), 3, nil, "Limits.OutputTokens is 14, and the run has had 15"},
		{"total tokens", limit(func(l *toolrunner.Limits, n int) { l.TotalTokens = int64(44 * n) }), 2, nil, "Limits.TotalTokens is 44"},
		{"calls of a tool", limit(func(l *toolrunner.Limits, n int) { l.ToolCalls, l.EachTool = map[string]int{"work": 3 * n}, 1 }), 3, nil, `3 calls of "work"`},
		{"calls of any tool", limit(func(l *toolrunner.Limits, n int) { l.EachTool = 2 * n }), 2, nil, `2 calls of "work"`},
		{"failed calls", limit(func(l *toolrunner.Limits, n int) { l.FailedCalls = 2 * n }), 2, func() *toolrunner.Tool {
			return runtest.Raw("work", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) { return nil, runtest.ErrBroken })
		}, "Limits.FailedCalls is 2"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			runtest.BothWays(t, func(t *testing.T, streaming bool) {
				work := runtest.Says("work", "ran")
				if test.tool != nil {
					work = test.tool()
				}
				params := runtest.Asking("hi")
				params.Limits = test.limits(1)
				d := runtest.StartUnchecked(t, params, runtest.Tools(work), runtest.Repeated(toolrunnertest.Func(busy), 2*test.replies)...)
				d.Streaming = streaming
				wantLimit := func(r *toolrunner.Runner, replies int) {
					t.Helper()
					if got := r.Outcome(); got != toolrunner.OutcomeLimitReached || len(d.Server.Requests()) != replies {
						t.Errorf("Outcome() = %v after %d requests, want it after %d", got, len(d.Server.Requests()), replies)
					}
					if got := len(r.Messages()); got != 1+2*replies {
						t.Errorf("the history has %d messages, want the results as well", got)
					}
				}
				d.MustPlay(t, func(*toolrunner.Turn) {})
				wantLimit(d.Runner, test.replies)
				_, err := d.RunToCompletion(t.Context())
				if !errors.Is(err, toolrunner.ErrLimitReached) || !strings.Contains(err.Error(), test.text) {
					t.Errorf("RunToCompletion() error = %v, want one with %q", err, test.text)
				}
				snapshot, err := d.Snapshot()
				if err != nil {
					t.Fatal(err)
				}
				d.Params.Limits = test.limits(2)
				d.MustPlay(t, func(*toolrunner.Turn) {})
				wantLimit(d.Runner, 2*test.replies)

				client := d.Server.Client()
				d.Server.Add(runtest.Repeated(toolrunnertest.Func(busy), test.replies)...)
				later := runtest.ToAsk(params)
				later.Model, later.MaxTokens, later.Limits = "claude-test", 100, test.limits(2)
				resumed, err := toolrunner.Resume(&client.Beta.Messages, runtest.Tools(work), later, snapshot)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := resumed.RunToCompletion(t.Context()); !errors.Is(err, toolrunner.ErrLimitReached) || resumed.IterationCount() != 2*test.replies {
					t.Errorf("resumed: RunToCompletion() error = %v after %d replies", err, resumed.IterationCount())
				}
			})
		})
	}
}

// Requests, tools and the body count; the time in which nobody loops does not.
func TestDurationIsTheTimeOfTheLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asks := true
		params := runtest.Asking("hi")
		params.Limits.Duration = 5 * time.Minute
		params.Approve = func(context.Context, *toolrunner.Call) (toolrunner.Decision, error) {
			if asks {
				asks = false
				return toolrunner.Suspend(), nil
			}
			return toolrunner.Allow(), nil
		}
		work := runtest.Raw("work", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
			runtest.Pause(time.Minute)
			return nil, nil
		})
		c := runtest.Start(t, params, runtest.Tools(work), runtest.Calls("work", "a").Delay(time.Minute), runtest.Calls("work", "b").Delay(time.Minute), runtest.Calls("work", "c").Delay(time.Minute))
		body := func(*toolrunner.Turn) { runtest.Pause(30 * time.Second) }
		_, err := c.TryRun(t.Context(), body) // 1:30 until the call is suspended
		runtest.WantAs[*toolrunner.SuspendedError](t, err)
		runtest.Pause(72 * time.Hour)
		if err := c.Decide("a", toolrunner.Allow()); err != nil {
			t.Fatal(err)
		}
		if _, err := c.TryRun(t.Context(), body); err != nil { // 2:30, and 5:00 after the second turn
			t.Fatal(err)
		}
		c.WantOutcome(t, toolrunner.OutcomeLimitReached)
		if got := c.IterationCount(); got != 2 {
			t.Errorf("IterationCount() = %d, want 2", got)
		}
		runtest.Pause(time.Hour)
		snapshot, err := c.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		for _, again := range []time.Duration{5*time.Minute + 1, 5 * time.Minute} {
			later := runtest.ToAsk(params)
			later.Limits.Duration = again
			r, err := toolrunner.Resume(&c.Client.Beta.Messages, runtest.Tools(work), later, snapshot)
			if err != nil {
				t.Fatal(err)
			}
			_, err = r.RunToCompletion(t.Context())
			if !errors.Is(err, toolrunner.ErrLimitReached) || !strings.Contains(err.Error(), "Limits.Duration is "+again.String()) {
				t.Errorf("with %v: RunToCompletion() error = %v", again, err)
			}
		}
	})
}

// A call that succeeds begins the count of failures anew; one that was denied counts.
func TestFailedCallsCountInARow(t *testing.T) {
	params := runtest.Asking("hi")
	params.Limits.FailedCalls = 3
	params.Approve = func(_ context.Context, call *toolrunner.Call) (toolrunner.Decision, error) {
		if strings.Contains(call.ID, "denied") {
			return toolrunner.Deny(""), nil
		}
		return toolrunner.Allow(), nil
	}
	c := runtest.Start(t, params, runtest.Tools(runtest.RepeatableTool("work")),
		runtest.Calls("work", "fail_1", "fail_2", "good_1"), runtest.Calls("work", "fail_3", "denied_1"), runtest.Calls("work", "good_2", "fail_4"), runtest.Calls("work", "denied_2"), runtest.Calls("ghost", "x"))
	c.Run(t)
	c.WantOutcome(t, toolrunner.OutcomeLimitReached)
}

// What compacting costs counts, and so does a paused turn; its history is one that
// goes on.
func TestCompactionsAndPausedTurnsCount(t *testing.T) {
	params := runtest.Asking("hi")
	params.Limits.InputTokens = 100
	c := runtest.New(t, runtest.Calls("work", "a"), toolrunnertest.Message(toolrunnertest.Compaction("so far")).Usage(90, 5),
		toolrunnertest.Message(toolrunnertest.ServerToolUse("srvtoolu_1", "web_search", `{}`)).StopReason("pause_turn"),
		toolrunnertest.Message(toolrunnertest.RawBlock(`{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]}`), toolrunnertest.Say("done")))
	r := c.NewRunner(t, params, runtest.Tools(runtest.Says("work", "ran"))...)
	play := func(limit int64, requests int, want toolrunner.Outcome) {
		t.Helper()
		r.Params.Limits.InputTokens = limit
		for _, err := range r.All(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if len(c.Server.Requests()) == 1 {
				if err := r.CompactBeforeNextTurn(anthropic.BetaCompactionConfigUnionParam{}); err != nil {
					t.Fatal(err)
				}
			}
		}
		if got := r.Outcome(); got != want || len(c.Server.Requests()) != requests {
			t.Errorf("limit %d: Outcome() = %v after %d requests, want %v after %d", limit, got, len(c.Server.Requests()), want, requests)
		}
	}
	play(100, 2, toolrunner.OutcomeLimitReached)
	play(110, 3, toolrunner.OutcomeLimitReached)
	play(1000, 4, toolrunner.OutcomeCompleted)
}

// The next run begins from nothing.
func TestLimitsArePerRun(t *testing.T) {
	params := runtest.Asking("hi")
	params.Limits = toolrunner.Limits{OutputTokens: 6, TotalTokens: 16, InputTokens: 11, EachTool: 1}
	c := runtest.Start(t, params, nil, toolrunnertest.Text("one"), toolrunnertest.Text("two"), toolrunnertest.Text("three"))
	for range 3 {
		c.Run(t)
		c.WantOutcome(t, toolrunner.OutcomeCompleted)
		c.MustAppend(t, runtest.User("again"))
	}
}

func TestLimitsThatMakeNoSenseAreRefused(t *testing.T) {
	for want, limits := range map[string]toolrunner.Limits{
		"Params.Limits.InputTokens is -1":      {InputTokens: -1},
		"Params.Limits.OutputTokens is -1":     {OutputTokens: -1},
		"Params.Limits.TotalTokens is -1":      {TotalTokens: -1},
		"Params.Limits.Duration is -1":         {Duration: -1},
		"Params.Limits.FailedCalls is -1":      {FailedCalls: -1},
		`Params.Limits.ToolCalls["work"] is 0`: {ToolCalls: map[string]int{"work": 0}},
		`Params.Limits.EachTool is -1; use`:    {EachTool: -1},
	} {
		params := runtest.Asking("hi")
		params.Limits = limits
		c := runtest.New(t)
		if _, err := toolrunner.New(&c.Client.Beta.Messages, nil, params); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("New() error = %v, want %q", err, want)
		}
		r := c.NewRunner(t, runtest.Asking("hi"))
		r.Params.Limits = limits
		if _, err := r.RunToCompletion(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("RunToCompletion() error = %v, want %q", err, want)
		}
	}
}
