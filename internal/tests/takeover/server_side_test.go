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

// E91-E95: the container of the last reply that names one goes along, unless the
// caller chose one; a takeover changes nothing about that.
func TestContainerGoesAlongThroughTakeovers(t *testing.T) {
	skills := &anthropic.BetaContainerParams{Skills: []anthropic.BetaSkillParams{{SkillID: "pdf", Type: "anthropic"}}}
	pinned := &anthropic.BetaContainerParams{ID: anthropic.String("mine")}
	tests := []struct {
		name      string
		container anthropic.BetaMessageNewParamsContainerUnion
		want      []string // of each request
	}{
		{"none", anthropic.BetaMessageNewParamsContainerUnion{}, []string{``, `"c1"`, `"c1"`, `"c2"`}},
		{"pinned", anthropic.BetaMessageNewParamsContainerUnion{OfString: anthropic.String("mine")}, []string{`"mine"`, `"mine"`, `"mine"`, `"mine"`}},
		{"pinned by an object", anthropic.BetaMessageNewParamsContainerUnion{OfContainers: pinned}, []string{`{"id":"mine"}`, `{"id":"mine"}`, `{"id":"mine"}`, `{"id":"mine"}`}},
		{"skills", anthropic.BetaMessageNewParamsContainerUnion{OfContainers: skills}, []string{
			`{"skills":[{"skill_id":"pdf","type":"anthropic"}]}`, `{"id":"c1","skills":[{"skill_id":"pdf","type":"anthropic"}]}`,
			`{"id":"c1","skills":[{"skill_id":"pdf","type":"anthropic"}]}`, `{"id":"c2","skills":[{"skill_id":"pdf","type":"anthropic"}]}`,
		}},
	}
	takes := map[string]func(d *runtest.Conversation, turn *toolrunner.Turn) error{
		"nothing": func(*runtest.Conversation, *toolrunner.Turn) error { return nil },
		"retry":   func(_ *runtest.Conversation, turn *toolrunner.Turn) error { return turn.Retry() },
		"set":     func(d *runtest.Conversation, _ *toolrunner.Turn) error { return d.SetMessages(runtest.User("new")) },
	}
	runtest.BothWays(t, func(t *testing.T, streaming bool) {
		for name, take := range takes {
			for _, test := range tests {
				t.Run(name+"/"+test.name, func(t *testing.T) {
					var ran runtest.Tally
					params := toolrunner.Params{}
					params.Container = test.container
					d := runtest.StartUnchecked(t, params, runtest.Tools(ran.Tool("work")),
						runtest.Calls("work", "a").Container("c1"), runtest.Calls("work", "b"), runtest.Calls("work", "c").Container("c2"), toolrunnertest.Text("done"))
					d.Streaming = streaming
					d.MustPlay(t, func(turn *toolrunner.Turn) {
						_ = turn.Text() // a stream names its container at the end
						if turn.Iteration() < 4 {
							if err := take(d, turn); err != nil {
								t.Errorf("the takeover failed: %v", err)
							}
						}
					})
					for i, want := range test.want {
						if got := string(d.Request(t, i).Field("container")); got != want {
							t.Errorf("request %d: container = %s, want %s", i, got, want)
						}
					}
					if skills.ID.Valid() {
						t.Error("the caller's container was changed")
					}
				})
			}
		}
	})
}

