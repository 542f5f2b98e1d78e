package takeover_test

import (
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
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
		{"ends in calls", []anthropic.BetaMessageParam{runtest.User("hi"), runtest.Verbatim(runtest.OpenCallsAB)}, []string{"a", "b"}, []string{"user 'hi'", "assistant call(a) call(b)", "user result(a) result(b)"}},
		{"calls in the middle, unanswered", []anthropic.BetaMessageParam{runtest.User("hi"), runtest.Verbatim(runtest.OpenCallA), runtest.User("so?")}, nil, []string{"user 'hi'", "assistant call(a)", "user error(a) 'so?'"}},
		{"half answered", []anthropic.BetaMessageParam{runtest.User("hi"), runtest.Verbatim(runtest.OpenCallsAB), result("b")}, nil, []string{"user 'hi'", "assistant call(a) call(b)", "user error(a) result(b)"}},
		{"answered", []anthropic.BetaMessageParam{runtest.User("hi"), runtest.Verbatim(runtest.OpenCallA), result("a")}, nil, []string{"user 'hi'", "assistant call(a)", "user result(a)"}},
		{"system after calls", []anthropic.BetaMessageParam{runtest.User("hi"), runtest.Verbatim(runtest.OpenCallA), runtest.Verbatim(runtest.RemoveWork)}, nil, []string{"user 'hi'", "assistant call(a)", "user error(a)", "system removal(work)"}},
		{"empty assistant", []anthropic.BetaMessageParam{runtest.User("hi"), empty, runtest.User("so?")}, nil, []string{"user 'hi'", "user 'so?'"}},
		{"empty assistant with text", []anthropic.BetaMessageParam{runtest.User("hi"), runtest.Verbatim(`{"role":"assistant","content":[{"type":"text","text":""}]}`)}, nil, []string{"user 'hi'"}},
		{"prefill", []anthropic.BetaMessageParam{runtest.User("hi"), runtest.Verbatim(`{"role":"assistant","content":"the answer is  "}`)}, nil, []string{"user 'hi'", "assistant 'the answer is'"}},
		{"string content", []anthropic.BetaMessageParam{runtest.Verbatim(`{"role":"user","content":"hi"}`)}, nil, []string{"user 'hi'"}},
		{"raw block", []anthropic.BetaMessageParam{anthropic.NewBetaUserMessage(param.Override[anthropic.BetaContentBlockParamUnion](runtest.RawJSON(`{"type":"of_tomorrow","n":9007199254740993}`)))}, nil, []string{"user of_tomorrow"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var ran runtest.Journal
			c := runtest.Start(t, runtest.Given(test.given...), runtest.Tools(ran.Tool("work")), toolrunnertest.Text("done"))
			c.Run(t)
			ran.WantSorted(t, test.ran...)
			c.WantShape(t, test.want...)
		})
	}
}

// Raw messages and blocks keep their bytes.
func TestRawMessagesKeepTheirBytes(t *testing.T) {
	const (
		message = `{"content":[{"text":"a<b\u00e9","type":"text","n":1.0}] ,"role":"user"}`
		block   = `{"n":9007199254740993, "type":"of_tomorrow"}`
	)
	c := runtest.Start(t, runtest.Given(runtest.Verbatim(message), anthropic.NewBetaUserMessage(param.Override[anthropic.BetaContentBlockParamUnion](runtest.RawJSON(block)))), nil, toolrunnertest.Text("done"))
	c.Run(t)
	for _, want := range []string{message, block} {
		if !strings.Contains(string(c.Request(t, 0).Body), want) {
			t.Errorf("the request = %s\nwant in it %s", c.Request(t, 0).Body, want)
		}
	}
}

// New refuses what cannot be mended, and says where it is.
func TestHistoriesThatCannotBeMendedAreRefused(t *testing.T) {
	c := runtest.New(t)
	result := anthropic.NewBetaToolResultBlock("a", "x", false)
	tests := []struct {
		name  string
		given []anthropic.BetaMessageParam
		index int
		want  string
	}{
		{"orphan result", []anthropic.BetaMessageParam{runtest.User("hi"), anthropic.NewBetaUserMessage(result)}, 1, `"a" answers no open call`},
		{"two results", []anthropic.BetaMessageParam{runtest.User("hi"), runtest.Verbatim(runtest.OpenCallA), anthropic.NewBetaUserMessage(result, result)}, 2, `"a" answers no open call`},
		{"result after text", []anthropic.BetaMessageParam{runtest.User("hi"), runtest.Verbatim(runtest.OpenCallA), anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock("x"), result)}, 2, "results come first"},
		{"result too late", []anthropic.BetaMessageParam{runtest.User("hi"), runtest.Verbatim(runtest.OpenCallA), runtest.User("x"), anthropic.NewBetaUserMessage(result)}, 3, `"a" answers no open call`},
		{"id of an open call", []anthropic.BetaMessageParam{runtest.User("hi"), runtest.Verbatim(runtest.OpenCallA), runtest.Verbatim(runtest.OpenCallA)}, 2, `"a" is in the history already`},
		{"empty user", []anthropic.BetaMessageParam{anthropic.NewBetaUserMessage()}, 0, "no content"},
		{"input is no object", []anthropic.BetaMessageParam{runtest.User("hi"), runtest.Verbatim(strings.Replace(runtest.OpenCallA, `{"n":9007199254740993}`, `[]`, 1))}, 1, ""},
		{"illegal id", []anthropic.BetaMessageParam{runtest.User("hi"), runtest.Verbatim(strings.Replace(runtest.OpenCallA, `"a"`, `"a:1"`, 1))}, 1, ""},
		{"system after assistant", []anthropic.BetaMessageParam{runtest.User("hi"), runtest.Verbatim(`{"role":"assistant","content":"x"}`), runtest.Verbatim(runtest.RemoveWork)}, 2, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := toolrunner.New(&c.Client.Beta.Messages, nil, runtest.Given(test.given...))
			got := runtest.WantAs[*toolrunner.HistoryError](t, err)
			if got.Index != test.index || !strings.Contains(got.Reason, test.want) {
				t.Errorf("New() error = %v, want message %d and %q", got, test.index, test.want)
			}
		})
	}
}

// New refuses params that make no sense, and names the field.
func TestParamsThatMakeNoSenseAreRefused(t *testing.T) {
	c := runtest.New(t)
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
			params := runtest.Asking("hi")
			test.change(&params)
			if _, err := toolrunner.New(&c.Client.Beta.Messages, nil, params); err == nil || !strings.Contains(err.Error(), "toolrunner: "+test.want) {
				t.Errorf("New() error = %v, want one that names %s", err, test.want)
			}
		})
	}
	if _, err := toolrunner.New(nil, nil, runtest.Asking("hi")); err == nil {
		t.Error("New(nil) error = nil, want one")
	}
}

// A runner may begin without messages, if some come before it is run.
func TestRunnerWithoutMessagesWaitsForThem(t *testing.T) {
	c := runtest.Start(t, runtest.Given(), nil, toolrunnertest.Text("done"))
	if _, err := c.TryRun(t.Context(), nil); err == nil {
		t.Error("All() without messages: error = nil, want one")
	}
	if message, err := c.RunToCompletion(t.Context()); message == nil && err == nil {
		t.Error("RunToCompletion() without messages = nil, nil")
	}
	c.MustAppend(t, runtest.User("hi"))
	c.Run(t)
	c.WantShape(t, "user 'hi'")
}
