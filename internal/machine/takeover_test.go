package machine

import (
	"slices"
	"strings"
	"testing"

	"github.com/toolrunner/toolrunner/internal/history"
)

const (
	codeUse  = `{"type":"server_tool_use","id":"srvtoolu_1","name":"code_execution","input":{}}`
	codeCall = `{"type":"tool_use","id":"a","name":"pure","input":{},"caller":{"type":"code_execution_20260120","tool_id":"srvtoolu_1"}}`
)

// Code at the server that waits for the results of calls takes nothing else, also in a
// history that the caller brings.
func TestNothingButResultsGoesToCodeOfAGivenHistory(t *testing.T) {
	for _, tt := range []struct {
		name     string
		messages []string
	}{
		{"a call that code has made", []string{`{"role":"assistant","content":[` + codeUse + `,` + codeCall + `]}`}},
		{"with its result", []string{
			`{"role":"assistant","content":[` + codeUse + `,` + codeCall + `]}`,
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"x"}]}`,
		}},
		{"a call beside a server tool, with its result", []string{
			`{"role":"assistant","content":[` + callA + `,` + serverUse + `]}`,
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"x"}]}`,
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMachine(t, append([]string{`{"role":"user","content":"hi"}`}, tt.messages...)...)
			m.RemoveTools([]string{"impure"})
			if err := follow(m, `{"role":"user","content":"also"}`); err != nil {
				t.Fatal(err)
			}
			for s := next(m, StepLimits{}); s.Kind == Run; s = next(m, StepLimits{}) {
				answer(m, s.Calls[0], "x")
			}
			wantValidRequest(t, m)
			if last := string(m.s.history.Last().Raw); !strings.Contains(last, "tool_result") {
				t.Errorf("the request ends with %s, want the results", last)
			}
		})
	}
}

// A system message has to come at the end, or before a message of the assistant: what
// replaces a reply goes before one that the reply answered.
func TestReplacementsGoBeforeSystemMessages(t *testing.T) {
	m := startMachine(t)
	m.RemoveTools([]string{"impure"})
	m.Begin(next(m, StepLimits{}))
	take(t, m, `{"type":"text","text":"no"}`, "end_turn")
	drafts, err := history.EncodeAll(paramsOf(`{"role":"user","content":"once more"}`), nil, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Replace(drafts, false); err != nil {
		t.Fatal(err)
	}
	wantValidRequest(t, m)
	var roles []string
	for _, message := range m.Messages() {
		roles = append(roles, message.Role)
	}
	if want := []string{"user", "user", "system"}; !slices.Equal(roles, want) {
		t.Errorf("roles = %q, want %q", roles, want)
	}
	if m.Lookup("impure") != nil {
		t.Error("the removed tool is found again")
	}
}

// What a takeover goes back to has the calls that were open then, although they have
// results by now, and although the run was resumed since.
func TestRetryAfterResumingGoesBackToTheOpenCalls(t *testing.T) {
	m := newMachine(t, `{"role":"user","content":"begin"}`)
	drafts, err := history.EncodeAll(paramsOf(`{"role":"user","content":"hi"}`, `{"role":"assistant","content":[`+callA+`]}`), nil, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.SetMessages(drafts, false); err != nil {
		t.Fatal(err)
	}
	answer(m, m.Open()[0], "done")
	before, _ := m.Record(nil, now)
	restored, _, err := before.Restore(testTools(t), nil, false)
	if err != nil {
		t.Fatal(err)
	}
	for name, m := range map[string]*Machine{"live": m, "resumed": restored} {
		if err := m.Retry(false); err != nil {
			t.Fatal(err)
		}
		if got := idsOf(m.Open()); !slices.Equal(got, []string{"a"}) || len(m.s.history.Open) != 1 {
			t.Errorf("%s: the open calls are %q, and of the history %d, want a", name, got, len(m.s.history.Open))
		}
	}
}
