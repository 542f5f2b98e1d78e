package machine

import (
	"slices"
	"strings"
	"testing"

	"github.com/toolrunner/toolrunner/internal/history"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

func TestLoopIsNotFinishedWhileAnsweredCallsWaitToBeSent(t *testing.T) {
	t.Run("input that is no object", func(t *testing.T) {
		m := startMachine(t, [2]string{`{"type":"tool_use","id":"a","name":"pure","input":"cut"}`, "tool_use"})
		if m.Finished() {
			t.Error("Finished() = true, but the failed result of the call is still to be sent")
		}
		wantValidRequest(t, m)
	})
	t.Run("a follow-up with the result (B034)", func(t *testing.T) {
		m := startMachine(t, [2]string{callA, "tool_use"})
		if err := follow(m, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"mine"}]}`); err != nil {
			t.Fatal(err)
		}
		if m.Finished() {
			t.Error("Finished() = true, but the caller's result is still to be sent")
		}
		wantValidRequest(t, m)
	})
	t.Run("a call that was interrupted", func(t *testing.T) {
		m := startMachine(t, [2]string{callB, "tool_use"})
		m.Start(next(m, StepLimits{}).Calls[0], false)
		if m.Finished() {
			t.Error("Finished() = true, but the model does not know yet that its call was interrupted")
		}
		wantValidRequest(t, m)
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
			m := startMachine(t, tt.reply)
			if err := follow(m, tt.messages...); err != nil {
				t.Logf("refused: %v", err)
				if err := follow(m, `{"role":"user","content":"go on"}`); err != nil {
					t.Fatal(err)
				}
			}
			s := next(m, StepLimits{})
			if s.Kind == End {
				return // it waits for a message of the user
			}
			m.Begin(s)
			body := requestBody(m, m.Messages())
			if err := toolrunnertest.CheckRequest(body); err != nil {
				t.Errorf("the request is invalid: %v\n%s", err, body)
			}
		})
	}
}

func TestLoopLeavesNoServerCallWithoutItsResult(t *testing.T) {
	for _, reason := range []string{"max_tokens", "refusal", "end_turn", "model_context_window_exceeded"} {
		t.Run(reason, func(t *testing.T) {
			m := startMachine(t, [2]string{`{"type":"text","text":"I look it up."},` + serverUse, reason})
			if s := next(m, StepLimits{}); s.Kind != End {
				t.Fatalf("step = %d, want the end", s.Kind)
			}
			if err := follow(m, `{"role":"user","content":"go on"}`); err != nil {
				t.Fatal(err)
			}
			wantValidRequest(t, m)
		})
	}
}

func TestLoopHoldsACallersResultUntilAPausedTurnIsOver(t *testing.T) {
	m := startMachine(t, [2]string{callA, "pause_turn"}, [2]string{serverUse, "pause_turn"})
	if err := follow(m, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"mine"}]}`); err != nil {
		return // refusing it is as good
	}
	if s := next(m, StepLimits{}); s.Kind != Send {
		t.Fatalf("step = %d, want a request", s.Kind)
	}
	if last := m.s.history.Last(); last.Role != history.RoleAssistant {
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
			m := startMachine(t, [2]string{tt.blocks, "tool_use"})
			var got []string
			for _, call := range next(m, StepLimits{}).Calls {
				got = append(got, call.use.ID)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("calls = %q, want %q", got, tt.want)
			}
		})
	}
}

func TestLoopRunsAnInterruptedCallAgainOnlyIfItIsReadOnly(t *testing.T) {
	m := startMachine(t, [2]string{callA + "," + callB, "tool_use"})
	calls := next(m, StepLimits{}).Calls
	m.Start(calls[0], true)
	m.Start(calls[1], false)
	s := next(m, StepLimits{})
	if s.Kind != Run || len(s.Calls) != 1 || s.Calls[0] != calls[0] {
		t.Fatalf("step = %d with %d calls, want the read-only call alone", s.Kind, len(s.Calls))
	}
	answer(m, calls[0], "done")
	wantValidRequest(t, m)
	if last := string(m.s.history.Last().Raw); !strings.Contains(last, "interrupted") || !strings.Contains(last, "done") {
		t.Errorf("results = %s, want one that is done and one that says the call was interrupted", last)
	}
}

