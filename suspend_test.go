package toolrunner_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

const waited = "Error: this call was not run, because it was still waiting for a decision."

// A loop body decides ahead of the approver, which is not asked then; there need not
// be one.
func TestTheLoopBodyDecidesFirst(t *testing.T) {
	for name, approve := range map[string]bool{"without an approver": false, "with one": true} {
		t.Run(name, func(t *testing.T) {
			bothWays(t, func(t *testing.T, streaming bool) {
				var asked, ran journal
				params := asking("hi")
				if approve {
					params.Approve = func(_ context.Context, call *toolrunner.Call) (toolrunner.Decision, error) {
						asked.add("%s", call.ID)
						return toolrunner.Allow(), nil
					}
				}
				c := converse(t, params, tools(ran.tool("work")), calls("work", "a", "b", "c", "d"), toolrunnertest.Text("done"))
				turns := c.All
				if streaming {
					turns = c.AllStreaming
				}
				for turn, err := range turns(t.Context()) {
					if err != nil {
						c.wantSuspended(t, err, "c")
						continue
					}
					for _, call := range turn.Calls() {
						switch call.ID {
						case "a":
							c.decide(t, "a", toolrunner.Allow().For(call))
						case "b":
							c.decide(t, "b", toolrunner.Deny("").For(call))
						case "c":
							c.decide(t, "c", toolrunner.Suspend().For(call))
						}
					}
				}
				asked.want(t, map[bool][]string{true: {"d"}}[approve]...)
				ran.wantSorted(t, "a", "d")
				c.decide(t, "c", toolrunner.Allow())
				c.run(t)
				ran.wantSorted(t, "a", "c", "d")
				c.wantShape(t, "user 'hi'", "assistant call(a) call(b) call(c) call(d)", "user result(a) error(b) result(c) result(d)")
			})
		})
	}
}

// Turn.Results runs what may run and returns the error; after a decision it goes on
// within the same body, and what it hands out may be changed as ever.
func TestResultsGoOnAfterADecision(t *testing.T) {
	var ran journal
	c := converse(t, approving(suspending("b")), tools(ran.tool("work")), calls("work", "a", "b"), toolrunnertest.Text("done"))
	_, err := c.tryRun(t.Context(), func(turn *toolrunner.Turn) {
		if turn.Iteration() > 1 {
			return
		}
		for range 2 {
			results, err := turn.Results(t.Context())
			if suspended := wantAs[*toolrunner.SuspendedError](t, err); results != nil || idsOf(suspended.Calls) != "b" {
				t.Errorf("Results() = %v, %v; want none, and an error that lists b", results, err)
			}
		}
		c.wantHistory(t, "user 'hi'", "assistant call(a) call(b)", "user result(a) error(b)")
		c.decide(t, "b", toolrunner.Allow())
		results, err := turn.Results(t.Context())
		if err != nil || len(results) != 2 {
			t.Fatalf("Results() = %v, %v; want two", results, err)
		}
		results[1].Content = append(results[1].Content, text(", and was changed"))
	})
	if err != nil {
		t.Fatal(err)
	}
	ran.want(t, "a", "b")
	wantSuccess(t, c.request(t, 1), "b", "ran, and was changed")
}

