package loop_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// E99-E101, E107, G7, B001, B010, B041: follow-ups come after the results, and
// queued changes after them, whenever they were appended.
func TestFollowUpsComeAfterTheResults(t *testing.T) {
	after := func(lines ...string) []string {
		return append([]string{"user 'hi'", "assistant call(a) call(b)", "user result(a) result(b)"}, lines...)
	}
	tests := []struct {
		name string
		body func(t *testing.T, c *runtest.Conversation)
		want []string
	}{
		{"one", func(t *testing.T, c *runtest.Conversation) { c.MustAppend(t, runtest.User("be concise")) }, after("user 'be concise'")},
		{"several at once", func(t *testing.T, c *runtest.Conversation) { c.MustAppend(t, runtest.User("x"), runtest.User("y")) }, after("user 'x'", "user 'y'")},
		{"one by one", func(t *testing.T, c *runtest.Conversation) {
			c.MustAppend(t, runtest.User("x"))
			c.MustAppend(t, runtest.User("y"))
		}, after("user 'x'", "user 'y'")},
		{"with changes", func(t *testing.T, c *runtest.Conversation) {
			c.MustAddTools(t, runtest.Says("more", ""))
			c.MustAppend(t, runtest.User("x"))
		}, after("user 'x'", "system addition(more)")},
		{"an example dialogue", func(t *testing.T, c *runtest.Conversation) {
			c.MustAppend(t, runtest.User("x"), anthropic.BetaMessageParam{OfAssistant: &anthropic.BetaAssistantMessageParam{
				Content: []anthropic.BetaContentBlockParamUnion{anthropic.NewBetaTextBlock("y")},
			}}, runtest.User("z"))
		}, after("user 'x'", "assistant 'y'", "user 'z'")},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := runtest.Start(t, runtest.Asking("hi"), runtest.Tools(runtest.Says("work", "ran")), runtest.Calls("work", "a", "b"), toolrunnertest.Text("done"))
			_, err := c.TryRun(t.Context(), func(turn *toolrunner.Turn) {
				if turn.Iteration() == 1 {
					test.body(t, c)
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			c.WantShape(t, test.want...)
		})
	}
}

// B010: the same from handlers, and from other goroutines while tools run or a
// request is under way.
func TestFollowUpsFromElsewhereWaitForTheirPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c *runtest.Conversation
		work := runtest.Raw("work", func(_ context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
			c.MustAppend(t, runtest.User("handler of "+call.ID))
			runtest.Pause(time.Minute)
			return toolrunner.TextResult("ran"), nil
		})
		params := runtest.Asking("hi")
		params.MaxConcurrency = 1
		c = runtest.Start(t, params, runtest.Tools(work), runtest.Calls("work", "a", "b").Delay(time.Minute), toolrunnertest.Text("half").Delay(time.Minute), toolrunnertest.Text("done"))
		at := func(d time.Duration, text string) { time.AfterFunc(d, func() { c.MustAppend(t, runtest.User(text)) }) }
		at(30*time.Second, "while the first request is under way")
		at(150*time.Second, "while tools run")
		at(210*time.Second, "while the second request is under way")
		c.Run(t)
		c.WantShape(t, "user 'hi'", "assistant call(a) call(b)", "user result(a) result(b)",
			"user 'while the first request is under way'", "user 'handler of a'", "user 'handler of b'", "user 'while tools run'",
			"assistant 'half'", "user 'while the second request is under way'")
	})
}

// E101: a follow-up to a paused reply goes with the request that resumes it, but
// not while a tool of the server waits for its result.
func TestFollowUpsToAPausedReply(t *testing.T) {
	t.Run("at rest", func(t *testing.T) {
		c := runtest.Start(t, runtest.Asking("hi"), nil, toolrunnertest.Text("wait").StopReason("pause_turn"), toolrunnertest.Text("done"))
		if _, err := c.TryRun(t.Context(), func(turn *toolrunner.Turn) {
			if turn.Iteration() == 1 {
				c.MustAppend(t, runtest.User("note"))
			}
		}); err != nil {
			t.Fatal(err)
		}
		c.WantShape(t, "user 'hi'", "assistant 'wait'", "user 'note'")
	})
	t.Run("in the middle of a server tool's work", func(t *testing.T) {
		c := runtest.Start(t, runtest.Asking("hi"), nil,
			toolrunnertest.Message(toolrunnertest.ServerToolUse("s", "web_search", `{}`)).StopReason("pause_turn"),
			toolrunnertest.Message(toolrunnertest.RawBlock(`{"type":"web_search_tool_result","tool_use_id":"s","content":[]}`), toolrunnertest.Say("so")),
			toolrunnertest.Text("done"))
		if _, err := c.TryRun(t.Context(), func(turn *toolrunner.Turn) {
			if turn.Iteration() == 1 {
				c.MustAppend(t, runtest.User("note"))
			}
		}); err != nil {
			t.Fatal(err)
		}
		c.WantShape(t, "user 'hi'", "assistant server_tool_use", "assistant web_search_tool_result 'so'", "user 'note'")
	})
}

