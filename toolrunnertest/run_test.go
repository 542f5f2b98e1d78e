package toolrunnertest_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// turn is a request and what was answered: a reply's blocks, or nothing for an error with status.
type turn struct {
	messages []string
	fields   string // more top-level fields, each followed by a comma
	reply    string
	status   int
}

func (u turn) request() *toolrunnertest.Request {
	q := &toolrunnertest.Request{
		Body:   json.RawMessage(`{` + u.fields + `"model":"m","max_tokens":1,"messages":[` + strings.Join(u.messages, ",") + `]}`),
		Status: 200,
	}
	if u.reply != "" {
		q.Reply = json.RawMessage(u.reply)
	}
	if u.status != 0 {
		q.Status, q.Reply = u.status, nil
	}
	return q
}

// reply is a plain reply with this content.
func reply(content string) string { return `{"role":"assistant","content":` + content + `}` }

func runOf(turns ...turn) []*toolrunnertest.Request {
	requests := make([]*toolrunnertest.Request, len(turns))
	for i, u := range turns {
		requests[i] = u.request()
	}
	return requests
}

func TestCheckRunWantsTheConversationGivenBackAsItWas(t *testing.T) {
	call := `{"type":"tool_use","id":"t1","name":"f","input":{"n":1.0,"s":"<"}}`
	signed := `{"type":"thinking","thinking":"","signature":"s"}`
	first := turn{messages: []string{question}, reply: reply(list(signed, text(""), call))}
	second := func(content string) turn {
		return turn{messages: []string{question, assistant(content), user(list(result("t1")))}}
	}
	streamed := first
	streamed.fields = `"stream":true,`
	tests := []struct {
		name    string
		turns   []turn
		options []toolrunnertest.RunOption
		want    []string
	}{
		{"one request", []turn{first}, nil, nil},
		{"as it was, without the empty text (B018)", []turn{first, second(list(signed, call))}, nil, nil},
		{"empty text kept", []turn{first, second(list(signed, text(""), call))}, nil, []string{"reply-changed requests.1.messages.1"}},
		{"thinking dropped (B016)", []turn{first, second(list(call))}, nil, []string{"reply-changed requests.1.messages.1"}},
		{"order changed (B017)", []turn{first, second(list(call, signed))}, nil, []string{
			"reply-changed requests.1.messages.1.content.0", "reply-changed requests.1.messages.1.content.1",
		}},
		{"number rewritten (rule 9)", []turn{first, second(list(signed, strings.Replace(call, "1.0", "1", 1)))}, nil, []string{
			"reply-changed requests.1.messages.1.content.1",
		}},
		{"text escaped", []turn{first, second(list(signed, strings.Replace(call, "<", `\u003c`, 1)))}, nil, []string{
			"reply-bytes requests.1.messages.1.content.1",
		}},
		{
			"text escaped, values only",
			[]turn{first, second(list(signed, strings.Replace(call, "<", `\u003c`, 1)))},
			[]toolrunnertest.RunOption{toolrunnertest.ValuesOnly()},
			nil,
		},
		{"input escaped after a stream", []turn{streamed, {fields: streamed.fields, messages: second(list(signed, strings.Replace(call, "<", `\u003c`, 1))).messages}}, nil, []string{
			"reply-bytes requests.1.messages.1.content.1.input",
		}},
		{"keys in another order after a stream", []turn{streamed, {fields: streamed.fields, messages: second(list(
			`{"type":"thinking","signature":"s","thinking":""}`, `{"name":"f","type":"tool_use","id":"t1","input":{"n":1.0,"s":"<"}}`,
		)).messages}}, nil, nil},
		{"reply left out (B001)", []turn{first, {messages: []string{question, question}}}, nil, []string{"reply-missing requests.1.messages.1"}},
		{"request repeated (B009)", []turn{first, first}, nil, []string{"reply-missing requests.1.messages.1"}},
		{"request repeated after an error", []turn{{messages: []string{question}, status: 529}, first}, nil, nil},
		{"message added after an error", []turn{{messages: []string{question}, status: 529}, {messages: []string{question, question}}}, nil, nil},
		{"refused request left out", []turn{first, {messages: []string{user(`""`)}, status: 400}, second(list(signed, call))}, nil, nil},
		{"reply without content (E98)", []turn{{messages: []string{question}, reply: reply(`[]`)}, {messages: []string{question, question}}}, nil, nil},
		{"history rewritten (B029)", []turn{
			{messages: []string{question}, status: 529},
			{messages: []string{`{"content":"q","role":"user"}`}},
		}, nil, []string{"history-changed requests.1.messages.0"}},
		{"history shortened", []turn{first, {messages: []string{}}}, nil, []string{"history-changed requests.1.messages.0"}},
		{"takeover", []turn{first, {messages: []string{user(`"other"`)}}}, []toolrunnertest.RunOption{toolrunnertest.Takeover(toolrunnertest.Nth(1))}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			compareRun(t, toolrunnertest.CheckRun(runOf(tt.turns...), tt.options...), tt.want)
		})
	}
}

func compareRun(t *testing.T, err error, want []string) {
	t.Helper()
	var got []string
	for _, b := range toolrunnertest.Breaches(err) {
		got = append(got, string(b.Rule)+" "+b.Path)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("CheckRun = %v: breaches (-want +got):\n%s", err, diff)
	}
}

