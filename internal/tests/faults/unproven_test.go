package faults_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// These were suspected when the faults were found, and not proven.

// RemoveToolsByNames of a name that no tool can have is not sent: the API would refuse it
// in this request and each one after.
func TestIllegalNamesAreNotRemoved(t *testing.T) {
	c, _ := start(t, toolrunner.Params{}, toolrunnertest.Text("done"))
	c.RemoveToolsByNames("", "two words", "ü", strings.Repeat("x", 129), "work")
	c.MustPlay(t, nil)
	c.WantShape(t, "user 'hi'", "system removal(work)")
}

// Resume without a tool that was removed needs no definition of it: the request names it
// in its removal only if it went out as one of the first.
func TestToolThatWasRemovedNeedNotBeResumed(t *testing.T) {
	var ran runtest.Journal
	c := runtest.StartUnchecked(t, toolrunner.Params{}, runtest.Tools(ran.Tool("work"), ran.Tool("old")), toolrunnertest.Text("done"))
	c.Server.Otherwise(toolrunnertest.Text("more"))
	c.RemoveToolsByNames("old")
	c.MustPlay(t, nil)
	snapshot, err := c.Snapshot()
	mustDo(t, "Snapshot()", err)
	resumed := c.Resume(t, snapshot, runtest.Asking(""), ran.Tool("work"))
	mustDo(t, "AppendMessages()", resumed.AppendMessages(runtest.User("more")))
	mustDo(t, "the resumed loop", resumed.Play(t.Context(), nil))
}

// Abort ends the run, not the turn: also where it comes from an eager call whose reply
// then stops for something else, or has a seam behind the call.
func TestAbortOfAnEagerCallEndsTheRunWhateverBecomesOfItsReply(t *testing.T) {
	stop := errors.New("stop")
	for name, reply := range map[string]toolrunnertest.Reply{
		"max_tokens": runtest.Blocks("a look", "text").StopReason("max_tokens"),
		"end_turn":   runtest.Blocks("a look", "text").StopReason("end_turn"),
		"a fallback": runtest.Blocks("a look", "text", "fallback", "text").StopReason("end_turn"),
		"tool_use":   runtest.Blocks("a look", "text"),
	} {
		runtest.Bubble(t, name, func(t *testing.T) {
			look := runtest.ReadOnly("look", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
				return nil, toolrunner.Abort(stop)
			})
			c := runtest.StartUnchecked(t, toolrunner.Params{EagerTools: true}, runtest.Tools(look), reply)
			runtest.WantCause(t, c.Stream(t.Context(), func(turn *toolrunner.Turn) {
				for range turn.Events() {
					synctest.Wait()
				}
			}), stop)
			runtest.WantCause(t, c.Err(), stop)
		})
	}
}

// Within Results, Abort is an error for the body, which decides: if it goes on, so does
// the run, the model reads what became of the call, and it is not run again.
func TestBodyDecidesOnAnAbortWithinResults(t *testing.T) {
	stop := errors.New("stop")
	calls := 0
	work := runtest.Raw("work", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
		calls++
		return nil, toolrunner.Abort(stop)
	})
	c := runtest.StartUnchecked(t, toolrunner.Params{}, runtest.Tools(work), callOf("a"), toolrunnertest.Text("done"))
	c.MustPlay(t, func(turn *toolrunner.Turn) {
		if turn.Text() == "" {
			_, err := turn.Results(t.Context())
			runtest.WantCause(t, err, stop)
		}
	})
	runtest.WantFailure(t, c.Request(t, 1), "a", "Error: the tool ended the run.")
	if calls != 1 {
		t.Errorf("the tool ran %d times, want once", calls)
	}
}

// A reply that was paused and says nothing has nothing to go on from: the same request
// would go out without end.
func TestBlankReplyThatWasPausedEndsTheLoop(t *testing.T) {
	runtest.BothWays(t, func(t *testing.T, streaming bool) {
		c, _ := start(t, toolrunner.Params{}, toolrunnertest.Message().StopReason("pause_turn"))
		c.Streaming = streaming
		n := 0
		c.Server.Otherwise(toolrunnertest.Func(func(*toolrunnertest.Request) toolrunnertest.Reply {
			if n++; n > 5 {
				return toolrunnertest.Text("enough")
			}
			return toolrunnertest.Message().StopReason("pause_turn")
		}))
		wantErr(t, "the loop", c.Play(t.Context(), nil))
		c.WantRequests(t, 1)
	})
}

// Pruning a server's use from a reply leaves the count of its cache breakpoints right: no
// request has a fifth.
func TestPruningKeepsTheCountOfBreakpoints(t *testing.T) {
	const cached = `"cache_control":{"type":"ephemeral"}`
	first := runtest.Verbatim(`{"role":"user","content":[{"type":"text","text":"a",` + cached + `},{"type":"text","text":"b",` + cached + `}]}`)
	reply := runtest.Verbatim(`{"role":"assistant","content":[{"type":"text","text":"c",` + cached + `},{"type":"text","text":"d",` + cached + `}]}`)
	c, _ := start(t, runtest.Given(first, reply, runtest.User("e")),
		toolrunnertest.Message(toolrunnertest.Say("f"), runtest.ServerSearch).StopReason("end_turn"), toolrunnertest.Text("g"))
	c.MustPlay(t, nil)
	more := runtest.Verbatim(`{"role":"user","content":[{"type":"text","text":"h",` + cached + `}]}`)
	mustDo(t, "AppendMessages()", c.AppendMessages(more))
	c.MustPlay(t, nil)
	if got := strings.Count(string(c.Request(t, -1).Body), "cache_control"); got != 4 {
		t.Errorf("the request has %d breakpoints, want 4", got)
	}
}

