package takeover_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// E110, E124, S14: calls at the end of the history that the caller gives are
// answered by their tools, those that have a result already are not.
func TestCallsAtTheEndOfAGivenHistoryAreAnswered(t *testing.T) {
	const handmade = `{"type":"tool_result","tool_use_id":"a","content":"by hand"}`
	tests := []struct {
		name string
		take func(d *runtest.Conversation, turn *toolrunner.Turn) error
		want []string // of the second request, after "hi"
		ran  int32
	}{
		{"replace with the reply", func(_ *runtest.Conversation, turn *toolrunner.Turn) error { return turn.Replace(turn.ToParam()) }, []string{"assistant call(a)", "user result(a)"}, 1},
		{"replace with another call", func(_ *runtest.Conversation, turn *toolrunner.Turn) error {
			return turn.Replace(runtest.Calling("x", "work"))
		}, []string{"assistant call(x)", "user result(x)"}, 1},
		{"replace with a result by hand", func(_ *runtest.Conversation, turn *toolrunner.Turn) error {
			return turn.Replace(turn.ToParam(), runtest.Answering("a", "by hand"), runtest.User("be concise"))
		}, []string{"assistant call(a)", "user result(a)", "user 'be concise'"}, 0},
		{"set to what is there", func(d *runtest.Conversation, _ *toolrunner.Turn) error { return d.SetMessages(d.Messages()...) }, []string{"assistant call(a)", "user result(a)"}, 1},
		{"set with a result by hand", func(d *runtest.Conversation, _ *toolrunner.Turn) error {
			return d.SetMessages(append(d.Messages(), runtest.Answering("a", "by hand"))...)
		}, []string{"assistant call(a)", "user result(a)"}, 0},
		{"append a result by hand", func(d *runtest.Conversation, _ *toolrunner.Turn) error {
			return d.AppendMessages(runtest.Answering("a", "by hand"))
		}, []string{"assistant call(a)", "user result(a)"}, 0},
		{"replace, then append a result by hand", func(d *runtest.Conversation, turn *toolrunner.Turn) error {
			return errors.Join(turn.Replace(turn.ToParam()), d.AppendMessages(runtest.Answering("a", "by hand")))
		}, []string{"assistant call(a)", "user result(a)"}, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var ran runtest.Tally
			d := runtest.StartUnchecked(t, toolrunner.Params{}, runtest.Tools(ran.Tool("work")), runtest.Calls("work", "a"), toolrunnertest.Text("done"))
			d.MustPlay(t, func(turn *toolrunner.Turn) {
				if turn.Iteration() > 1 {
					return
				}
				if err := test.take(d, turn); err != nil {
					t.Errorf("the takeover failed: %v", err)
				}
			})
			ran.Want(t, test.ran)
			d.WantRequest(t, 1, append([]string{"user 'hi'"}, test.want...)...)
			if test.ran == 0 {
				d.WantResult(t, "a", handmade)
			}
			d.WantFaithful(t, toolrunnertest.Takeover(toolrunnertest.Nth(1)))
		})
	}
}

// E80, E117: calls that ran in the body are not run again by a takeover that
// keeps them, and what the caller changed in their results stays.
func TestResultsOutliveATakeoverOfTheirTurn(t *testing.T) {
	takes := map[string]func(d *runtest.Conversation, turn *toolrunner.Turn, reply anthropic.BetaMessageParam) error{
		"replace": func(_ *runtest.Conversation, turn *toolrunner.Turn, reply anthropic.BetaMessageParam) error {
			return turn.Replace(reply)
		},
		"set": func(d *runtest.Conversation, _ *toolrunner.Turn, reply anthropic.BetaMessageParam) error {
			return d.SetMessages(runtest.User("hello"), reply)
		},
		"retry, then replace": func(_ *runtest.Conversation, turn *toolrunner.Turn, reply anthropic.BetaMessageParam) error {
			return errors.Join(turn.Retry(), turn.Replace(reply))
		},
		"set to all": func(d *runtest.Conversation, _ *toolrunner.Turn, _ anthropic.BetaMessageParam) error {
			return d.SetMessages(d.Messages()...)
		},
	}
	for name, take := range takes {
		t.Run(name, func(t *testing.T) {
			var ran runtest.Tally
			d := runtest.StartUnchecked(t, toolrunner.Params{}, runtest.Tools(ran.Tool("work")), runtest.Calls("work", "a"), toolrunnertest.Text("done"))
			d.MustPlay(t, func(turn *toolrunner.Turn) {
				if turn.Iteration() > 1 {
					return
				}
				results, err := turn.Results(t.Context())
				if err != nil || len(results) != 1 {
					t.Fatalf("Results() = %v, %v; want one", results, err)
				}
				results[0].Content[0].OfText.Text = "changed"
				if err := take(d, turn, turn.ToParam()); err != nil {
					t.Errorf("the takeover failed: %v", err)
				}
			})
			ran.Want(t, 1)
			d.WantResult(t, "a", `{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"changed"}]}`)
		})
	}
}

