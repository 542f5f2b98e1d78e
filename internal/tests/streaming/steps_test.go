package streaming_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// A follow-up that comes while a reply streams goes after its results.
func TestAppendMessagesWhileTheReplyStreams(t *testing.T) {
	for _, body := range []string{runtest.CallStream, strings.Split(runtest.CallStream, "event: message_delta")[0]} {
		r := runtest.NewTaped(t, body)
		var failed error
		for turn, err := range r.AllStreaming(t.Context()) {
			if failed = err; err != nil || turn.Iteration() > 1 || len(r.Requests) > 1 {
				continue
			}
			for e := range turn.Events() {
				if e.Type == "content_block_stop" && e.Index == 0 {
					if err := r.AppendMessages(anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock("Wait."))); err != nil {
						t.Errorf("AppendMessages() = %v", err)
					}
				}
			}
		}
		if failed != nil {
			_, _ = runtest.Drain(r.Runner)
		}
		last := string(r.Requests[len(r.Requests)-1])
		if r.Outcome() != toolrunner.OutcomeCompleted || !strings.HasSuffix(last, `{"text":"Wait.","type":"text"}]}]}`) {
			t.Errorf("Outcome() = %v; the last request is %s, want the follow-up at its end", r.Outcome(), last)
		}
	}
}

func TestStreamingAndPlainStepsMix(t *testing.T) {
	r := runtest.NewTaped(t, runtest.CallStream)
	for turn, err := range r.AllStreaming(t.Context()) {
		if err != nil {
			t.Fatalf("AllStreaming() = %v", err)
		}
		for range turn.Events() {
			break
		}
		break // the stream is closed
	}
	r.Bodies, r.ContentType = []io.Reader{strings.NewReader(runtest.CallReply)}, "application/json"
	if turn, err := r.Next(t.Context()); err != nil || turn.Iteration() != 1 || len(turn.Calls()) != 1 {
		t.Fatalf("Next() = %v, %v, want the first turn", turn, err)
	}
	if turns, err := runtest.Drain(r.Runner); err != nil || turns != 1 {
		t.Errorf("%d turns and the error %v, want 1 and none", turns, err)
	}
	if _, err := r.Next(t.Context()); !errors.Is(err, toolrunner.ErrDone) {
		t.Errorf("Next() = %v, want ErrDone", err)
	}
	if len(r.Requests) != 3 || len(r.Inputs) != 1 || r.Open != 0 {
		t.Errorf("%d requests, %d runs of the tool, %d bodies open; want 3, 1 and none", len(r.Requests), len(r.Inputs), r.Open)
	}
}

// Row B006: a server that does not stream is understood: each block is an event.
func TestPlainReplyToAStreamingRequest(t *testing.T) {
	r := runtest.NewTaped(t, runtest.CallReply)
	r.ContentType = "application/json"
	for turn, err := range r.AllStreaming(t.Context()) {
		if err != nil {
			t.Fatalf("AllStreaming() = %v", err)
		}
		events := 0
		for range turn.Events() {
			events++
		}
		if want := []int{2, 6}[turn.Iteration()-1]; events != want {
			t.Errorf("turn %d has %d events, want %d", turn.Iteration(), events, want)
		}
	}
	wantRun(t, r)
}

// Row G31: All streams by itself where the SDK would refuse to wait.
func TestAllStreamsLongRepliesByItself(t *testing.T) {
	cut, _, _ := strings.Cut(runtest.CallStream, "event: message_delta")
	failure := runtest.Frames(runtest.EvStart, `{"type":"error","error":{"type":"overloaded_error","message":"No"}}`)
	for _, body := range []string{runtest.CallStream, cut, failure, ""} {
		r := runtest.NewTaped(t, body)
		r.Params.MaxTokens = 64000
		turns := 0
		var failed error
		for turn, err := range r.All(t.Context()) {
			if failed = err; err == nil {
				turns++
				for e := range turn.Events() {
					t.Errorf("there is an event %q, want none under All", e.Type)
				}
			}
		}
		if body != runtest.CallStream {
			runtest.WantLost(t, r, failed)
			continue
		}
		if failed != nil || turns != 2 || len(r.Inputs) != 1 || !bytes.Contains(r.Requests[0], []byte(`"stream":true`)) {
			t.Errorf("%d turns, %d runs and the error %v, want 2, 1 and none; request: %s", turns, len(r.Inputs), failed, r.Requests[0])
		}
	}
}

func TestAppendMessagesFromAnotherGoroutineWhileStreaming(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := true
		client := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", runtest.EventStream)
			body := runtest.FinalStream
			if first {
				body, first = runtest.CallStream, false
			}
			for frame := range strings.SplitAfterSeq(body, "\n\n") {
				_, _ = io.WriteString(w, frame)
				_ = http.NewResponseController(w).Flush()
			}
		}))
		r := runtest.NewStreamRunner(t, &client, done)
		appended := make(chan error)
		for turn, err := range r.AllStreaming(context.Background()) {
			if err != nil {
				t.Fatalf("AllStreaming() = %v", err)
			}
			if turn.Iteration() == 1 {
				go func() {
					_ = r.Messages()
					appended <- r.AppendMessages(anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock("Wait.")))
				}()
			}
			for range turn.Events() {
				_ = turn.Text()
			}
			if turn.Iteration() == 1 {
				if err := <-appended; err != nil {
					t.Errorf("AppendMessages() = %v", err)
				}
			}
		}
		if got := len(r.Messages()); got < 5 || r.Outcome() != toolrunner.OutcomeCompleted {
			t.Errorf("%d messages, %v; want the question, the call, its result, the follow-up and the reply", got, r.Outcome())
		}
	})
}

// Rows E148, B057: a request that is refused is an error of the API, before any turn.
func TestRefusedStreamIsAnErrorOfTheAPI(t *testing.T) {
	for _, status := range []int{400, 401, 429, 500, 529} {
		srv := toolrunnertest.NewServer(t, toolrunnertest.Status(status, "holo_error", "No"), toolrunnertest.Text("Hi."))
		client := srv.Client()
		r := runtest.NewStreamRunner(t, &client, done)
		turns, err := runtest.Drain(r)
		var api *anthropic.Error
		if turns != 0 || !errors.As(err, &api) || api.StatusCode != status || r.Outcome() != toolrunner.OutcomeFailed {
			t.Errorf("%d: %d turns and the error %v, %v; want none, that of the API and failed", status, turns, err, r.Outcome())
		}
		if turns, err := runtest.Drain(r); turns != 1 || err != nil {
			t.Errorf("%d: the next loop has %d turns and the error %v, want one and none", status, turns, err)
		}
	}
}

// A stream that was read to its end leaves its connection for the next request,
// unless the server goes on.
func TestCompleteStreamKeepsItsConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := toolrunnertest.NewServer(t, toolrunnertest.Message(toolrunnertest.Call("toolu_1", "act", "{}")), toolrunnertest.Text("Hi.").Trickle(time.Second))
		client := srv.Client()
		var reused []bool
		ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) { reused = append(reused, info.Reused) }})
		if err := runtest.Exhaust(runtest.NewStreamRunner(t, &client, done).AllStreaming(ctx)); err != nil {
			t.Fatalf("AllStreaming() = %v", err)
		}
		if len(reused) != 2 || reused[0] || !reused[1] {
			t.Errorf("connections were reused: %v, want the second one", reused)
		}
	})
}
