package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"
	"github.com/google/go-cmp/cmp"
)

const (
	callA       = `{"type":"tool_use","id":"a","name":"pure","input":{}}`
	callB       = `{"type":"tool_use","id":"b","name":"impure","input":{}}`
	fallbackOne = `{"type":"fallback","from":{"model":"m"},"to":{"model":"n"}}`
)

func rawMessage(raw string) anthropic.BetaMessageParam {
	return param.Override[anthropic.BetaMessageParam](json.RawMessage(raw))
}

func rawMessages(raws ...string) []anthropic.BetaMessageParam {
	messages := make([]anthropic.BetaMessageParam, len(raws))
	for i, raw := range raws {
		messages[i] = rawMessage(raw)
	}
	return messages
}

// historyOf returns the history of messages from the caller.
func historyOf(t *testing.T, raws ...string) *History {
	t.Helper()
	h := &History{}
	if err := appendAll(h, rawMessages(raws...)); err != nil {
		t.Fatal(err)
	}
	return h
}

func bytesOf(messages []Message) []string {
	all := make([]string, len(messages))
	for i, m := range messages {
		all[i] = string(m.Raw)
	}
	return all
}

func TestAppendRefusesWhatTheAPIWouldRefuse(t *testing.T) {
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
			h := historyOf(t, `{"role":"user","content":"begin"}`, `{"role":"assistant","content":[`+callA+`]}`)
			err := appendAll(h, rawMessages(tt.message))
			var refused *Error
			switch {
			case tt.want == "":
				if err != nil {
					t.Fatalf("refused: %v", err)
				}
			case !errors.As(err, &refused):
				t.Fatalf("error = %v, want an *Error", err)
			case refused.Index != 0 || !strings.Contains(refused.Reason, tt.want):
				t.Errorf("error = %v for message %d, want one for message 0 that says %q", err, refused.Index, tt.want)
			case len(h.Messages) != 2:
				t.Errorf("the history has %d messages, want those before the refused one", len(h.Messages))
			}
		})
	}
}

// B010, B049: what is left unanswered is answered in front of what follows.
func TestUnansweredCallsOfTheCallerAreAnsweredBeforeWhatFollows(t *testing.T) {
	for _, tt := range []struct{ name, next, want string }{
		{"text", `{"role":"user","content":"x"}`, `"tool_use_id":"b","content":[{"type":"text","text":"` + UnrunGiven + `"}],"is_error":true},{"type":"text","text":"x"}]`},
		{"the other result", `{"role":"user","content":[{"type":"tool_result","tool_use_id":"b","content":"y"}]}`, `"is_error":true},{"type":"tool_result","tool_use_id":"b","content":"y"}]`},
		{"a system message", `{"role":"system","content":"x"}`, `"tool_use_id":"b"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := historyOf(t, `{"role":"user","content":"hi"}`, `{"role":"assistant","content":[`+callA+`,`+callB+`]}`, tt.next)
			if got := string(h.Messages[2].Raw); !strings.Contains(got, tt.want) {
				t.Errorf("message after the calls = %s, want %s in it", got, tt.want)
			}
		})
	}
}

// E102, E103, E104, B074: nothing is shared with the caller, either way.
func TestHistorySharesNothingWithTheCaller(t *testing.T) {
	image := []byte(`{"type":"hologram","depth":3}`)
	text := &anthropic.BetaTextBlockParam{Text: "before"}
	given := []anthropic.BetaMessageParam{
		anthropic.NewBetaUserMessage(anthropic.BetaContentBlockParamUnion{OfText: text}, rawBlock(image)),
		rawMessage(`{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"pure","input":{"k":[1]}}]}`),
	}
	raw, _ := given[1].Overrides()
	var h History
	if err := appendAll(&h, given); err != nil {
		t.Fatal(err)
	}
	want := bytesOf(h.Messages)
	text.Text = "after"
	copy(image, bytes.Repeat([]byte("#"), len(image)))
	copy(raw.(json.RawMessage), bytes.Repeat([]byte("#"), 20))
	given[0].OfUser.Content[0] = anthropic.NewBetaTextBlock("other")
	given[0] = anthropic.BetaMessageParam{}
	if diff := cmp.Diff(want, bytesOf(h.Messages)); diff != "" {
		t.Errorf("editing what was given changed the history (-before +after):\n%s", diff)
	}
	shown := Params(h.Messages)
	shown[0].OfUser.Content[0].OfText.Text = "edited"
	block, _ := shown[0].OfUser.Content[1].Overrides()
	copy(block.(json.RawMessage), "########")
	copy(shown[1].OfAssistant.Content[0].OfToolUse.Input.(json.RawMessage), "#####")
	if diff := cmp.Diff(want, bytesOf(h.Messages)); diff != "" {
		t.Errorf("editing what was shown changed the history (-before +after):\n%s", diff)
	}
}

// appendAll adds messages as a caller gives them.
func appendAll(h *History, messages []anthropic.BetaMessageParam) error {
	drafts, err := EncodeAll(messages, nil, false)
	if err != nil {
		return err
	}
	return h.AppendAll(drafts, func(use Use) []byte { return ResultBlock(use, UnrunGiven, true) })
}

// F10: code at the server that has made a call stays beside it, as the call names it;
// other uses without a result go.
func TestUsesThatCallsNameAsTheirCallerAreNotPruned(t *testing.T) {
	const (
		code   = `{"type":"server_tool_use","id":"s1","name":"code_execution","input":{}}`
		search = `{"type":"server_tool_use","id":"s2","name":"web_search","input":{}}`
		call   = `{"type":"tool_use","id":"a","name":"pure","input":{},"caller":{"type":"code_execution_20260120","tool_id":"s1"}}`
		want   = `{"role":"assistant","content":[` + code + `,` + call + `]}`
	)
	h := historyOf(t, `{"role":"user","content":"begin"}`, `{"role":"assistant","content":[`+code+`,`+call+`,`+search+`]}`)
	h.Prune()
	if got := string(h.Last().Raw); got != want {
		t.Errorf("after pruning: %s\nwant %s", got, want)
	}
}

// A message that was pruned keeps the count of its breakpoints: a fifth would be
// refused.
func TestPrunedMessagesKeepTheirBreakpoints(t *testing.T) {
	h := historyOf(t, `{"role":"user","content":"begin"}`,
		`{"role":"assistant","content":[{"type":"text","text":"x","cache_control":{"type":"ephemeral"}},{"type":"server_tool_use","id":"s","name":"web_search","input":{}}]}`)
	h.Prune()
	if got := Breakpoints(h.Messages); got != 1 {
		t.Errorf("Breakpoints() = %d after pruning, want 1", got)
	}
}