// Messages that the API would refuse take nothing over.
func TestInvalidTakeoverChangesNothing(t *testing.T) {
	tests := []struct {
		name     string
		messages runtest.MessageParams
		index    int
	}{
		{"empty text", runtest.MessageParams{runtest.User("ok"), runtest.User("")}, 1},
		{"nothing but space", runtest.MessageParams{runtest.User(" \n")}, 0},
		{"result without a call", runtest.MessageParams{runtest.User("ok"), runtest.Answering("x", "no")}, 1},
		{"result twice", runtest.MessageParams{runtest.User("ok"), runtest.Calling("x", "work"), runtest.Answering("x", "one"), runtest.Answering("x", "two")}, 3},
		{"call twice", runtest.MessageParams{runtest.User("ok"), runtest.Calling("x", "work"), runtest.Calling("x", "work")}, 2},
		{"no content", runtest.MessageParams{runtest.Verbatim(`{"role":"user","content":[]}`)}, 0},
		{"unknown role", runtest.MessageParams{runtest.Verbatim(`{"role":"robot","content":"hi"}`)}, 0},
		{"no JSON", runtest.MessageParams{runtest.User("ok"), runtest.Verbatim(`{"role":`)}, 1},
		{"zero", runtest.MessageParams{{}}, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var ran runtest.Tally
			d := runtest.StartUnchecked(t, toolrunner.Params{}, runtest.Tools(ran.Tool("work")), runtest.Calls("work", "a"), toolrunnertest.Text("done"))
			d.MustPlay(t, func(turn *toolrunner.Turn) {
				if turn.Iteration() > 1 {
					return
				}
				before := turn.Calls()
				for method, take := range map[string]func(...anthropic.BetaMessageParam) error{"Replace": turn.Replace, "SetMessages": d.SetMessages} {
					var invalid *toolrunner.HistoryError
					if err := take(test.messages...); !errors.As(err, &invalid) || invalid.Index != test.index {
						t.Errorf("%s() error = %v, want a HistoryError for message %d", method, err, test.index)
					}
				}
				if got := turn.Calls(); len(got) != 1 || got[0] != before[0] {
					t.Errorf("Calls() = %v after the refusal, want what it was", got)
				}
			})
			ran.Want(t, 1)
			d.WantRequest(t, 1, "user 'hi'", "assistant call(a)", "user result(a)")
			d.WantFaithful(t)
		})
	}
}

// A takeover without messages is an error, and takes nothing over.
func TestTakeoversNeedMessages(t *testing.T) {
	d := runtest.StartUnchecked(t, toolrunner.Params{}, nil, toolrunnertest.Text("done"))
	if err := d.SetMessages(); err == nil {
		t.Error("SetMessages() error = nil, want one")
	}
	d.MustPlay(t, func(turn *toolrunner.Turn) {
		if err := turn.Replace(); err == nil {
			t.Error("Replace() error = nil, want one")
		}
	})
	d.WantHistory(t, "user 'hi'", "assistant 'done'")
}

