package results_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// E77: the calls run once, in whatever order they end, and the results are the
// same values each time, in the order of Calls.
func TestResultsRunsTheCallsOnce(t *testing.T) {
	runtest.BothWays(t, func(t *testing.T, streaming bool) {
		var ran runtest.Tally
		second := make(chan struct{})
		wait := runtest.Raw("wait", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
			<-second
			ran.Add(1)
			return toolrunner.TextResult("first"), nil
		})
		release := runtest.Raw("release", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
			defer close(second)
			ran.Add(1)
			return nil, runtest.ErrBroken
		})
		d := runtest.StartUnchecked(t, toolrunner.Params{}, runtest.Tools(wait, release),
			toolrunnertest.Message(toolrunnertest.Call("a", "wait", `{}`), toolrunnertest.Call("b", "release", `{}`), toolrunnertest.Call("c", "missing", `{}`)),
			toolrunnertest.Text("done"))
		d.Streaming = streaming
		d.MustPlay(t, func(turn *toolrunner.Turn) {
			if turn.Iteration() > 1 {
				return
			}
			once, err := turn.Results(t.Context())
			if err != nil || len(once) != 3 {
				t.Fatalf("Results() = %v, %v; want three", once, err)
			}
			if twice, err := turn.Results(t.Context()); err != nil || !slices.Equal(once, twice) {
				t.Errorf("Results() = %v, %v the second time, want %v", twice, err, once)
			}
			if once[0].IsError || once[0].Err != nil || once[0].Content[0].OfText.Text != "first" {
				t.Errorf("the first result is %+v, want the text first", once[0])
			}
			if !once[1].IsError || !errors.Is(once[1].Err, runtest.ErrBroken) || !once[2].IsError {
				t.Errorf("the others are %+v and %+v, want failures, the first with its cause", once[1], once[2])
			}
			d.WantHistory(t, "user 'hi'", "assistant call(a) call(b) call(c)", "user result(a) error(b) error(c)")
		})
		ran.Want(t, 2)
		d.WantRequest(t, 1, "user 'hi'", "assistant call(a) call(b) call(c)", "user result(a) error(b) error(c)")
		d.WantFaithful(t)
	})
}

// A result that the caller puts into the slice goes out in place of the one there.
func TestReplacedResultsGoOut(t *testing.T) {
	runtest.BothWays(t, func(t *testing.T, streaming bool) {
		var ran runtest.Tally
		d := runtest.StartUnchecked(t, toolrunner.Params{}, runtest.Tools(ran.Tool("work")), runtest.Calls("work", "a", "b"), toolrunnertest.Text("one"))
		d.Streaming = streaming
		d.MustPlay(t, func(turn *toolrunner.Turn) {
			if turn.Iteration() > 1 {
				return
			}
			results, err := turn.Results(t.Context())
			if err != nil {
				t.Fatalf("Results() error = %v", err)
			}
			results[1] = toolrunner.ErrorResult("mine")
			if again, err := turn.Results(t.Context()); err != nil || again[1] != results[1] {
				t.Errorf("Results() again = %v, %v, want the same slice", again, err)
			}
		})
		ran.Want(t, 2)
		d.WantResult(t, "b", `{"type":"tool_result","tool_use_id":"b","content":[{"type":"text","text":"mine"}],"is_error":true}`)
		d.WantFaithful(t)
	})
}

