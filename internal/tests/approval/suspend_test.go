package approval_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

const waited = "Error: this call was not run, because it was still waiting for a decision."

// A loop body decides ahead of the approver, which is not asked then; there need not
// be one.
func TestTheLoopBodyDecidesFirst(t *testing.T) {
	for name, approve := range map[string]bool{"without an approver": false, "with one": true} {
		t.Run(name, func(t *testing.T) {
			runtest.BothWays(t, func(t *testing.T, streaming bool) {
				var asked, ran runtest.Journal
				params := runtest.Asking("hi")
				if approve {
					params.Approve = func(_ context.Context, call *toolrunner.Call) (toolrunner.Decision, error) {
						asked.Add("%s", call.ID)
						return toolrunner.Allow(), nil
					}
				}
				c := runtest.Start(t, params, runtest.Tools(ran.Tool("work")), runtest.Calls("work", "a", "b", "c", "d"), toolrunnertest.Text("done"))
				turns := c.All
				if streaming {
					turns = c.AllStreaming
				}
				for turn, err := range turns(t.Context()) {
					if err != nil {
						c.WantSuspended(t, err, "c")
						continue
					}
					for _, call := range turn.Calls() {
						switch call.ID {
						case "a":
							c.MustDecide(t, "a", toolrunner.Allow().For(call))
						case "b":
							c.MustDecide(t, "b", toolrunner.Deny("").For(call))
						case "c":
							c.MustDecide(t, "c", toolrunner.Suspend().For(call))
						}
					}
				}
				asked.Want(t, map[bool][]string{true: {"d"}}[approve]...)
				ran.WantSorted(t, "a", "d")
				c.MustDecide(t, "c", toolrunner.Allow())
				c.Run(t)
				ran.WantSorted(t, "a", "c", "d")
				c.WantShape(t, "user 'hi'", "assistant call(a) call(b) call(c) call(d)", "user result(a) error(b) result(c) result(d)")
			})
		})
	}
}

// Turn.Results runs what may run and returns the error; after a decision it goes on
// within the same body, and what it hands out may be changed as ever.
func TestResultsGoOnAfterADecision(t *testing.T) {
	var ran runtest.Journal
	c := runtest.Start(t, approving(runtest.Suspending("b")), runtest.Tools(ran.Tool("work")), runtest.Calls("work", "a", "b"), toolrunnertest.Text("done"))
	_, err := c.TryRun(t.Context(), func(turn *toolrunner.Turn) {
		if turn.Iteration() > 1 {
			return
		}
		for range 2 {
			results, err := turn.Results(t.Context())
			if suspended := runtest.WantAs[*toolrunner.SuspendedError](t, err); results != nil || runtest.IDsOf(suspended.Calls) != "b" {
				t.Errorf("Results() = %v, %v; want none, and an error that lists b", results, err)
			}
		}
		c.WantHistory(t, "user 'hi'", "assistant call(a) call(b)", "user result(a) error(b)")
		c.MustDecide(t, "b", toolrunner.Allow())
		results, err := turn.Results(t.Context())
		if err != nil || len(results) != 2 {
			t.Fatalf("Results() = %v, %v; want two", results, err)
		}
		results[1].Content = append(results[1].Content, runtest.TextContent(", and was changed"))
	})
	if err != nil {
		t.Fatal(err)
	}
	ran.Want(t, "a", "b")
	runtest.WantSuccess(t, c.Request(t, 1), "b", "ran, and was changed")
}

