package faults_test

import (
	"context"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// settlings are what a body may do about the call "a" of its turn beside running it.
var settlings = map[string]func(c *runtest.Conversation) error{
	"denied":             func(c *runtest.Conversation) error { return c.Decide("a", toolrunner.Deny("no")) },
	"forbidden":          func(c *runtest.Conversation) error { return c.Decide("a", toolrunner.Forbid("no")) },
	"answered by hand":   func(c *runtest.Conversation) error { return c.AppendMessages(runtest.Answering("a", "by hand")) },
	"suspended":          func(c *runtest.Conversation) error { return c.Decide("a", toolrunner.Suspend()) },
	"with another input": func(c *runtest.Conversation) error { return c.Decide("a", toolrunner.AllowInput([]byte(`{"n":2}`))) },
}

// F1: a call that the body has settled is shown settled by Messages, whether calls may
// start while the reply streams or not: no conversation that is continued runs it.
func TestSettledCallDoesNotRunInAContinuedConversation(t *testing.T) {
	for name, settle := range settlings {
		for _, eager := range []bool{false, true} {
			mode := name
			if eager {
				mode += ", eager"
			}
			t.Run(mode, func(t *testing.T) {
				c, ran := start(t, toolrunner.Params{EagerTools: eager}, callOf("a", "b"), toolrunnertest.Text("elsewhere"))
				c.Streaming = true
				var saved []anthropic.BetaMessageParam
				for turn, err := range c.AllStreaming(t.Context()) {
					if err != nil {
						t.Fatal(err)
					}
					_ = turn.Calls()
					mustDo(t, "settling", settle(c))
					saved = c.Messages()
					break
				}
				ran.Want(t)
				var again runtest.Journal
				other := continued(t, c, saved, again.Tool("work"))
				mustDo(t, "the other loop", other.Play(t.Context(), nil))
				if again.Has("a") {
					t.Errorf("the call ran in the other conversation, which began with %q", runtest.Shape(runtest.Encoded(t, saved)))
				}
			})
		}
	}
}

// F1: an eager call that has started, and has no result yet, is still open in Messages
// while its turn has not come to its calls: it may run again, as it is read only.
func TestEagerCallsStayOpenWhileTheBodyRuns(t *testing.T) {
	look := runtest.ReadOnly("work", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
		return toolrunner.TextResult("seen"), nil
	})
	c := runtest.StartUnchecked(t, toolrunner.Params{EagerTools: true}, runtest.Tools(look), callOf("a"), toolrunnertest.Text("done"))
	c.MustStream(t, func(turn *toolrunner.Turn) {
		if turn.Iteration() == 1 {
			_ = turn.Calls()
			c.WantHistory(t, "user 'hi'", "assistant call(a)")
		}
	})
	c.WantShape(t, "user 'hi'", "assistant call(a)", "user result(a)")
}

// F26: Messages of a body whose reply was cut off or refused shows its calls answered,
// as they will not be run.
func TestCallsThatWillNotRunAreAnsweredInMessages(t *testing.T) {
	for _, reason := range []string{"max_tokens", "model_context_window_exceeded", "refusal", "end_turn", "stop_sequence", "news"} {
		t.Run(reason, func(t *testing.T) {
			runtest.BothWays(t, func(t *testing.T, streaming bool) {
				c, ran := start(t, toolrunner.Params{}, callOf("a", "b").StopReason(reason), toolrunnertest.Text("elsewhere"))
				c.Streaming = streaming
				var saved []anthropic.BetaMessageParam
				_ = c.Play(t.Context(), func(turn *toolrunner.Turn) {
					_ = turn.Text()
					saved = c.Messages()
					c.WantHistory(t, "user 'hi'", "assistant call(a) call(b)", "user error(a) error(b)")
				})
				other := continued(t, c, append(saved, runtest.User("go on")), ran.Tool("work"))
				mustDo(t, "the other loop", other.Play(t.Context(), nil))
				ran.Want(t)
			})
		})
	}
}

// F26: a paused reply goes on: its calls stay open in Messages.
func TestCallsOfAPausedReplyStayOpenInMessages(t *testing.T) {
	c, _ := start(t, toolrunner.Params{}, toolrunnertest.Message(runtest.ServerSearch).StopReason("pause_turn"),
		toolrunnertest.Message(runtest.ServerFound, toolrunnertest.Call("a", "work", `{}`)), toolrunnertest.Text("done"))
	c.MustPlay(t, func(turn *toolrunner.Turn) {
		if turn.Iteration() == 1 {
			c.WantHistory(t, "user 'hi'", "assistant server_tool_use")
		}
	})
}

// F33: the history that a body leaves means the same here and in a conversation that
// begins with it: a call beside a server's own that waits is run, and answered.
func TestCallBesideAServersOwnMeansTheSameElsewhere(t *testing.T) {
	reply := toolrunnertest.Message(toolrunnertest.Call("a", "work", `{}`), runtest.ServerSearch)
	c, ran := start(t, toolrunner.Params{}, reply,
		toolrunnertest.Message(runtest.ServerFound, toolrunnertest.Say("found")), toolrunnertest.Message(runtest.ServerFound, toolrunnertest.Say("found")))
	for _, err := range c.All(t.Context()) {
		mustDo(t, "All()", err)
		break
	}
	saved := c.Messages()
	mustDo(t, "going on", c.Play(t.Context(), nil))
	ran.Want(t, "a")
	ran.Clear()
	other := continued(t, c, saved, ran.Tool("work"))
	mustDo(t, "the other loop", other.Play(t.Context(), nil))
	ran.Want(t, "a")
	c.WantRequest(t, 1, "user 'hi'", "assistant call(a) server_tool_use", "user result(a)")
	c.WantRequest(t, 2, "user 'hi'", "assistant call(a) server_tool_use", "user result(a)")
}