// While a call waits, follow-ups wait too; a result given for it is its answer.
func TestFollowUpsOfASuspendedRun(t *testing.T) {
	t.Run("text", func(t *testing.T) {
		var ran journal
		c := converse(t, approving(suspending("a")), tools(ran.tool("work")), calls("work", "a"), toolrunnertest.Text("done"))
		c.runSuspended(t, "a")
		c.append(t, user("hurry"))
		c.runSuspended(t, "a")
		c.wantHistory(t, "user 'hi'", "assistant call(a)", "user error(a)", "user 'hurry'")
		c.decide(t, "a", toolrunner.Allow())
		c.run(t)
		ran.want(t, "a")
		c.wantShape(t, "user 'hi'", "assistant call(a)", "user result(a)", "user 'hurry'")
	})
	t.Run("its result", func(t *testing.T) {
		var ran journal
		c := converse(t, approving(suspending("a", "b")), tools(ran.tool("work")), calls("work", "a", "b"), toolrunnertest.Text("done"))
		c.runSuspended(t, "a", "b")
		c.append(t, answering("a", "by hand"))
		c.runSuspended(t, "b")
		wantAs[*toolrunner.DecisionError](t, c.Decide("a", toolrunner.Allow()))
		c.decide(t, "b", toolrunner.Deny(""))
		wantAs[*toolrunner.HistoryError](t, c.AppendMessages(answering("b", "too late")))
		c.run(t)
		ran.want(t)
		wantSuccess(t, c.request(t, 1), "a", "by hand")
		wantFailure(t, c.request(t, 1), "b", declined)
	})
	t.Run("the result of an allowed call that has not started", func(t *testing.T) {
		var ran journal
		c := converse(t, approving(suspending("a")), tools(ran.tool("work")), calls("work", "a"), toolrunnertest.Text("done"))
		c.runSuspended(t, "a")
		c.decide(t, "a", toolrunner.Allow())
		c.append(t, answering("a", "by hand"))
		c.run(t)
		ran.want(t)
		wantSuccess(t, c.request(t, 1), "a", "by hand")
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
		{"allowed with another input", map[string]toolrunner.Decision{"a": toolrunner.AllowInput(rawJSON(`{"n":1}`))}, []string{"user 'hi'", "assistant call(a)", "user error(a)"}},
		{"allowed", map[string]toolrunner.Decision{"a": toolrunner.Allow()}, []string{"user 'hi'", "assistant call(a)"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var ran journal
			c := newConversation(t, calls("work", "a"), toolrunnertest.Text("done"))
			c.Runner = c.runner(t, approving(suspending("a")), ran.tool("work"))
			c.runSuspended(t, "a")
			for id, d := range tt.decide {
				c.decide(t, id, d)
			}
			c.wantHistory(t, tt.want...)
			params := given(c.Messages()...)
			c.Runner = c.runner(t, params, ran.tool("work"))
			c.append(t, user("go on"))
			c.run(t)
			if allowed := tt.decide["a"].String() == "allow"; allowed {
				ran.want(t, "a")
			} else {
				ran.want(t)
			}
		})
	}
	t.Run("what the model reads", func(t *testing.T) {
		c := newConversation(t, calls("work", "a", "b"), toolrunnertest.Text("done"))
		c.Runner = c.runner(t, approving(suspending("b")), tools(says("work", "ran"))...)
		c.runSuspended(t, "b")
		c.Runner = c.runner(t, given(append(c.Messages(), user("go on"))...), tools(says("work", "ran"))...)
		c.run(t)
		wantSuccess(t, c.request(t, 1), "a", "ran")
		wantFailure(t, c.request(t, 1), "b", waited)
	})
}

// The last turn of a run waits like any other, and what the limit allows is not more.
func TestSuspendedRunKeepsItsLimit(t *testing.T) {
	var ran journal
	params := approving(suspending("a"))
	params.MaxIterations = 1
	c := converse(t, params, tools(ran.tool("work")), calls("work", "a"))
	c.runSuspended(t, "a")
	c.decide(t, "a", toolrunner.Allow())
	c.run(t)
	ran.want(t, "a")
	c.wantOutcome(t, toolrunner.OutcomeMaxIterations)
	c.wantHistory(t, "user 'hi'", "assistant call(a)", "user result(a)")
}

// Breaking off before the approver was asked leaves the question for later, also in
// the middle of a stream, of which nothing stays.
func TestBreakingOffAsksLater(t *testing.T) {
	var ran journal
	c := newConversation(t, calls("work", "x"), calls("work", "a"), toolrunnertest.Text("done"))
	c.Runner = c.runner(t, approving(suspending("a")), ran.tool("work"))
	for turn, err := range c.AllStreaming(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		for range turn.Events() {
			break
		}
		wantAs[*toolrunner.DecisionError](t, c.Decide("x", toolrunner.Allow())) // not there yet
		break
	}
	c.runBreaking(t)
	c.wantOutcome(t, toolrunner.OutcomeStopped)
	c.runSuspended(t, "a")
	ran.want(t)
	c.decide(t, "a", toolrunner.Allow())
	c.run(t)
	ran.want(t, "a")
}

// Calls that begin a conversation are asked about, and may be decided on before the
// run begins.
func TestGivenCallsAreAskedAbout(t *testing.T) {
	var ran journal
	params := given(user("hi"), verbatim(`{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"work","input":{}},{"type":"tool_use","id":"b","name":"work","input":{}}]}`))
	params.Approve = suspending("a", "b")
	c := converse(t, params, tools(ran.tool("work")), toolrunnertest.Text("done"))
	c.decide(t, "b", toolrunner.Allow())
	c.runSuspended(t, "a")
	c.decide(t, "a", toolrunner.Allow())
	c.run(t)
	ran.want(t, "b", "a")
}

// A paused turn's calls are not run, so nobody is asked (E8, E88).
func TestPausedTurnsAreNotAskedAbout(t *testing.T) {
	var ran journal
	c := converse(t, approving(suspending("a")), tools(ran.tool("work")),
		toolrunnertest.Message(toolrunnertest.Call("a", "work", `{}`)).StopReason("pause_turn"), toolrunnertest.Text("done"))
	_, err := c.tryRun(t.Context(), func(turn *toolrunner.Turn) {
		if turn.Iteration() == 1 {
			wantAs[*toolrunner.DecisionError](t, c.Decide("a", toolrunner.Allow()))
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	ran.want(t)
}

// Code at the server that waits for a suspended call waits like everybody (E88).
func TestCallsOfCodeAreAskedAbout(t *testing.T) {
	var ran journal
	use := `{"type":"tool_use","id":"a","name":"work","input":{},"caller":{"type":"code_execution_20260120","tool_id":"srvtoolu_1"}}`
	c := converse(t, approving(suspending("a")), tools(ran.tool("work")),
		toolrunnertest.Message(toolrunnertest.ServerToolUse("srvtoolu_1", "code_execution", `{}`), toolrunnertest.RawBlock(use)),
		toolrunnertest.Message(
			toolrunnertest.RawBlock(`{"type":"code_execution_tool_result","tool_use_id":"srvtoolu_1","content":{"type":"code_execution_result","stdout":"","stderr":"","return_code":0,"content":[]}}`),
			toolrunnertest.Say("one")), toolrunnertest.Text("two"))
	c.runSuspended(t, "a")
	c.append(t, user("and then?"))
	c.decide(t, "a", toolrunner.Deny("no"))
	c.run(t)
	ran.want(t)
	if got := shape(c.request(t, 1).Messages()); strings.Join(got, "|") != "user 'hi'|assistant server_tool_use call(a)|user error(a)" {
		t.Errorf("the second request has %q, want results alone", got)
	}
	c.wantShape(t, "user 'hi'", "assistant server_tool_use call(a)", "user error(a)", "assistant code_execution_tool_result 'one'", "user 'and then?'")
}

// Once allowed, a call is not asked about again, whatever ends the run before its
// result has gone out.
func TestDecisionsOutliveErrors(t *testing.T) {
	var asked journal
	fail := true
	look := raw("look", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
		if fail {
			return nil, context.Canceled
		}
		return toolrunner.TextResult("seen"), nil
	})
	look.ReadOnly = true
	c := converse(t, approving(func(_ context.Context, call *toolrunner.Call) (toolrunner.Decision, error) {
		asked.add("%s", call.ID)
		return toolrunner.Allow(), nil
	}), tools(look), calls("look", "a"), toolrunnertest.Status(400, "invalid_request_error", "no"), toolrunnertest.Text("done"))
	ctx, cancel := context.WithCancel(t.Context())
	c.Params.Middleware = []toolrunner.Middleware{func(next toolrunner.Handler) toolrunner.Handler {
		return func(ctx context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
			cancel()
			<-ctx.Done()
			return next(ctx, call)
		}
	}}
	if _, err := c.tryRun(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Fatalf("All() error = %v, want the cancel", err)
	}
	c.Params.Middleware, fail = nil, false
	if _, err := c.tryRun(t.Context(), nil); !hasStatus(400)(err) {
		t.Fatalf("All() error = %v, want the API's", err)
	}
	c.run(t)
	asked.want(t, "a")
	wantSuccess(t, c.request(t, -1), "a", "seen")
}

// The outcome and the calls of a suspended run are told in one record each, without
// what the model or the user wrote unless at debug level (S19).
func TestDecisionsAreRecorded(t *testing.T) {
	for _, debug := range []bool{false, true} {
		s := newStage(t, func(p *toolrunner.Params) {
			p.Approve = byID(map[string]toolrunner.Decision{"c1": toolrunner.Deny("private reason"), "c2": toolrunner.AllowInput(rawJSON(`{"secret":1}`)), "c3": toolrunner.Suspend()})
		}, toolrunnertest.Message(toolrunnertest.Call("c1", "raw", `{}`), toolrunnertest.Call("c2", "raw", `{}`), toolrunnertest.Call("c3", "raw", `{}`)), toolrunnertest.Text("done"))
		if debug {
			s.tape.level = -4
		}
		if err := s.AddTools(says("raw", "ok")); err != nil {
			t.Fatal(err)
		}
		_, err := s.play(t.Context(), false, nil)
		wantAs[*toolrunner.SuspendedError](t, err)
		if err := s.Decide("c3", toolrunner.Deny("late reason")); err != nil {
			t.Fatal(err)
		}
		_ = s.Decide("c3", toolrunner.Allow()) // refused, and no record
		if _, err := s.play(t.Context(), false, nil); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range s.tape.named("tool call decided") {
			got = append(got, strings.TrimSpace(r.attrs["tool"].String()+" "+r.attrs["call_id"].String()+" "+r.attrs["decision"].String()))
			if reason := r.attrs["reason"]; debug != strings.Contains(reason.String(), "reason") && r.attrs["decision"].String() == "deny" {
				t.Errorf("debug %v: the record has the reason %v", debug, reason)
			}
		}
		if want := "raw c1 deny|raw c2 allow input|raw c3 suspend|raw c3 deny"; strings.Join(got, "|") != want {
			t.Errorf("records = %q, want %s", got, want)
		}
		if ends := s.tape.named("run ended"); len(ends) != 2 || ends[0].attrs["outcome"].String() != "suspended" {
			t.Errorf("records of the end = %v, want the first to be suspended", ends)
		}
		for _, r := range s.tape.records {
			for key, v := range r.attrs {
				if text := v.String(); !debug && (strings.Contains(text, "private") || strings.Contains(text, "secret")) {
					t.Errorf("%s: %s = %s, want nothing private", r.text, key, text)
				}
			}
		}
	}
}
