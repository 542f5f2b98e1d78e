package faults_test

import (
	"context"
	"strings"
	"testing"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// F8, F28: an approver may take over, whatever it decides, before or after, in the loop
// or within Turn.Results: the run goes on with what it set, and the call does not run.
func TestApproverMayTakeOverWhateverItDecides(t *testing.T) {
	decisions := map[string]toolrunner.Decision{
		"allow": toolrunner.Allow(), "another input": toolrunner.AllowInput([]byte(`{"n":1}`)),
		"deny": toolrunner.Deny("no"), "suspend": toolrunner.Suspend(),
	}
	for name, d := range decisions {
		for _, way := range []string{"returns it", "decides and returns it"} {
			for _, within := range []string{"the loop", "Results"} {
				t.Run(strings.Join([]string{name, way, within}, ", "), func(t *testing.T) {
					var c *runtest.Conversation
					params := toolrunner.Params{Approve: func(_ context.Context, call *toolrunner.Call) (toolrunner.Decision, error) {
						if way != "returns it" {
							mustDo(t, "Decide()", c.Decide(call.ID, d))
						}
						mustDo(t, "SetMessages()", c.SetMessages(runtest.User("anew")))
						return d, nil
					}}
					c, ran := start(t, params, callOf("a", "b"), toolrunnertest.Text("done"))
					c.MustPlay(t, func(turn *toolrunner.Turn) {
						if within == "Results" && turn.Iteration() == 1 {
							results, err := turn.Results(t.Context())
							if err != nil || results != nil {
								t.Errorf("Results() = %v, %v; want none after a takeover", results, err)
							}
						}
					})
					ran.Want(t)
					c.WantShape(t, "user 'anew'")
				})
			}
		}
	}
}

// F8: when one handler takes over, the calls beside it that have not started do not.
func TestCallsBesideAHandlerThatTakesOverDoNotStart(t *testing.T) {
	var c *runtest.Conversation
	var ran runtest.Journal
	take := runtest.Raw("take", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
		return toolrunner.TextResult("taken"), c.SetMessages(runtest.User("anew"))
	})
	c = runtest.StartUnchecked(t, toolrunner.Params{MaxConcurrency: 1}, runtest.Tools(take, ran.Tool("work")),
		toolrunnertest.Message(toolrunnertest.Call("t", "take", `{}`), toolrunnertest.Call("a", "work", `{}`)), toolrunnertest.Text("done"))
	c.MustPlay(t, nil)
	ran.Want(t)
	c.WantShape(t, "user 'anew'")
}

// F8: a decision that comes while the approver thinks is the first, and counts; what the
// approver then says does not, and does not end the run.
func TestDecisionThatWasFasterThanTheApproverCounts(t *testing.T) {
	for name, faster := range map[string]func(c *runtest.Conversation) error{
		"a denial":         func(c *runtest.Conversation) error { return c.Decide("a", toolrunner.Deny("no")) },
		"a result by hand": func(c *runtest.Conversation) error { return c.AppendMessages(runtest.Answering("a", "by hand")) },
	} {
		t.Run(name, func(t *testing.T) {
			var c *runtest.Conversation
			params := toolrunner.Params{Approve: func(context.Context, *toolrunner.Call) (toolrunner.Decision, error) {
				mustDo(t, "being faster", faster(c))
				return toolrunner.Allow(), nil
			}}
			c, ran := start(t, params, callOf("a"), toolrunnertest.Text("done"))
			c.MustPlay(t, nil)
			ran.Want(t)
		})
	}
}

// keeping are ways to take over with messages of which some keep the reply of the turn.
var keeping = map[string]func(c *runtest.Conversation, turn *toolrunner.Turn) error{
	"Replace, the reply first": func(_ *runtest.Conversation, turn *toolrunner.Turn) error {
		return turn.Replace(turn.ToParam(), runtest.User("be concise"))
	},
	"Replace, the reply last": func(_ *runtest.Conversation, turn *toolrunner.Turn) error {
		return turn.Replace(runtest.User("be concise"), turn.ToParam())
	},
	"Replace, the reply alone": func(_ *runtest.Conversation, turn *toolrunner.Turn) error { return turn.Replace(turn.ToParam()) },
	"SetMessages, between others": func(c *runtest.Conversation, turn *toolrunner.Turn) error {
		return c.SetMessages(runtest.User("hi"), turn.ToParam(), runtest.User("be concise"))
	},
	"SetMessages, what was there": func(c *runtest.Conversation, _ *toolrunner.Turn) error { return c.SetMessages(c.Messages()...) },
	"Retry after Replace": func(_ *runtest.Conversation, turn *toolrunner.Turn) error {
		m := turn.ToParam()
		_ = turn.Retry()
		return turn.Replace(m)
	},
	"SetMessages twice": func(c *runtest.Conversation, turn *toolrunner.Turn) error {
		m := turn.ToParam()
		_ = c.SetMessages(runtest.User("x"))
		return c.SetMessages(runtest.User("hi"), m)
	},
	"SetMessages, more than once": func(c *runtest.Conversation, turn *toolrunner.Turn) error {
		_ = c.SetMessages(runtest.User("hi"), turn.ToParam(), runtest.User("x"))
		return c.SetMessages(c.Messages()...)
	},
}