// While a call waits, follow-ups wait too; a result given for it is its answer.
func TestFollowUpsOfASuspendedRun(t *testing.T) {
	t.Run("text", func(t *testing.T) {
		var ran runtest.Journal
		c := runtest.Start(t, approving(runtest.Suspending("a")), runtest.Tools(ran.Tool("work")), runtest.Calls("work", "a"), toolrunnertest.Text("done"))
		c.RunSuspended(t, "a")
		c.MustAppend(t, runtest.User("hurry"))
		c.RunSuspended(t, "a")
		c.WantHistory(t, "user 'hi'", "assistant call(a)", "user error(a)", "user 'hurry'")
		c.MustDecide(t, "a", toolrunner.Allow())
		c.Run(t)
		ran.Want(t, "a")
		c.WantShape(t, "user 'hi'", "assistant call(a)", "user result(a)", "user 'hurry'")
	})
	t.Run("its result", func(t *testing.T) {
		var ran runtest.Journal
		c := runtest.Start(t, approving(runtest.Suspending("a", "b")), runtest.Tools(ran.Tool("work")), runtest.Calls("work", "a", "b"), toolrunnertest.Text("done"))
		c.RunSuspended(t, "a", "b")
		c.MustAppend(t, runtest.Answering("a", "by hand"))
		c.RunSuspended(t, "b")
		runtest.WantAs[*toolrunner.DecisionError](t, c.Decide("a", toolrunner.Allow()))
		c.MustDecide(t, "b", toolrunner.Deny(""))
		runtest.WantAs[*toolrunner.HistoryError](t, c.AppendMessages(runtest.Answering("b", "too late")))
		c.Run(t)
		ran.Want(t)
		runtest.WantSuccess(t, c.Request(t, 1), "a", "by hand")
		runtest.WantFailure(t, c.Request(t, 1), "b", declined)
	})
	t.Run("the result of an allowed call that has not started", func(t *testing.T) {
		var ran runtest.Journal
		c := runtest.Start(t, approving(runtest.Suspending("a")), runtest.Tools(ran.Tool("work")), runtest.Calls("work", "a"), toolrunnertest.Text("done"))
		c.RunSuspended(t, "a")
		c.MustDecide(t, "a", toolrunner.Allow())
		c.MustAppend(t, runtest.Answering("a", "by hand"))
		c.Run(t)
		ran.Want(t)
		runtest.WantSuccess(t, c.Request(t, 1), "a", "by hand")
	})
}

// What Messages returns is complete: a conversation that goes on from it runs
// nothing that nobody has approved (B049).
func TestMessagesOfASuspendedRunAreAnswered(t *testing.T) {
	tests := []struct {
		name   string
		decide map[string]toolrunner.Decision
		want   []string
	}{
		{"suspended", nil, []string{"user 'hi'", "assistant call(a)", "user error(a)"}},
		{"denied", map[string]toolrunner.Decision{"a": toolrunner.Deny("")}, []string{"user 'hi'", "assistant call(a)", "user error(a)"}},
		{"allowed with another input", map[string]toolrunner.Decision{"a": toolrunner.AllowInput(runtest.RawJSON(`{"n":1}`))}, []string{"user 'hi'", "assistant call(a)", "user error(a)"}},
		{"allowed", map[string]toolrunner.Decision{"a": toolrunner.Allow()}, []string{"user 'hi'", "assistant call(a)"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var ran runtest.Journal
			c := runtest.New(t, runtest.Calls("work", "a"), toolrunnertest.Text("done"))
			c.Runner = c.NewRunner(t, approving(runtest.Suspending("a")), ran.Tool("work"))
			c.RunSuspended(t, "a")
			for id, d := range tt.decide {
				c.MustDecide(t, id, d)
			}
			c.WantHistory(t, tt.want...)
			params := runtest.Given(c.Messages()...)
			c.Runner = c.NewRunner(t, params, ran.Tool("work"))
			c.MustAppend(t, runtest.User("go on"))
			c.Run(t)
			if allowed := tt.decide["a"].String() == "allow"; allowed {
				ran.Want(t, "a")
			} else {
				ran.Want(t)
			}
		})
	}
	t.Run("what the model reads", func(t *testing.T) {
		c := runtest.New(t, runtest.Calls("work", "a", "b"), toolrunnertest.Text("done"))
		c.Runner = c.NewRunner(t, approving(runtest.Suspending("b")), runtest.Tools(runtest.Says("work", "ran"))...)
		c.RunSuspended(t, "b")
		c.Runner = c.NewRunner(t, runtest.Given(append(c.Messages(), runtest.User("go on"))...), runtest.Tools(runtest.Says("work", "ran"))...)
		c.Run(t)
		runtest.WantSuccess(t, c.Request(t, 1), "a", "ran")
		runtest.WantFailure(t, c.Request(t, 1), "b", waited)
	})
}

