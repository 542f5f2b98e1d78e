package toolrunner_test

import (
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

const (
	callA  = `{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"work","input":{"n":9007199254740993}}]}`
	callAB = `{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"work","input":{}},{"type":"tool_use","id":"b","name":"work","input":{}}]}`
)

// E106, G38: what New is given becomes a history that the API accepts.
func TestHistoriesGivenToNew(t *testing.T) {
	result := func(id string) anthropic.BetaMessageParam {
		return anthropic.NewBetaUserMessage(anthropic.NewBetaToolResultBlock(id, "x", false))
	}
	empty := anthropic.BetaMessageParam{OfAssistant: &anthropic.BetaAssistantMessageParam{}}
	tests := []struct {
		name  string
		given []anthropic.BetaMessageParam
		ran   []string
		want  []string
	}{
		{"ends in calls", []anthropic.BetaMessageParam{user("hi"), verbatim(callAB)}, []string{"a", "b"}, []string{"user 'hi'", "assistant call(a) call(b)", "user result(a) result(b)"}},
		{"calls in the middle, unanswered", []anthropic.BetaMessageParam{user("hi"), verbatim(callA), user("so?")}, nil, []string{"user 'hi'", "assistant call(a)", "user error(a) 'so?'"}},
		{"half answered", []anthropic.BetaMessageParam{user("hi"), verbatim(callAB), result("b")}, nil, []string{"user 'hi'", "assistant call(a) call(b)", "user error(a) result(b)"}},
		{"answered", []anthropic.BetaMessageParam{user("hi"), verbatim(callA), result("a")}, nil, []string{"user 'hi'", "assistant call(a)", "user result(a)"}},
		{"system after calls", []anthropic.BetaMessageParam{user("hi"), verbatim(callA), verbatim(removeWork)}, nil, []string{"user 'hi'", "assistant call(a)", "user error(a)", "system removal(work)"}},
		{"empty assistant", []anthropic.BetaMessageParam{user("hi"), empty, user("so?")}, nil, []string{"user 'hi'", "user 'so?'"}},
		{"empty assistant with text", []anthropic.BetaMessageParam{user("hi"), verbatim(`{"role":"assistant","content":[{"type":"text","text":""}]}`)}, nil, []string{"user 'hi'"}},
		{"prefill", []anthropic.BetaMessageParam{user("hi"), verbatim(`{"role":"assistant","content":"the answer is  "}`)}, nil, []string{"user 'hi'", "assistant 'the answer is'"}},
		{"string content", []anthropic.BetaMessageParam{verbatim(`{"role":"user","content":"hi"}`)}, nil, []string{"user 'hi'"}},
		{"raw block", []anthropic.BetaMessageParam{anthropic.NewBetaUserMessage(param.Override[anthropic.BetaContentBlockParamUnion](rawJSON(`{"type":"of_tomorrow","n":9007199254740993}`)))}, nil, []string{"user of_tomorrow"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var ran journal
			c := converse(t, given(test.given...), tools(ran.tool("work")), toolrunnertest.Text("done"))
			c.run(t)
			ran.wantSorted(t, test.ran...)
			c.wantShape(t, test.want...)
		})
	}
}

// Raw messages and blocks keep their bytes.
func TestRawMessagesKeepTheirBytes(t *testing.T) {
	const (
		message = `{"content":[{"text":"a<b\u00e9","type":"text","n":1.0}] ,"role":"user"}`
		block   = `{"n":9007199254740993, "type":"of_tomorrow"}`
	)
	c := converse(t, given(verbatim(message), anthropic.NewBetaUserMessage(param.Override[anthropic.BetaContentBlockParamUnion](rawJSON(block)))), nil, toolrunnertest.Text("done"))
	c.run(t)
	for _, want := range []string{message, block} {
		if !strings.Contains(string(c.request(t, 0).Body), want) {
			t.Errorf("the request = %s\nwant in it %s", c.request(t, 0).Body, want)
		}
	}
}

// New refuses what cannot be mended, and says where it is.
func TestHistoriesThatCannotBeMendedAreRefused(t *testing.T) {
	c := newConversation(t)
	result := anthropic.NewBetaToolResultBlock("a", "x", false)
	tests := []struct {
		name  string
		given []anthropic.BetaMessageParam
		index int
		want  string
	}{
		{"orphan result", []anthropic.BetaMessageParam{user("hi"), anthropic.NewBetaUserMessage(result)}, 1, `"a" answers no open call`},
		{"two results", []anthropic.BetaMessageParam{user("hi"), verbatim(callA), anthropic.NewBetaUserMessage(result, result)}, 2, `"a" answers no open call`},
		{"result after text", []anthropic.BetaMessageParam{user("hi"), verbatim(callA), anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock("x"), result)}, 2, "results come first"},
		{"result too late", []anthropic.BetaMessageParam{user("hi"), verbatim(callA), user("x"), anthropic.NewBetaUserMessage(result)}, 3, `"a" answers no open call`},
		{"id twice", []anthropic.BetaMessageParam{user("hi"), verbatim(callA), anthropic.NewBetaUserMessage(result), verbatim(callA)}, 3, `"a" is in the history already`},
		{"empty user", []anthropic.BetaMessageParam{anthropic.NewBetaUserMessage()}, 0, "no content"},
		{"input is no object", []anthropic.BetaMessageParam{user("hi"), verbatim(strings.Replace(callA, `{"n":9007199254740993}`, `[]`, 1))}, 1, ""},
		{"illegal id", []anthropic.BetaMessageParam{user("hi"), verbatim(strings.Replace(callA, `"a"`, `"a:1"`, 1))}, 1, ""},
		{"system after assistant", []anthropic.BetaMessageParam{user("hi"), verbatim(`{"role":"assistant","content":"x"}`), verbatim(removeWork)}, 2, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := toolrunner.New(&c.client.Beta.Messages, nil, given(test.given...))
			got := wantAs[*toolrunner.HistoryError](t, err)
			if got.Index != test.index || !strings.Contains(got.Reason, test.want) {
				t.Errorf("New() error = %v, want message %d and %q", got, test.index, test.want)
			}
		})
	}
}

