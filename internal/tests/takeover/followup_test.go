package takeover_test

import (
	"errors"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// E99, E108: follow-ups of a body that takes over come after what it took over
// with, whichever came first; SetMessages drops those that wait.
func TestFollowUpsBesideATakeover(t *testing.T) {
	follow := func(d *runtest.Conversation, text string) error { return d.AppendMessages(runtest.User(text)) }
	tests := []struct {
		name string
		body func(d *runtest.Conversation, turn *toolrunner.Turn) error
		want []string // of the second request, after "hi"
	}{
		{"retry between", func(d *runtest.Conversation, turn *toolrunner.Turn) error {
			return errors.Join(follow(d, "before"), turn.Retry(), follow(d, "after"))
		}, []string{"user 'before'", "user 'after'"}},
		{"replace between", func(d *runtest.Conversation, turn *toolrunner.Turn) error {
			return errors.Join(follow(d, "before"), turn.Replace(runtest.User("new")), follow(d, "after"))
		}, []string{"user 'new'", "user 'before'", "user 'after'"}},
		{"replace with calls between", func(d *runtest.Conversation, turn *toolrunner.Turn) error {
			return errors.Join(follow(d, "before"), turn.Replace(turn.ToParam()), follow(d, "after"))
		}, []string{"assistant call(a)", "user result(a)", "user 'before'", "user 'after'"}},
		{"set between", func(d *runtest.Conversation, _ *toolrunner.Turn) error {
			return errors.Join(follow(d, "before"), d.SetMessages(runtest.User("hi"), runtest.User("new")), follow(d, "after"))
		}, []string{"user 'new'", "user 'after'"}},
		{"the id of a dropped call is free", func(d *runtest.Conversation, turn *toolrunner.Turn) error {
			return errors.Join(turn.Retry(), d.AppendMessages(runtest.Calling("a", "other"), runtest.Answering("a", "by hand")))
		}, []string{"assistant call(a)", "user result(a)"}},
	}
	runtest.BothWays(t, func(t *testing.T, streaming bool) {
		for _, test := range tests {
			t.Run(test.name, func(t *testing.T) {
				var ran runtest.Tally
				d := runtest.StartUnchecked(t, toolrunner.Params{}, runtest.Tools(ran.Tool("work")), runtest.Calls("work", "a"), toolrunnertest.Text("done"))
				d.Streaming = streaming
				d.MustPlay(t, func(turn *toolrunner.Turn) {
					if turn.Iteration() > 1 {
						return
					}
					_ = turn.Text()
					if err := test.body(d, turn); err != nil {
						t.Errorf("the body failed: %v", err)
					}
				})
				d.WantRequest(t, 1, append([]string{"user 'hi'"}, test.want...)...)
				d.WantFaithful(t, toolrunnertest.Takeover(toolrunnertest.Nth(1)))
			})
		}
	})
}

// E7, E101, E119: the continuation of a paused turn can be dropped; only another
// one may then follow the paused reply, and follow-ups wait for it.
func TestRetryOfAContinuationGoesOnWithThePausedTurn(t *testing.T) {
	runtest.BothWays(t, func(t *testing.T, streaming bool) {
		d := runtest.StartUnchecked(t, toolrunner.Params{}, nil,
			toolrunnertest.Message(runtest.ServerSearch).StopReason("pause_turn"),
			toolrunnertest.Text("no").StopReason("max_tokens"),
			toolrunnertest.Message(runtest.ServerFound, toolrunnertest.Say("found")),
			toolrunnertest.Text("done"))
		d.Streaming = streaming
		d.MustPlay(t, func(turn *toolrunner.Turn) {
			if turn.Iteration() != 2 {
				return
			}
			if err := errors.Join(d.AppendMessages(runtest.User("hurry")), turn.Retry()); err != nil {
				t.Errorf("the takeover failed: %v", err)
			}
		})
		d.WantRequest(t, 2, "user 'hi'", "assistant server_tool_use")
		d.WantRequest(t, 3, "user 'hi'", "assistant server_tool_use", "assistant web_search_tool_result 'found'", "user 'hurry'")
		d.WantFaithful(t, toolrunnertest.Takeover(toolrunnertest.Nth(2)))
	})
}

// The API refuses anything but a continuation after a paused reply.
func TestOnlyAContinuationReplacesTheOneOfAPausedTurn(t *testing.T) {
	d := runtest.StartUnchecked(t, toolrunner.Params{}, nil,
		toolrunnertest.Message(runtest.ServerSearch).StopReason("pause_turn"),
		toolrunnertest.Message(runtest.ServerFound, toolrunnertest.Say("found")))
	d.MustPlay(t, func(turn *toolrunner.Turn) {
		if turn.Iteration() != 2 {
			return
		}
		var invalid *toolrunner.HistoryError
		if err := turn.Replace(runtest.User("forget it")); !errors.As(err, &invalid) {
			t.Errorf("Replace() error = %v, want a HistoryError", err)
		}
		paused := runtest.Verbatim(`{"role":"assistant","content":[{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}]}`)
		if err := d.SetMessages(runtest.User("hi"), paused, runtest.User("forget it")); !errors.As(err, &invalid) || invalid.Index != 2 {
			t.Errorf("SetMessages() error = %v, want a HistoryError for message 2", err)
		}
	})
	d.WantRequests(t, 2)
}

// E119: a paused reply that is taken over is gone, and what was held for its end
// is not held any longer.
func TestTakeoverOfAPausedTurn(t *testing.T) {
	runtest.BothWays(t, func(t *testing.T, streaming bool) {
		for _, takeover := range []struct {
			name string
			take func(d *runtest.Conversation, turn *toolrunner.Turn) error
		}{
			{"retry", func(_ *runtest.Conversation, turn *toolrunner.Turn) error { return turn.Retry() }},
			{"replace", func(d *runtest.Conversation, turn *toolrunner.Turn) error {
				return turn.Replace(anthropic.BetaMessageParam{OfAssistant: &anthropic.BetaAssistantMessageParam{
					Content: []anthropic.BetaContentBlockParamUnion{anthropic.NewBetaTextBlock("so")},
				}}, runtest.User("go on"))
			}},
			{"set", func(d *runtest.Conversation, _ *toolrunner.Turn) error { return d.SetMessages(runtest.User("hi")) }},
		} {
			t.Run(takeover.name, func(t *testing.T) {
				var ran runtest.Tally
				d := runtest.StartUnchecked(t, toolrunner.Params{}, nil, toolrunnertest.Message(runtest.ServerSearch).StopReason("pause_turn"), runtest.Calls("work", "a"), toolrunnertest.Text("done"))
				d.Streaming = streaming
				d.MustPlay(t, func(turn *toolrunner.Turn) {
					if turn.Iteration() > 1 {
						return
					}
					if err := errors.Join(d.AddTools(ran.Tool("work")), takeover.take(d, turn)); err != nil {
						t.Errorf("the takeover failed: %v", err)
					}
				})
				ran.Want(t, 1)
				want := []string{"user 'hi'", "system addition(work)"}
				if takeover.name == "replace" {
					want = []string{"user 'hi'", "assistant 'so'", "user 'go on'", "system addition(work)"}
				}
				d.WantRequest(t, 1, want...)
			})
		}
	})
}

// What the loop body is told by the outcome, and what LastMessage returns, follow
// the takeover.
func TestOutcomeInABodyThatTakesOver(t *testing.T) {
	d := runtest.StartUnchecked(t, toolrunner.Params{}, nil, toolrunnertest.Text("no").StopReason("refusal"), toolrunnertest.Text("yes"))
	d.MustPlay(t, func(turn *toolrunner.Turn) {
		if turn.Iteration() > 1 {
			return
		}
		if got := d.Outcome(); got != toolrunner.OutcomeRefused {
			t.Errorf("Outcome() = %v before the takeover, want refused", got)
		}
		if err := turn.Retry(); err != nil {
			t.Errorf("Retry() error = %v", err)
		}
		if got := d.Outcome(); got != toolrunner.OutcomeRunning {
			t.Errorf("Outcome() = %v after the takeover, want running", got)
		}
		d.WantHistory(t, "user 'hi'")
	})
	if got := d.LastMessage().Content[0].Text; got != "yes" || d.IterationCount() != 2 {
		t.Errorf("LastMessage() says %q after %d iterations, want yes after 2", got, d.IterationCount())
	}
	d.WantHistory(t, "user 'hi'", "assistant 'yes'")
}

// S8, E133: a body that takes over and then breaks off: the next loop sends what
// it took over with.
func TestTakeoverAndBreak(t *testing.T) {
	runtest.BothWays(t, func(t *testing.T, streaming bool) {
		var ran runtest.Tally
		d := runtest.StartUnchecked(t, toolrunner.Params{}, runtest.Tools(ran.Tool("work")), runtest.Calls("work", "a"), toolrunnertest.Text("done"))
		d.Streaming = streaming
		turns := d.All(t.Context())
		if streaming {
			turns = d.AllStreaming(t.Context())
		}
		for turn, err := range turns {
			if err != nil {
				t.Fatalf("the run ended with %v", err)
			}
			if err := turn.Replace(runtest.User("new")); err != nil {
				t.Errorf("Replace() error = %v", err)
			}
			break
		}
		if got := d.Outcome(); got != toolrunner.OutcomeStopped {
			t.Errorf("Outcome() = %v, want stopped", got)
		}
		d.MustPlay(t, func(*toolrunner.Turn) {})
		ran.Want(t, 0)
		d.WantRequest(t, 1, "user 'hi'", "user 'new'")
	})
}

// Takeovers also work step by step.
func TestTakeoverBetweenSteps(t *testing.T) {
	var ran runtest.Tally
	d := runtest.StartUnchecked(t, toolrunner.Params{}, runtest.Tools(ran.Tool("work")), runtest.Calls("work", "a"), runtest.Calls("work", "b"), toolrunnertest.Text("done"))
	first, err := d.Next(t.Context())
	if err != nil {
		t.Fatalf("Next() error = %v", err)
	}
	if err := first.Retry(); err != nil {
		t.Errorf("Retry() error = %v", err)
	}
	if _, err := d.Next(t.Context()); err != nil {
		t.Fatalf("Next() error = %v", err)
	}
	if err := first.Retry(); !errors.Is(err, toolrunner.ErrTurnOver) {
		t.Errorf("Retry() of the turn before = %v, want ErrTurnOver", err)
	}
	if _, err := d.Next(t.Context()); err != nil {
		t.Fatalf("Next() error = %v", err)
	}
	ran.Want(t, 1)
	d.WantRequest(t, 1, "user 'hi'")
	d.WantRequest(t, 2, "user 'hi'", "assistant call(b)", "user result(b)")
}
