package machine

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"
	"github.com/google/go-cmp/cmp"

	"github.com/toolrunner/toolrunner/internal/history"
)

// B034, E124, E107: the caller's results take the place of the handlers'.
func TestFollowUpsAnswerOpenCallsOnce(t *testing.T) {
	mine := `{"type":"tool_result","tool_use_id":"a","content":"mine"}`
	m := startMachine(t, [2]string{callA + "," + callB, "tool_use"})
	if err := follow(m, `{"role":"user","content":[`+mine+`,{"type":"text","text":"and more"}]}`); err != nil {
		t.Fatal(err)
	}
	s := next(m, StepLimits{})
	if len(s.Calls) != 1 || s.Calls[0].use.ID != "b" {
		t.Fatalf("%d calls are to run, want b alone", len(s.Calls))
	}
	if err := follow(m, `{"role":"user","content":[`+mine+`]}`); err == nil {
		t.Error("a second result for the call is accepted")
	}
	m.Start(s.Calls[0], false)
	if err := follow(m, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"b"}]}`); err == nil {
		t.Error("a result for a call that has started is accepted")
	}
	answer(m, s.Calls[0], "theirs")
	wantValidRequest(t, m)
	got := textsOf(m.s.history.Messages[1:])
	want := []string{
		`{"role":"assistant","content":[` + callA + "," + callB + `]}`,
		`{"role":"user","content":[` + mine + `,{"type":"tool_result","tool_use_id":"b","content":[{"type":"text","text":"theirs"}]}]}`,
		`{"role":"user","content":[{"type":"text","text":"and more"}]}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
}

// E106: a history that ends in calls begins with running them.
func TestCallsAtTheEndOfTheFirstMessagesAreRun(t *testing.T) {
	m := newMachine(t, `{"role":"user","content":"hi"}`, `{"role":"assistant","content":[`+callA+`]}`)
	s := next(m, StepLimits{})
	if s.Kind != Run || len(s.Calls) != 1 || s.Calls[0].Iteration() != 0 {
		t.Errorf("step = %d with %d calls, want the one call, of iteration 0", s.Kind, len(s.Calls))
	}
}

// E102, E103, E104, B074: nothing is shared with the caller, either way.
func TestHistorySharesNothingWithTheCaller(t *testing.T) {
	image := []byte(`{"type":"hologram","depth":3}`)
	text := &anthropic.BetaTextBlockParam{Text: "before"}
	given := []anthropic.BetaMessageParam{
		anthropic.NewBetaUserMessage(anthropic.BetaContentBlockParamUnion{OfText: text}, param.Override[anthropic.BetaContentBlockParamUnion](json.RawMessage(image))),
		paramOf(`{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"pure","input":{"k":[1]}}]}`),
	}
	raw, _ := given[1].Overrides()
	drafts, err := history.EncodeAll(given, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	m, err := New("conversation", testTools(t), drafts)
	if err != nil {
		t.Fatal(err)
	}
	want := textsOf(m.s.history.Messages)
	text.Text = "after"
	copy(image, bytes.Repeat([]byte("#"), len(image)))
	copy(raw.(json.RawMessage), bytes.Repeat([]byte("#"), 20))
	given[0].OfUser.Content[0] = anthropic.NewBetaTextBlock("other")
	given[0] = anthropic.BetaMessageParam{}
	if diff := cmp.Diff(want, textsOf(m.s.history.Messages)); diff != "" {
		t.Errorf("editing what was given changed the history (-before +after):\n%s", diff)
	}
	shown := history.Params(m.View())
	shown[0].OfUser.Content[0].OfText.Text = "edited"
	block, _ := shown[0].OfUser.Content[1].Overrides()
	copy(block.(json.RawMessage), "########")
	copy(shown[1].OfAssistant.Content[0].OfToolUse.Input.(json.RawMessage), "#####")
	input, _ := m.s.open[0].Input()
	copy(input, "#####")
	if diff := cmp.Diff(want, textsOf(m.s.history.Messages)); diff != "" {
		t.Errorf("editing what was shown changed the history (-before +after):\n%s", diff)
	}
}

func TestViewGrowsApartFromTheHistory(t *testing.T) {
	m := startMachine(t, [2]string{callA, "tool_use"})
	call := next(m, StepLimits{}).Calls[0]
	answer(m, call, "done")
	first := m.View()
	second := append(m.View(), history.Message{Raw: []byte("mine")})
	if err := follow(m, `{"role":"user","content":"x"}`); err != nil {
		t.Fatal(err)
	}
	wantValidRequest(t, m)
	if got := string(second[len(second)-1].Raw); got != "mine" {
		t.Errorf("a view was overwritten with %s", got)
	}
	if diff := cmp.Diff(textsOf(first), textsOf(m.s.history.Messages[:len(first)])); diff != "" {
		t.Errorf("the view is not what the history became (-view +history):\n%s", diff)
	}
}
