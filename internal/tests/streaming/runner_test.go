package streaming_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/google/go-cmp/cmp"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// kinds are replies of each kind of block.
func kinds() map[string]toolrunnertest.Reply {
	return map[string]toolrunnertest.Reply{
		"text": toolrunnertest.Text("Ünïcode 😀, \"quotes\" and \\ back"),
		"thinking and a call": toolrunnertest.Message(toolrunnertest.Thinking("Hm <b>", "c2lnbmF0dXJl"), toolrunnertest.RedactedThinking("AAA="),
			toolrunnertest.Say("Let me"), toolrunnertest.Call("toolu_1", "act", `{"b":12345678901234567890,"a":"é😀"}`)),
		"two calls": toolrunnertest.Message(toolrunnertest.Call("toolu_1", "act", `{"n":1}`), toolrunnertest.Call("toolu_2", "act", `{"n":2}`)),
		"server tools": toolrunnertest.Message(toolrunnertest.ServerToolUse("srvtoolu_1", "web_search", `{"query":"q"}`),
			toolrunnertest.RawBlock(`{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","url":"https://a.b","title":"T","encrypted_content":"E==","page_age":null}]}`),
			toolrunnertest.Say("Found.")).Container("container_1").StopReason("pause_turn"),
		"citations": toolrunnertest.Message(toolrunnertest.RawBlock(
			`{"type":"text","text":"It is so","citations":[{"type":"char_location","cited_text":"so","document_index":0,"start_char_index":1,"end_char_index":3}]}`)),
		"compaction": toolrunnertest.Message(toolrunnertest.RawBlock(`{"type":"compaction","content":"Summary"}`)).StopReason("compaction"),
	}
}

// Rows E13, E143, B006, B036, B101: whatever is cut off, a reply is whole or not there.
func TestStreamThatIsCutAnywhere(t *testing.T) {
	for name, reply := range kinds() {
		t.Run(name, func(t *testing.T) {
			stream := runtest.StreamOf(t, reply.Chunk(8))
			whole := runtest.NewTaped(t, stream)
			if _, err := runtest.Drain(whole.Runner); err != nil {
				t.Fatalf("AllStreaming() = %v", err)
			}
			complete := strings.Index(stream, "event: message_stop")
			ends := []error{io.EOF, io.ErrUnexpectedEOF}
			step := 1
			if testing.Short() {
				step = 13
			}
			for n := 0; n < len(stream); n += step {
				end := ends[n%2]
				r := runtest.NewTaped(t)
				r.Bodies = []io.Reader{io.MultiReader(strings.NewReader(stream[:n]), iotest.ErrReader(end))}
				_, err := runtest.Drain(r.Runner)
				if n < complete {
					runtest.WantLost(t, r, err)
				} else if err != nil || !slices.EqualFunc(r.Requests, whole.Requests, bytes.Equal) {
					t.Errorf("AllStreaming() = %v with the requests %s, want the whole reply after message_delta: %s", err, r.Requests, whole.Requests)
				}
				if t.Failed() {
					t.Fatalf("the cut was at %d with %v: ...%s", n, end, stream[max(0, n-80):n])
				}
			}
		})
	}
}

func TestStreamedAndPlainRepliesMakeTheSameConversation(t *testing.T) {
	replies := kinds()
	replies["no blocks"] = toolrunnertest.Message()
	replies["an empty text"] = toolrunnertest.Message(toolrunnertest.Say(""), toolrunnertest.Call("toolu_1", "act", "{}"))
	replies["a signature only"] = toolrunnertest.Message(toolrunnertest.Thinking("", "sig"), toolrunnertest.Call("toolu_1", "act", `{ "x" : 1.00 }`))
	replies["max_tokens"] = toolrunnertest.Message(toolrunnertest.Call("toolu_1", "act", `{"x":1}`)).StopReason("max_tokens")
	replies["refusal"] = toolrunnertest.Message(toolrunnertest.Call("toolu_1", "act", `{"x":1}`)).StopReason("refusal").StopDetails(`{"type":"refusal","category":null,"explanation":null}`)
	replies["stop_sequence"] = toolrunnertest.Text("a").StopSequence("</x>")
	replies["usage"] = toolrunnertest.Text("a").Usage(100, 50).CacheUsage(7, 9)
	replies["an unknown block"] = toolrunnertest.Message(toolrunnertest.RawBlock(`{"type":"holo","x": [1.0,null]}`), toolrunnertest.Call("toolu_1", "act", ""))
	for name, reply := range replies {
		for _, chunk := range []int{0, 1, 16} {
			t.Run(fmt.Sprintf("%s in deltas of %d", name, chunk), func(t *testing.T) {
				plain, plainRun := finished(t, reply, func(r *toolrunner.Runner) error { return runtest.Exhaust(r.All(context.Background())) })
				stream, streamRun := finished(t, reply.Chunk(chunk), func(r *toolrunner.Runner) error { return runtest.Exhaust(r.AllStreaming(context.Background())) })
				for i, q := range plain {
					if got, want := stream[i].Field("messages"), q.Field("messages"); !bytes.Equal(got, want) {
						t.Errorf("messages of request %d:\nstreamed %s\nplain    %s", i, got, want)
					}
					if got, want := stream[i].Field("container"), q.Field("container"); !bytes.Equal(got, want) {
						t.Errorf("container of request %d: streamed %s, plain %s", i, got, want)
					}
				}
				if len(stream) != len(plain) || !stream[0].Stream() || plain[0].Stream() {
					t.Errorf("%d requests streamed, %d plain, want the same number", len(stream), len(plain))
				}
				if diff := cmp.Diff(plainRun, streamRun); diff != "" {
					t.Errorf("the run (-plain +streamed):\n%s", diff)
				}
			})
		}
	}
}

