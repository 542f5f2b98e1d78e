package transcript

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// conversation has each kind of block that is shown in a way of its own.
var conversation = [][]byte{
	[]byte(`{"role":"user","content":"How is the weather\nin Paris, and why is it so that nobody knows it better than the people who live there?"}`),
	[]byte(`{"role":"assistant","content":[{"type":"thinking","thinking":"First\nsecond\nthird","signature":"s"},{"type":"text","text":"Let me look."},
		{"type":"tool_use","id":"a","name":"get_weather","input":{"city":"Paris"}},{"type":"tool_use","id":"b","name":"get_weather","input":{"city":"Rome"}},
		{"type":"tool_use","id":"c","name":"look","input":{}},{"type":"server_tool_use","id":"d","name":"web_search","input":{"query":"x"}},
		{"type":"web_search_tool_result","tool_use_id":"d","content":[]}]}`),
	[]byte(`{"role":"user","content":[{"type":"tool_result","tool_use_id":"b","content":"no","is_error":true},
		{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"1\n2\n3\n4"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}]},
		{"type":"tool_result","tool_use_id":"zz","content":[]},
		{"type":"text","text":"and \u001b[31mred"},{"type":"document","source":{"type":"url","url":"https://example.com/x"}}]}`),
	[]byte(`{"role":"system","content":[{"type":"tool_addition","tool":{"type":"tool_reference","name":"more"}},{"type":"tool_removal","tool":{"type":"tool_reference","name":"less"}},{"type":"compaction","content":"in short"},{"type":"novelty"}]}`),
	[]byte(`{"role":"assistant","content":[{"type":"text","text":"So."}]}`),
	[]byte(`{"role":"user","content":[null]}`),
}

func TestPlainTranscript(t *testing.T) {
	want := `user
  How is the weather
  in Paris, and why is it so that nobody
  knows it better than the people who
  live there?

assistant
  ~ First (2 more lines)
  Let me look.
  > get_weather {"city":"Paris"}
  < 1
    2
    3
    (2 more lines)
  > get_weather {"city":"Rome"}
  ! no
  > look {}
  < (no result)
  > web_search {"query":"x"}
  < [web_search_tool_result]

user
  > (zz)
  < (empty)
  and \x1b[31mred
  [document: https://example.com/x]

system
  [tool added: more]
  [tool removed: less]
  [summary] in short
  [novelty]

assistant
  So.

user
  a message that cannot be read: content…
`
	check(t, Options{Width: 41, Lines: 3}, want)
}

func TestMarkdownTranscript(t *testing.T) {
	messages := [][]byte{
		[]byte(`{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":""},{"type":"text","text":"Is *it*?"},
			{"type":"tool_use","id":"a","name":"a_b","input":{"x":1}},{"type":"tool_use","id":"b","name":"c","input":{}},{"type":"tool_use","id":"c","name":"d","input":{}}]}`),
		[]byte(`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"` + "```\\n# x\\n````" + `"},{"type":"tool_result","tool_use_id":"b","content":"no","is_error":true},
			{"type":"tool_result","tool_use_id":"q","content":"lost"},{"type":"image","source":{"type":"file","file_id":"f_1"}}]}`),
	}
	want := strings.ReplaceAll(`### assistant

<details><summary>Thinking</summary>

'''text
hm
'''

</details>

Is *it*?

**a\_b**

'''json
{"x":1}
'''

'''''text
'''
# x
''''
'''''

**c**

'''json
{}
'''

failed:

'''text
no
'''

**d**

'''json
{}
'''

(no result)

### user

Result of 'q'

'''text
lost
'''

\[image: f\_1\]
`, "'", "`")
	var got strings.Builder
	if err := Write(&got, messages, Options{Markdown: true}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("transcript (-want +got):\n%s", diff)
	}
}

func check(t *testing.T, o Options, want string) {
	t.Helper()
	var got strings.Builder
	if err := Write(&got, conversation, o); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("transcript (-want +got):\n%s", diff)
	}
}

// Nothing that is written makes a terminal act: no escape, no control character, no
// character that changes the order of others.
func TestTranscriptsHaveNoControlCharacters(t *testing.T) {
	hostile := `\u0000\u001b]0;x\u0007\u202e\u2066\u009b31m\u007f\u200d\r\ufeff`
	for _, block := range []string{
		`{"type":"text","text":"X"}`, `{"type":"thinking","thinking":"X"}`, `{"type":"tool_use","id":"a","name":"X","input":{"X":"X"}}`,
		`{"type":"tool_result","tool_use_id":"X","content":"X"}`, `{"type":"X"}`, `{"type":"image","source":{"url":"X"}}`,
	} {
		for _, markdown := range []bool{false, true} {
			var got strings.Builder
			raw := `{"role":"user","content":[` + strings.ReplaceAll(block, "X", hostile) + `]}`
			if err := Write(&got, [][]byte{[]byte(raw)}, Options{Markdown: markdown}); err != nil {
				t.Fatal(err)
			}
			if i := strings.IndexAny(got.String(), "\x00\x1b\a\u202e\u2066\u009b\x7f\u200d\r\ufeff"); i >= 0 {
				t.Errorf("%s: %q", block, got.String()[i:])
			}
		}
	}
}

func TestLinesAreNoLongerThanTheWidth(t *testing.T) {
	text := "天気は晴れです、 weather 日本語の長い文章 and a\u0301 b ééé more words"
	raw := `{"role":"user","content":[{"type":"text","text":"` + text + `"},{"type":"tool_result","tool_use_id":"a","content":"` + text + `"}]}`
	var got strings.Builder
	if err := Write(&got, [][]byte{[]byte(raw)}, Options{Width: 24}); err != nil {
		t.Fatal(err)
	}
	for line := range strings.SplitSeq(got.String(), "\n") {
		if columns(line) > 24 {
			t.Errorf("%q has %d columns, want at most 24", line, columns(line))
		}
	}
	if !strings.Contains(got.String(), "…") {
		t.Errorf("nothing is cut:\n%s", got.String())
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("full") }

func TestAWriteThatFailsIsReported(t *testing.T) {
	if err := Write(broken{}, conversation, Options{}); err == nil || err.Error() != "full" {
		t.Errorf("error = %v, want that of the writer", err)
	}
}
