package threads_test

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/google/go-cmp/cmp"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

const (
	notFound    = "thread_not_found"
	unsupported = "thread_unsupported_request"
	continueA   = "K msg_1: user result(a)"
	createA     = "C: " + whole
	plainA      = "U: " + whole
)

// What follows an answer that refuses a thread, within the same turn: no call runs again,
// and the reply counts once.
func TestThreadsRecoverWithinTheTurn(t *testing.T) {
	callA, callB := runtest.Calls("work", "a"), runtest.Calls("work", "b")
	replies := func(list ...toolrunnertest.Reply) []toolrunnertest.Reply { return list }
	const restB = ", assistant call(b), user result(b)"
	for _, s := range []story{
		{
			name: "T13: not found", replies: replies(callA, refused(notFound), callB, done()),
			want: []string{createHi, continueA, createA, "K msg_3: user result(b)"},
		},
		{
			name: "T14: already continued", replies: replies(callA, refused("thread_already_continued"), callB, done()),
			want: []string{createHi, continueA, createA, "K msg_3: user result(b)"},
		},
		{
			name: "T14: in flight", replies: replies(callA, refused("thread_continue_in_flight"), callB, done()),
			want: []string{createHi, continueA, createA, "K msg_3: user result(b)"},
		},
		{
			name: "T15: not found after a replay", replies: replies(callA, refused(notFound), callB, refused(notFound), runtest.Calls("work", "c"), done()),
			want: []string{createHi, continueA, createA, "K msg_3: user result(b)", plainA + restB, plainA + restB + ", assistant call(c), user result(c)"},
		},
		{
			name: "T16: a K in between", replies: replies(callA, refused(notFound), callB, runtest.Calls("work", "c"), refused(notFound), done()),
			want: []string{createHi, continueA, createA, "K msg_3: user result(b)", "K msg_4: user result(c)", createA + restB + ", assistant call(c), user result(c)"},
		},
		{
			name: "T16: another code after a replay", replies: replies(callA, refused(notFound), callB, refused("thread_already_continued"), done()),
			want: []string{createHi, continueA, createA, "K msg_3: user result(b)", createA + restB},
		},
		{
			name: "T16: not found after a replay for another code", replies: replies(callA, refused("thread_already_continued"), callB, refused(notFound), done()),
			want: []string{createHi, continueA, createA, "K msg_3: user result(b)", createA + restB},
		},
		{
			name: "T17: unsupported at first", replies: replies(refused(unsupported), callA, done()),
			want: []string{createHi, "U: user 'hi'", plainA},
		},
		{
			name: "T17: unsupported later", replies: replies(callA, refused(unsupported), callB, done()),
			want: []string{createHi, continueA, plainA, plainA + restB},
		},
		{
			name: "T21: not found, then unsupported", replies: replies(callA, refused(notFound), refused(unsupported), done()),
			want: []string{createHi, continueA, createA, plainA},
		},
		{
			name: "T19: a fingerprint that differs", replies: replies(callA, refused("thread_fingerprint_mismatch"), callB, done()),
			want: []string{createHi, continueA, createA, "K msg_3: user result(b)"},
		},
	} {
		s.body = func(t *testing.T, c *runtest.Conversation, turn *toolrunner.Turn) {
			_ = turn.Text()
			if turn.Iteration() != c.Usage().Replies {
				t.Errorf("the turn of the reply %d has the number %d", c.Usage().Replies, turn.Iteration())
			}
		}
		s.run(t)
	}
}

// No recovery runs a call again.
func TestRecoveryRunsNoCallAgain(t *testing.T) {
	runtest.BothWays(t, func(t *testing.T, streaming bool) {
		var ran runtest.Tally
		c := runtest.New(t, runtest.Calls("work", "a"), refused(notFound), refused(unsupported), runtest.Calls("work", "b"), done())
		c.Streaming = streaming
		c.Runner = c.NewRunner(t, asking(), ran.Tool("work"))
		c.MustPlay(t, nil)
		ran.Want(t, 2)
		if got := c.IterationCount(); got != 3 {
			t.Errorf("IterationCount() = %d, want 3", got)
		}
	})
}

// T18, T20: what no replay helps is returned after one request, and the next loop goes on
// from the same state.
func TestOtherErrorsAreReturned(t *testing.T) {
	call := runtest.Calls("work", "a")
	plain404 := toolrunnertest.Status(404, "not_found_error", "no such model")
	overloaded := toolrunnertest.Status(529, "overloaded_error", "x")
	for name, tt := range map[string]struct {
		replies []toolrunnertest.Reply
		want    []string // of both loops
	}{
		"T18: not found for a C":           {[]toolrunnertest.Reply{refused(notFound), done()}, []string{createHi, createHi}},
		"T18: a fingerprint for a C":       {[]toolrunnertest.Reply{refused("thread_fingerprint_mismatch"), done()}, []string{createHi, createHi}},
		"T19: a fingerprint for K and C":   {[]toolrunnertest.Reply{call, refused("thread_fingerprint_mismatch"), refused("thread_fingerprint_mismatch"), done()}, []string{createHi, continueA, createA, createA}},
		"T20: a plain 404":                 {[]toolrunnertest.Reply{call, plain404, done()}, []string{createHi, continueA, continueA}},
		"T20: a 529":                       {[]toolrunnertest.Reply{call, overloaded, done()}, []string{createHi, continueA, continueA}},
		"T20: an error after a replay":     {[]toolrunnertest.Reply{call, refused(notFound), overloaded, done()}, []string{createHi, continueA, createA, createA}},
		"T20: an unknown code of a thread": {[]toolrunnertest.Reply{call, refused("thread_of_tomorrow"), done()}, []string{createHi, continueA, continueA}},
	} {
		t.Run(name, func(t *testing.T) {
			runtest.BothWays(t, func(t *testing.T, streaming bool) {
				c := start(t, streaming, asking(), tt.replies...)
				err := c.Play(t.Context(), nil)
				runtest.WantAs[*anthropic.Error](t, err)
				c.MustPlay(t, nil)
				wantForms(t, c, tt.want...)
			})
		})
	}
}

