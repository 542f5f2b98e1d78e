package history

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// E56, E88, E89, E90, E96, E97: a reply that the API takes back stays as it came.
func TestReadReplyKeepsTheBytesOfTheContent(t *testing.T) {
	for name, content := range map[string]string{
		"order, space and escapes": `[ {"text" : "a\u0041\/<>&\ud83d\ude00", "citations":null ,"type":"text"} ]`,
		"large integers":           `[{"type":"tool_use","id":"a","name":"pure","input":{"n":12345678901234567890,"f":1.0e+2, "z":0,"a":-0}}]`,
		"thinking":                 `[{"type":"thinking","thinking":"","signature":"+/=<"},{"type":"redacted_thinking","data":"+/="},{"type":"text","text":"x"}]`,
		"caller":                   `[{"type":"server_tool_use","id":"s","name":"code_execution","input":{}},{"type":"tool_use","id":"a","name":"pure","input":{},"caller":{"type":"later_20300101","tool_id":"s","more":[1]}}]`,
		"unknown block":            `[{"type":"hologram","depth":3,"id":"a"}]`,
		"blank text beside a call": `[{"type":"text","text":"\n\n"},{"type":"tool_use","id":"a","name":"pure","input":{}}]`,
		"before a fallback":        `[` + callA + `,` + fallbackOne + `,` + callB + `]`,
	} {
		t.Run(name, func(t *testing.T) {
			r := readTestReply(t, content)
			if got := string(r.Message.Content()); got != content {
				t.Errorf("content = %s, want %s", got, content)
			}
			if got, want := string(r.Message.Raw), `{"role":"assistant","content":`+content+`}`; got != want {
				t.Errorf("message = %s, want %s", got, want)
			}
			if r.Blank || len(r.Notes) > 0 {
				t.Errorf("blank = %v, notes = %q, want a reply that is left alone", r.Blank, r.Notes)
			}
		})
	}
}