// The last turn of a run waits like any other, and what the limit allows is not more.
func TestSuspendedRunKeepsItsLimit(t *testing.T) {
	var ran runtest.Journal
	params := approving(runtest.Suspending("a"))
	params.MaxIterations = 1
	c := runtest.Start(t, params, runtest.Tools(ran.Tool("work")), runtest.Calls("work", "a"))
	c.RunSuspended(t, "a")
	c.MustDecide(t, "a", toolrunner.Allow())
	c.Run(t)
	ran.Want(t, "a")
	c.WantOutcome(t, toolrunner.OutcomeMaxIterations)
	c.WantHistory(t, "user 'hi'", "assistant call(a)", "user result(a)")
}

// Breaking off before the approver was asked leaves the question for later, also in
// the middle of a stream, of which nothing stays.
func TestBreakingOffAsksLater(t *testing.T) {
	var ran runtest.Journal
	c := runtest.New(t, runtest.Calls("work", "x"), runtest.Calls("work", "a"), toolrunnertest.Text("done"))
	c.Runner = c.NewRunner(t, approving(runtest.Suspending("a")), ran.Tool("work"))
	for turn, err := range c.AllStreaming(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		for range turn.Events() {
			break
		}
		runtest.WantAs[*toolrunner.DecisionError](t, c.Decide("x", toolrunner.Allow())) // not there yet
		break
	}
	c.FirstTurn(t)
	c.WantOutcome(t, toolrunner.OutcomeStopped)
	c.RunSuspended(t, "a")
	ran.Want(t)
	c.MustDecide(t, "a", toolrunner.Allow())
	c.Run(t)
	ran.Want(t, "a")
}

// Calls that begin a conversation are asked about, and may be decided on before the
// run begins.
func TestGivenCallsAreAskedAbout(t *testing.T) {
	var ran runtest.Journal
	params := runtest.Given(runtest.User("hi"), runtest.Verbatim(`{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"work","input":{}},{"type":"tool_use","id":"b","name":"work","input":{}}]}`))
	params.Approve = runtest.Suspending("a", "b")
	c := runtest.Start(t, params, runtest.Tools(ran.Tool("work")), toolrunnertest.Text("done"))
	c.MustDecide(t, "b", toolrunner.Allow())
	c.RunSuspended(t, "a")
	c.MustDecide(t, "a", toolrunner.Allow())
	c.Run(t)
	ran.Want(t, "b", "a")
}

