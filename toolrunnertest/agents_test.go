package toolrunnertest_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// TS1: a reply for all other requests is not for one that a reply of the script expects to be other.
func TestOtherwiseHidesNoExpectationThatIsNotMet(t *testing.T) {
	tb := &spy{}
	srv := toolrunnertest.NewServer(tb, toolrunnertest.Text("a").Expect(toolrunnertest.HasText("never said")))
	srv.Otherwise(toolrunnertest.Text("other"))
	res := post(srv, plainBody)
	if len(tb.errors) != 1 || !strings.Contains(tb.errors[0], "never said") || res.StatusCode != http.StatusBadRequest {
		t.Errorf("status %d with the errors %q, want 400 with one that names what was expected", res.StatusCode, tb.errors)
	}
	if srv.Err() == nil || srv.Remaining() != 1 {
		t.Errorf("Err() = %v with %d replies left, want an error and 1", srv.Err(), srv.Remaining())
	}
}

// conversationOf is a request of these messages.
func conversationOf(list ...string) string { return messages(list...) }

// TS2: what a server has paused is known by what it said, not by when it said it.
func TestPausesOfTwoAgentsAreKeptApart(t *testing.T) {
	search := toolrunnertest.ServerToolUse("srvtoolu_1", "web_search", "{}")
	paused := toolrunnertest.Message(search, toolrunnertest.Call("t1", "f", "{}")).StopReason("pause_turn")
	sentBack := assistant(list(`{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}`, use("t1")))
	asking := toolrunnertest.Message(toolrunnertest.Call("t9", "f", "{}"))
	a, b := user(`"a"`), user(`"b"`)
	tests := []struct {
		name     string
		requests []string
		replies  []toolrunnertest.Reply
		refused  bool // the last one
	}{
		{
			"a continues though b asked in between",
			[]string{conversationOf(a), conversationOf(b), conversationOf(a, sentBack)},
			[]toolrunnertest.Reply{paused, toolrunnertest.Text("x"), toolrunnertest.Text("y")},
			false,
		},
		{
			"b has an unanswered call while a is paused",
			[]string{conversationOf(b), conversationOf(a), conversationOf(b, assistant(list(use("t9"))))},
			[]toolrunnertest.Reply{asking, paused},
			true,
		},
		{
			"b sends an unanswered call that nobody paused, right after a's pause",
			[]string{conversationOf(a), conversationOf(b, assistant(list(use("t2"))))},
			[]toolrunnertest.Reply{paused},
			true,
		},
		{
			"a says something before it continues",
			[]string{conversationOf(a), conversationOf(a, sentBack, user(`"c"`))},
			[]toolrunnertest.Reply{paused},
			true,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			srv := toolrunnertest.NewServer(nil, tt.replies...)
			for i, body := range tt.requests {
				want := http.StatusOK
				if tt.refused && i == len(tt.requests)-1 {
					want = http.StatusBadRequest
				}
				if res := post(srv, body); res.StatusCode != want {
					t.Errorf("request %d = %d %s, want %d", i, res.StatusCode, read(t, res), want)
				}
			}
		})
	}
}

// R5: the API answers 401 to a request without a key, and 400 to one without a version.
func TestRequestsWithoutAKeyOrAVersionAreRefused(t *testing.T) {
	tests := []struct {
		name   string
		header http.Header
		ignore []toolrunnertest.Rule
		want   int
	}{
		{"both", http.Header{"X-Api-Key": {"k"}, "Anthropic-Version": {"2023-06-01"}}, nil, 200},
		{"a token", http.Header{"Authorization": {"Bearer k"}, "Anthropic-Version": {"2023-06-01"}}, nil, 200},
		{"no key", http.Header{"Anthropic-Version": {"2023-06-01"}}, nil, 401},
		{"no version", http.Header{"X-Api-Key": {"k"}}, nil, 400},
		{"neither, ignored", http.Header{}, []toolrunnertest.Rule{toolrunnertest.RuleKey, toolrunnertest.RuleVersion}, 200},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			srv := toolrunnertest.NewServer(nil, toolrunnertest.Text("a"))
			srv.Ignore(tt.ignore...)
			res := send(srv, tt.header, plainBody)
			if res.StatusCode != tt.want || srv.Remaining() != btoi(tt.want != 200) {
				t.Errorf("status %d with %d replies left, want %d: %s", res.StatusCode, srv.Remaining(), tt.want, read(t, res))
			}
		})
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TS3 and R5: what a beta changes is known by its header.
func TestBetasChangeWhatIsTaken(t *testing.T) {
	servers := with(`"mcp_servers":[{"type":"url","name":"s","url":"u"}]`)
	budget := `{"model":"m","max_tokens":1024,"messages":[` + question + `],"thinking":{"type":"enabled","budget_tokens":2048}}`
	tests := []struct {
		name, beta, body string
		want             int
	}{
		{"a server without a toolset", "mcp-client-2025-11-20", servers, 400},
		{"a server without a toolset, in the first form", "mcp-client-2025-04-04", servers, 200},
		{"a budget above max_tokens", "", budget, 400},
		{"a budget above max_tokens, with interleaved thinking", "a,interleaved-thinking-2025-05-14", budget, 200},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			srv := toolrunnertest.NewServer(nil, toolrunnertest.Text("a"))
			header := http.Header{"X-Api-Key": {"k"}, "Anthropic-Version": {"2023-06-01"}, "Anthropic-Beta": {tt.beta}}
			if res := send(srv, header, tt.body); res.StatusCode != tt.want {
				t.Errorf("status %d %s, want %d", res.StatusCode, read(t, res), tt.want)
			}
		})
	}
}