func readTestReply(t *testing.T, content string, taken ...string) *Reply {
	t.Helper()
	r, err := ReadReply([]byte(`{"id":"msg","role":"assistant","content":`+content+`,"stop_reason":"tool_use","usage":{"input_tokens":1}}`), Place{Taken: func(id string) bool { return strings.Contains(strings.Join(taken, " "), id) }})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestReadReplyMendsWhatTheAPIWouldNotTakeBack(t *testing.T) {
	const served = `{"type":"server_tool_use","id":"a","name":"web_search","input":{}}`
	call := func(id, input string) string {
		return `{"type":"tool_use","id":"` + id + `","name":"pure","input":` + input + `}`
	}
	for _, tt := range []struct {
		name, content string
		taken         []string
		want          string
		invalid       map[string]string
		notes         int
	}{
		{name: "clones are folded (B094)", content: `[` + callA + `,` + callA + `,` + callA + `]`, want: `[` + callA + `]`, notes: 2},
		{name: "a taken id is renamed (B094)", content: `[` + callA + `]`, taken: []string{"a"}, want: `[` + call("a_2", `{}`) + `]`, notes: 1},
		{name: "so is the name it would get", content: `[` + callA + `]`, taken: []string{"a", "a_2"}, want: `[` + call("a_3", `{}`) + `]`, notes: 1},
		{name: "an illegal id is made legal (B134)", content: `[` + call("functions.x:0", `{}`) + `]`, want: `[` + call("functions_x_0", `{}`) + `]`, notes: 1},
		{name: "two that become one stay two", content: `[` + call("a:1", `{}`) + `,` + call("a.1", `{}`) + `]`, want: `[` + call("a_1", `{}`) + `,` + call("a_1_2", `{}`) + `]`, notes: 2},
		{name: "a legal id goes before one that becomes it", content: `[` + call("a_1", `{}`) + `,` + call("a:1", `{}`) + `]`, want: `[` + call("a_1", `{}`) + `,` + call("a_1_2", `{}`) + `]`, notes: 1},
		{name: "a string as input (E55)", content: `[` + call("a", `"{\"cut\": tr"`) + `]`, want: `[` + callA + `]`, invalid: map[string]string{"a": `{"cut": tr`}, notes: 1},
		{name: "a list as input (E60)", content: `[` + call("a", `[1]`) + `]`, want: `[` + callA + `]`, invalid: map[string]string{"a": `[1]`}, notes: 1},
		{name: "null as input is none (W10)", content: `[` + call("a", `null`) + `]`, want: `[` + callA + `]`, notes: 1},
		{name: "no input (W10)", content: `[{"type":"tool_use","id":"a","name":"pure"}]`, want: `[{"type":"tool_use","id":"a","name":"pure","input":{}}]`, notes: 1},
		{name: "an empty string as input is none (W10)", content: `[` + call("a", `""`) + `]`, want: `[` + callA + `]`, notes: 1},
		{name: "and a blank one (W10)", content: `[` + call("a", `" \n"`) + `]`, want: `[` + callA + `]`, notes: 1},
		{name: "a renamed call with bad input", content: `[` + call("a:b", `7`) + `]`, want: `[` + call("a_b", `{}`) + `]`, invalid: map[string]string{"a_b": "7"}, notes: 2},
		{name: "a call goes after the server's of its id", content: `[` + callA + `,` + served + `]`, want: `[` + call("a_2", `{}`) + `,` + served + `]`, notes: 1},
		{name: "and so behind it", content: `[` + served + `,` + callA + `,` + fallbackOne + `]`, want: `[` + served + `,` + call("a_2", `{}`) + `,` + fallbackOne + `]`, notes: 1},
		{name: "empty text goes (B018)", content: `[{"type":"text","text":""},` + callA + `]`, want: `[` + callA + `]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := readTestReply(t, tt.content, tt.taken...)
			if got := string(r.Message.Content()); got != tt.want {
				t.Errorf("content = %s, want %s", got, tt.want)
			}
			for id, input := range tt.invalid {
				if got, want := string(r.Failed[id]), string(ResultBlock(Use{ID: id}, InvalidInput(input), true)); got != want {
					t.Errorf("result of %s = %s, want %s", id, got, want)
				}
			}
			if len(r.Failed) != len(tt.invalid) {
				t.Errorf("%d calls fail, want %d", len(r.Failed), len(tt.invalid))
			}
			if len(r.Notes) != tt.notes {
				t.Errorf("notes = %q, want %d", r.Notes, tt.notes)
			}
			if !json.Valid(r.Raw) {
				t.Errorf("reply = %s, want valid JSON", r.Raw)
			}
		})
	}
}

// B018, E98: a reply that says nothing stays out of the
func TestReadReplyNoticesWhatSaysNothing(t *testing.T) {
	for content, want := range map[string]bool{
		`[]`:                          true,
		`[{"type":"text","text":""}]`: true,
		`[{"type":"text","text":" \n"},{"type":"text","text":"\u00a0"}]`: true,
		`[{"type":"text","text":" "},` + callA + `]`:                     false,
		`[{"type":"text","text":"."}]`:                                   false,
	} {
		if got := readTestReply(t, content).Blank; got != want {
			t.Errorf("%s: blank = %v, want %v", content, got, want)
		}
	}
}

func TestReadReplyRefusesWhatIsNoReply(t *testing.T) {
	for name, body := range map[string]string{
		"no JSON": `<html>`, "cut": `{"role":"assistant","content":[`, "a list": `[]`, "null": `null`,
		"another role": `{"role":"user","content":[]}`, "no content": `{"role":"assistant"}`, "text as content": `{"role":"assistant","content":"x"}`,
		"a block that is none": `{"role":"assistant","content":[7]}`, "a block without type": `{"role":"assistant","content":[{}]}`,
		"a call without id (B134)":         `{"role":"assistant","content":[{"type":"tool_use","name":"pure","input":{}}]}`,
		"two calls with one id (B094)":     `{"role":"assistant","content":[` + callA + `,{"type":"tool_use","id":"a","name":"impure","input":{}}]}`,
		"an id that is no string (B134)":   `{"role":"assistant","content":[{"type":"tool_use","id":7,"name":"pure","input":{}}]}`,
		"an error that looks like a reply": `{"type":"error","error":{"type":"overloaded_error","message":"x"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ReadReply([]byte(body), Place{Taken: func(string) bool { return false }})
			var refused *ReplyError
			if !errors.As(err, &refused) || string(refused.Body) != body {
				t.Errorf("error = %v, want a *ReplyError with the body", err)
			}
		})
	}
}

// F4: a call without a name is one of no tool: it gets a legal name, as the API wants
// one, and the model reads that there is no such tool.
func TestReadReplyNamesCallsThatHaveNoName(t *testing.T) {
	for name, tt := range map[string]struct{ call, want string }{
		"absent":       {`{"type":"tool_use","id":"a","input":{}}`, `{"type":"tool_use","id":"a","input":{},"name":"unknown"}`},
		"null":         {`{"type":"tool_use","id":"a","name":null,"input":{}}`, `{"type":"tool_use","id":"a","name":"unknown","input":{}}`},
		"a number":     {`{"type":"tool_use","id":"a","name":7,"input":{}}`, `{"type":"tool_use","id":"a","name":"unknown","input":{}}`},
		"and no input": {`{"type":"tool_use","id":"a"}`, `{"type":"tool_use","id":"a","input":{},"name":"unknown"}`},
	} {
		t.Run(name, func(t *testing.T) {
			r := readTestReply(t, `[`+tt.call+`]`)
			if got := string(r.Message.Content()); got != `[`+tt.want+`]` {
				t.Errorf("content = %s, want [%s]", got, tt.want)
			}
			want := string(ResultBlock(Use{ID: "a"}, NotFound(Use{}), true))
			if got := string(r.Failed["a"]); got != want {
				t.Errorf("result = %s, want %s", got, want)
			}
			if _, _, err := ReadMessage(r.Message.Raw); err != nil {
				t.Errorf("the message cannot be read again: %v", err)
			}
		})
	}
}

// W3: half a surrogate pair, or a byte that is no UTF-8, would have every later
// request refused. U+FFFD takes its place wherever it stands, keys included.
func TestReadReplyReplacesWhatIsNoText(t *testing.T) {
	for name, tt := range map[string]struct{ content, want string }{
		"in a text":           {`[{"type":"text","text":"a \ud83d b"}]`, `[{"type":"text","text":"a \ufffd b"}]`},
		"in an input":         {`[{"type":"tool_use","id":"a","name":"pure","input":{"a":["\uD83D"]}}]`, `[{"type":"tool_use","id":"a","name":"pure","input":{"a":["\ufffd"]}}]`},
		"in a key":            {`[{"type":"tool_use","id":"a","name":"pure","input":{"\udc00":1}}]`, `[{"type":"tool_use","id":"a","name":"pure","input":{"\ufffd":1}}]`},
		"two first halves":    {`[{"type":"text","text":"\ud83d\ud83d\ude00"}]`, `[{"type":"text","text":"\ufffd\ud83d\ude00"}]`},
		"a second half first": {`[{"type":"text","text":"\ude00\ud83d"}]`, `[{"type":"text","text":"\ufffd\ufffd"}]`},
		"no escape":           {`[{"type":"text","text":"\\ud83d \\\ud83d"}]`, `[{"type":"text","text":"\\ud83d \\\ufffd"}]`},
		"bytes":               {"[{\"type\":\"text\",\"text\":\"a\xff\xe2\x82b\"}]", "[{\"type\":\"text\",\"text\":\"a\ufffd\ufffd\ufffdb\"}]"},
	} {
		t.Run(name, func(t *testing.T) {
			r := readTestReply(t, tt.content)
			if got := string(r.Message.Content()); got != tt.want {
				t.Errorf("content = %s, want %s", got, tt.want)
			}
			if len(r.Notes) != 1 || !strings.Contains(string(r.Raw), tt.want) {
				t.Errorf("notes = %q, reply = %s; want a note, and the same content", r.Notes, r.Raw)
			}
			m, ok, err := ReadMessage([]byte(`{"role":"assistant","content":` + tt.content + `}`))
			if err != nil || !ok || string(m.Content()) != tt.want {
				t.Errorf("a message of the caller is read as %s (%v, %v), want %s", m.Raw, ok, err, tt.want)
			}
		})
	}
	for _, content := range []string{`[{"type":"text","text":"\ud83d\ude00 \\ud83d \u00e9 😀"}]`} {
		if r := readTestReply(t, content); string(r.Message.Content()) != content || len(r.Notes) > 0 {
			t.Errorf("%s became %s (%q), want it left alone", content, r.Message.Content(), r.Notes)
		}
	}
}
