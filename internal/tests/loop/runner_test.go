// Package loop_test tests what a loop over a runner does: turns, steps, stop reasons,
// requests, follow-ups, cancelling.
package loop_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// E132, E134: each turn once, and nothing after the end.
func TestEachTurnIsHandedOutOnce(t *testing.T) {
	c := runtest.Start(t, runtest.Asking("hi"), runtest.Tools(runtest.Says("work", "ran")), runtest.Calls("work", "a"), runtest.Calls("work", "b"), toolrunnertest.Text("done"))
	c.WantOutcome(t, toolrunner.OutcomeRunning)
	var texts []string
	turns, err := c.TryRun(t.Context(), func(turn *toolrunner.Turn) {
		texts = append(texts, turn.Text())
		if got := c.LastMessage(); got != turn.BetaMessage {
			t.Errorf("LastMessage() = %p in the body of turn %d, want its message", got, turn.Iteration())
		}
		if turn.Iteration() != len(texts) || c.IterationCount() != len(texts) {
			t.Errorf("Iteration() = %d, IterationCount() = %d, want %d", turn.Iteration(), c.IterationCount(), len(texts))
		}
	})
	if err != nil || len(turns) != 3 || texts[2] != "done" {
		t.Errorf("turns say %q, error %v; want three, the last done", texts, err)
	}
	c.WantOutcome(t, toolrunner.OutcomeCompleted)
	if again := c.Run(t); len(again) != 0 {
		t.Errorf("a second loop gave %d turns, want none", len(again))
	}
	if _, err := c.Next(t.Context()); !errors.Is(err, toolrunner.ErrDone) {
		t.Errorf("Next() error = %v, want ErrDone", err)
	}
	message, err := c.RunToCompletion(t.Context())
	if err != nil || message != c.LastMessage() {
		t.Errorf("RunToCompletion() after the end = %v, %v; want the last message", message, err)
	}
	if got, want := c.Usage(), (toolrunner.Usage{Replies: 3, InputTokens: 30, OutputTokens: 15}); got != want {
		t.Errorf("Usage() = %+v, want %+v", got, want)
	}
}

// G33: Next is one step, and the outcome is known without one more.
func TestNextTakesOneStep(t *testing.T) {
	var ran runtest.Journal
	c := runtest.Start(t, runtest.Asking("hi"), runtest.Tools(ran.Tool("work")), runtest.Calls("work", "a"), toolrunnertest.Text("done"))
	turn, err := c.Next(t.Context())
	if err != nil || len(turn.Calls()) != 1 {
		t.Fatalf("Next() = %v, %v; want a turn with a call", turn, err)
	}
	ran.Want(t)
	c.WantOutcome(t, toolrunner.OutcomeRunning)
	if turn, err = c.Next(t.Context()); err != nil || turn.Text() != "done" {
		t.Fatalf("Next() = %v, %v; want a turn that says done", turn, err)
	}
	ran.Want(t, "a")
	c.WantOutcome(t, toolrunner.OutcomeCompleted)
	for range 2 {
		if _, err = c.Next(t.Context()); !errors.Is(err, toolrunner.ErrDone) {
			t.Errorf("Next() error = %v, want ErrDone", err)
		}
	}
}

// RunToCompletion returns a message or an error, and where the run did not
// complete, both.
func TestRunToCompletionTellsWhyARunDidNotComplete(t *testing.T) {
	tests := []struct {
		reason string
		want   error
	}{
		{"end_turn", nil},
		{"max_tokens", toolrunner.ErrTruncated},
		{"model_context_window_exceeded", toolrunner.ErrTruncated},
		{"refusal", toolrunner.ErrRefused},
		{"tool_use", toolrunner.ErrMaxIterations},
		{"pause_turn", toolrunner.ErrMaxIterations},
	}
	for _, test := range tests {
		t.Run(test.reason, func(t *testing.T) {
			params := runtest.Asking("hi")
			params.MaxIterations = 1
			reply := toolrunnertest.Text("so far")
			if test.reason == "tool_use" {
				reply = runtest.Calls("work", "a")
			}
			c := runtest.Start(t, params, runtest.Tools(runtest.Says("work", "ran")), reply.StopReason(test.reason))
			message, err := c.RunToCompletion(t.Context())
			if message == nil || string(message.StopReason) != test.reason || !errors.Is(err, test.want) {
				t.Errorf("RunToCompletion() = %v, %v; want the message and %v", message, err, test.want)
			}
		})
	}
	t.Run("no reply", func(t *testing.T) {
		c := runtest.New(t, toolrunnertest.Status(529, "overloaded_error", "Overloaded"))
		c.Runner = c.NewRunner(t, runtest.Asking("hi"))
		message, err := c.RunToCompletion(t.Context())
		if got := runtest.WantAs[*anthropic.Error](t, err); message != nil || got.StatusCode != 529 {
			t.Errorf("RunToCompletion() = %v, %v; want nil and the API's error", message, err)
		}
	})
}