func TestCheckRunWantsContainerToolsAndSystemKept(t *testing.T) {
	answer := turn{messages: []string{question}, reply: `{"content":[],"container":{"id":"c1"}}`}
	next := func(fields string) turn {
		return turn{messages: []string{question}, fields: fields, reply: reply(`[]`)}
	}
	tests := []struct {
		name    string
		turns   []turn
		options []toolrunnertest.RunOption
		want    []string
	}{
		{"E91: carried on", []turn{answer, next(`"container":"c1",`), next(`"container":{"id":"c1","skills":[]},`)}, nil, nil},
		{"E91: not sent", []turn{answer, next("")}, nil, []string{"container-missing requests.1.container"}},
		{"E91: lost later", []turn{answer, next(`"container":"c1",`), next(`"container":null,`)}, nil, []string{"container-missing requests.2.container"}},
		{"another", []turn{answer, next(`"container":"c2",`)}, nil, []string{"container-changed requests.1.container"}},
		{"E92: pinned before", []turn{
			{messages: []string{question}, fields: `"container":"mine",`, reply: answer.reply}, next(`"container":"mine",`),
		}, nil, nil},
		{"E94: none", []turn{next(""), next("")}, nil, nil},
		{"rule 7: tools and system kept", []turn{next(`"tools":[1],"system":"s",`), next(`"system":"s","tools":[1],`)}, nil, nil},
		{"rule 7: tools and system changed", []turn{next(`"tools":[1],"system":"s",`), next(`"tools":[1, 2],"system":"t",`)}, nil, []string{
			"tools-changed requests.1.tools", "system-changed requests.1.system",
		}},
		{
			"rule 7: changed on purpose",
			[]turn{next(`"tools":[1],`), next(`"tools":[1,2],`)},
			[]toolrunnertest.RunOption{toolrunnertest.Reconfigured(toolrunnertest.Nth(1))},
			nil,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			compareRun(t, toolrunnertest.CheckRun(runOf(tt.turns...), tt.options...), tt.want)
		})
	}
}

func TestCheckRunKnowsWhatTheServerSent(t *testing.T) {
	call := toolrunnertest.Message(toolrunnertest.Say("a<"), toolrunnertest.Call("t1", "f", `{"n":1}`))
	before := `{"model":"m","max_tokens":1,"stream":true,"messages":[` + question + `]}`
	blocks := list(text(`a\u003c`), `{"type":"tool_use","id":"t1","name":"f","input":{"n":1}}`)
	after := `{"model":"m","max_tokens":1,"stream":true,"messages":[` + question + `,` + assistant(blocks) + `,` + user(list(result("t1"))) + `]}`
	tests := []struct {
		name  string
		first toolrunnertest.Reply
		next  string
		want  []string
	}{
		{"whole", call, after, nil},
		{"whole but left out", call, before, []string{"reply-missing requests.1.messages.1"}},
		{"ended early, left out", call.EndAfter(4), before, nil},
		{"ended before its last event, kept", call.EndAfter(9), after, nil},
		{"failed, left out", call.ErrorEvent(4, "api_error", "x"), before, nil},
		{"exact bytes, left out", toolrunnertest.RawSSE(""), before, nil},
		{"error", toolrunnertest.Status(529, "overloaded_error", "x"), before, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			srv := toolrunnertest.NewServer(t, tt.first, toolrunnertest.Text("b"))
			post(srv, before)
			post(srv, tt.next)
			compareRun(t, toolrunnertest.CheckRun(srv.Requests()), tt.want)
		})
	}
}

// Each breach ends with the option that allows it, and that option does.
func TestBreachesNameTheOptionThatAllowsThem(t *testing.T) {
	call := `{"type":"tool_use","id":"t1","name":"f","input":{"s":"<"}}`
	first := turn{messages: []string{question}, reply: reply(list(call))}
	next := func(content string) turn {
		return turn{messages: []string{question, assistant(content), user(list(result("t1")))}}
	}
	contained := turn{messages: []string{question}, reply: `{"content":[],"container":{"id":"c1"}}`}
	tests := []struct {
		rule   toolrunnertest.Rule
		turns  []turn
		named  string
		option toolrunnertest.RunOption
	}{
		{"history-changed", []turn{first, {messages: []string{}}}, "Takeover(Nth(1))", toolrunnertest.Takeover(toolrunnertest.Nth(1))},
		{"reply-missing", []turn{first, first}, "Takeover(Nth(1))", toolrunnertest.Takeover(toolrunnertest.Nth(1))},
		{"reply-changed", []turn{first, next(list(strings.Replace(call, "t1", "t2", 1)))}, "Takeover(Nth(1))", toolrunnertest.Takeover(toolrunnertest.Nth(1))},
		{"reply-bytes", []turn{first, next(list(strings.Replace(call, "<", `\u003c`, 1)))}, "ValuesOnly()", toolrunnertest.ValuesOnly()},
		{"tools-changed", []turn{{messages: []string{question}, fields: `"tools":[1],`}, {messages: []string{question}}}, "Reconfigured(Nth(1))", toolrunnertest.Reconfigured(toolrunnertest.Nth(1))},
		{"container-missing", []turn{contained, {messages: []string{question}}}, `Ignore("container-missing")`, toolrunnertest.Ignore(toolrunnertest.RuleContainerMissing)},
	}
	for _, tt := range tests {
		t.Run(string(tt.rule), func(t *testing.T) {
			breaches := toolrunnertest.Breaches(toolrunnertest.CheckRun(runOf(tt.turns...)))
			if len(breaches) != 1 || breaches[0].Rule != tt.rule || !strings.HasSuffix(breaches[0].Text, "("+tt.named+" allows it)") {
				t.Errorf("breaches = %v, want one of %s that names %s", breaches, tt.rule, tt.named)
			}
			if err := toolrunnertest.CheckRun(runOf(tt.turns...), tt.option); err != nil {
				t.Errorf("CheckRun with %s = %v, want nil", tt.named, err)
			}
		})
	}
}