// F29: the results of calls that ran survive a takeover that keeps the calls, wherever
// the messages have them: the model never reads that a call was not run which did.
func TestResultsOfCallsThatRanSurviveATakeoverThatKeepsThem(t *testing.T) {
	for name, take := range keeping {
		t.Run(name, func(t *testing.T) {
			runtest.BothWays(t, func(t *testing.T, streaming bool) {
				var ran runtest.Tally
				c := runtest.StartUnchecked(t, toolrunner.Params{}, runtest.Tools(ran.Tool("pay")), runtest.Calls("pay", "a"), toolrunnertest.Text("done"))
				c.Streaming = streaming
				c.MustPlay(t, func(turn *toolrunner.Turn) {
					if turn.Text() == "" {
						_, err := turn.Results(t.Context())
						mustDo(t, "Results()", err)
						mustDo(t, "taking over", take(c, turn))
					}
				})
				ran.Want(t, 1)
				runtest.WantSuccess(t, c.Request(t, -1), "a", "ran 1")
			})
		})
	}
}

// F29: what the body has made of a result survives, too.
func TestEditedResultsSurviveATakeoverThatKeepsThem(t *testing.T) {
	c, _ := start(t, toolrunner.Params{}, callOf("a"), toolrunnertest.Text("done"))
	c.MustPlay(t, func(turn *toolrunner.Turn) {
		results, err := turn.Results(t.Context())
		mustDo(t, "Results()", err)
		if len(results) > 0 {
			results[0] = toolrunner.TextResult("edited")
			mustDo(t, "Replace()", turn.Replace(turn.ToParam(), runtest.User("be concise")))
		}
	})
	runtest.WantSuccess(t, c.Request(t, -1), "a", "edited")
}

// A call that had not started when its reply was dropped runs if it comes back: only
// what has begun is remembered (changed by hand once, and no test noticed).
func TestCallThatHadNotStartedRunsWhenItComesBack(t *testing.T) {
	c, ran := start(t, toolrunner.Params{}, callOf("a"), toolrunnertest.Text("done"))
	c.MustPlay(t, func(turn *toolrunner.Turn) {
		if turn.Text() == "" {
			reply := turn.ToParam()
			mustDo(t, "Retry()", turn.Retry())
			mustDo(t, "SetMessages()", c.SetMessages(runtest.User("hi"), reply))
		}
	})
	ran.Want(t, "a")
	runtest.WantSuccess(t, c.Request(t, -1), "a", "ran")
}

// F32: Retry goes back to a whole state, with the calls that were open in it.
func TestRetryGoesBackToAWholeState(t *testing.T) {
	c, ran := start(t, toolrunner.Params{}, callOf("a"), toolrunnertest.Text("done"), toolrunnertest.Text("done"))
	var snapshot []byte
	c.MustPlay(t, func(turn *toolrunner.Turn) {
		if turn.Text() == "" {
			mustDo(t, "SetMessages()", c.SetMessages(runtest.User("x"), turn.ToParam()))
			mustDo(t, "Replace()", turn.Replace(runtest.User("y")))
			mustDo(t, "Retry()", turn.Retry())
			var err error
			snapshot, err = c.Snapshot()
			mustDo(t, "Snapshot()", err)
		}
	})
	ran.Want(t, "a")
	c.WantShape(t, "user 'x'", "assistant call(a)", "user result(a)")
	resumed := c.Resume(t, snapshot, runtest.Asking(""), ran.Tool("work"))
	mustDo(t, "the resumed loop", resumed.Play(t.Context(), nil))
	c.WantShape(t, "user 'x'", "assistant call(a)", "user result(a)")
}

// F11: which tools can be called stays as it was when SetMessages trims the history: the
// model is told again of what was added and removed, once.
func TestTrimmedHistoryStillSaysWhichToolsThereAre(t *testing.T) {
	var ran runtest.Journal
	c := runtest.StartUnchecked(t, toolrunner.Params{}, runtest.Tools(ran.Tool("work"), ran.Tool("old")), toolrunnertest.Text("one"), toolrunnertest.Text("two"))
	c.Server.Otherwise(toolrunnertest.Text("more"))
	c.MustAddTools(t, ran.Tool("fresh"))
	c.RemoveToolsByNames("old")
	c.MustPlay(t, nil)
	mustDo(t, "SetMessages()", c.SetMessages(runtest.User("anew")))
	c.MustPlay(t, nil)
	c.WantShape(t, "user 'anew'", "system addition(fresh) removal(old)")
	mustDo(t, "SetMessages()", c.SetMessages(append(c.Messages(), runtest.User("again"))...))
	c.MustPlay(t, nil)
	told := strings.Join(runtest.Shape(c.Request(t, -1).Messages()), "; ")
	if strings.Count(told, "addition(fresh)") != 1 || strings.Count(told, "removal(old)") != 1 {
		t.Errorf("the request says %s, want each change once", told)
	}
}

// A reply may hold the same id on both sides of a fallback's seam: the attempts are two
// (changed by hand once, and no test noticed).
func TestIDsMayComeAgainAfterAFallback(t *testing.T) {
	seam := toolrunnertest.RawBlock(`{"type":"fallback","from":{"model":"a"},"to":{"model":"b"}}`)
	c, ran := start(t, toolrunner.Params{},
		toolrunnertest.Message(toolrunnertest.Call("a", "work", `{"n":1}`), seam, toolrunnertest.Call("a", "work", `{"n":2}`)), toolrunnertest.Text("done"))
	c.MustPlay(t, nil)
	ran.Want(t, "a_2")
}
