package loop_test

import (
	"slices"
	"testing"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// What follows a reply.
const (
	ends    = "ends"
	runs    = "runs the calls"
	resumes = "resumes"
)

// E1-E12: what follows a reply depends on its stop reason alone, except that a
// reply that stops for calls needs to have some.
func TestStopReasonDecidesWhatFollows(t *testing.T) {
	tests := []struct {
		reason        string
		with, without string // client calls
		outcome       toolrunner.Outcome
	}{
		{"tool_use", runs, ends, toolrunner.OutcomeCompleted},
		{"end_turn", ends, ends, toolrunner.OutcomeCompleted},
		{"max_tokens", ends, ends, toolrunner.OutcomeTruncated},
		{"model_context_window_exceeded", ends, ends, toolrunner.OutcomeTruncated},
		{"refusal", ends, ends, toolrunner.OutcomeRefused},
		{"pause_turn", resumes, resumes, toolrunner.OutcomeCompleted},
		{"compaction", resumes, resumes, toolrunner.OutcomeCompleted},
		{"stop_sequence", ends, ends, toolrunner.OutcomeCompleted},
		{"a_reason_of_tomorrow", ends, ends, toolrunner.OutcomeCompleted},
	}
	search := []toolrunnertest.Block{
		toolrunnertest.ServerToolUse("srv_1", "web_search", `{"query":"x"}`),
		toolrunnertest.RawBlock(`{"type":"web_search_tool_result","tool_use_id":"srv_1","content":[]}`),
	}
	for _, test := range tests {
		for _, withCall := range []bool{true, false} {
			blocks, want, name := search, test.without, test.reason+" without a call"
			if withCall {
				blocks = append(slices.Clip(search), toolrunnertest.Call("toolu_1", "work", `{}`))
				want, name = test.with, test.reason+" with a call"
			}
			t.Run(name, func(t *testing.T) {
				script := []toolrunnertest.Reply{toolrunnertest.Message(blocks...).StopReason(test.reason)}
				outcome := test.outcome
				if want != ends {
					script = append(script, toolrunnertest.Text("done"))
					outcome = toolrunner.OutcomeCompleted
				}
				var ran runtest.Journal
				c := runtest.Start(t, runtest.Asking("hi"), runtest.Tools(ran.Tool("work")), script...)
				turns := c.Run(t)
				if len(turns) != len(script) {
					t.Errorf("%d turns, want %d", len(turns), len(script))
				}
				c.WantOutcome(t, outcome)
				wantFollowed(t, c, &ran, want, withCall)
			})
		}
	}
}

// wantFollowed checks what followed the reply that TestStopReasonDecidesWhatFollows scripts.
func wantFollowed(t *testing.T, c *runtest.Conversation, ran *runtest.Journal, what string, withCall bool) {
	t.Helper()
	reply := "assistant server_tool_use web_search_tool_result"
	history := []string{"user 'hi'", reply}
	if withCall {
		reply += " call(toolu_1)"
		history = []string{"user 'hi'", reply, "user error(toolu_1)"}
	}
	switch what {
	case runs:
		ran.Want(t, "toolu_1")
		c.WantShape(t, "user 'hi'", reply, "user result(toolu_1)")
	case resumes:
		ran.Want(t)
		c.WantShape(t, history...)
	default:
		ran.Want(t)
		c.WantHistory(t, history...)
	}
}

// E12: a complete message may lack a stop reason.
func TestReplyWithoutStopReasonEndsTheRun(t *testing.T) {
	for name, reason := range map[string]string{"null": `"stop_reason":null,`, "absent": ``} {
		t.Run(name, func(t *testing.T) {
			var ran runtest.Journal
			c := runtest.Start(t, runtest.Asking("hi"), runtest.Tools(ran.Tool("work")), toolrunnertest.RawJSON(`{"id":"msg_1","type":"message","role":"assistant",`+
				`"model":"m",`+reason+`"content":[{"type":"tool_use","id":"a","name":"work","input":{}}],"usage":{"input_tokens":1,"output_tokens":1}}`))
			if turns := c.Run(t); len(turns) != 1 {
				t.Errorf("%d turns, want 1", len(turns))
			}
			ran.Want(t)
			c.WantOutcome(t, toolrunner.OutcomeCompleted)
		})
	}
}

// B005, B052 and the decision on end_turn: calls that are not run are answered if
// the conversation goes on, and the answer says why.
func TestCallsThatAreNotRunAreAnsweredBeforeTheNextMessage(t *testing.T) {
	tests := []struct{ reason, want string }{
		{"end_turn", "Error: this call was not run, because the turn ended without waiting for it."},
		{"stop_sequence", "Error: this call was not run, because the turn ended without waiting for it."},
		{"max_tokens", "Error: this call was not run, because the reply that holds it was cut off by its token limit."},
		{"model_context_window_exceeded", "Error: this call was not run, because the reply that holds it was cut off by its token limit."},
		{"refusal", "Error: this call was not run, because the reply that holds it was refused."},
	}
	for _, test := range tests {
		t.Run(test.reason, func(t *testing.T) {
			var ran runtest.Journal
			c := runtest.Start(t, runtest.Asking("hi"), runtest.Tools(ran.Tool("work")), runtest.Calls("work", "a", "b").StopReason(test.reason), toolrunnertest.Text("ok"))
			c.Run(t)
			c.MustAppend(t, runtest.User("go on"))
			c.Run(t)
			ran.Want(t)
			c.WantShape(t, "user 'hi'", "assistant call(a) call(b)", "user error(a) error(b)", "user 'go on'")
			runtest.WantFailure(t, c.Request(t, -1), "a", test.want)
			runtest.WantFailure(t, c.Request(t, -1), "b", test.want)
		})
	}
}

// E8, W13: the calls of a paused reply are not run when it is resumed, but they are
// answered, as the API takes no call without a result. Those of the reply that continues
// it are run.
func TestCallsAfterAResumedReplyRun(t *testing.T) {
	var ran runtest.Journal
	c := runtest.Start(t, runtest.Asking("hi"), runtest.Tools(ran.Tool("work")),
		runtest.Calls("work", "paused").StopReason("pause_turn"), runtest.Calls("work", "next"), toolrunnertest.Text("done"))
	c.Run(t)
	ran.Want(t, "next")
	c.WantShape(t, "user 'hi'", "assistant call(paused)", "user error(paused)", "assistant call(next)", "user result(next)")
}

// E16, E14: only the limit ends an endless pause, with the paused reply last.
func TestEndlessPausesEndAtMaxIterations(t *testing.T) {
	params := runtest.Asking("hi")
	params.MaxIterations = 3
	c := runtest.Start(t, params, nil)
	c.Server.Otherwise(toolrunnertest.Text("thinking").StopReason("pause_turn"))
	turns := c.Run(t)
	if len(turns) != 3 || c.IterationCount() != 3 {
		t.Errorf("%d turns, IterationCount() = %d, want 3 and 3", len(turns), c.IterationCount())
	}
	c.WantOutcome(t, toolrunner.OutcomeMaxIterations)
	if got := c.LastMessage().StopReason; got != "pause_turn" {
		t.Errorf("LastMessage().StopReason = %q, want pause_turn", got)
	}
	c.WantHistory(t, "user 'hi'", "assistant 'thinking'", "assistant 'thinking'", "assistant 'thinking'")
}

// Promise 1: a reply that ended while a server tool had no result yet does not
// make the conversation unusable.
func TestUnfinishedServerToolUseDoesNotBlockTheConversation(t *testing.T) {
	for _, reason := range []string{"max_tokens", "refusal", "end_turn"} {
		t.Run(reason, func(t *testing.T) {
			c := runtest.New(t, toolrunnertest.Message(
				toolrunnertest.Say("let me search"), toolrunnertest.ServerToolUse("s", "web_search", `{}`),
			).StopReason(reason), toolrunnertest.Text("ok"))
			c.Runner = c.NewRunner(t, runtest.Asking("hi"))
			c.Run(t)
			c.MustAppend(t, runtest.User("go on"))
			c.Run(t)
		})
	}
}

// The calls of a follow-up that ends in an assistant message run, as those of
// the messages given to New do.
func TestFollowUpThatEndsInCallsRunsThem(t *testing.T) {
	var ran runtest.Journal
	c := runtest.Start(t, runtest.Asking("hi"), runtest.Tools(ran.Tool("work")), toolrunnertest.Text("one"), toolrunnertest.Text("two"))
	c.Run(t)
	c.MustAppend(t, runtest.User("now"), runtest.Verbatim(runtest.OpenCallsAB))
	c.Run(t)
	ran.WantSorted(t, "a", "b")
	c.WantShape(t, "user 'hi'", "assistant 'one'", "user 'now'", "assistant call(a) call(b)", "user result(a) result(b)")
}
