package toolrunner

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
	l := startLoop(t, [2]string{callA + "," + callB, "tool_use"})
	if err := l.follow(rawMessages(`{"role":"user","content":[` + mine + `,{"type":"text","text":"and more"}]}`)); err != nil {
		t.Fatal(err)
	}
	s := l.step(limits{})
	if len(s.calls) != 1 || s.calls[0].use.ID != "b" {
		t.Fatalf("%d calls are to run, want b alone", len(s.calls))
	}
	if err := l.follow(rawMessages(`{"role":"user","content":[` + mine + `]}`)); err == nil {
		t.Error("a second result for the call is accepted")
	}
	l.started(s.calls[0], false)
	if err := l.follow(rawMessages(`{"role":"user","content":[{"type":"tool_result","tool_use_id":"b"}]}`)); err == nil {
		t.Error("a result for a call that has started is accepted")
	}
	l.answer(s.calls[0], TextResult("theirs").encode(s.calls[0].use), nil)
	wantValidRequest(t, l)
	got := texts(l.history.Messages[1:])
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
	l, err := newLoop(fuzzTools(), rawMessages(`{"role":"user","content":"hi"}`, `{"role":"assistant","content":[`+callA+`]}`))
	if err != nil {
		t.Fatal(err)
	}
	s := l.step(limits{})
	if s.kind != stepRun || len(s.calls) != 1 || s.calls[0].public().Iteration != 0 {
		t.Errorf("step = %d with %d calls, want the one call, of iteration 0", s.kind, len(s.calls))
	}
}

// E102, E103, E104, B074: nothing is shared with the caller, either way.
func TestHistorySharesNothingWithTheCaller(t *testing.T) {
	image := []byte(`{"type":"hologram","depth":3}`)
	text := &anthropic.BetaTextBlockParam{Text: "before"}
	given := []anthropic.BetaMessageParam{
		anthropic.NewBetaUserMessage(anthropic.BetaContentBlockParamUnion{OfText: text}, param.Override[anthropic.BetaContentBlockParamUnion](json.RawMessage(image))),
		rawMessage(`{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"pure","input":{"k":[1]}}]}`),
	}
	raw, _ := given[1].Overrides()
	l, err := newLoop(fuzzTools(), given)
	if err != nil {
		t.Fatal(err)
	}
	want := texts(l.history.Messages)
	text.Text = "after"
	copy(image, bytes.Repeat([]byte("#"), len(image)))
	copy(raw.(json.RawMessage), bytes.Repeat([]byte("#"), 20))
	given[0].OfUser.Content[0] = anthropic.NewBetaTextBlock("other")
	given[0] = anthropic.BetaMessageParam{}
	if diff := cmp.Diff(want, texts(l.history.Messages)); diff != "" {
		t.Errorf("editing what was given changed the history (-before +after):\n%s", diff)
	}
	shown := history.Params(l.view())
	shown[0].OfUser.Content[0].OfText.Text = "edited"
	block, _ := shown[0].OfUser.Content[1].Overrides()
	copy(block.(json.RawMessage), "########")
	copy(shown[1].OfAssistant.Content[0].OfToolUse.Input.(json.RawMessage), "#####")
	call := l.open[0].public()
	copy(call.Input, "#####")
	if diff := cmp.Diff(want, texts(l.history.Messages)); diff != "" {
		t.Errorf("editing what was shown changed the history (-before +after):\n%s", diff)
	}
}

func TestViewGrowsApartFromTheHistory(t *testing.T) {
	l := startLoop(t, [2]string{callA, "tool_use"})
	call := l.step(limits{}).calls[0]
	l.answer(call, TextResult("done").encode(call.use), nil)
	first := l.view()
	second := append(l.view(), history.Message{Raw: []byte("mine")})
	if err := l.follow(rawMessages(`{"role":"user","content":"x"}`)); err != nil {
		t.Fatal(err)
	}
	wantValidRequest(t, l)
	if got := string(second[len(second)-1].Raw); got != "mine" {
		t.Errorf("a view was overwritten with %s", got)
	}
	if diff := cmp.Diff(texts(first), texts(l.history.Messages[:len(first)])); diff != "" {
		t.Errorf("the view is not what the history became (-view +history):\n%s", diff)
	}
}

func texts(messages []history.Message) []string {
	all := make([]string, len(messages))
	for i, m := range messages {
		all[i] = string(m.Raw)
	}
	return all
}
