package loop_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/google/go-cmp/cmp"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// E222, E224: request options go on every request, and their headers stay.
func TestRequestOptionsGoOnEveryRequest(t *testing.T) {
	params := runtest.Asking("hi")
	params.Betas = []anthropic.AnthropicBeta{"beta-one"}
	params.RequestOptions = []option.RequestOption{
		option.WithHeader("x-stainless-helper", "mine"), option.WithHeaderAdd("x-more", "1"),
		option.WithJSONSet("of_tomorrow", map[string]any{"x": 1}), option.WithJSONSet("metadata.user_id", "u"),
	}
	c := runtest.Start(t, params, runtest.Tools(runtest.Says("work", "ran")), runtest.Calls("work", "a"), toolrunnertest.Text("done"))
	c.Server.Ignore(toolrunnertest.RuleUnknownParameter)
	c.Run(t)
	for i, q := range c.Server.Requests() {
		got := []string{
			q.Header.Get("X-Stainless-Helper"), q.Header.Get("X-More"), q.Header.Get("Anthropic-Beta"),
			string(q.Field("of_tomorrow")), string(q.Field("metadata")),
		}
		if diff := cmp.Diff([]string{"mine", "1", "beta-one", `{"x":1}`, `{"user_id":"u"}`}, got); diff != "" {
			t.Errorf("request %d (-want +got):\n%s", i, diff)
		}
	}
}

// Middleware of the client and of the run sees the whole body, and may change it.
func TestMiddlewareSeesTheWholeBody(t *testing.T) {
	var log runtest.Journal
	see := func(name string) option.RequestOption {
		return option.WithMiddleware(func(r *http.Request, next option.MiddlewareNext) (*http.Response, error) {
			body, err := io.ReadAll(r.Body)
			if err != nil || int64(len(body)) != r.ContentLength {
				t.Errorf("%s: a body of %d bytes, error %v; want %d", name, len(body), err, r.ContentLength)
			}
			if err := toolrunnertest.CheckRequest(body); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			log.Add("%s", name)
			body = bytes.Replace(body, []byte(`"hi"`), []byte(`"hi!"`), 1)
			r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
			r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
			return next(r)
		})
	}
	c := runtest.New(t, runtest.Calls("work", "a"), toolrunnertest.Text("done"))
	c.Client = c.Server.Client(see("client"))
	params := runtest.Asking("hi")
	params.RequestOptions = []option.RequestOption{see("run")}
	c.Runner = c.NewRunner(t, params, runtest.Says("work", "ran"))
	c.Run(t)
	log.Want(t, "client", "run", "client", "run")
	c.WantShape(t, "user 'hi!'", "assistant call(a)", "user result(a)")
	c.WantHistory(t, "user 'hi'", "assistant call(a)", "user result(a)", "assistant 'done'")
}

// Retries of the SDK send the whole body again, and no tool runs again.
func TestRetriesSendTheWholeBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ran runtest.Journal
		overloaded := toolrunnertest.Status(529, "overloaded_error", "Overloaded")
		c := runtest.New(t, overloaded, runtest.Calls("work", "a"), overloaded, toolrunnertest.Text("cut").CutAt(5), toolrunnertest.Text("done"))
		c.Client = c.Server.Client(option.WithMaxRetries(2))
		c.Runner = c.NewRunner(t, runtest.Asking("hi"), ran.Tool("work"))
		for range 2 { // a reply that is cut off is not retried by the SDK
			_, _ = c.TryRun(t.Context(), nil)
		}
		c.WantOutcome(t, toolrunner.OutcomeCompleted)
		ran.Want(t, "a")
		requests := c.Server.Requests()
		if len(requests) != 5 {
			t.Fatalf("%d requests, want 5", len(requests))
		}
		for _, pair := range [][2]int{{0, 1}, {2, 3}, {3, 4}} {
			if a, b := requests[pair[0]].Body, requests[pair[1]].Body; !bytes.Equal(a, b) {
				t.Errorf("requests %v differ: %s\n%s", pair, a, b)
			}
		}
	})
}

// An error of the API dumps the request that was sent, and says where it came from.
func TestErrorOfTheAPIHoldsTheWholeRequest(t *testing.T) {
	c := runtest.New(t, toolrunnertest.Status(400, "invalid_request_error", "no"))
	params := runtest.Asking("the question")
	params.Thinking = anthropic.BetaThinkingConfigParamOfEnabled(2048)
	params.MaxTokens = 4096
	c.Runner = c.NewRunner(t, params, runtest.Says("work", "ran"))
	_, err := c.TryRun(t.Context(), nil)
	got := runtest.WantAs[*anthropic.Error](t, err)
	dump := string(got.DumpRequest(true))
	if body := string(c.Request(t, 0).Body); !strings.Contains(dump, body) {
		t.Errorf("DumpRequest() = %s\nwant in it %s", dump, body)
	}
	if got.RequestID != "req_1" || got.StatusCode != http.StatusBadRequest || !strings.Contains(string(got.DumpResponse(true)), `"message":"no"`) {
		t.Errorf("the error has request id %q, status %d, response %s", got.RequestID, got.StatusCode, got.DumpResponse(true))
	}
}

