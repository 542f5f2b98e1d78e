package runtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"

	"github.com/toolrunner/toolrunner"
)

const EventStream = "text/event-stream; charset=utf-8"

// tape is a transport that answers with recorded bodies, without a connection.
// When it is at its end it answers with finalStream.
type tape struct {
	Bodies      []io.Reader
	ContentType string
	Requests    [][]byte
	Open        int // bodies that nobody has closed
}

func (p *tape) RoundTrip(req *http.Request) (*http.Response, error) {
	sent, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	p.Requests = append(p.Requests, sent)
	contentType, body := EventStream, io.Reader(strings.NewReader(FinalStream))
	if len(p.Bodies) > 0 {
		contentType, body, p.Bodies = p.ContentType, p.Bodies[0], p.Bodies[1:]
	}
	p.Open++
	return &http.Response{
		StatusCode: http.StatusOK,
		Header:     http.Header{"Content-Type": {contentType}, "Request-Id": {"req_tape"}},
		Body:       closer{body, sync.OnceFunc(func() { p.Open-- })},
		Request:    req,
	}, nil
}

type closer struct {
	io.Reader
	close func()
}

func (c closer) Close() error { c.close(); return nil }

// Taped is a runner over a tape, with a tool "act" that keeps its inputs.
type Taped struct {
	*toolrunner.Runner
	*tape
	mu     sync.Mutex
	Inputs []string
}

func NewTaped(t testing.TB, bodies ...string) *Taped {
	t.Helper()
	r := &Taped{tape: &tape{ContentType: EventStream}}
	for _, body := range bodies {
		r.Bodies = append(r.Bodies, strings.NewReader(body))
	}
	client := anthropic.NewClient(
		option.WithoutEnvironmentDefaults(), option.WithAPIKey("k"), option.WithMaxRetries(0),
		option.WithBaseURL("http://tape.invalid"), option.WithHTTPClient(&http.Client{Transport: r.tape}),
	)
	r.Runner = NewStreamRunner(t, &client, func(_ context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.Inputs = append(r.Inputs, string(call.Input))
		return toolrunner.TextResult("done"), nil
	})
	return r
}

// NewStreamRunner returns a runner that has asked for weather and has a tool "act".
func NewStreamRunner(t testing.TB, client *anthropic.Client, act toolrunner.Handler) *toolrunner.Runner {
	t.Helper()
	tool := toolrunner.NewRawTool(anthropic.BetaToolParam{Name: "act", InputSchema: anthropic.BetaToolInputSchemaParam{}}, act)
	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{tool}, toolrunner.Params{
		BetaMessageNewParams: anthropic.BetaMessageNewParams{
			Model: "claude-test", MaxTokens: 1024,
			Messages: []anthropic.BetaMessageParam{anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock("How is the weather?"))},
		},
	})
	if err != nil {
		t.Fatalf("New() = %v", err)
	}
	return runner
}

// Drain runs the loop to its end without reading events.
func Drain(r *toolrunner.Runner) (turns int, err error) {
	for turn, e := range r.AllStreaming(context.Background()) {
		if e != nil {
			return turns, e
		}
		_ = turn
		turns++
	}
	return turns, nil
}

// Frames makes a stream of the events in data.
func Frames(data ...string) string {
	var b strings.Builder
	for _, d := range data {
		var e struct{ Type string }
		_ = json.Unmarshal([]byte(d), &e)
		fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", e.Type, d)
	}
	return b.String()
}

const (
	EvStart = `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-test","content":[],` +
		`"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":9,"cache_read_input_tokens":100,"output_tokens":1}}}`
	evCalled = `{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":12}}`
	EvEnded  = `{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":12}}`
	EvStop   = `{"type":"message_stop"}`
	EvText   = `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`
	evCall   = `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"toolu_1","name":"act","input":{}}}`
	EvEnd0   = `{"type":"content_block_stop","index":0}`
)

func evBlock(index int, block string) string {
	return fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, index, block)
}

