package toolrunner_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
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
		body func(t *testing.T, c *conversation)
		want []string
	}{
		{"one", func(t *testing.T, c *conversation) { c.append(t, user("be concise")) }, after("user 'be concise'")},
		{"several at once", func(t *testing.T, c *conversation) { c.append(t, user("x"), user("y")) }, after("user 'x'", "user 'y'")},
		{"one by one", func(t *testing.T, c *conversation) { c.append(t, user("x")); c.append(t, user("y")) }, after("user 'x'", "user 'y'")},
		{"with changes", func(t *testing.T, c *conversation) {
			c.addTools(t, says("more", ""))
			c.append(t, user("x"))
		}, after("user 'x'", "system addition(more)")},
		{"an example dialogue", func(t *testing.T, c *conversation) {
			c.append(t, user("x"), anthropic.BetaMessageParam{OfAssistant: &anthropic.BetaAssistantMessageParam{
				Content: []anthropic.BetaContentBlockParamUnion{anthropic.NewBetaTextBlock("y")},
			}}, user("z"))
		}, after("user 'x'", "assistant 'y'", "user 'z'")},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := converse(t, asking("hi"), tools(says("work", "ran")), calls("work", "a", "b"), toolrunnertest.Text("done"))
			_, err := c.tryRun(t.Context(), func(turn *toolrunner.Turn) {
				if turn.Iteration() == 1 {
					test.body(t, c)
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			c.wantShape(t, test.want...)
		})
	}
}

// B010: the same from handlers, and from other goroutines while tools run or a
// request is under way.
func TestFollowUpsFromElsewhereWaitForTheirPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c *conversation
		work := raw("work", func(_ context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
			c.append(t, user("handler of "+call.ID))
			pause(time.Minute)
			return toolrunner.TextResult("ran"), nil
		})
		params := asking("hi")
		params.MaxConcurrency = 1
		c = converse(t, params, tools(work), calls("work", "a", "b").Delay(time.Minute), toolrunnertest.Text("half").Delay(time.Minute), toolrunnertest.Text("done"))
		at := func(d time.Duration, text string) { time.AfterFunc(d, func() { c.append(t, user(text)) }) }
		at(30*time.Second, "while the first request is under way")
		at(150*time.Second, "while tools run")
		at(210*time.Second, "while the second request is under way")
		c.run(t)
		c.wantShape(t, "user 'hi'", "assistant call(a) call(b)", "user result(a) result(b)",
			"user 'while the first request is under way'", "user 'handler of a'", "user 'handler of b'", "user 'while tools run'",
			"assistant 'half'", "user 'while the second request is under way'")
	})
}

// E101: a follow-up to a paused reply goes with the request that resumes it, but
// not while a tool of the server waits for its result.
func TestFollowUpsToAPausedReply(t *testing.T) {
	t.Run("at rest", func(t *testing.T) {
		c := converse(t, asking("hi"), nil, toolrunnertest.Text("wait").StopReason("pause_turn"), toolrunnertest.Text("done"))
		if _, err := c.tryRun(t.Context(), func(turn *toolrunner.Turn) {
			if turn.Iteration() == 1 {
				c.append(t, user("note"))
			}
		}); err != nil {
			t.Fatal(err)
		}
		c.wantShape(t, "user 'hi'", "assistant 'wait'", "user 'note'")
	})
	t.Run("in the middle of a server tool's work", func(t *testing.T) {
		c := converse(t, asking("hi"), nil,
			toolrunnertest.Message(toolrunnertest.ServerToolUse("s", "web_search", `{}`)).StopReason("pause_turn"),
			toolrunnertest.Message(toolrunnertest.RawBlock(`{"type":"web_search_tool_result","tool_use_id":"s","content":[]}`), toolrunnertest.Say("so")),
			toolrunnertest.Text("done"))
		if _, err := c.tryRun(t.Context(), func(turn *toolrunner.Turn) {
			if turn.Iteration() == 1 {
				c.append(t, user("note"))
			}
		}); err != nil {
			t.Fatal(err)
		}
		c.wantShape(t, "user 'hi'", "assistant server_tool_use", "assistant web_search_tool_result 'so'", "user 'note'")
	})
}

// E105, E136, G4: after its end a run goes on with a follow-up, and counts anew.
func TestFollowUpAfterTheEndBeginsTheNextRun(t *testing.T) {
	c := converse(t, asking("hi"), nil, toolrunnertest.Text("one"), toolrunnertest.Text("two"))
	c.run(t)
	c.append(t, user("again"))
	c.wantHistory(t, "user 'hi'", "assistant 'one'", "user 'again'")
	turns := c.run(t)
	if len(turns) != 1 || turns[0].Text() != "two" || turns[0].Iteration() != 1 {
		t.Errorf("the second run had %d turns, want one that says two with iteration 1", len(turns))
	}
	c.wantShape(t, "user 'hi'", "assistant 'one'", "user 'again'")
	c.wantHistory(t, "user 'hi'", "assistant 'one'", "user 'again'", "assistant 'two'")
}