// G31: a reply too long for the SDK to wait for in one piece is streamed, and
// the caller does not notice.
func TestLongRepliesNeedNoStreamingByTheCaller(t *testing.T) {
	var ran runtest.Journal
	params := runtest.Asking("hi")
	params.MaxTokens = 64000
	c := runtest.Start(t, params, runtest.Tools(ran.Tool("work")), toolrunnertest.Message(
		toolrunnertest.Thinking("hm", "sig"), toolrunnertest.Say("let me see"), toolrunnertest.Call("a", "work", `{"z":9007199254740993,"a":1}`),
	), toolrunnertest.Text("done"))
	turns := c.Run(t)
	if got := turns[0].Text(); got != "let me see" || turns[0].StopReason != "tool_use" || turns[0].Usage.OutputTokens != 5 {
		t.Errorf("the first turn says %q, stop reason %q, %d output tokens", got, turns[0].StopReason, turns[0].Usage.OutputTokens)
	}
	ran.Want(t, "a")
	c.WantShape(t, "user 'hi'", "assistant thinking 'let me see' call(a)", "user result(a)")
	for i, q := range c.Server.Requests() {
		if !q.Stream() {
			t.Errorf("request %d does not ask for a stream", i)
		}
	}
}

// B002, E115: a change of Params in the body is no takeover, and goes out with
// the next request.
func TestChangedParamsGoOutWithTheNextRequest(t *testing.T) {
	c := runtest.Start(t, runtest.Asking("hi"), runtest.Tools(runtest.Says("work", "ran")), runtest.Calls("work", "a"), toolrunnertest.Text("done"))
	if _, err := c.TryRun(t.Context(), func(*toolrunner.Turn) {
		c.Params.MaxTokens, c.Params.Model, c.Params.Speed = 2048, "claude-other", "fast"
	}); err != nil {
		t.Fatal(err)
	}
	q := c.Request(t, -1)
	if got := []string{string(q.Field("max_tokens")), q.Model(), string(q.Field("speed"))}; strings.Join(got, " ") != `2048 claude-other "fast"` {
		t.Errorf("the second request has %q", got)
	}
	c.WantShape(t, "user 'hi'", "assistant call(a)", "user result(a)")
}