// A paused turn's calls are not run, so nobody is asked (E8, E88).
func TestPausedTurnsAreNotAskedAbout(t *testing.T) {
	var ran runtest.Journal
	c := runtest.Start(t, approving(runtest.Suspending("a")), runtest.Tools(ran.Tool("work")),
		toolrunnertest.Message(toolrunnertest.Call("a", "work", `{}`)).StopReason("pause_turn"), toolrunnertest.Text("done"))
	_, err := c.TryRun(t.Context(), func(turn *toolrunner.Turn) {
		if turn.Iteration() == 1 {
			runtest.WantAs[*toolrunner.DecisionError](t, c.Decide("a", toolrunner.Allow()))
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	ran.Want(t)
}

// Code at the server that waits for a suspended call waits like everybody (E88).
func TestCallsOfCodeAreAskedAbout(t *testing.T) {
	var ran runtest.Journal
	use := `{"type":"tool_use","id":"a","name":"work","input":{},"caller":{"type":"code_execution_20260120","tool_id":"srvtoolu_1"}}`
	c := runtest.Start(t, approving(runtest.Suspending("a")), runtest.Tools(ran.Tool("work")),
		toolrunnertest.Message(toolrunnertest.ServerToolUse("srvtoolu_1", "code_execution", `{}`), toolrunnertest.RawBlock(use)),
		toolrunnertest.Message(
			toolrunnertest.RawBlock(`{"type":"code_execution_tool_result","tool_use_id":"srvtoolu_1","content":{"type":"code_execution_result","stdout":"","stderr":"","return_code":0,"content":[]}}`),
			toolrunnertest.Say("one")), toolrunnertest.Text("two"))
	c.RunSuspended(t, "a")
	c.MustAppend(t, runtest.User("and then?"))
	c.MustDecide(t, "a", toolrunner.Deny("no"))
	c.Run(t)
	ran.Want(t)
	if got := runtest.Shape(c.Request(t, 1).Messages()); strings.Join(got, "|") != "user 'hi'|assistant server_tool_use call(a)|user error(a)" {
		t.Errorf("the second request has %q, want results alone", got)
	}
	c.WantShape(t, "user 'hi'", "assistant server_tool_use call(a)", "user error(a)", "assistant code_execution_tool_result 'one'", "user 'and then?'")
}

// Once allowed, a call is not asked about again, whatever ends the run before its
// result has gone out.
func TestDecisionsOutliveErrors(t *testing.T) {
	var asked runtest.Journal
	fail := true
	look := runtest.Raw("look", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
		if fail {
			return nil, context.Canceled
		}
		return toolrunner.TextResult("seen"), nil
	})
	look.ReadOnly = true
	c := runtest.Start(t, approving(func(_ context.Context, call *toolrunner.Call) (toolrunner.Decision, error) {
		asked.Add("%s", call.ID)
		return toolrunner.Allow(), nil
	}), runtest.Tools(look), runtest.Calls("look", "a"), toolrunnertest.Status(400, "invalid_request_error", "no"), toolrunnertest.Text("done"))
	ctx, cancel := context.WithCancel(t.Context())
	c.Params.Middleware = []toolrunner.Middleware{func(next toolrunner.Handler) toolrunner.Handler {
		return func(ctx context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
			cancel()
			<-ctx.Done()
			return next(ctx, call)
		}
	}}
	if _, err := c.TryRun(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Fatalf("All() error = %v, want the cancel", err)
	}
	c.Params.Middleware, fail = nil, false
	if _, err := c.TryRun(t.Context(), nil); !runtest.HasStatus(400)(err) {
		t.Fatalf("All() error = %v, want the API's", err)
	}
	c.Run(t)
	asked.Want(t, "a")
	runtest.WantSuccess(t, c.Request(t, -1), "a", "seen")
}

// The outcome and the calls of a suspended run are told in one record each, without
// what the model or the user wrote unless at debug level (S19).
func TestDecisionsAreRecorded(t *testing.T) {
	for _, debug := range []bool{false, true} {
		s := runtest.NewStage(t, func(p *toolrunner.Params) {
			p.Approve = runtest.ByID(map[string]toolrunner.Decision{"c1": toolrunner.Deny("private reason"), "c2": toolrunner.AllowInput(runtest.RawJSON(`{"secret":1}`)), "c3": toolrunner.Suspend()})
		}, toolrunnertest.Message(toolrunnertest.Call("c1", "raw", `{}`), toolrunnertest.Call("c2", "raw", `{}`), toolrunnertest.Call("c3", "raw", `{}`)), toolrunnertest.Text("done"))
		if debug {
			s.Tape.Level = -4
		}
		if err := s.AddTools(runtest.Says("raw", "ok")); err != nil {
			t.Fatal(err)
		}
		_, err := s.Play(t.Context(), false, nil)
		runtest.WantAs[*toolrunner.SuspendedError](t, err)
		if err := s.Decide("c3", toolrunner.Deny("late reason")); err != nil {
			t.Fatal(err)
		}
		_ = s.Decide("c3", toolrunner.Allow()) // refused, and no record
		if _, err := s.Play(t.Context(), false, nil); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range s.Tape.Named("tool call decided") {
			got = append(got, strings.TrimSpace(r.Attrs["tool"].String()+" "+r.Attrs["call_id"].String()+" "+r.Attrs["decision"].String()))
			if reason := r.Attrs["reason"]; debug != strings.Contains(reason.String(), "reason") && r.Attrs["decision"].String() == "deny" {
				t.Errorf("debug %v: the record has the reason %v", debug, reason)
			}
		}
		if want := "raw c1 deny|raw c2 allow input|raw c3 suspend|raw c3 deny"; strings.Join(got, "|") != want {
			t.Errorf("records = %q, want %s", got, want)
		}
		if ends := s.Tape.Named("run ended"); len(ends) != 2 || ends[0].Attrs["outcome"].String() != "suspended" {
			t.Errorf("records of the end = %v, want the first to be suspended", ends)
		}
		for _, r := range s.Tape.Records {
			for key, v := range r.Attrs {
				if text := v.String(); !debug && (strings.Contains(text, "private") || strings.Contains(text, "secret")) {
					t.Errorf("%s: %s = %s, want nothing private", r.Text, key, text)
				}
			}
		}
	}
}