// A follow-up to the last turn, in its body, lets the run go on.
func TestFollowUpInTheLastBodyGoesOn(t *testing.T) {
	c := converse(t, asking("hi"), nil, toolrunnertest.Text("one"), toolrunnertest.Text("two"))
	turns, err := c.tryRun(t.Context(), func(turn *toolrunner.Turn) {
		if turn.Text() == "one" {
			c.wantOutcome(t, toolrunner.OutcomeCompleted)
			c.append(t, user("more"))
			c.wantOutcome(t, toolrunner.OutcomeRunning)
		}
	})
	if err != nil || len(turns) != 2 {
		t.Errorf("%d turns, error %v; want 2, nil", len(turns), err)
	}
	c.wantShape(t, "user 'hi'", "assistant 'one'", "user 'more'")
}

// E124, B034: a result that the caller gives answers its call, whose tool does
// not run; the others do.
func TestResultFromTheCallerStandsInForTheTool(t *testing.T) {
	var ran journal
	c := converse(t, asking("hi"), tools(ran.tool("work")), calls("work", "a", "b"), toolrunnertest.Text("done"))
	if _, err := c.tryRun(t.Context(), func(turn *toolrunner.Turn) {
		if turn.Iteration() > 1 {
			return
		}
		override := anthropic.NewBetaToolResultBlock("a", "override", false)
		c.append(t, anthropic.NewBetaUserMessage(override, anthropic.NewBetaTextBlock("note")))
		err := c.AppendMessages(anthropic.NewBetaUserMessage(override))
		if got := wantAs[*toolrunner.HistoryError](t, err); !strings.Contains(got.Reason, `"a" answers no open call`) {
			t.Errorf("a second result for a: error = %v", err)
		}
	}); err != nil {
		t.Fatal(err)
	}
	ran.want(t, "b")
	c.wantShape(t, "user 'hi'", "assistant call(a) call(b)", "user result(a) result(b)", "user 'note'")
	wantSuccess(t, c.request(t, -1), "a", "override")
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
		{"empty text", user(""), "empty text"},
		{"space", user(" \n\t"), "nothing but space"},
		{"zero block", anthropic.NewBetaUserMessage(anthropic.BetaContentBlockParamUnion{}), ""},
		{"orphan result", anthropic.NewBetaUserMessage(result("ghost")), `"ghost" answers no open call`},
		{"call in a user's message", anthropic.NewBetaUserMessage(anthropic.NewBetaToolUseBlock("x", map[string]any{}, "work")), "tool_use"},
		{"unknown role", verbatim(`{"role":"tool","content":"x"}`), `role is "tool"`},
		{"no JSON", verbatim(`{"role":`), "not a JSON object"},
		{"array", verbatim(`[]`), "not a JSON object"},
		{"content is a number", verbatim(`{"role":"user","content":1}`), ""},
		{"content is null", verbatim(`{"role":"user","content":null}`), ""},
		{"block without a type", verbatim(`{"role":"user","content":[{}]}`), "no type"},
		{"reply that is there", verbatim(`{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"work","input":{}}]}`), `"a" is in the history already`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := converse(t, asking("hi"), tools(says("work", "ran")), calls("work", "a"), toolrunnertest.Text("done"))
			if _, err := c.tryRun(t.Context(), func(turn *toolrunner.Turn) {
				if turn.Iteration() > 1 {
					return
				}
				got := wantAs[*toolrunner.HistoryError](t, c.AppendMessages(user("fine"), test.message))
				if got.Index != 1 || !strings.Contains(got.Reason, test.want) {
					t.Errorf("error = %v, want message 1 and %q", got, test.want)
				}
			}); err != nil {
				t.Fatal(err)
			}
			c.wantShape(t, "user 'hi'", "assistant call(a)", "user result(a)")
		})
	}
}

// E102-E104, E138, G22, B024, B074: what the caller has given and what it is
// given share nothing with the history.
func TestHistoryIsNobodyElses(t *testing.T) {
	backing := make([]anthropic.BetaMessageParam, 1, 8)
	backing[0] = user("hi")
	params := given(backing...)
	work := raw("work", func(_ context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
		return &toolrunner.Result{Content: []content{text("ran")}}, nil
	})
	c := converse(t, params, tools(work), calls("work", "a"), toolrunnertest.Text("done"))
	backing[0].OfUser.Content[0].OfText.Text = "changed"
	note := user("note")
	if _, err := c.tryRun(t.Context(), func(turn *toolrunner.Turn) {
		if turn.Iteration() > 1 {
			return
		}
		c.append(t, note)
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
	c.wantShape(t, "user 'hi'", "assistant call(a)", "user result(a)", "user 'note'")
	if beyond := backing[:2][1]; beyond.OfUser != nil || beyond.OfAssistant != nil {
		t.Errorf("the caller's array has been written to: %v", beyond)
	}
}

// E138: a turn that was handed out stays as it was.
func TestTurnStaysAsItWas(t *testing.T) {
	c := converse(t, asking("hi"), tools(says("work", "ran")), calls("work", "a"), toolrunnertest.Text("done"))
	turns := c.run(t)
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
