// Package threads_test tests conversations that the API keeps in message threads. Its tests
// name the rows T1-T42 of the contract of threads.
package threads_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

const beta = "message-threads-2026-08-12"

// asking returns params of a run in a thread, with a system prompt.
func asking() toolrunner.Params {
	params := runtest.Asking("hi")
	params.System = []anthropic.BetaTextBlockParam{{Text: "be brief"}}
	params.MessageThread = true
	return params
}

// start starts a conversation whose model calls work with a, b and so on, and then says done.
func start(t *testing.T, streaming bool, params toolrunner.Params, replies ...toolrunnertest.Reply) *runtest.Conversation {
	t.Helper()
	c := runtest.New(t, replies...)
	c.Streaming = streaming
	c.Runner = c.NewRunner(t, params, runtest.Says("work", "ran"))
	t.Cleanup(func() { c.WantFaithful(t, toolrunnertest.Takeover(), toolrunnertest.Reconfigured()) })
	return c
}

// refused is the answer of an API that cannot use a thread.
func refused(code string) toolrunnertest.Reply {
	status, kind := 400, "invalid_request_error"
	if code == "thread_not_found" {
		status, kind = 404, "not_found_error"
	}
	return toolrunnertest.RawJSON(fmt.Sprintf(`{"type":"error","error":{"type":%q,"message":"x","details":{"error_code":%q}}}`, kind, code)).Code(status)
}

// done is the last reply of a run.
func done() toolrunnertest.Reply { return toolrunnertest.Text("done") }

// compactAfterTheFirst has the history compacted after the first turn.
func compactAfterTheFirst(t *testing.T, c *runtest.Conversation) func(*toolrunner.Turn) {
	t.Helper()
	return func(turn *toolrunner.Turn) {
		if turn.Iteration() == 1 && c.Usage().Replies <= 1 { // and not in the turn that compacts
			if err := c.CompactBeforeNextTurn(anthropic.BetaCompactionConfigUnionParam{}); err != nil {
				t.Error(err)
			}
		}
	}
}

// formOf tells a request in short: its form (C, K with the id, or U) and the messages. A K
// has neither system nor tools, and all others have both.
func formOf(t *testing.T, q *toolrunnertest.Request) string {
	t.Helper()
	thread := runtest.Object(q.Field("thread"))
	form := "U"
	switch string(thread["type"]) {
	case `"create"`:
		form = "C"
	case `"continue"`:
		form = "K " + strings.Trim(string(thread["previous_message_id"]), `"`)
	}
	if has := strings.Contains(q.Header.Get("Anthropic-Beta"), beta); has != (form != "U") {
		t.Errorf("a request of the form %s has the betas %q", form, q.Header.Get("Anthropic-Beta"))
	}
	for _, name := range []string{"system", "tools"} {
		if q.Field(name) != nil != (form[0] != 'K') {
			t.Errorf("%s: %s is %s", form, name, q.Field(name))
		}
	}
	if q.Field("messages") == nil {
		t.Errorf("%s has no messages at all", form)
	}
	return form + ": " + strings.Join(runtest.Shape(q.Messages()), ", ")
}

// wantForms compares the requests of a conversation, as formOf tells them.
func wantForms(t *testing.T, c *runtest.Conversation, want ...string) {
	t.Helper()
	var got []string
	for _, q := range c.Server.Requests() {
		got = append(got, formOf(t, q))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}