// TS7: a Func that never returns is reported, and Close returns.
func TestCloseLeavesAFuncThatBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tb := &spy{}
		entered, release := make(chan struct{}), make(chan struct{})
		srv := toolrunnertest.NewServer(tb, toolrunnertest.Func(func(*toolrunnertest.Request) toolrunnertest.Reply {
			close(entered)
			<-release
			return toolrunnertest.Text("late")
		}))
		go post(srv, plainBody) // not over a connection: nothing ends it
		<-entered
		client := srv.Client()
		srv.Close()
		if len(tb.errors) != 0 {
			t.Errorf("errors %q, want none: no connection is open", tb.errors)
		}
		close(release)
		if _, err := client.Beta.Messages.New(t.Context(), params()); err == nil {
			t.Error("a closed server answers")
		}
	})
	synctest.Test(t, func(t *testing.T) {
		tb := &spy{}
		entered, release := make(chan struct{}), make(chan struct{})
		srv := toolrunnertest.NewServer(tb, toolrunnertest.Func(func(*toolrunnertest.Request) toolrunnertest.Reply {
			close(entered)
			<-release
			return toolrunnertest.Text("late")
		}))
		client := srv.Client()
		go func() { _, _ = client.Beta.Messages.New(t.Context(), params()) }()
		<-entered
		srv.Close()
		if len(tb.errors) != 1 || !strings.Contains(tb.errors[0], "has not returned") {
			t.Errorf("errors %q, want one that says what goes on", tb.errors)
		}
		close(release)
	})
}

// TS7: an error in mid-stream that a plain request gets as a status.
func TestABillingErrorHasItsStatus(t *testing.T) {
	srv := toolrunnertest.NewServer(t, toolrunnertest.Text("a").ErrorEvent(1, "billing_error", "no credit"))
	if res := post(srv, plainBody); res.StatusCode != http.StatusPaymentRequired {
		t.Errorf("status %d, want 402", res.StatusCode)
	}
}