// E108, E136: between runs SetMessages is the history of the next one.
func TestSetMessagesBetweenRuns(t *testing.T) {
	summary := toolrunnertest.Message(toolrunnertest.RawBlock(`{"type":"compaction","content":"so far"}`))
	tests := []struct {
		name    string
		replies []toolrunnertest.Reply
		first   func(d *runtest.Conversation) // the run before
	}{
		{"before the first", nil, func(*runtest.Conversation) {}},
		{"after the end", []toolrunnertest.Reply{runtest.Calls("work", "a"), toolrunnertest.Text("one")}, func(d *runtest.Conversation) {
			_ = d.Play(t.Context(), func(*toolrunner.Turn) {})
		}},
		{"after a break at calls", []toolrunnertest.Reply{runtest.Calls("work", "a")}, func(d *runtest.Conversation) {
			for range d.All(t.Context()) {
				break
			}
		}},
		{"after a failed request", []toolrunnertest.Reply{runtest.Calls("work", "a"), toolrunnertest.Status(500, "api_error", "no")}, func(d *runtest.Conversation) {
			_ = d.Play(t.Context(), func(*toolrunner.Turn) {})
		}},
		{"after a compaction", []toolrunnertest.Reply{runtest.Calls("work", "a"), toolrunnertest.Text("one"), summary}, func(d *runtest.Conversation) {
			_ = d.Play(t.Context(), func(turn *toolrunner.Turn) {
				if turn.Iteration() == 2 {
					_ = d.CompactBeforeNextTurn(anthropic.BetaCompactionConfigUnionParam{})
				}
			})
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var ran runtest.Tally
			replies := append(slices.Clip(test.replies), toolrunnertest.Text("done"))
			d := runtest.StartUnchecked(t, toolrunner.Params{}, runtest.Tools(ran.Tool("work")), replies...)
			test.first(d)
			before := ran.Load()
			if err := d.SetMessages(runtest.User("new"), runtest.Calling("a", "work")); err != nil {
				t.Fatalf("SetMessages() error = %v", err)
			}
			if err := d.AppendMessages(runtest.User("and")); err != nil {
				t.Fatalf("AppendMessages() error = %v", err)
			}
			d.MustPlay(t, func(*toolrunner.Turn) {})
			ran.Want(t, before+1)
			d.WantRequest(t, -1, "user 'new'", "assistant call(a)", "user result(a)", "user 'and'")
			if got := d.Outcome(); got != toolrunner.OutcomeCompleted {
				t.Errorf("Outcome() = %v, want completed", got)
			}
		})
	}
}

// E56, E97: messages that a takeover keeps go out with the bytes that they had.
func TestSetMessagesKeepsTheBytesOfWhatIsLeftAsItWas(t *testing.T) {
	odd := toolrunnertest.Message(
		toolrunnertest.RawBlock(`{"text" : "\u00e9/<&>", "citations": null ,"type":"text", "new":1}`),
		toolrunnertest.RawBlock(`{"type":"tool_use","name":"work","id":"a","input":{ "z":12345678901234567890, "a":1e400}}`),
		toolrunnertest.RawBlock(`{"type":"of_tomorrow","x":[1.0, 2]}`),
	)
	runtest.BothWays(t, func(t *testing.T, streaming bool) {
		var ran runtest.Tally
		d := runtest.StartUnchecked(t, toolrunner.Params{}, runtest.Tools(ran.Tool("work")), odd, toolrunnertest.Text("one"), toolrunnertest.Text("two"))
		d.Streaming = streaming
		d.MustPlay(t, func(turn *toolrunner.Turn) {
			if turn.Iteration() != 2 {
				return
			}
			if err := d.SetMessages(append(d.Messages()[:3], runtest.User("again"))...); err != nil {
				t.Errorf("SetMessages() error = %v", err)
			}
		})
		before, after := d.Request(t, 1).Messages(), d.Request(t, 2).Messages()
		if diff := cmp.Diff(before, after[:3]); diff != "" {
			t.Errorf("the first messages (-before +after):\n%s", diff)
		}
		if !bytes.Contains(after[1], []byte("12345678901234567890")) || !strings.Contains(string(after[1]), `1e400`) {
			t.Errorf("the reply went out as %s", after[1])
		}
	})
}