// T25, T26: a stream that ends before it began leaves the thread as it was; one that is cut
// has continued it.
func TestStreamsThatAreCutEndTheThread(t *testing.T) {
	for name, tt := range map[string]struct {
		broken toolrunnertest.Reply
		next   []string
	}{
		"T25: before message_start": {toolrunnertest.Text("so").EndAfter(0), []string{continueA, createA}}, // the server has seen it continue
		"T26: after message_start":  {toolrunnertest.Text("so").EndAfter(1), []string{createA}},
		"T26: before message_stop":  {toolrunnertest.Text("so").EndAfter(4), []string{createA}},
	} {
		t.Run(name, func(t *testing.T) {
			c := start(t, true, asking(), runtest.Calls("work", "a"), tt.broken, done())
			if err := c.Play(t.Context(), nil); err == nil {
				t.Fatal("the run has not failed")
			}
			c.MustPlay(t, nil)
			wantForms(t, c, append([]string{createHi, continueA}, tt.next...)...)
		})
	}
}

// A body that breaks off in the middle of a stream leaves nothing to continue.
func TestStreamsThatNobodyReadsEndTheThread(t *testing.T) {
	c := start(t, true, asking(), runtest.Calls("work", "a"), toolrunnertest.Text("so"), done())
	for turn, err := range c.AllStreaming(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if turn.Iteration() == 2 {
			break
		}
	}
	c.MustPlay(t, nil)
	wantForms(t, c, createHi, continueA, createA)
}

// A reply that came and cannot be used has continued the thread.
func TestRepliesThatCannotBeUsedEndTheThread(t *testing.T) {
	c := start(t, false, asking(), runtest.Calls("work", "a"), toolrunnertest.RawJSON(`{"id":"msg_x","type":"message","role":"user","content":[]}`), done())
	runtest.WantAs[*toolrunner.ReplyError](t, c.Play(t.Context(), nil))
	c.MustPlay(t, nil)
	wantForms(t, c, createHi, continueA, createA)
}

// T34: what a compaction learns of threads counts for the run.
func TestCompactionsThatNoThreadTakes(t *testing.T) {
	c := start(t, false, asking(), runtest.Calls("work", "a"), refused(unsupported), runtest.SummaryReply("in short"), done())
	c.MustPlay(t, compactAfterTheFirst(t, c))
	wantForms(t, c, createHi, createA, plainA, "U: assistant compaction")
}

// T37, T38: each replay has a record, with the reason and what the API does not support.
func TestReplaysAreRecorded(t *testing.T) {
	why := toolrunnertest.RawJSON(`{"type":"error","error":{"type":"invalid_request_error","message":"x","details":{"error_code":"thread_unsupported_request","unsupported":["fallbacks","of_tomorrow"]}}}`).Code(400)
	c := runtest.New(t, runtest.Calls("work", "a"), refused(notFound), why, done())
	params, tape := asking(), &runtest.RecordTape{}
	params.Logger, params.ConversationID = slog.New(tape), "ID"
	c.Runner = c.NewRunner(t, params, runtest.Says("work", "ran"))
	c.MustPlay(t, nil)
	var got []string
	for _, r := range tape.Named("thread replayed") {
		var line strings.Builder
		line.WriteString(r.Level.String())
		for _, key := range r.Keys {
			fmt.Fprintf(&line, " %s=%v", key, r.Attrs[key])
		}
		got = append(got, line.String())
	}
	want := []string{
		"INFO iteration=2 reason=thread_not_found previous_message_id=msg_1 conversation_id=ID",
		"INFO iteration=2 reason=thread_unsupported_request unsupported=[fallbacks of_tomorrow] conversation_id=ID",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
}

// T20: a lost connection is no answer of a thread.
func TestLostConnectionsLeaveThreads(t *testing.T) {
	lost := errors.New("lost")
	cut := false
	params := asking()
	params.RequestOptions = []option.RequestOption{option.WithMaxRetries(0), option.WithMiddleware(func(r *http.Request, next option.MiddlewareNext) (*http.Response, error) {
		if cut {
			cut = false
			return nil, lost
		}
		return next(r)
	})}
	c := start(t, false, params, runtest.Calls("work", "a"), done())
	err := c.Play(t.Context(), func(*toolrunner.Turn) { cut = true })
	runtest.WantCause(t, err, lost)
	c.MustPlay(t, nil)
	wantForms(t, c, createHi, continueA)
}