// E17-E20: calls before the last seam are answered by nobody, neither in a turn
// that goes on nor in one whose reply a takeover puts back; the reply goes back as
// it came.
func TestSeamsOfAFallbackHoldThroughTakeovers(t *testing.T) {
	const seam = `{"type":"fallback","from":{"model":"a"},"to":{"model":"b"},"x":1.0}`
	fallback := toolrunnertest.RawBlock(seam)
	call := func(id string) toolrunnertest.Block { return toolrunnertest.Call(id, "work", `{"z":1, "a":2}`) }
	takes := map[string]func(d *runtest.Conversation, turn *toolrunner.Turn) error{
		"nothing": func(*runtest.Conversation, *toolrunner.Turn) error { return nil },
		"results": func(_ *runtest.Conversation, turn *toolrunner.Turn) error {
			results, err := turn.Results(t.Context())
			if len(results) != 1 {
				t.Errorf("Results() = %v, want one", results)
			}
			return err
		},
		"replace": func(_ *runtest.Conversation, turn *toolrunner.Turn) error { return turn.Replace(turn.ToParam()) },
		"set":     func(d *runtest.Conversation, _ *toolrunner.Turn) error { return d.SetMessages(d.Messages()...) },
		"replace with the answer to the lost call": func(_ *runtest.Conversation, turn *toolrunner.Turn) error {
			var invalid *toolrunner.HistoryError
			if err := turn.Replace(turn.ToParam(), runtest.Answering("old", "late")); !errors.As(err, &invalid) {
				t.Errorf("Replace() error = %v, want a HistoryError", err)
			}
			return nil
		},
	}
	runtest.BothWays(t, func(t *testing.T, streaming bool) {
		for name, take := range takes {
			t.Run(name, func(t *testing.T) {
				var ran runtest.Tally
				d := runtest.StartUnchecked(t, toolrunner.Params{}, runtest.Tools(ran.Tool("work")),
					toolrunnertest.Message(call("older"), fallback, call("old"), fallback, call("new")), toolrunnertest.Text("done"))
				d.Streaming = streaming
				d.MustPlay(t, func(turn *toolrunner.Turn) {
					_ = turn.Text()
					if turn.Iteration() > 1 {
						return
					}
					if calls := turn.Calls(); len(calls) != 1 || calls[0].ID != "new" {
						t.Errorf("Calls() = %v, want the last one", calls)
					}
					if err := take(d, turn); err != nil {
						t.Errorf("the takeover failed: %v", err)
					}
				})
				ran.Want(t, 1)
				d.WantRequest(t, 1, "user 'hi'", "assistant call(older) fallback call(old) fallback call(new)", "user result(new)")
				d.WantFaithful(t)
			})
		}
	})
}

// E19: a reply all of whose calls stand before the seam ends the run.
func TestReplyWithoutCallsAfterItsSeamEndsTheRun(t *testing.T) {
	var ran runtest.Tally
	fallback := toolrunnertest.RawBlock(`{"type":"fallback","from":{"model":"a"},"to":{"model":"b"}}`)
	d := runtest.StartUnchecked(t, toolrunner.Params{}, runtest.Tools(ran.Tool("work")), toolrunnertest.Message(toolrunnertest.Call("a", "work", `{}`), fallback), toolrunnertest.Text("done"))
	d.MustPlay(t, func(*toolrunner.Turn) {})
	if got := d.Outcome(); got != toolrunner.OutcomeCompleted {
		t.Errorf("Outcome() = %v, want completed", got)
	}
	ran.Want(t, 0)
	if err := d.AppendMessages(runtest.User("go on")); err != nil {
		t.Fatalf("AppendMessages() error = %v", err)
	}
	d.MustPlay(t, func(*toolrunner.Turn) {})
	d.WantRequest(t, 1, "user 'hi'", "assistant call(a) fallback", "user 'go on'")
}

// E6, E150: the calls of a refused reply never run, whatever comes after it, and
// the model reads why.
func TestRefusedReplyRunsNothing(t *testing.T) {
	refused := runtest.Calls("work", "a").StopReason("refusal").StopDetails(`{"type":"refusal","category":"x"}`)
	runtest.BothWays(t, func(t *testing.T, streaming bool) {
		var ran runtest.Tally
		d := runtest.StartUnchecked(t, toolrunner.Params{}, runtest.Tools(ran.Tool("work")), refused, toolrunnertest.Text("done"))
		d.Streaming = streaming
		var calls []*toolrunner.Call
		d.MustPlay(t, func(turn *toolrunner.Turn) { calls = slices.Concat(calls, turn.Calls()) })
		if got := d.Outcome(); got != toolrunner.OutcomeRefused || len(calls) > 0 {
			t.Errorf("Outcome() = %v with the calls %v, want refused and none", got, calls)
		}
		if _, err := d.RunToCompletion(t.Context()); !errors.Is(err, toolrunner.ErrRefused) {
			t.Errorf("RunToCompletion() error = %v, want ErrRefused", err)
		}
		if err := d.AppendMessages(runtest.User("why?")); err != nil {
			t.Fatalf("AppendMessages() error = %v", err)
		}
		d.MustPlay(t, func(*toolrunner.Turn) {})
		ran.Want(t, 0)
		d.WantRequest(t, 1, "user 'hi'", "assistant call(a)", "user error(a)", "user 'why?'")
		d.WantResult(t, "a", `{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"Error: this call was not run, because the reply that holds it was refused."}],"is_error":true}`)
		d.WantFaithful(t)
	})
}