// standing is what a runner says of its run after its first reply and at the end.
type standing struct {
	FirstOutcome, Outcome string
	Usage                 toolrunner.Usage
	Stop, Sequence, Model string
	Iterations            int
}

// finished runs a conversation of one reply and, where that ends it, a follow-up.
func finished(t *testing.T, reply toolrunnertest.Reply, run func(*toolrunner.Runner) error) ([]*toolrunnertest.Request, standing) {
	t.Helper()
	srv := toolrunnertest.NewServer(t, reply)
	srv.Otherwise(toolrunnertest.Text("Bye."))
	client := srv.Client()
	r := runtest.NewStreamRunner(t, &client, func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) { return nil, nil })
	r.Params.MaxIterations = 1
	if err := run(r); err != nil {
		t.Fatalf("the run failed: %v", err)
	}
	last := r.LastMessage()
	s := standing{FirstOutcome: r.Outcome().String(), Stop: string(last.StopReason), Sequence: last.StopSequence, Model: last.Model}
	r.Params.MaxIterations = 0
	if err := r.AppendMessages(anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock("Go on."))); err != nil {
		t.Fatalf("AppendMessages() = %v", err)
	}
	if err := run(r); err != nil {
		t.Fatalf("the run failed: %v", err)
	}
	s.Outcome, s.Usage, s.Iterations = r.Outcome().String(), r.Usage(), r.IterationCount()
	return srv.Requests(), s
}

// pipeListener is a listener of connections in memory.
type pipeListener chan net.Conn

func (l pipeListener) Accept() (net.Conn, error) {
	if conn, ok := <-l; ok {
		return conn, nil
	}
	return nil, net.ErrClosed
}

func (l pipeListener) Close() error { close(l); return nil } // the server calls it once

func (l pipeListener) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

// serve returns a client of handler, over connections in memory. Its transport
// is net/http's with nothing changed: it asks for gzip.
func serve(t *testing.T, handler http.Handler) anthropic.Client {
	t.Helper()
	listener := make(pipeListener)
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }()
	transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		listener <- server
		return client, nil
	}}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		_ = server.Close()
	})
	return anthropic.NewClient(option.WithoutEnvironmentDefaults(), option.WithAPIKey("k"), option.WithMaxRetries(0),
		option.WithBaseURL("http://pipe.invalid"), option.WithHTTPClient(&http.Client{Transport: transport}))
}

func done(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
	return toolrunner.TextResult("done"), nil
}

func TestStreamMayBeCompressed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bodies := []string{runtest.CallStream, runtest.FinalStream}
		client := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Accept-Encoding") != "gzip" {
				t.Errorf("Accept-Encoding = %q, want gzip", r.Header.Get("Accept-Encoding"))
			}
			w.Header().Set("Content-Type", runtest.EventStream)
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			for line := range strings.Lines(bodies[0]) {
				_, _ = io.WriteString(z, line)
				_ = z.Flush()
				_ = http.NewResponseController(w).Flush()
			}
			_ = z.Close()
			bodies = bodies[1:]
		}))
		r := runtest.NewStreamRunner(t, &client, done)
		if turns, err := runtest.Drain(r); err != nil || turns != 2 {
			t.Errorf("%d turns and the error %v, want 2 and none", turns, err)
		}
		if input, err := json.Marshal(r.Messages()[1].OfAssistant.Content[1].OfToolUse.Input); err != nil || string(input) != runtest.CallInput {
			t.Errorf("input = %s, %v, want %s", input, err, runtest.CallInput)
		}
	})
}

