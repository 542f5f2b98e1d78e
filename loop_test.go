package toolrunner

import (
	"slices"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner/toolrunnertest"

	"github.com/toolrunner/toolrunner/internal/history"
)

// startLoop returns a loop that has got these replies, each of blocks and a stop
// reason, and whose calls have all been answered with "done" but for those of
// the last.
func startLoop(t *testing.T, replies ...[2]string) *loop {
	t.Helper()
	l, err := newLoop(fuzzTools(), []anthropic.BetaMessageParam{anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock("begin"))})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range replies {
		s := l.step(limits{})
		for ; s.kind == stepRun; s = l.step(limits{}) {
			for _, call := range s.calls {
				l.answer(call, TextResult("done").encode(call.use), nil)
			}
		}
		if s.kind != stepSend {
			t.Fatalf("before %s: step %d, want a request", r, s.kind)
		}
		take(t, l, r[0], r[1])
	}
	return l
}

// take gives the loop a reply.
func take(t *testing.T, l *loop, blocks, stopReason string) {
	t.Helper()
	r, err := history.ReadReply([]byte(`{"role":"assistant","content":[`+blocks+`],"stop_reason":"`+stopReason+`"}`), l.taken)
	if err != nil {
		t.Fatal(err)
	}
	l.receive(r)
}

// wantValidRequest checks that the next step is a request that the API accepts.
func wantValidRequest(t *testing.T, l *loop) {
	t.Helper()
	if s := l.step(limits{}); s.kind != stepSend {
		t.Fatalf("step = %d, want a request", s.kind)
	}
	body, err := requestBody(l)
	if err != nil {
		t.Fatal(err)
	}
	if err := toolrunnertest.CheckRequest(body); err != nil {
		t.Errorf("the request is invalid: %v\n%s", err, body)
	}
}

const (
	callA       = `{"type":"tool_use","id":"a","name":"pure","input":{}}`
	callB       = `{"type":"tool_use","id":"b","name":"impure","input":{}}`
	serverUse   = `{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}`
	fallbackOne = `{"type":"fallback","from":{"model":"m"},"to":{"model":"n"}}`
)

func rawMessages(raws ...string) []anthropic.BetaMessageParam {
	messages := make([]anthropic.BetaMessageParam, len(raws))
	for i, raw := range raws {
		messages[i] = rawMessage(raw)
	}
	return messages
}

func TestLoopIsNotFinishedWhileAnsweredCallsWaitToBeSent(t *testing.T) {
	t.Run("input that is no object", func(t *testing.T) {
		l := startLoop(t, [2]string{`{"type":"tool_use","id":"a","name":"pure","input":"cut"}`, "tool_use"})
		if l.finished() {
			t.Error("finished() = true, but the failed result of the call is still to be sent")
		}
		wantValidRequest(t, l)
	})
	t.Run("a follow-up with the result (B034)", func(t *testing.T) {
		l := startLoop(t, [2]string{callA, "tool_use"})
		if err := l.follow(rawMessages(`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"mine"}]}`)); err != nil {
			t.Fatal(err)
		}
		if l.finished() {
			t.Error("finished() = true, but the caller's result is still to be sent")
		}
		wantValidRequest(t, l)
	})
	t.Run("a call that was interrupted", func(t *testing.T) {
		l := startLoop(t, [2]string{callB, "tool_use"})
		l.started(l.step(limits{}).calls[0], false)
		if l.finished() {
			t.Error("finished() = true, but the model does not know yet that its call was interrupted")
		}
		wantValidRequest(t, l)
	})
}

func TestLoopNeverSendsASystemMessageRightAfterAnAssistantMessage(t *testing.T) {
	for _, tt := range []struct {
		name     string
		reply    [2]string
		messages []string
	}{
		{"after the final reply", [2]string{`{"type":"text","text":"bye"}`, "end_turn"}, []string{`{"role":"system","content":"be brief"}`}},
		{"after a paused reply", [2]string{`{"type":"text","text":"wait"}`, "pause_turn"}, []string{`{"role":"system","content":"be brief"}`}},
		{"after an assistant message of the caller", [2]string{`{"type":"text","text":"bye"}`, "end_turn"}, []string{`{"role":"user","content":"x"}`, `{"role":"assistant","content":"y"}`, `{"role":"system","content":"be brief"}`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := startLoop(t, tt.reply)
			if err := l.follow(rawMessages(tt.messages...)); err != nil {
				t.Logf("refused: %v", err)
				if err := l.follow(rawMessages(`{"role":"user","content":"go on"}`)); err != nil {
					t.Fatal(err)
				}
			}
			if s := l.step(limits{}); s.kind == stepEnd {
				return // it waits for a message of the user
			}
			body, err := requestBody(l)
			if err != nil {
				t.Fatal(err)
			}
			if err := toolrunnertest.CheckRequest(body); err != nil {
				t.Errorf("the request is invalid: %v\n%s", err, body)
			}
		})
	}
}

func TestLoopLeavesNoServerCallWithoutItsResult(t *testing.T) {
	for _, reason := range []string{"max_tokens", "refusal", "end_turn", "model_context_window_exceeded"} {
		t.Run(reason, func(t *testing.T) {
			l := startLoop(t, [2]string{`{"type":"text","text":"I look it up."},` + serverUse, reason})
			if s := l.step(limits{}); s.kind != stepEnd {
				t.Fatalf("step = %d, want the end", s.kind)
			}
			if err := l.follow(rawMessages(`{"role":"user","content":"go on"}`)); err != nil {
				t.Fatal(err)
			}
			wantValidRequest(t, l)
		})
	}
}