func evDelta(index int, kind, key, value string) string {
	literal, _ := json.Marshal(value)
	return fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"type":"%s_delta","%s":%s}}`, index, kind, key, literal)
}

func EvTextDelta(index int, text string) string { return evDelta(index, "text", "text", text) }

func evInput(index int, part string) string {
	return evDelta(index, "input_json", "partial_json", part)
}

var (
	FinalStream = Frames(EvStart, EvText, EvTextDelta(0, "Bye."), EvEnd0, EvEnded, EvStop)
	CallStream  = Frames(EvStart, EvText, EvTextDelta(0, "Täg 😀"), EvEnd0,
		evBlock(1, `{"type":"tool_use","id":"toolu_1","name":"act","input":{}}`),
		evInput(1, ""), evInput(1, `{"z":"ü😀",`), evInput(1, `"n":9007199254740993}`), `{"type":"content_block_stop","index":1}`, evCalled, EvStop)
)

const CallInput = `{"z":"ü😀","n":9007199254740993}`

// streamForm is a stream in another form, which means the same.
type streamForm struct {
	Name        string
	Body        io.Reader
	ContentType string
}

// StreamForms are the forms in which proxies and other servers send a stream.
func StreamForms(stream string) []streamForm {
	var unnamed, data []string
	for line := range strings.SplitSeq(stream, "\n") {
		if !strings.HasPrefix(line, "event:") {
			unnamed = append(unnamed, line)
		}
		if strings.HasPrefix(line, "data:") {
			data = append(data, line)
		}
	}
	between := func(insert string) string { return strings.ReplaceAll(stream, "\n\n", "\n\n"+insert) }
	return []streamForm{
		{"as it is", strings.NewReader(stream), EventStream},
		{"one byte at a time", iotest.OneByteReader(strings.NewReader(stream)), EventStream},
		{"with its end and its last bytes in one read", iotest.DataErrReader(strings.NewReader(stream)), EventStream},
		{"with CRLF, one byte at a time", iotest.OneByteReader(strings.NewReader(strings.ReplaceAll(stream, "\n", "\r\n"))), EventStream},
		{"with CR", strings.NewReader(strings.ReplaceAll(stream, "\n", "\r")), EventStream},
		{"with a byte order mark", strings.NewReader("\uFEFF" + stream), EventStream},
		{"with comments", strings.NewReader(between(": keep-alive\n\n:\n")), EventStream},
		{"with id and retry fields", strings.NewReader(between("id: 7\nretry: 10\n")), EventStream},
		{"without event fields", strings.NewReader(strings.Join(unnamed, "\n")), EventStream},
		{"without a space after the colon", strings.NewReader(strings.ReplaceAll(stream, "data: ", "data:")), EventStream},
		{"with more space after the colon", strings.NewReader(strings.ReplaceAll(stream, "data: ", "data:  \t ")), EventStream},
		{"with events over several data lines", strings.NewReader(strings.ReplaceAll(stream, `"index":`, "\ndata: \"index\":")), EventStream},
		{"with an empty data line first", strings.NewReader(strings.ReplaceAll(stream, "data: ", "data:\ndata: ")), EventStream},
		{"with names that disagree with the types", strings.NewReader(strings.Join(data, "\n\nevent: chunk\n") + "\n\n"), EventStream},
		{"with pings", strings.NewReader(between("event: ping\ndata: {\"type\": \"ping\"}\n\n")), EventStream},
		{"with unknown events", strings.NewReader(between("event: news\ndata: {\"type\":\"news\",\"index\":3,\"delta\":{\"type\":\"text_delta\",\"text\":\"no\"}}\n\n")), EventStream},
		{"with [DONE]", strings.NewReader(stream + "data: [DONE]\n\n"), EventStream},
		{"without a content type", strings.NewReader(stream), ""},
		{"with a content type of its own", strings.NewReader(stream), "Text/Event-Stream"},
		{"with a plain content type", strings.NewReader(stream), "text/plain"},
	}
}

// KindOf names the type of the error that err is or wraps.
func KindOf(err error) string {
	var api *anthropic.Error
	var reply *toolrunner.ReplyError
	var stream *toolrunner.IncompleteStreamError
	switch {
	case errors.As(err, &api):
		return "*anthropic.Error"
	case errors.As(err, &reply):
		return "*toolrunner.ReplyError"
	case errors.As(err, &stream):
		return "*toolrunner.IncompleteStreamError"
	}
	return fmt.Sprintf("%T", err)
}

// WantLost checks that err is one of a reply that was lost, that nothing of it
// is left, and that the next loop sends the request again and completes.
func WantLost(t testing.TB, r *Taped, err error) {
	t.Helper()
	if err == nil {
		t.Fatal("the run succeeded, want an error")
	}
	if strings.Count(err.Error(), "toolrunner: ") != 1 {
		t.Errorf("the error reads %q, want the prefix once", err)
	}
	if got := r.Outcome(); got != toolrunner.OutcomeFailed {
		t.Errorf("Outcome() = %v, want failed", got)
	}
	if len(r.Inputs) != 0 || r.LastMessage() != nil || len(r.Messages()) != 1 || r.IterationCount() != 0 {
		t.Errorf("inputs = %q, last = %v, messages = %d, iterations = %d; want none, none, 1 and 0", r.Inputs, r.LastMessage(), len(r.Messages()), r.IterationCount())
	}
	if _, err := Drain(r.Runner); err != nil {
		t.Errorf("the next loop = %v", err)
	}
	if n := len(r.Requests); n != 2 || !bytes.Equal(r.Requests[0], r.Requests[1]) {
		t.Errorf("%d requests: %s, want the same twice", n, r.Requests)
	}
	if r.Outcome() != toolrunner.OutcomeCompleted || r.Open != 0 {
		t.Errorf("Outcome() = %v with %d bodies open, want completed and none", r.Outcome(), r.Open)
	}
}