// E78, S23: what the caller makes of a result is what goes out, and stays what
// went out.
func TestChangedResultsGoOut(t *testing.T) {
	const head = `{"type":"tool_result","tool_use_id":"a"`
	image := anthropic.BetaToolResultBlockParamContentUnion{OfImage: &anthropic.BetaImageBlockParam{Source: anthropic.BetaImageBlockParamSourceUnion{
		OfBase64: &anthropic.BetaBase64ImageSourceParam{Data: "AA==", MediaType: "image/png"},
	}}}
	tests := []struct {
		name   string
		change func(r *toolrunner.Result)
		want   string
	}{
		{"nothing", func(*toolrunner.Result) {}, head + `,"content":[{"type":"text","text":"ran 1"}]}`},
		{"text", func(r *toolrunner.Result) { r.Content[0].OfText.Text = "<new>" }, head + `,"content":[{"type":"text","text":"<new>"}]}`},
		{"is_error", func(r *toolrunner.Result) { r.IsError = true }, head + `,"content":[{"type":"text","text":"ran 1"}],"is_error":true}`},
		{"cache_control", func(r *toolrunner.Result) { r.CacheControl = anthropic.NewBetaCacheControlEphemeralParam() }, head + `,"content":[{"type":"text","text":"ran 1"}],"cache_control":{"type":"ephemeral"}}`},
		{"a block more", func(r *toolrunner.Result) { r.Content = append(r.Content, image) }, head + `,"content":[{"type":"text","text":"ran 1"},{"source":{"data":"AA==","media_type":"image/png","type":"base64"},"type":"image"}]}`},
		{"no content", func(r *toolrunner.Result) { r.Content = nil }, head + `}`},
		{"all of it", func(r *toolrunner.Result) { *r = *toolrunner.ErrorResult("no") }, head + `,"content":[{"type":"text","text":"no"}],"is_error":true}`},
		{"the private cause", func(r *toolrunner.Result) { r.Err = runtest.ErrBroken }, head + `,"content":[{"type":"text","text":"ran 1"}]}`},
	}
	runtest.BothWays(t, func(t *testing.T, streaming bool) {
		for _, test := range tests {
			t.Run(test.name, func(t *testing.T) {
				var ran runtest.Tally
				d := runtest.StartUnchecked(t, toolrunner.Params{}, runtest.Tools(ran.Tool("work")), runtest.Calls("work", "a"), toolrunnertest.Text("one"), toolrunnertest.Text("two"))
				d.Streaming = streaming
				var kept *toolrunner.Result
				d.MustPlay(t, func(turn *toolrunner.Turn) {
					switch turn.Iteration() {
					case 1:
						results, err := turn.Results(t.Context())
						if err != nil {
							t.Fatalf("Results() error = %v", err)
						}
						kept = results[0]
						test.change(kept)
						results[0] = nil // changes nothing
					case 2:
						*kept = *toolrunner.TextResult("too late")
						if err := d.AppendMessages(runtest.User("more")); err != nil {
							t.Errorf("AppendMessages() error = %v", err)
						}
					}
				})
				ran.Want(t, 1)
				d.WantResult(t, "a", test.want)
				d.WantFaithful(t)
			})
		}
	})
}

// E171, G6: changed results survive a request that fails.
func TestChangedResultsOutliveAFailedRequest(t *testing.T) {
	runtest.BothWays(t, func(t *testing.T, streaming bool) {
		var ran runtest.Tally
		d := runtest.StartUnchecked(t, toolrunner.Params{}, runtest.Tools(ran.Tool("work")), runtest.Calls("work", "a"),
			toolrunnertest.Status(529, "overloaded_error", "Overloaded"), toolrunnertest.Status(500, "api_error", "no"), toolrunnertest.Text("done"))
		d.Streaming = streaming
		change := func(turn *toolrunner.Turn) {
			results, err := turn.Results(t.Context())
			if err != nil {
				t.Errorf("Results() error = %v", err)
			}
			for _, r := range results {
				*r = *toolrunner.TextResult("changed")
			}
		}
		for range 2 {
			var api *anthropic.Error
			if err := d.Play(t.Context(), change); !errors.As(err, &api) {
				t.Errorf("the run ended with %v, want an error of the API", err)
			}
		}
		d.MustPlay(t, change)
		ran.Want(t, 1)
		for i := 1; i < 4; i++ {
			if got, want := string(d.Request(t, i).ToolResult("a")), `{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"changed"}]}`; got != want {
				t.Errorf("request %d: result = %s, want %s", i, got, want)
			}
		}
		d.WantFaithful(t)
	})
}