// E133: breaking off runs no tools; going on runs them, once.
func TestBreakingOffRunsNothingUntilTheRunGoesOn(t *testing.T) {
	var ran runtest.Journal
	c := runtest.Start(t, runtest.Asking("hi"), runtest.Tools(ran.Tool("work")), runtest.Calls("work", "a"), toolrunnertest.Text("done"))
	c.FirstTurn(t)
	ran.Want(t)
	c.WantOutcome(t, toolrunner.OutcomeStopped)
	c.WantHistory(t, "user 'hi'", "assistant call(a)")
	c.MustAppend(t, runtest.User("by the way"))
	c.Run(t)
	ran.Want(t, "a")
	c.WantShape(t, "user 'hi'", "assistant call(a)", "user result(a)", "user 'by the way'")
}

// Breaking off at the last turn is its end.
func TestBreakingOffAtTheLastTurnIsTheEnd(t *testing.T) {
	c := runtest.Start(t, runtest.Asking("hi"), nil, toolrunnertest.Text("done"))
	c.FirstTurn(t)
	c.WantOutcome(t, toolrunner.OutcomeCompleted)
	if turns := c.Run(t); len(turns) != 0 {
		t.Errorf("going on gave %d turns, want none", len(turns))
	}
}

// Breaking off at a reply that was cut off answers its calls, as nothing will run
// them: a runner that begins with the history must not do so either.
func TestBreakingOffAtATruncatedReplyAnswersItsCalls(t *testing.T) {
	var ran runtest.Journal
	c := runtest.Start(t, runtest.Asking("hi"), runtest.Tools(ran.Tool("work")), runtest.Calls("work", "a").StopReason("max_tokens"), toolrunnertest.Text("done"))
	c.FirstTurn(t)
	c.WantOutcome(t, toolrunner.OutcomeTruncated)
	c.WantHistory(t, "user 'hi'", "assistant call(a)", "user error(a)")
	c.MustAppend(t, runtest.User("go on"))
	c.Run(t)
	ran.Want(t)
	c.WantShape(t, "user 'hi'", "assistant call(a)", "user error(a)", "user 'go on'")
	if got := c.IterationCount(); got != 1 {
		t.Errorf("IterationCount() = %d, want 1: the run that was broken off had ended", got)
	}
}

// A body that panics leaves the runner as one that breaks off does.
func TestPanicInTheBodyLeavesTheRunnerUsable(t *testing.T) {
	var ran runtest.Journal
	c := runtest.Start(t, runtest.Asking("hi"), runtest.Tools(ran.Tool("work")), runtest.Calls("work", "a"), toolrunnertest.Text("done"))
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic of the body was swallowed")
			}
		}()
		for range c.All(t.Context()) {
			panic("in the body")
		}
	}()
	c.WantOutcome(t, toolrunner.OutcomeStopped)
	c.Run(t)
	ran.Want(t, "a")
}

// E135, E171, E172, G6, G35, G36, B009: after an error of the API the same
// results go out again, and no tool runs again.
func TestFailedRequestIsTakenAgainWithTheSameResults(t *testing.T) {
	for _, status := range []int{400, 429, 500, 529} {
		var ran runtest.Journal
		c := runtest.New(t, runtest.Calls("work", "a", "b"),
			toolrunnertest.Status(status, "api_error", "no"), toolrunnertest.Status(status, "api_error", "no"), toolrunnertest.Text("done"))
		c.Runner = c.NewRunner(t, runtest.Asking("hi"), ran.Tool("work"))
		for range 2 {
			_, err := c.TryRun(t.Context(), nil)
			if got := runtest.WantAs[*anthropic.Error](t, err); got.StatusCode != status {
				t.Errorf("error = %v, want status %d", err, status)
			}
			c.WantOutcome(t, toolrunner.OutcomeFailed)
			if n := c.IterationCount(); n != 1 {
				t.Errorf("IterationCount() = %d, want 1: requests that fail do not count", n)
			}
			c.WantHistory(t, "user 'hi'", "assistant call(a) call(b)", "user result(a) result(b)")
		}
		c.Run(t)
		c.WantOutcome(t, toolrunner.OutcomeCompleted)
		ran.WantSorted(t, "a", "b")
		requests := c.Server.Requests()
		for i := 2; i < len(requests); i++ {
			if string(requests[i].Body) != string(requests[1].Body) {
				t.Errorf("status %d: request %d = %s\nwant %s", status, i, requests[i].Body, requests[1].Body)
			}
		}
	}
}