// E105, E136, G4: after its end a run goes on with a follow-up, and counts anew.
func TestFollowUpAfterTheEndBeginsTheNextRun(t *testing.T) {
	c := runtest.Start(t, runtest.Asking("hi"), nil, toolrunnertest.Text("one"), toolrunnertest.Text("two"))
	c.Run(t)
	c.MustAppend(t, runtest.User("again"))
	c.WantHistory(t, "user 'hi'", "assistant 'one'", "user 'again'")
	turns := c.Run(t)
	if len(turns) != 1 || turns[0].Text() != "two" || turns[0].Iteration() != 1 {
		t.Errorf("the second run had %d turns, want one that says two with iteration 1", len(turns))
	}
	c.WantShape(t, "user 'hi'", "assistant 'one'", "user 'again'")
	c.WantHistory(t, "user 'hi'", "assistant 'one'", "user 'again'", "assistant 'two'")
}

// A follow-up to the last turn, in its body, lets the run go on.
func TestFollowUpInTheLastBodyGoesOn(t *testing.T) {
	c := runtest.Start(t, runtest.Asking("hi"), nil, toolrunnertest.Text("one"), toolrunnertest.Text("two"))
	turns, err := c.TryRun(t.Context(), func(turn *toolrunner.Turn) {
		if turn.Text() == "one" {
			c.WantOutcome(t, toolrunner.OutcomeCompleted)
			c.MustAppend(t, runtest.User("more"))
			c.WantOutcome(t, toolrunner.OutcomeRunning)
		}
	})
	if err != nil || len(turns) != 2 {
		t.Errorf("%d turns, error %v; want 2, nil", len(turns), err)
	}
	c.WantShape(t, "user 'hi'", "assistant 'one'", "user 'more'")
}

// E124, B034: a result that the caller gives answers its call, whose tool does
// not run; the others do.
func TestResultFromTheCallerStandsInForTheTool(t *testing.T) {
	var ran runtest.Journal
	c := runtest.Start(t, runtest.Asking("hi"), runtest.Tools(ran.Tool("work")), runtest.Calls("work", "a", "b"), toolrunnertest.Text("done"))
	if _, err := c.TryRun(t.Context(), func(turn *toolrunner.Turn) {
		if turn.Iteration() > 1 {
			return
		}
		override := anthropic.NewBetaToolResultBlock("a", "override", false)
		c.MustAppend(t, anthropic.NewBetaUserMessage(override, anthropic.NewBetaTextBlock("note")))
		err := c.AppendMessages(anthropic.NewBetaUserMessage(override))
		if got := runtest.WantAs[*toolrunner.HistoryError](t, err); !strings.Contains(got.Reason, `"a" answers no open call`) {
			t.Errorf("a second result for a: error = %v", err)
		}
	}); err != nil {
		t.Fatal(err)
	}
	ran.Want(t, "b")
	c.WantShape(t, "user 'hi'", "assistant call(a) call(b)", "user result(a) result(b)", "user 'note'")
	runtest.WantSuccess(t, c.Request(t, -1), "a", "override")
}