// Row E142, B022: however the loop body is left, the server sees it, and another
// loop sends the request again.
func TestLeavingTheLoopClosesTheStream(t *testing.T) {
	tests := []struct {
		name  string
		leave func(ctx context.Context, cancel context.CancelFunc, r *toolrunner.Runner) error
		want  toolrunner.Outcome
	}{
		{"break before any event", func(ctx context.Context, _ context.CancelFunc, r *toolrunner.Runner) error {
			for range r.AllStreaming(ctx) {
				break
			}
			return nil
		}, toolrunner.OutcomeStopped},
		{"return from the loop over Events", func(ctx context.Context, _ context.CancelFunc, r *toolrunner.Runner) error {
			for turn := range r.AllStreaming(ctx) {
				for range turn.Events() {
					return nil
				}
			}
			return nil
		}, toolrunner.OutcomeStopped},
		{"a panic", func(ctx context.Context, _ context.CancelFunc, r *toolrunner.Runner) (err error) {
			defer func() {
				if recover() == nil {
					err = errors.New("the panic is gone")
				}
			}()
			for turn := range r.AllStreaming(ctx) {
				for range turn.Events() {
					panic("body")
				}
			}
			return nil
		}, toolrunner.OutcomeStopped},
		{"cancelling", func(ctx context.Context, cancel context.CancelFunc, r *toolrunner.Runner) error {
			var last error
			for turn, err := range r.AllStreaming(ctx) {
				if last = err; err == nil {
					for range turn.Events() {
						cancel()
					}
				}
			}
			if !errors.Is(last, context.Canceled) {
				return last
			}
			return nil
		}, toolrunner.OutcomeFailed},
		{"a deadline while the loop waits", func(ctx context.Context, _ context.CancelFunc, r *toolrunner.Runner) error {
			ctx, cancel := context.WithTimeoutCause(ctx, time.Second, errors.New("lunch"))
			defer cancel()
			err := runtest.Exhaust(r.AllStreaming(ctx))
			if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "lunch") {
				return err
			}
			return nil
		}, toolrunner.OutcomeFailed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var sent [][]byte
				left := make(chan time.Time, 1)
				client := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					body, _ := io.ReadAll(r.Body)
					sent = append(sent, body)
					w.Header().Set("Content-Type", runtest.EventStream)
					if len(sent) > 1 {
						_, _ = io.WriteString(w, runtest.FinalStream)
						return
					}
					_, _ = io.WriteString(w, runtest.CallStream[:strings.Index(runtest.CallStream, "event: content_block_stop")])
					_ = http.NewResponseController(w).Flush()
					<-r.Context().Done()
					left <- time.Now()
				}))
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				r := runtest.NewStreamRunner(t, &client, done)
				if err := tt.leave(ctx, cancel, r); err != nil {
					t.Errorf("leaving the loop = %v", err)
				}
				at := time.Now()
				if saw := <-left; saw.After(at) {
					t.Errorf("the server saw it %v after the loop was left", saw.Sub(at))
				}
				if r.Outcome() != tt.want || len(r.Messages()) != 1 || r.LastMessage() != nil {
					t.Errorf("Outcome() = %v with %d messages, want %v with 1", r.Outcome(), len(r.Messages()), tt.want)
				}
				if err := runtest.Exhaust(r.AllStreaming(t.Context())); err != nil || r.Outcome() != toolrunner.OutcomeCompleted {
					t.Errorf("another loop = %v, %v, want completed", err, r.Outcome())
				}
				if len(sent) != 2 || !bytes.Equal(sent[0], sent[1]) {
					t.Errorf("requests = %s, want the same twice", sent)
				}
			})
		})
	}
}

// A stream that stays open after message_stop does not hold up the run, E147.
func TestStreamThatNeverEndsDoesNotHang(t *testing.T) {
	for _, tail := range []string{"", ": keep-alive\n\n", runtest.EvStop} {
		synctest.Test(t, func(t *testing.T) {
			first := true
			client := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", runtest.EventStream)
				body := runtest.CallStream
				if !first {
					body = runtest.FinalStream
				}
				first = false
				_, _ = io.WriteString(w, body)
				for r.Context().Err() == nil {
					_, _ = io.WriteString(w, tail)
					_ = http.NewResponseController(w).Flush()
					select {
					case <-r.Context().Done():
					case <-time.After(20 * time.Millisecond):
					}
				}
			}))
			begin := time.Now()
			r := runtest.NewStreamRunner(t, &client, done)
			if turns, err := runtest.Drain(r); err != nil || turns != 2 {
				t.Errorf("%d turns and the error %v, want 2 and none", turns, err)
			}
			if took := time.Since(begin); took > time.Second {
				t.Errorf("the run took %v, want at most a second", took)
			}
		})
	}
}