// E79, E81: there is nothing to run for replies without calls, and for those that
// were cut off, refused or paused.
func TestResultsRunsNothingForRepliesThatDoNotWait(t *testing.T) {
	for _, reason := range []string{"end_turn", "max_tokens", "refusal", "pause_turn", "stop_sequence", "tomorrow"} {
		t.Run(reason, func(t *testing.T) {
			var ran runtest.Tally
			d := runtest.StartUnchecked(t, toolrunner.Params{MaxIterations: 1}, runtest.Tools(ran.Tool("work")), runtest.Calls("work", "a").StopReason(reason))
			d.MustPlay(t, func(turn *toolrunner.Turn) {
				if results, err := turn.Results(t.Context()); results != nil || err != nil || turn.Calls() != nil {
					t.Errorf("Results() = %v, %v and Calls() = %v; want none", results, err, turn.Calls())
				}
			})
			ran.Want(t, 0)
		})
	}
}

// E168: when its context ends, what has finished is kept, and neither the body nor
// another loop runs a call again.
func TestResultsThatIsCancelledKeepsWhatHasFinished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var quick, slow runtest.Tally
		hang := runtest.Raw("hang", func(ctx context.Context, _ *toolrunner.Call) (*toolrunner.Result, error) {
			slow.Add(1)
			<-ctx.Done()
			return nil, ctx.Err()
		})
		d := runtest.StartUnchecked(t, toolrunner.Params{}, runtest.Tools(quick.Tool("quick"), hang),
			toolrunnertest.Message(toolrunnertest.Call("a", "quick", `{}`), toolrunnertest.Call("b", "hang", `{}`)), toolrunnertest.Text("done"))
		d.MustPlay(t, func(turn *toolrunner.Turn) {
			if turn.Iteration() > 1 {
				return
			}
			ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, runtest.ErrBroken)
			defer cancel()
			results, err := turn.Results(ctx)
			if results != nil || !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, runtest.ErrBroken) {
				t.Errorf("Results() = %v, %v; want the error of its context, with the cause", results, err)
			}
			if results, err = turn.Results(t.Context()); err != nil || len(results) != 2 || !results[1].IsError {
				t.Errorf("Results() = %v, %v with another context; want two, the second failed", results, err)
			}
		})
		quick.Want(t, 1)
		slow.Want(t, 1)
		d.WantResult(t, "a", `{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"ran 1"}]}`)
		d.WantResult(t, "b", `{"type":"tool_result","tool_use_id":"b","content":[{"type":"text","text":"Error: this call was interrupted while it ran. Whether it took effect is unknown."}],"is_error":true}`)
		d.WantFaithful(t)
	})
}

// E82, S20: a body that ends the run at a failed result leaves a history to go on
// with, and runs nothing again.
func TestRunThatIsStoppedAtAFailedResultCanGoOn(t *testing.T) {
	var ran runtest.Tally
	fail := runtest.Raw("fail", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
		ran.Add(1)
		return nil, runtest.ErrBroken
	})
	d := runtest.StartUnchecked(t, toolrunner.Params{}, runtest.Tools(fail), runtest.Calls("fail", "a", "b"), toolrunnertest.Text("done"))
	stop := func() error {
		for turn, err := range d.All(t.Context()) {
			if err != nil {
				return err
			}
			results, err := turn.Results(t.Context())
			if err != nil {
				return err
			}
			for _, r := range results {
				if r.IsError {
					return r.Err
				}
			}
		}
		return nil
	}
	if err := stop(); !errors.Is(err, runtest.ErrBroken) {
		t.Errorf("the body stopped with %v, want the private cause", err)
	}
	d.WantHistory(t, "user 'hi'", "assistant call(a) call(b)", "user error(a) error(b)")
	if err := stop(); err != nil {
		t.Errorf("going on ended with %v", err)
	}
	ran.Want(t, 2)
	d.WantRequest(t, 1, "user 'hi'", "assistant call(a) call(b)", "user error(a) error(b)")
}