// New refuses params that make no sense, and names the field.
func TestParamsThatMakeNoSenseAreRefused(t *testing.T) {
	c := newConversation(t)
	tests := []struct {
		name   string
		change func(p *toolrunner.Params)
		want   string
	}{
		{"no model", func(p *toolrunner.Params) { p.Model = "" }, "Params.Model"},
		{"negative concurrency", func(p *toolrunner.Params) { p.MaxConcurrency = -1 }, "Params.MaxConcurrency"},
		{"unknown validation", func(p *toolrunner.Params) { p.Validate = 9 }, "Params.Validate"},
		{"thread (E205)", func(p *toolrunner.Params) { p.Thread = anthropic.BetaMessageThreadParamOfContinue("msg_1") }, "Params.Thread"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			params := asking("hi")
			test.change(&params)
			if _, err := toolrunner.New(&c.client.Beta.Messages, nil, params); err == nil || !strings.Contains(err.Error(), "toolrunner: "+test.want) {
				t.Errorf("New() error = %v, want one that names %s", err, test.want)
			}
		})
	}
	if _, err := toolrunner.New(nil, nil, asking("hi")); err == nil {
		t.Error("New(nil) error = nil, want one")
	}
}

// A runner may begin without messages, if some come before it is run.
func TestRunnerWithoutMessagesWaitsForThem(t *testing.T) {
	c := converse(t, given(), nil, toolrunnertest.Text("done"))
	if _, err := c.tryRun(t.Context(), nil); err == nil {
		t.Error("All() without messages: error = nil, want one")
	}
	if message, err := c.RunToCompletion(t.Context()); message == nil && err == nil {
		t.Error("RunToCompletion() without messages = nil, nil")
	}
	c.append(t, user("hi"))
	c.run(t)
	c.wantShape(t, "user 'hi'")
}
