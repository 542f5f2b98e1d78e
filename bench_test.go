package toolrunner_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// canned is a transport that reads each request and answers it from memory, so
// that a benchmark sees the runner and the SDK, and no network.
type canned struct {
	mediaType string
	answer    func(turn int) []byte
	turn      int
}

func (c *canned) RoundTrip(req *http.Request) (*http.Response, error) {
	if _, err := io.Copy(io.Discard, req.Body); err != nil {
		return nil, err
	}
	c.turn++
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {c.mediaType}}, Request: req,
		Body: io.NopCloser(bytes.NewReader(c.answer(c.turn))),
	}, nil
}

func (c *canned) runner(b testing.TB, tools ...anthropic.BetaTool) *toolrunner.Runner {
	b.Helper()
	client := anthropic.NewClient(option.WithoutEnvironmentDefaults(), option.WithAPIKey("key"), option.WithBaseURL("http://bench.invalid"),
		option.WithHTTPClient(&http.Client{Transport: c}))
	r, err := toolrunner.New(&client.Beta.Messages, tools, runtest.Asking("go"))
	if err != nil {
		b.Fatal(err)
	}
	return r
}

// BenchmarkTurn measures one turn with one call at different lengths of the
// conversation: what it costs beyond copying the history must not grow.
func BenchmarkTurn(b *testing.B) {
	result := strings.Repeat("r", 4096)
	for _, turns := range []int{1, 10, 100, 500} {
		b.Run(fmt.Sprintf("after %d", turns), func(b *testing.B) {
			transport := &canned{mediaType: "application/json", answer: func(turn int) []byte {
				return fmt.Appendf(nil, `{"id":"msg_%d","type":"message","role":"assistant","model":"m","content":[{"type":"tool_use","id":"toolu_%d","name":"work","input":{"n":%d}}],"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":10,"output_tokens":5}}`, turn, turn, turn)
			}}
			work := toolrunner.NewTool("work", "Works.", func(context.Context, struct {
				N int `json:"n"`
			},
			) (string, error) {
				return result, nil
			})
			r := transport.runner(b, work)
			for range turns {
				if _, err := r.Next(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
			history := r.Messages()
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if i%20 == 19 { // back to the length that is measured
					b.StopTimer()
					if err := r.SetMessages(history...); err != nil {
						b.Fatal(err)
					}
					b.StartTimer()
				}
				if _, err := r.Next(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkStream measures a streamed block in deltas of 24 bytes, read event by
// event or not at all: it must be linear.
func BenchmarkStream(b *testing.B) {
	for _, kind := range []string{"text", "thinking"} {
		for _, size := range []int{64 << 10, 1 << 20, 4 << 20} {
			for name, read := range map[string]bool{"read": true, "unread": false} {
				b.Run(fmt.Sprintf("%s, %d KB, %s", kind, size>>10, name), func(b *testing.B) {
					benchmarkStream(b, longStream(kind, size), read)
				})
			}
		}
	}
}

func benchmarkStream(b *testing.B, body []byte, read bool) {
	b.Helper()
	transport := &canned{mediaType: "text/event-stream", answer: func(int) []byte { return body }}
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		for turn, err := range transport.runner(b).AllStreaming(b.Context()) {
			if err != nil {
				b.Fatal(err)
			}
			if !read {
				continue
			}
			for _, err := range turn.Events() {
				if err != nil {
					b.Fatal(err)
				}
			}
		}
	}
}

// longStream is a stream with a block of a kind and of size bytes.
func longStream(kind string, size int) []byte {
	var s bytes.Buffer
	event := func(name, format string, args ...any) {
		fmt.Fprintf(&s, "event: %s\ndata: {\"type\":%q%s}\n\n", name, name, fmt.Sprintf(format, args...))
	}
	event("message_start", `,"message":{"id":"m","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}`)
	event("content_block_start", `,"index":0,"content_block":{"type":%q,%q:""}`, kind, kind)
	for range size / 24 {
		event("content_block_delta", `,"index":0,"delta":{"type":"%s_delta",%q:"twenty-four bytes of text"}`, kind, kind)
	}
	event("content_block_stop", `,"index":0`)
	event("message_delta", `,"delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":9}`)
	event("message_stop", "")
	return s.Bytes()
}

// BenchmarkEager measures a turn whose reply makes three calls, one after the other,
// and then goes on for a while: 32 events, 20 ms apart. Each call takes 300 ms. With
// EagerTools the turn takes as long as the slower of reply and tools.
func BenchmarkEager(b *testing.B) {
	for _, eager := range []bool{false, true} {
		b.Run(fmt.Sprintf("eager %v", eager), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				srv := toolrunnertest.NewServer(nil,
					toolrunnertest.Message(
						toolrunnertest.Call("a", "look", `{}`), toolrunnertest.Call("b", "look", `{}`), toolrunnertest.Call("c", "look", `{}`),
						toolrunnertest.Say(strings.Repeat("so ", 48)),
					).StopReason("tool_use").Chunk(9).Trickle(20*time.Millisecond),
					toolrunnertest.Text("done"))
				client := srv.Client()
				params := runtest.Asking("go")
				params.EagerTools = eager
				r, err := toolrunner.New(&client.Beta.Messages, runtest.Tools(runtest.ReadOnly("look", func(ctx context.Context, _ *toolrunner.Call) (*toolrunner.Result, error) {
					select {
					case <-time.After(300 * time.Millisecond):
						return toolrunner.TextResult("seen"), nil
					case <-ctx.Done():
						return nil, context.Cause(ctx)
					}
				})), params)
				if err != nil {
					b.Fatal(err)
				}
				if err := runtest.Exhaust(r.AllStreaming(b.Context())); err != nil {
					b.Fatal(err)
				}
				srv.Close()
			}
		})
	}
}