// AppendMessages refuses what the API would, says where, and takes none of it.
func TestMessagesThatTheAPIWouldRefuseAreRefused(t *testing.T) {
	result := func(id string) anthropic.BetaContentBlockParamUnion {
		return anthropic.NewBetaToolResultBlock(id, "x", false)
	}
	tests := []struct {
		name    string
		message anthropic.BetaMessageParam
		want    string
	}{
		{"zero message", anthropic.BetaMessageParam{}, ""},
		{"no content", anthropic.NewBetaUserMessage(), "no content"},
		{"empty text", runtest.User(""), "empty text"},
		{"space", runtest.User(" \n\t"), "nothing but space"},
		{"zero block", anthropic.NewBetaUserMessage(anthropic.BetaContentBlockParamUnion{}), ""},
		{"orphan result", anthropic.NewBetaUserMessage(result("ghost")), `"ghost" answers no open call`},
		{"call in a user's message", anthropic.NewBetaUserMessage(anthropic.NewBetaToolUseBlock("x", map[string]any{}, "work")), "tool_use"},
		{"unknown role", runtest.Verbatim(`{"role":"tool","content":"x"}`), `role is "tool"`},
		{"no JSON", runtest.Verbatim(`{"role":`), "not a JSON object"},
		{"array", runtest.Verbatim(`[]`), "not a JSON object"},
		{"content is a number", runtest.Verbatim(`{"role":"user","content":1}`), ""},
		{"content is null", runtest.Verbatim(`{"role":"user","content":null}`), ""},
		{"block without a type", runtest.Verbatim(`{"role":"user","content":[{}]}`), "no type"},
		{"reply that is there", runtest.Verbatim(`{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"work","input":{}}]}`), `"a" is in the history already`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := runtest.Start(t, runtest.Asking("hi"), runtest.Tools(runtest.Says("work", "ran")), runtest.Calls("work", "a"), toolrunnertest.Text("done"))
			if _, err := c.TryRun(t.Context(), func(turn *toolrunner.Turn) {
				if turn.Iteration() > 1 {
					return
				}
				got := runtest.WantAs[*toolrunner.HistoryError](t, c.AppendMessages(runtest.User("fine"), test.message))
				if got.Index != 1 || !strings.Contains(got.Reason, test.want) {
					t.Errorf("error = %v, want message 1 and %q", got, test.want)
				}
			}); err != nil {
				t.Fatal(err)
			}
			c.WantShape(t, "user 'hi'", "assistant call(a)", "user result(a)")
		})
	}
}

// E102-E104, E138, G22, B024, B074: what the caller has given and what it is
// given share nothing with the history.
func TestHistoryIsNobodyElses(t *testing.T) {
	backing := make([]anthropic.BetaMessageParam, 1, 8)
	backing[0] = runtest.User("hi")
	params := runtest.Given(backing...)
	work := runtest.Raw("work", func(_ context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
		return &toolrunner.Result{Content: []runtest.Content{runtest.TextContent("ran")}}, nil
	})
	c := runtest.Start(t, params, runtest.Tools(work), runtest.Calls("work", "a"), toolrunnertest.Text("done"))
	backing[0].OfUser.Content[0].OfText.Text = "changed"
	note := runtest.User("note")
	if _, err := c.TryRun(t.Context(), func(turn *toolrunner.Turn) {
		if turn.Iteration() > 1 {
			return
		}
		c.MustAppend(t, note)
		note.OfUser.Content[0].OfText.Text = "changed"
		for _, m := range c.Messages() {
			if m.OfUser != nil {
				m.OfUser.Content[0] = anthropic.NewBetaTextBlock("changed")
			} else {
				m.OfAssistant.Content[0].OfToolUse.ID = "changed"
			}
		}
		turn.Calls()[0].ID = "changed"
		turn.Content[0].ID, turn.StopReason = "changed", "end_turn"
		turn.ToParam().OfAssistant.Content[0] = anthropic.NewBetaTextBlock("changed")
	}); err != nil {
		t.Fatal(err)
	}
	c.WantShape(t, "user 'hi'", "assistant call(a)", "user result(a)", "user 'note'")
	if beyond := backing[:2][1]; beyond.OfUser != nil || beyond.OfAssistant != nil {
		t.Errorf("the caller's array has been written to: %v", beyond)
	}
}

// E138: a turn that was handed out stays as it was.
func TestTurnStaysAsItWas(t *testing.T) {
	c := runtest.Start(t, runtest.Asking("hi"), runtest.Tools(runtest.Says("work", "ran")), runtest.Calls("work", "a"), toolrunnertest.Text("done"))
	turns := c.Run(t)
	if got := turns[0].Content[0].ID; len(turns) != 2 || got != "a" || turns[0].Iteration() != 1 {
		t.Errorf("the first turn holds call %q of iteration %d, want a of 1", got, turns[0].Iteration())
	}
	for _, err := range turns[0].Events() {
		if !errors.Is(err, toolrunner.ErrTurnOver) {
			t.Errorf("Events() error = %v, want ErrTurnOver", err)
		}
	}
	if calls := turns[0].Calls(); len(calls) != 1 || calls[0].ID != "a" {
		t.Errorf("Calls() after the body = %v, want a", calls)
	}
}
