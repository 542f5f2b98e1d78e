package toolrunnertest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolrunner/toolrunner/toolrunnertest"
)

func TestOutlineTellsEveryBlock(t *testing.T) {
	q := &toolrunnertest.Request{Body: []byte(`{"messages":[{"role":"user","content":"a\nb"},
		{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"<c>"},
			{"type":"tool_use","id":"t1","name":"f","input":{"x": 1.0}},{"type":"server_tool_use","id":"s1","name":"g","input":{}},{"type":"holo","n":[1, 2]}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"d"},{"type":"tool_result","tool_use_id":"t2","is_error":true,
			"content":[{"type":"text","text":"e"},{"type":"image"}]},{"type":"tool_result","tool_use_id":"t3"}]}]}`)}
	want := `user: a\nb
assistant thinking: hm
assistant: <c>
assistant call t1: f {"x":1.0}
assistant server call s1: g {}
assistant holo: {"type":"holo","n":[1,2]}
user result t1: d
user error t2: e + {"type":"image"}
user result t3: 
`
	if diff := cmp.Diff(want, q.Outline()); diff != "" {
		t.Errorf("Outline() (-want +got):\n%s", diff)
	}
}

// conversation is a request of n messages of the user.
func conversation(texts ...string) *toolrunnertest.Request {
	messages := make([]string, len(texts))
	for i, text := range texts {
		messages[i] = fmt.Sprintf(`{"role":"user","content":%q}`, text)
	}
	return &toolrunnertest.Request{Body: []byte(`{"messages":[` + strings.Join(messages, ",") + `]}`)}
}

func TestWantMessagesShowsTheDifference(t *testing.T) {
	long := strings.Repeat("x", 2000)
	tests := []struct {
		name string
		got  *toolrunnertest.Request
		want string
		diff string // "": none
	}{
		{"the same", conversation("a", "b"), "user: a\nuser: b", ""},
		{"the same with other white space", conversation("a", "b"), "\n\t\tuser: a  \n\n\t\tuser: b\n", ""},
		{"the same start", conversation("a and b"), "user: a...", ""},
		{"another start", conversation("b and a"), "user: a...", "- user: a...\n+ user: b and a\n"},
		{"one more", conversation("a", "b"), "user: a", "  user: a\n+ user: b\n"},
		{"one less", conversation("b"), "user: a\nuser: b", "- user: a\n  user: b\n"},
		{"nothing", conversation(), "user: a", "- user: a\n"},
		{
			"one in the middle", conversation("a", "b", "c", "d", "e", "f", "g"), "user: a\nuser: b\nuser: c\nuser: x\nuser: e\nuser: f\nuser: g",
			"  ... 1 more\n  user: b\n  user: c\n- user: x\n+ user: d\n  user: e\n  user: f\n  ... 1 more\n",
		},
		{
			"deep in a long one", conversation(long + "a" + long), "user: " + long + "b" + long,
			"- ..." + strings.Repeat("x", 100) + "b" + strings.Repeat("x", 299) + "... (4007 bytes)\n+ ..." + strings.Repeat("x", 100) + "a" + strings.Repeat("x", 299) + "... (4007 bytes)\n",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tb := &spy{}
			toolrunnertest.WantMessages(tb, tt.got, tt.want)
			var want []string
			if tt.diff != "" {
				want = []string{"toolrunnertest: messages of the request (-want +got):\n" + tt.diff}
			}
			if diff := cmp.Diff(want, tb.errors); diff != "" {
				t.Errorf("what the test is told (-want +got):\n%s", diff)
			}
		})
	}
}