// E7, E101.
func TestLoopHoldsFollowUpsWhileAServerToolWorks(t *testing.T) {
	m := startMachine(t, [2]string{serverUse, "pause_turn"})
	if err := follow(m, `{"role":"user","content":"hurry"}`); err != nil {
		t.Fatal(err)
	}
	wantValidRequest(t, m)
	if last := m.s.history.Last(); last.Role != history.RoleAssistant {
		t.Errorf("last message = %s, want the paused reply", last.Raw)
	}
	take(t, m, `{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]},{"type":"text","text":"found"}`, "end_turn")
	wantValidRequest(t, m)
	if last := string(m.s.history.Last().Raw); !strings.Contains(last, "hurry") {
		t.Errorf("last message = %s, want the follow-up", last)
	}
}

// E99, E100, E40.
func TestLoopPutsResultsThenFollowUpsThenToolChanges(t *testing.T) {
	m := startMachine(t, [2]string{callA, "tool_use"})
	if err := follow(m, `{"role":"user","content":"also"}`); err != nil {
		t.Fatal(err)
	}
	m.RemoveTools([]string{"impure", "pure"})
	call := next(m, StepLimits{}).Calls[0]
	answer(m, call, "done")
	wantValidRequest(t, m)
	var got []string
	for _, m := range m.s.history.Messages[1:] {
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
	m := startMachine(t, [2]string{callA, "tool_use"})
	s := next(m, StepLimits{MaxIterations: 1})
	if s.Kind != Run {
		t.Fatalf("step = %d, want the call to run", s.Kind)
	}
	answer(m, s.Calls[0], "done")
	if s = next(m, StepLimits{MaxIterations: 1}); s.Kind != End || s.Outcome != history.OutcomeMaxIterations {
		t.Fatalf("step = %d (%v), want the end at the limit", s.Kind, s.Outcome)
	}
	if last := string(m.s.history.Last().Raw); !strings.Contains(last, "done") {
		t.Errorf("last message = %s, want the result", last)
	}
	if s = next(m, StepLimits{MaxIterations: 2}); s.Kind != Send {
		t.Errorf("step with a higher limit = %d, want a request", s.Kind)
	}
}

// A call whose input was mended is answered with an error and never run (E55, E60).
func TestCallsWithBadInputAreNotRun(t *testing.T) {
	m := startMachine(t, [2]string{`{"type":"tool_use","id":"a","name":"pure","input":"{\"cut"},` + callB, "tool_use"})
	s := next(m, StepLimits{})
	if len(s.Calls) != 1 || s.Calls[0].use.ID != "b" {
		t.Fatalf("%d calls are to run, want b alone", len(s.Calls))
	}
	answer(m, s.Calls[0], "done")
	wantValidRequest(t, m)
	if got := string(m.s.history.Last().Raw); !strings.Contains(got, `{\"cut`) || !strings.Contains(got, `"is_error":true`) {
		t.Errorf("results = %s, want an error that quotes the input", got)
	}
}

// The container of the last reply that had one is that of the next request.
func TestMachineRemembersTheLastContainer(t *testing.T) {
	m := startMachine(t)
	for _, tt := range []struct{ container, want string }{
		{`{"id":"box_1","expires_at":"2026-01-01T00:00:00Z"}`, "box_1"},
		{`null`, "box_1"},
		{`{"id":"box_2","expires_at":"2026-01-01T00:00:00Z"}`, "box_2"},
	} {
		if err := follow(m, `{"role":"user","content":"go on"}`); err != nil {
			t.Fatal(err)
		}
		wantValidRequest(t, m)
		r, err := history.ReadReply([]byte(`{"role":"assistant","content":[{"type":"text","text":"x"}],"stop_reason":"end_turn","container":`+tt.container+`}`), m.Place())
		if err != nil {
			t.Fatal(err)
		}
		m.Received(r, nil)
		if got := m.Container(now.AddDate(-1, 0, 0)); got != tt.want {
			t.Errorf("after a reply with the container %s: Container() = %q, want %q", tt.container, got, tt.want)
		}
	}
}
