package toolrunner

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/toolrunner/toolrunner/internal/history"
)

func TestFollowRefusesWhatTheAPIWouldRefuse(t *testing.T) {
	for _, tt := range []struct {
		name, message string
		want          string // part of the reason; empty: it is accepted
	}{
		{"text of the user", `{"role":"user","content":"hi"}`, ""},
		{"empty string of the user (B044)", `{"role":"user","content":""}`, "empty text"},
		{"empty list of the user (B044)", `{"role":"user","content":[]}`, "no content"},
		{"no content", `{"role":"user"}`, "no content"},
		{"empty text among others (B044)", `{"role":"user","content":[{"type":"text","text":""},{"type":"text","text":"x"}]}`, "empty text"},
		{"blank text (B044)", `{"role":"user","content":" \n"}`, "nothing but space"},
		{"blank text beside an image", `{"role":"user","content":[{"type":"text","text":" "},{"type":"image","source":{"type":"url","url":"u"}}]}`, ""},
		{"empty text of the system (B044)", `{"role":"system","content":[{"type":"text","text":""}]}`, "empty text"},
		{"unknown role", `{"role":"tool","content":"x"}`, `role is "tool"`},
		{"no object", `[]`, "not a JSON object"},
		{"block without type", `{"role":"user","content":[{"text":"x"}]}`, "no type"},
		{"call of the user (B098)", `{"role":"user","content":[{"type":"tool_use","id":"x","name":"pure","input":{}}]}`, "only assistant messages"},
		{"result of no call", `{"role":"user","content":[{"type":"tool_result","tool_use_id":"x"}]}`, "answers no open call"},
		{"result after text (B041)", `{"role":"user","content":[{"type":"text","text":"x"},{"type":"tool_result","tool_use_id":"a"}]}`, "results come first"},
		{"two results for a call (B009)", `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"},{"type":"tool_result","tool_use_id":"a"}]}`, "answered once"},
		{"id that is taken (B094)", `{"role":"assistant","content":[` + callA + `]}`, "must be unique"},
		{"id twice (B094)", `{"role":"assistant","content":[` + callB + `,` + callB + `]}`, "must be unique"},
		{"no id (B134)", `{"role":"assistant","content":[{"type":"tool_use","name":"pure","input":{}}]}`, "no id"},
		{"illegal id (B134)", `{"role":"assistant","content":[{"type":"tool_use","id":"call:1.2","name":"pure","input":{}}]}`, "call:1.2"},
		{"input that is no object", `{"role":"assistant","content":[{"type":"tool_use","id":"b","name":"pure","input":"x"}]}`, "input"},
		{"call without input", `{"role":"assistant","content":[{"type":"tool_use","id":"b","name":"pure"}]}`, "input"},
		{"unknown block", `{"role":"user","content":[{"type":"hologram","depth":3}]}`, ""},
		{"empty message of the assistant", `{"role":"assistant","content":[]}`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := startLoop(t, [2]string{callA, "tool_use"})
			before := len(l.queue.Messages)
			err := l.follow(rawMessages(`{"role":"user","content":"first"}`, tt.message))
			var refused *history.Error
			switch {
			case tt.want == "":
				if err != nil {
					t.Fatalf("refused: %v", err)
				}
			case !errors.As(err, &refused):
				t.Fatalf("error = %v, want a *Error", err)
			case refused.Index != 1 || !strings.Contains(refused.Reason, tt.want):
				t.Errorf("error = %v for message %d, want one for message 1 that says %q", err, refused.Index, tt.want)
			case len(l.queue.Messages) != before:
				t.Errorf("%d messages were added with the refused one", len(l.queue.Messages)-before)
			}
		})
	}
}

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

// B010, B049: what is left unanswered is answered in front of what follows.
func TestUnansweredCallsOfTheCallerAreAnsweredBeforeWhatFollows(t *testing.T) {
	for _, tt := range []struct{ name, next, want string }{
		{"text", `{"role":"user","content":"x"}`, `"tool_use_id":"b","content":[{"type":"text","text":"` + history.UnrunGiven + `"}],"is_error":true},{"type":"text","text":"x"}]`},
		{"the other result", `{"role":"user","content":[{"type":"tool_result","tool_use_id":"b","content":"y"}]}`, `"is_error":true},{"type":"tool_result","tool_use_id":"b","content":"y"}]`},
		{"a system message", `{"role":"system","content":"x"}`, `"tool_use_id":"b"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l, err := newLoop(fuzzTools(), rawMessages(`{"role":"user","content":"hi"}`, `{"role":"assistant","content":[`+callA+`,`+callB+`]}`, tt.next))
			if err != nil {
				t.Fatal(err)
			}
			wantValidRequest(t, l)
			if got := string(l.history.Messages[2].Raw); !strings.Contains(got, tt.want) {
				t.Errorf("message after the calls = %s, want %s in it", got, tt.want)
			}
		})
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
		anthropic.NewBetaUserMessage(anthropic.BetaContentBlockParamUnion{OfText: text}, history.RawBlock(image)),
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
