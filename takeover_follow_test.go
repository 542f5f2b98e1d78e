package toolrunner_test

import (
	"errors"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

var serverSearch = toolrunnertest.ServerToolUse("srvtoolu_1", "web_search", `{"query":"x"}`)

var serverFound = toolrunnertest.RawBlock(`{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]}`)

// E99, E108: follow-ups of a body that takes over come after what it took over
// with, whichever came first; SetMessages drops those that wait.
func TestFollowUpsBesideATakeover(t *testing.T) {
	follow := func(d *conversation, text string) error { return d.AppendMessages(user(text)) }
	tests := []struct {
		name string
		body func(d *conversation, turn *toolrunner.Turn) error
		want []string // of the second request, after "hi"
	}{
		{"retry between", func(d *conversation, turn *toolrunner.Turn) error {
			return errors.Join(follow(d, "before"), turn.Retry(), follow(d, "after"))
		}, []string{"user 'before'", "user 'after'"}},
		{"replace between", func(d *conversation, turn *toolrunner.Turn) error {
			return errors.Join(follow(d, "before"), turn.Replace(user("new")), follow(d, "after"))
		}, []string{"user 'new'", "user 'before'", "user 'after'"}},
		{"replace with calls between", func(d *conversation, turn *toolrunner.Turn) error {
			return errors.Join(follow(d, "before"), turn.Replace(turn.ToParam()), follow(d, "after"))
		}, []string{"assistant call(a)", "user result(a)", "user 'before'", "user 'after'"}},
		{"set between", func(d *conversation, _ *toolrunner.Turn) error {
			return errors.Join(follow(d, "before"), d.SetMessages(user("hi"), user("new")), follow(d, "after"))
		}, []string{"user 'new'", "user 'after'"}},
		{"the id of a dropped call is free", func(d *conversation, turn *toolrunner.Turn) error {
			return errors.Join(turn.Retry(), d.AppendMessages(calling("a", "other"), answering("a", "by hand")))
		}, []string{"assistant call(a)", "user result(a)"}},
	}
	bothWays(t, func(t *testing.T, streaming bool) {
		for _, test := range tests {
			t.Run(test.name, func(t *testing.T) {
				var ran tally
				d := dialogueWith(t, toolrunner.Params{}, tools(ran.tool("work")), calls("work", "a"), toolrunnertest.Text("done"))
				d.streaming = streaming
				d.mustPlay(t, func(turn *toolrunner.Turn) {
					if turn.Iteration() > 1 {
						return
					}
					_ = turn.Text()
					if err := test.body(d, turn); err != nil {
						t.Errorf("the body failed: %v", err)
					}
				})
				d.wantRequest(t, 1, append([]string{"user 'hi'"}, test.want...)...)
				d.wantFaithful(t, toolrunnertest.Takeover(1))
			})
		}
	})
}

// Follow-ups that wait and what a takeover brings must fit together.
func TestTakeoverThatWaitingFollowUpsDoNotFitIsRefused(t *testing.T) {
	d := dialogueWith(t, toolrunner.Params{}, nil, toolrunnertest.Text("one"), toolrunnertest.Text("two"))
	d.mustPlay(t, func(turn *toolrunner.Turn) {
		if turn.Iteration() > 1 {
			return
		}
		if err := d.AppendMessages(calling("x", "other"), answering("x", "first")); err != nil {
			t.Fatalf("AppendMessages() error = %v", err)
		}
		var invalid *toolrunner.HistoryError
		if err := turn.Replace(calling("x", "other"), answering("x", "second")); !errors.As(err, &invalid) {
			t.Errorf("Replace() error = %v, want a HistoryError: the call x would be there twice", err)
		}
	})
	d.wantRequest(t, 1, "user 'hi'", "assistant 'one'", "assistant call(x)", "user result(x)")
}

// E7, E101, E119: the continuation of a paused turn can be dropped; only another
// one may then follow the paused reply, and follow-ups wait for it.
func TestRetryOfAContinuationGoesOnWithThePausedTurn(t *testing.T) {
	bothWays(t, func(t *testing.T, streaming bool) {
		d := dialogueWith(t, toolrunner.Params{}, nil,
			toolrunnertest.Message(serverSearch).StopReason("pause_turn"),
			toolrunnertest.Text("no").StopReason("max_tokens"),
			toolrunnertest.Message(serverFound, toolrunnertest.Say("found")),
			toolrunnertest.Text("done"))
		d.streaming = streaming
		d.mustPlay(t, func(turn *toolrunner.Turn) {
			if turn.Iteration() != 2 {
				return
			}
			if err := errors.Join(d.AppendMessages(user("hurry")), turn.Retry()); err != nil {
				t.Errorf("the takeover failed: %v", err)
			}
		})
		d.wantRequest(t, 2, "user 'hi'", "assistant server_tool_use")
		d.wantRequest(t, 3, "user 'hi'", "assistant server_tool_use", "assistant web_search_tool_result 'found'", "user 'hurry'")
		d.wantFaithful(t, toolrunnertest.Takeover(2))
	})
}

// The API refuses anything but a continuation after a paused reply.
func TestOnlyAContinuationReplacesTheOneOfAPausedTurn(t *testing.T) {
	d := dialogueWith(t, toolrunner.Params{}, nil,
		toolrunnertest.Message(serverSearch).StopReason("pause_turn"),
		toolrunnertest.Message(serverFound, toolrunnertest.Say("found")))
	d.mustPlay(t, func(turn *toolrunner.Turn) {
		if turn.Iteration() != 2 {
			return
		}
		var invalid *toolrunner.HistoryError
		if err := turn.Replace(user("forget it")); !errors.As(err, &invalid) {
			t.Errorf("Replace() error = %v, want a HistoryError", err)
		}
		paused := verbatim(`{"role":"assistant","content":[{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}]}`)
		if err := d.SetMessages(user("hi"), paused, user("forget it")); !errors.As(err, &invalid) || invalid.Index != 2 {
			t.Errorf("SetMessages() error = %v, want a HistoryError for message 2", err)
		}
	})
	d.wantRequests(t, 2)
}

// E119: a paused reply that is taken over is gone, and what was held for its end
// is not held any longer.
func TestTakeoverOfAPausedTurn(t *testing.T) {
	bothWays(t, func(t *testing.T, streaming bool) {
		for _, takeover := range []struct {
			name string
			take func(d *conversation, turn *toolrunner.Turn) error
		}{
			{"retry", func(_ *conversation, turn *toolrunner.Turn) error { return turn.Retry() }},
			{"replace", func(d *conversation, turn *toolrunner.Turn) error {
				return turn.Replace(anthropic.BetaMessageParam{OfAssistant: &anthropic.BetaAssistantMessageParam{
					Content: []anthropic.BetaContentBlockParamUnion{anthropic.NewBetaTextBlock("so")},
				}}, user("go on"))
			}},
			{"set", func(d *conversation, _ *toolrunner.Turn) error { return d.SetMessages(user("hi")) }},
		} {
			t.Run(takeover.name, func(t *testing.T) {
				var ran tally
				d := dialogueWith(t, toolrunner.Params{}, nil, toolrunnertest.Message(serverSearch).StopReason("pause_turn"), calls("work", "a"), toolrunnertest.Text("done"))
				d.streaming = streaming
				d.mustPlay(t, func(turn *toolrunner.Turn) {
					if turn.Iteration() > 1 {
						return
					}
					if err := errors.Join(d.AddTools(ran.tool("work")), takeover.take(d, turn)); err != nil {
						t.Errorf("the takeover failed: %v", err)
					}
				})
				ran.want(t, 1)
				want := []string{"user 'hi'", "system addition(work)"}
				if takeover.name == "replace" {
					want = []string{"user 'hi'", "assistant 'so'", "user 'go on'", "system addition(work)"}
				}
				d.wantRequest(t, 1, want...)
			})
		}
	})
}

// What the loop body is told by the outcome, and what LastMessage returns, follow
// the takeover.
func TestOutcomeInABodyThatTakesOver(t *testing.T) {
	d := dialogueWith(t, toolrunner.Params{}, nil, toolrunnertest.Text("no").StopReason("refusal"), toolrunnertest.Text("yes"))
	d.mustPlay(t, func(turn *toolrunner.Turn) {
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
		d.wantHistory(t, "user 'hi'")
	})
	if got := d.LastMessage().Content[0].Text; got != "yes" || d.IterationCount() != 2 {
		t.Errorf("LastMessage() says %q after %d iterations, want yes after 2", got, d.IterationCount())
	}
	d.wantHistory(t, "user 'hi'", "assistant 'yes'")
}

// S8, E133: a body that takes over and then breaks off: the next loop sends what
// it took over with.
func TestTakeoverAndBreak(t *testing.T) {
	bothWays(t, func(t *testing.T, streaming bool) {
		var ran tally
		d := dialogueWith(t, toolrunner.Params{}, tools(ran.tool("work")), calls("work", "a"), toolrunnertest.Text("done"))
		d.streaming = streaming
		turns := d.All(t.Context())
		if streaming {
			turns = d.AllStreaming(t.Context())
		}
		for turn, err := range turns {
			if err != nil {
				t.Fatalf("the run ended with %v", err)
			}
			if err := turn.Replace(user("new")); err != nil {
				t.Errorf("Replace() error = %v", err)
			}
			break
		}
		if got := d.Outcome(); got != toolrunner.OutcomeStopped {
			t.Errorf("Outcome() = %v, want stopped", got)
		}
		d.mustPlay(t, func(*toolrunner.Turn) {})
		ran.want(t, 0)
		d.wantRequest(t, 1, "user 'hi'", "user 'new'")
	})
}

// Takeovers also work step by step.
func TestTakeoverBetweenSteps(t *testing.T) {
	var ran tally
	d := dialogueWith(t, toolrunner.Params{}, tools(ran.tool("work")), calls("work", "a"), calls("work", "b"), toolrunnertest.Text("done"))
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
	ran.want(t, 1)
	d.wantRequest(t, 1, "user 'hi'")
	d.wantRequest(t, 2, "user 'hi'", "assistant call(b)", "user result(b)")
}