func TestLoopHoldsACallersResultUntilAPausedTurnIsOver(t *testing.T) {
	l := startLoop(t, [2]string{callA, "pause_turn"}, [2]string{serverUse, "pause_turn"})
	if err := l.follow(rawMessages(`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"mine"}]}`)); err != nil {
		return // refusing it is as good
	}
	if s := l.step(limits{}); s.kind != stepSend {
		t.Fatalf("step = %d, want a request", s.kind)
	}
	if last := l.history.Last(); last.Role != history.RoleAssistant {
		t.Errorf("the server's call is left without its result: the history ends with %s", last.Raw)
	}
}

// E17, E18, E19.
func TestLoopRunsTheCallsAfterTheLastFallback(t *testing.T) {
	for _, tt := range []struct {
		name, blocks string
		want         []string
	}{
		{"between", callA + "," + fallbackOne + "," + callB, []string{"b"}},
		{"the last of several", fallbackOne + "," + callA + "," + fallbackOne + "," + callB, []string{"b"}},
		{"before all", fallbackOne + "," + callA + "," + callB, []string{"a", "b"}},
		{"after all", callA + "," + callB + "," + fallbackOne, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := startLoop(t, [2]string{tt.blocks, "tool_use"})
			var got []string
			for _, call := range l.step(limits{}).calls {
				got = append(got, call.use.ID)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("calls = %q, want %q", got, tt.want)
			}
		})
	}
}

func TestLoopRunsAnInterruptedCallAgainOnlyIfItIsReadOnly(t *testing.T) {
	l := startLoop(t, [2]string{callA + "," + callB, "tool_use"})
	calls := l.step(limits{}).calls
	l.started(calls[0], true)
	l.started(calls[1], false)
	s := l.step(limits{})
	if s.kind != stepRun || len(s.calls) != 1 || s.calls[0] != calls[0] {
		t.Fatalf("step = %d with %d calls, want the read-only call alone", s.kind, len(s.calls))
	}
	l.answer(calls[0], TextResult("done").encode(calls[0].use), nil)
	wantValidRequest(t, l)
	if last := string(l.history.Last().Raw); !strings.Contains(last, "interrupted") || !strings.Contains(last, "done") {
		t.Errorf("results = %s, want one that is done and one that says the call was interrupted", last)
	}
}

// E7, E101.
func TestLoopHoldsFollowUpsWhileAServerToolWorks(t *testing.T) {
	l := startLoop(t, [2]string{serverUse, "pause_turn"})
	if err := l.follow(rawMessages(`{"role":"user","content":"hurry"}`)); err != nil {
		t.Fatal(err)
	}
	wantValidRequest(t, l)
	if last := l.history.Last(); last.Role != history.RoleAssistant {
		t.Errorf("last message = %s, want the paused reply", last.Raw)
	}
	take(t, l, `{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]},{"type":"text","text":"found"}`, "end_turn")
	wantValidRequest(t, l)
	if last := string(l.history.Last().Raw); !strings.Contains(last, "hurry") {
		t.Errorf("last message = %s, want the follow-up", last)
	}
}

// E99, E100, E40.
func TestLoopPutsResultsThenFollowUpsThenToolChanges(t *testing.T) {
	l := startLoop(t, [2]string{callA, "tool_use"})
	if err := l.follow(rawMessages(`{"role":"user","content":"also"}`)); err != nil {
		t.Fatal(err)
	}
	l.tools.remove([]string{"impure", "pure"})
	call := l.step(limits{}).calls[0]
	l.answer(call, TextResult("done").encode(call.use), nil)
	wantValidRequest(t, l)
	var got []string
	for _, m := range l.history.Messages[1:] {
		got = append(got, string(m.Raw))
	}
	want := []string{
		`{"role":"assistant","content":[` + callA + `]}`,
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"done"}]}]}`,
		`{"role":"user","content":"also"}`,
		`{"role":"system","content":[{"type":"tool_removal","tool":{"type":"tool_reference","name":"impure"}},{"type":"tool_removal","tool":{"type":"tool_reference","name":"pure"}}]}`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("history =\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// E125, E130.
func TestLoopRunsTheCallsOfTheLastAllowedTurn(t *testing.T) {
	l := startLoop(t, [2]string{callA, "tool_use"})
	s := l.step(limits{iterations: 1})
	if s.kind != stepRun {
		t.Fatalf("step = %d, want the call to run", s.kind)
	}
	l.answer(s.calls[0], TextResult("done").encode(s.calls[0].use), nil)
	if s = l.step(limits{iterations: 1}); s.kind != stepEnd || s.outcome != OutcomeMaxIterations {
		t.Fatalf("step = %d (%v), want the end at the limit", s.kind, s.outcome)
	}
	if last := string(l.history.Last().Raw); !strings.Contains(last, "done") {
		t.Errorf("last message = %s, want the result", last)
	}
	if s = l.step(limits{iterations: 2}); s.kind != stepSend {
		t.Errorf("step with a higher limit = %d, want a request", s.kind)
	}
}

// A call whose input was mended is answered with an error and never run (E55, E60).
func TestCallsWithBadInputAreNotRun(t *testing.T) {
	l := startLoop(t, [2]string{`{"type":"tool_use","id":"a","name":"pure","input":"{\"cut"},` + callB, "tool_use"})
	s := l.step(limits{})
	if len(s.calls) != 1 || s.calls[0].use.ID != "b" {
		t.Fatalf("%d calls are to run, want b alone", len(s.calls))
	}
	l.answer(s.calls[0], TextResult("done").encode(s.calls[0].use), nil)
	wantValidRequest(t, l)
	if got := string(l.history.Last().Raw); !strings.Contains(got, `{\"cut`) || !strings.Contains(got, `"is_error":true`) {
		t.Errorf("results = %s, want an error that quotes the input", got)
	}
}