// Params.Messages set after New, and what only a request of another kind may
// have, is an error that leaves the run as it was.
func TestParamsThatTheRunnerOwnsAreRefusedLater(t *testing.T) {
	tests := []struct {
		name   string
		change func(p *toolrunner.Params)
		want   string
	}{
		{"messages", func(p *toolrunner.Params) { p.Messages = []anthropic.BetaMessageParam{runtest.User("x")} }, "AppendMessages"},
		{"thread (E205)", func(p *toolrunner.Params) { p.Thread = anthropic.BetaMessageThreadParamOfContinue("msg_1") }, "Params.Thread"},
		{"model", func(p *toolrunner.Params) { p.Model = "" }, "Params.Model"},
		{"messages as an option", func(p *toolrunner.Params) {
			p.RequestOptions = []option.RequestOption{option.WithJSONSet("messages", []string{})}
		}, `"messages"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var ran runtest.Journal
			c := runtest.Start(t, runtest.Asking("hi"), runtest.Tools(ran.Tool("work")), runtest.Calls("work", "a"), toolrunnertest.Text("done"))
			before := c.Params
			_, err := c.TryRun(t.Context(), func(*toolrunner.Turn) { test.change(&c.Params) })
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), "toolrunner: ") {
				t.Errorf("All() error = %v, want one that names %s", err, test.want)
			}
			c.Params = before
			c.Run(t)
			ran.Want(t, "a")
		})
	}
}

// A forced tool choice would never let the run end: it goes out until a tool has
// been called, again if it is set anew, and always if that is asked for.
func TestForcedToolChoiceIsSentUntilAToolWasCalled(t *testing.T) {
	force := func() anthropic.BetaToolChoiceUnionParam {
		return anthropic.BetaToolChoiceUnionParam{OfAny: &anthropic.BetaToolChoiceAnyParam{}}
	}
	const anyTool, auto = `{"type":"any"}`, `{"type":"auto"}`
	tests := []struct {
		name   string
		choice anthropic.BetaToolChoiceUnionParam
		keep   bool
		body   func(c *runtest.Conversation)
		want   []string
	}{
		{"once", force(), false, nil, []string{anyTool, "", ""}},
		{"kept", force(), true, nil, []string{anyTool, anyTool, anyTool}},
		{"set anew", force(), false, func(c *runtest.Conversation) { c.Params.ToolChoice = force() }, []string{anyTool, anyTool, anyTool}},
		{"auto", anthropic.BetaToolChoiceUnionParam{OfAuto: &anthropic.BetaToolChoiceAutoParam{}}, false, nil, []string{auto, auto, auto}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			params := runtest.Asking("hi")
			params.ToolChoice, params.KeepToolChoice = test.choice, test.keep
			c := runtest.Start(t, params, runtest.Tools(runtest.Says("work", "ran")), runtest.Calls("work", "a"), runtest.Calls("work", "b"), toolrunnertest.Text("done"))
			if _, err := c.TryRun(t.Context(), func(*toolrunner.Turn) {
				if test.body != nil {
					test.body(c)
				}
			}); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, q := range c.Server.Requests() {
				got = append(got, string(q.Field("tool_choice")))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("tool choices (-want +got):\n%s", diff)
			}
		})
	}
}

// A run that a follow-up begins forces its first call anew.
func TestForcedToolChoiceIsSentAgainInTheNextRun(t *testing.T) {
	params := runtest.Asking("hi")
	params.ToolChoice = anthropic.BetaToolChoiceUnionParam{OfAny: &anthropic.BetaToolChoiceAnyParam{}}
	c := runtest.Start(t, params, runtest.Tools(runtest.Says("work", "ran")), runtest.Calls("work", "a"), toolrunnertest.Text("one"), runtest.Calls("work", "b"), toolrunnertest.Text("two"))
	c.Run(t)
	c.MustAppend(t, runtest.User("again"))
	c.Run(t)
	if got := string(c.Request(t, 2).Field("tool_choice")); got != `{"type":"any"}` {
		t.Errorf("tool_choice of the second run = %q, want any", got)
	}
	if got := string(c.Request(t, 3).Field("tool_choice")); got != "" {
		t.Errorf("tool_choice after its call = %q, want none", got)
	}
}

// E218, G17: a pointer to a struct as output schema does not have the SDK parse
// the turns that hold calls, nor panic.
func TestPointerAsOutputSchemaLeavesToolTurnsAlone(t *testing.T) {
	type answer struct {
		City string `json:"city"`
	}
	for name, reply := range map[string]string{"fits": `{"city":"Paris"}`, "does not fit": `I would say Paris`} {
		t.Run(name, func(t *testing.T) {
			params := runtest.Asking("hi")
			params.OutputConfig.Format = anthropic.BetaJSONOutputFormatParam{Schema: &answer{}}
			c := runtest.Start(t, params, runtest.Tools(runtest.Says("work", "ran")), runtest.Calls("work", "a"), toolrunnertest.Text(reply))
			turns, err := c.TryRun(t.Context(), nil)
			if fits := name == "fits"; fits != (err == nil) || !fits && !errors.Is(err, anthropic.ErrStructuredOutputParse) { // E219
				t.Errorf("All() error = %v", err)
			}
			if got := turns[len(turns)-1].Text(); got != reply {
				t.Errorf("the last turn says %q, want %q", got, reply)
			}
			if format := string(c.Request(t, -1).Field("output_config")); !strings.Contains(format, `"city"`) {
				t.Errorf("output_config = %s, want the schema of the struct", format)
			}
		})
	}
}

// B029, B028: what was sent stays as it was, whatever the order of Go's maps,
// and the runner adds no cache breakpoints of its own.
func TestPrefixOfEveryRequestStaysAsItWas(t *testing.T) {
	properties := make(map[string]any)
	for name := range strings.SplitSeq("zyxwvutsrqponmlkjihgfedcba", "") {
		properties[name] = map[string]any{"type": "string", "description": name}
	}
	tool := toolrunner.NewRawTool(anthropic.BetaToolParam{
		Name: "work", InputSchema: anthropic.BetaToolInputSchemaParam{Properties: properties, ExtraFields: map[string]any{"z": 1, "b": 2, "a": 3}},
	}, func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
		return toolrunner.TextResult("ran"), nil
	})
	params := runtest.Asking("hi")
	params.System = []anthropic.BetaTextBlockParam{{Text: "s", CacheControl: anthropic.NewBetaCacheControlEphemeralParam()}}
	var script []toolrunnertest.Reply
	for id := range strings.SplitSeq("abcdefgh", "") {
		script = append(script, runtest.Calls("work", id))
	}
	c := runtest.Start(t, params, []anthropic.BetaTool{tool}, append(script, toolrunnertest.Text("done"))...)
	c.Run(t)
	for i, q := range c.Server.Requests() {
		if n := bytes.Count(q.Body, []byte("cache_control")); n != 1 {
			t.Errorf("request %d has %d cache_control, want the caller's one", i, n)
		}
	}
}

// A body that is an error in spite of its status is the API's error.
func TestErrorWithStatus200IsAnError(t *testing.T) {
	for name, body := range map[string]string{
		"the API's":                `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`,
		"without a top-level type": `{"error":{"type":"overloaded_error","message":"Overloaded"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			c := runtest.New(t, toolrunnertest.RawJSON(body), toolrunnertest.Text("done"))
			c.Runner = c.NewRunner(t, runtest.Asking("hi"))
			_, err := c.TryRun(t.Context(), nil)
			if got := runtest.WantAs[*anthropic.Error](t, err); !strings.Contains(got.Error(), "Overloaded") {
				t.Errorf("error = %v, want one that says Overloaded", err)
			}
			c.Run(t)
			c.WantHistory(t, "user 'hi'", "assistant 'done'")
		})
	}
}