// Two agents on one server, whose requests mix, are two runs.
func TestCheckRunKeepsAgentsApart(t *testing.T) {
	a, b := user(`"a"`), user(`"b"`)
	call := func(id string) string { return `{"type":"tool_use","id":"` + id + `","name":"f","input":{}}` }
	asks := func(q, id string) turn { return turn{messages: []string{q}, reply: reply(list(call(id)))} }
	goesOn := func(q, id, next string) turn {
		return turn{messages: []string{q, assistant(list(call(id))), user(list(result(id)))}, reply: reply(next)}
	}
	done := list(text("done"))
	given := turn{messages: []string{user(`"x"`), assistant(`"y"`), b}, reply: reply(done)}
	tests := []struct {
		name    string
		turns   []turn
		options []toolrunnertest.RunOption
		want    []string
	}{
		{"mixed", []turn{asks(a, "t1"), asks(b, "t2"), goesOn(a, "t1", done), goesOn(b, "t2", done)}, nil, nil},
		{"one after the other", []turn{asks(a, "t1"), goesOn(a, "t1", done), asks(b, "t2"), goesOn(b, "t2", done)}, nil, nil},
		{"the same question", []turn{asks(a, "t1"), asks(a, "t2"), goesOn(a, "t1", done), goesOn(a, "t2", done)}, nil, nil},
		{"the same question and the same call", []turn{asks(a, "t1"), asks(a, "t1"), goesOn(a, "t1", done), goesOn(a, "t1", done)}, nil, nil},
		{"the same question, answered at once", []turn{{messages: []string{a}, reply: reply(done)}, {messages: []string{a}, reply: reply(done)}}, nil, nil},
		{"a conversation that was given", []turn{asks(a, "t1"), given, goesOn(a, "t1", done)}, nil, nil},
		{
			"one of them loses its call",
			[]turn{asks(a, "t1"), asks(b, "t2"), goesOn(a, "t9", done), goesOn(b, "t2", done)},
			nil,
			[]string{"reply-changed requests.2.messages.1.content.0"},
		},
		{
			"one of them repeats its question",
			[]turn{asks(a, "t1"), asks(b, "t2"), asks(a, "t3"), goesOn(b, "t2", done)},
			nil,
			[]string{"reply-missing requests.2.messages.1"},
		},
		{
			"its beginning is gone",
			[]turn{asks(a, "t1"), asks(b, "t2"), {messages: []string{assistant(list(call("t1"))), user(list(result("t1")))}}},
			nil,
			[]string{"history-changed requests.2.messages.0", "reply-missing requests.2.messages.1"},
		},
		{
			"one run",
			[]turn{asks(a, "t1"), asks(b, "t2")},
			[]toolrunnertest.RunOption{toolrunnertest.OneRun()},
			[]string{"history-changed requests.1.messages.0", "reply-missing requests.1.messages.1"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			compareRun(t, toolrunnertest.CheckRun(runOf(tt.turns...), tt.options...), tt.want)
		})
	}
}

// TS4: a breakpoint that moves on changes no history; one that is gone has a rule of its own.
func TestCheckRunTellsBreakpointsFromTheHistory(t *testing.T) {
	cached := func(s string) string {
		return `{"role":"user","content":[{"type":"text","text":"` + s + `","cache_control":{"type":"ephemeral"}}]}`
	}
	plain := func(s string) string { return `{"role":"user","content":[{"type":"text","text":"` + s + `"}]}` }
	answer := assistant(list(text("x")))
	first := turn{messages: []string{cached("a")}, reply: reply(list(text("x")))}
	marked := assistant(list(`{"type":"text","text":"x","cache_control":{"type":"ephemeral"}}`))
	tests := []struct {
		name string
		next []string
		want []string
	}{
		{"moved on", []string{plain("a"), answer, cached("b")}, nil},
		{"moved onto the reply", []string{plain("a"), marked, plain("b")}, nil},
		{"added", []string{cached("a"), answer, cached("b")}, nil},
		{"gone", []string{plain("a"), answer, plain("b")}, []string{"cache-control-lost requests.1.messages.0"}},
		{"the text changed with it", []string{plain("c"), answer, cached("b")}, []string{"history-changed requests.1.messages.0"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			compareRun(t, toolrunnertest.CheckRun(runOf(first, turn{messages: tt.next})), tt.want)
		})
	}
}

// TS4: a takeover is not leave to change what the model said.
func TestTakeoverLeavesTheRepliesAsTheyWere(t *testing.T) {
	signed := `{"type":"thinking","thinking":"t","signature":"s"}`
	call := `{"type":"tool_use","id":"t1","name":"f","input":{"s":"<"}}`
	first := turn{messages: []string{question}, reply: reply(list(signed, call))}
	taken := func(blocks ...string) turn {
		return turn{messages: []string{user(`"other"`), assistant(list(blocks...)), user(list(result("t1")))}}
	}
	at := func(rule string, block int) []string {
		return []string{fmt.Sprintf("%s requests.1.messages.1.content.%d", rule, block)}
	}
	tests := []struct {
		name string
		turn turn
		want []string
	}{
		{"as they were", taken(signed, call), nil},
		{"left out", turn{messages: []string{user(`"other"`)}}, nil},
		{"without the thinking", taken(call), nil},
		{"another input, as the program wants it", taken(signed, strings.Replace(call, "<", ">", 1)), nil},
		{"another thinking under the signature", taken(strings.Replace(signed, `"t"`, `"u"`, 1), call), at("reply-changed", 0)},
		{"other bytes", taken(signed, strings.Replace(call, "<", `\u003c`, 1)), at("reply-bytes", 1)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			compareRun(t, toolrunnertest.CheckRun(runOf(first, tt.turn), toolrunnertest.Takeover(toolrunnertest.Nth(1))), tt.want)
		})
	}
}