// A loop within the body of another takes its turns over.
func TestNestedLoopFinishesTheRun(t *testing.T) {
	var ran runtest.Journal
	c := runtest.Start(t, runtest.Asking("hi"), runtest.Tools(ran.Tool("work")), runtest.Calls("work", "a"), runtest.Calls("work", "b"), toolrunnertest.Text("done"))
	turns, err := c.TryRun(t.Context(), func(turn *toolrunner.Turn) {
		message, err := c.RunToCompletion(t.Context())
		if err != nil || message.Content[0].Text != "done" {
			t.Errorf("RunToCompletion() in the body = %v, %v", message, err)
		}
		if len(turn.Calls()) != 1 || turn.Iteration() != 1 {
			t.Errorf("the outer turn has %d calls, want its own", len(turn.Calls()))
		}
	})
	if err != nil || len(turns) != 1 {
		t.Errorf("the outer loop had %d turns, error %v; want 1, nil", len(turns), err)
	}
	ran.Want(t, "a", "b")
	c.WantOutcome(t, toolrunner.OutcomeCompleted)
}

// Breaking off the outer loop after an inner one has ended the run changes nothing.
func TestBreakingOffAfterANestedLoopChangesNothing(t *testing.T) {
	c := runtest.Start(t, runtest.Asking("hi"), runtest.Tools(runtest.Says("work", "ran")), runtest.Calls("work", "a"), toolrunnertest.Text("done"))
	for range c.All(t.Context()) {
		if _, err := c.RunToCompletion(t.Context()); err != nil {
			t.Error(err)
		}
		break
	}
	c.WantOutcome(t, toolrunner.OutcomeCompleted)
	c.WantHistory(t, "user 'hi'", "assistant call(a)", "user result(a)", "assistant 'done'")
}

// A reply that is no message is an error that holds it, and leaves nothing behind.
func TestReplyThatIsNoMessageLeavesNothingBehind(t *testing.T) {
	for name, body := range map[string]string{
		"empty": ``, "no JSON": `<html>`, "null": `null`, "list": `[]`, "no content": `{"type":"message","role":"assistant"}`,
		"content is null": `{"role":"assistant","content":null}`, "a user's": `{"role":"user","content":[{"type":"text","text":"x"}]}`,
		"block without a type": `{"role":"assistant","content":[{"text":"x"}]}`, "truncated": `{"role":"assistant","content":[{"type":"te`,
	} {
		t.Run(name, func(t *testing.T) {
			c := runtest.New(t, toolrunnertest.RawJSON(body), toolrunnertest.Text("done"))
			c.Runner = c.NewRunner(t, runtest.Asking("hi"))
			_, err := c.TryRun(t.Context(), nil)
			if err == nil || !strings.HasPrefix(err.Error(), "toolrunner: ") {
				t.Errorf("error = %v, want one", err)
			}
			c.WantHistory(t, "user 'hi'")
			c.Run(t)
			c.WantHistory(t, "user 'hi'", "assistant 'done'")
		})
	}
}

// B024: runners may share Params and tools.
func TestRunnersShareParamsAndTools(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		params := runtest.Asking("hi")
		params.System = []anthropic.BetaTextBlockParam{{Text: "be brief"}}
		shared := []anthropic.BetaTool{
			toolrunner.NewTool("work", "", func(context.Context, struct{ City string }) (string, error) {
				runtest.Pause(time.Second)
				return "ran", nil
			}),
		}
		c := runtest.New(t)
		c.Server.Otherwise(toolrunnertest.Func(func(q *toolrunnertest.Request) toolrunnertest.Reply {
			if n := len(q.Messages()); n >= 7 {
				return toolrunnertest.Text("done")
			}
			return toolrunnertest.Message(toolrunnertest.Call("toolu_"+string(rune('0'+len(q.Messages()))), "work", `{"City":"Paris"}`))
		}))
		var running sync.WaitGroup
		for range 8 {
			r := c.NewRunner(t, params, shared...)
			running.Go(func() {
				if _, err := r.RunToCompletion(t.Context()); err != nil {
					t.Errorf("RunToCompletion() error = %v", err)
				}
			})
		}
		running.Wait()
		if n := len(params.Messages); n != 1 {
			t.Errorf("the caller's params hold %d messages, want 1", n)
		}
	})
}