// E103: a handler that goes on changing the result that it returned changes
// nothing of what is handed out or sent.
func TestResultIsTakenWhenTheHandlerReturnsIt(t *testing.T) {
	for name, ask := range map[string]bool{"handed out": true, "not handed out": false} {
		t.Run(name, func(t *testing.T) {
			shared := toolrunner.TextResult("as returned")
			work := runtest.Raw("work", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) { return shared, nil })
			spoil := runtest.Raw("spoil", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
				shared.Content[0].OfText.Text = "spoiled"
				shared.IsError = true
				return nil, nil
			})
			d := runtest.StartUnchecked(t, toolrunner.Params{MaxConcurrency: 1}, runtest.Tools(work, spoil),
				toolrunnertest.Message(toolrunnertest.Call("a", "work", `{}`), toolrunnertest.Call("b", "spoil", `{}`)), toolrunnertest.Text("done"))
			d.MustPlay(t, func(turn *toolrunner.Turn) {
				if !ask || turn.Iteration() > 1 {
					return
				}
				results, err := turn.Results(t.Context())
				if err != nil || results[0] == shared || results[0].Content[0].OfText.Text != "as returned" {
					t.Errorf("Results() = %v, %v; want a copy that says as returned", results, err)
				}
				shared.Content[0].OfText.Text = "spoiled again"
			})
			d.WantResult(t, "a", `{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"as returned"}]}`)
		})
	}
}

// E124: a result by hand is handed out with the others; after Results it comes
// too late.
func TestResultsByHandBesideResults(t *testing.T) {
	var ran runtest.Tally
	d := runtest.StartUnchecked(t, toolrunner.Params{}, runtest.Tools(ran.Tool("work")), runtest.Calls("work", "a", "b"), toolrunnertest.Text("done"))
	d.MustPlay(t, func(turn *toolrunner.Turn) {
		if turn.Iteration() > 1 {
			return
		}
		if err := d.AppendMessages(runtest.Answering("b", "by hand")); err != nil {
			t.Errorf("AppendMessages() error = %v", err)
		}
		results, err := turn.Results(t.Context())
		if err != nil || len(results) != 2 || results[1].Content[0].OfText.Text != "by hand" {
			t.Fatalf("Results() = %v, %v; want two, the second by hand", results, err)
		}
		var invalid *toolrunner.HistoryError
		if err := d.AppendMessages(runtest.Answering("a", "too late")); !errors.As(err, &invalid) {
			t.Errorf("AppendMessages() error = %v, want a HistoryError", err)
		}
		results[1].IsError = true
	})
	ran.Want(t, 1)
	d.WantResult(t, "b", `{"type":"tool_result","tool_use_id":"b","content":[{"type":"text","text":"by hand"}],"is_error":true}`)
	d.WantFaithful(t)
}

// Content that no type of the SDK holds is handed out as it is, and goes out with
// its bytes unless it is changed.
func TestUnknownContentOfAResultStaysAsItIs(t *testing.T) {
	const odd = `{"type":"of_tomorrow","n":12345678901234567890,"z":null}`
	var block anthropic.BetaToolResultBlockParamContentUnion
	if err := json.Unmarshal([]byte(`{"type":"text","text":"x"}`), &block); err != nil {
		t.Fatal(err)
	}
	work := runtest.Raw("work", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
		return &toolrunner.Result{Content: []anthropic.BetaToolResultBlockParamContentUnion{runtest.RawContentBlock(odd), block}}, nil
	})
	d := runtest.StartUnchecked(t, toolrunner.Params{}, runtest.Tools(work), runtest.Calls("work", "a"), toolrunnertest.Text("done"))
	d.MustPlay(t, func(turn *toolrunner.Turn) {
		if turn.Iteration() > 1 {
			return
		}
		results, err := turn.Results(t.Context())
		if err != nil || len(results[0].Content) != 2 {
			t.Fatalf("Results() = %v, %v; want one with two blocks", results, err)
		}
		results[0].IsError = true
	})
	d.WantResult(t, "a", `{"type":"tool_result","tool_use_id":"a","content":[`+odd+`,{"type":"text","text":"x"}],"is_error":true}`)
}