// Usage near the largest number is bounded, and does not overflow; a snapshot with more
// is refused.
func TestUsageDoesNotOverflow(t *testing.T) {
	c, ran := start(t, toolrunner.Params{}, callOf("a").Usage(1<<53-1, 1<<53-1), callOf("b").Usage(1<<53-1, 1<<53-1), toolrunnertest.Text("done"))
	c.MustPlay(t, nil)
	if u := c.Usage(); u.InputTokens != 1<<53 || u.OutputTokens != 1<<53 {
		t.Errorf("Usage() = %+v, want it to stop at 2^53", u)
	}
	snapshot, err := c.Snapshot()
	mustDo(t, "Snapshot()", err)
	data := strings.ReplaceAll(string(unsummed(snapshot)), fmt.Sprint(1<<53), fmt.Sprint(1<<62))
	_, err = toolrunner.Resume(&c.Client.Beta.Messages, runtest.Tools(ran.Tool("work")), runtest.ToAsk(runtest.Asking("")), []byte(data))
	runtest.WantAs[*toolrunner.SnapshotError](t, err)
}

// A summary by the client is taken also where all tools are additions: the history holds
// their calls.
func TestSummaryWhereAllToolsAreAdditions(t *testing.T) {
	var ran runtest.Journal
	params := toolrunner.Params{AutoCompact: toolrunner.AutoCompact{Threshold: 100, Client: &toolrunner.ClientCompaction{}}}
	c := runtest.StartUnchecked(t, params, nil, callOf("a").Usage(1000, 1), toolrunnertest.Text("so far"), toolrunnertest.Text("done"))
	c.MustAddTools(t, ran.Tool("work"))
	c.MustPlay(t, nil)
	ran.Want(t, "a")
	c.WantRequests(t, 3)
	if got := strings.Join(runtest.Shape(c.Request(t, 1).Messages()), "; "); !strings.Contains(got, "addition(work)") {
		t.Errorf("the summary was asked for with %s, want the definition in it", got)
	}
}

// A stream whose first message cannot be used is closed.
func TestStreamWhoseFirstMessageCannotBeUsedIsClosed(t *testing.T) {
	for name, message := range map[string]string{
		"a number": `7`, "null": `null`, "a text": `"x"`, "a list": `[]`, "content of a number": `{"id":"m","content":7}`,
		"a role of a number": `{"id":"m","role":7,"content":[]}`, "usage of a text": `{"id":"m","role":"assistant","content":[],"usage":"x"}`,
		"content of numbers": `{"id":"m","role":"assistant","content":[7]}`,
	} {
		t.Run(name, func(t *testing.T) {
			r := runtest.NewTaped(t, runtest.Frames(`{"type":"message_start","message":`+message+`}`))
			_, _ = runtest.Drain(r.Runner)
			if r.Open != 0 {
				t.Errorf("%d streams are open", r.Open)
			}
		})
	}
}

// A container that has expired does not end the conversation for good.
func TestContainerThatHasExpiredIsNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		until := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
		reply := func(text string) toolrunnertest.Reply {
			return toolrunnertest.RawJSON(`{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"` + text + `"}],` +
				`"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1},"container":{"id":"c1","expires_at":"` + until + `"}}`)
		}
		c, _ := start(t, toolrunner.Params{}, reply("one"), toolrunnertest.Text("two"), toolrunnertest.Text("three"))
		c.MustPlay(t, nil)
		c.MustAppend(t, runtest.User("soon"))
		c.MustPlay(t, nil)
		snapshot, err := c.Snapshot()
		mustDo(t, "Snapshot()", err)
		runtest.Pause(2 * time.Hour)
		c.Server.Add(toolrunnertest.Text("four"))
		c.MustAppend(t, runtest.User("later"))
		c.MustPlay(t, nil)
		if got := string(c.Request(t, 1).Field("container")); got != `"c1"` {
			t.Errorf("container = %s, want it while it lives", got)
		}
		if got := string(c.Request(t, 2).Field("container")); got != "" {
			t.Errorf("container = %s after it has expired, want none", got)
		}
		resumed := c.Resume(t, snapshot, runtest.Asking(""), runtest.Says("work", "x"))
		mustDo(t, "AppendMessages()", resumed.AppendMessages(runtest.User("days later")))
		mustDo(t, "the resumed loop", resumed.Play(t.Context(), nil))
		if got := string(c.Request(t, 3).Field("container")); got != "" {
			t.Errorf("container = %s in a resumed run after it has expired, want none", got)
		}
	})
}
