package toolrunner_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/google/go-cmp/cmp"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

const eventStream = "text/event-stream; charset=utf-8"

// tape is a transport that answers with recorded bodies, without a connection.
// When it is at its end it answers with finalStream.
type tape struct {
	bodies      []io.Reader
	contentType string
	requests    [][]byte
	open        int // bodies that nobody has closed
}

func (p *tape) RoundTrip(req *http.Request) (*http.Response, error) {
	sent, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	p.requests = append(p.requests, sent)
	contentType, body := eventStream, io.Reader(strings.NewReader(finalStream))
	if len(p.bodies) > 0 {
		contentType, body, p.bodies = p.contentType, p.bodies[0], p.bodies[1:]
	}
	p.open++
	return &http.Response{
		StatusCode: http.StatusOK,
		Header:     http.Header{"Content-Type": {contentType}, "Request-Id": {"req_tape"}},
		Body:       closer{body, sync.OnceFunc(func() { p.open-- })},
		Request:    req,
	}, nil
}

type closer struct {
	io.Reader
	close func()
}

func (c closer) Close() error { c.close(); return nil }

// taped is a runner over a tape, with a tool "act" that keeps its inputs.
type taped struct {
	*toolrunner.Runner
	*tape
	mu     sync.Mutex
	inputs []string
}

func newTaped(t testing.TB, bodies ...string) *taped {
	t.Helper()
	r := &taped{tape: &tape{contentType: eventStream}}
	for _, body := range bodies {
		r.bodies = append(r.bodies, strings.NewReader(body))
	}
	client := anthropic.NewClient(
		option.WithoutEnvironmentDefaults(), option.WithAPIKey("k"), option.WithMaxRetries(0),
		option.WithBaseURL("http://tape.invalid"), option.WithHTTPClient(&http.Client{Transport: r.tape}),
	)
	r.Runner = newStreamRunner(t, &client, func(_ context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.inputs = append(r.inputs, string(call.Input))
		return toolrunner.TextResult("done"), nil
	})
	return r
}

// newStreamRunner returns a runner that has asked for weather and has a tool "act".
func newStreamRunner(t testing.TB, client *anthropic.Client, act toolrunner.Handler) *toolrunner.Runner {
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

// drain runs the loop to its end without reading events.
func drain(r *toolrunner.Runner) (turns int, err error) {
	for turn, e := range r.AllStreaming(context.Background()) {
		if e != nil {
			return turns, e
		}
		_ = turn
		turns++
	}
	return turns, nil
}

// frames makes a stream of the events in data.
func frames(data ...string) string {
	var b strings.Builder
	for _, d := range data {
		var e struct{ Type string }
		_ = json.Unmarshal([]byte(d), &e)
		fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", e.Type, d)
	}
	return b.String()
}

const (
	evStart = `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-test","content":[],` +
		`"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":9,"cache_read_input_tokens":100,"output_tokens":1}}}`
	evCalled = `{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":12}}`
	evEnded  = `{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":12}}`
	evStop   = `{"type":"message_stop"}`
	evText   = `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`
	evCall   = `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"toolu_1","name":"act","input":{}}}`
	evEnd0   = `{"type":"content_block_stop","index":0}`
)

func evBlock(index int, block string) string {
	return fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, index, block)
}

func evDelta(index int, kind, key, value string) string {
	literal, _ := json.Marshal(value)
	return fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"type":"%s_delta","%s":%s}}`, index, kind, key, literal)
}

func evTextDelta(index int, text string) string { return evDelta(index, "text", "text", text) }
func evInput(index int, part string) string {
	return evDelta(index, "input_json", "partial_json", part)
}

var (
	finalStream = frames(evStart, evText, evTextDelta(0, "Bye."), evEnd0, evEnded, evStop)
	callStream  = frames(evStart, evText, evTextDelta(0, "Täg 😀"), evEnd0,
		evBlock(1, `{"type":"tool_use","id":"toolu_1","name":"act","input":{}}`),
		evInput(1, ""), evInput(1, `{"z":"ü😀",`), evInput(1, `"n":9007199254740993}`), `{"type":"content_block_stop","index":1}`, evCalled, evStop)
)

const callInput = `{"z":"ü😀","n":9007199254740993}`

// bent is a stream in another form, which means the same.
type bent struct {
	name        string
	body        io.Reader
	contentType string
}

// bends are the forms in which proxies and other servers send a stream.
func bends(stream string) []bent {
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
	return []bent{
		{"as it is", strings.NewReader(stream), eventStream},
		{"one byte at a time", iotest.OneByteReader(strings.NewReader(stream)), eventStream},
		{"with its end and its last bytes in one read", iotest.DataErrReader(strings.NewReader(stream)), eventStream},
		{"with CRLF, one byte at a time", iotest.OneByteReader(strings.NewReader(strings.ReplaceAll(stream, "\n", "\r\n"))), eventStream},
		{"with CR", strings.NewReader(strings.ReplaceAll(stream, "\n", "\r")), eventStream},
		{"with a byte order mark", strings.NewReader("\uFEFF" + stream), eventStream},
		{"with comments", strings.NewReader(between(": keep-alive\n\n:\n")), eventStream},
		{"with id and retry fields", strings.NewReader(between("id: 7\nretry: 10\n")), eventStream},
		{"without event fields", strings.NewReader(strings.Join(unnamed, "\n")), eventStream},
		{"without a space after the colon", strings.NewReader(strings.ReplaceAll(stream, "data: ", "data:")), eventStream},
		{"with more space after the colon", strings.NewReader(strings.ReplaceAll(stream, "data: ", "data:  \t ")), eventStream},
		{"with events over several data lines", strings.NewReader(strings.ReplaceAll(stream, `"index":`, "\ndata: \"index\":")), eventStream},
		{"with an empty data line first", strings.NewReader(strings.ReplaceAll(stream, "data: ", "data:\ndata: ")), eventStream},
		{"with names that disagree with the types", strings.NewReader(strings.Join(data, "\n\nevent: chunk\n") + "\n\n"), eventStream},
		{"with pings", strings.NewReader(between("event: ping\ndata: {\"type\": \"ping\"}\n\n")), eventStream},
		{"with unknown events", strings.NewReader(between("event: news\ndata: {\"type\":\"news\",\"index\":3,\"delta\":{\"type\":\"text_delta\",\"text\":\"no\"}}\n\n")), eventStream},
		{"with pings that are no JSON (F22, W6)", strings.NewReader(between("event: ping\ndata: pong\n\nevent: ping\ndata: {\n\n")), eventStream},
		{"with unknown events that are no JSON objects (F22, W6)", strings.NewReader(between(
			"event: news\ndata: soon\n\nevent: news\ndata: [1]\n\nevent: news\ndata: 7\n\nevent: news\ndata: null\n\nevent: news\ndata: {\"type\":\"news\n\n")), eventStream},
		{"with unknown events whose index is no number", strings.NewReader(between("event: news\ndata: {\"index\":\"a\",\"type\":\"news\"}\n\n")), eventStream},
		{"with [DONE]", strings.NewReader(stream + "data: [DONE]\n\n"), eventStream},
		{"without a content type", strings.NewReader(stream), ""},
		{"with a content type of its own", strings.NewReader(stream), "Text/Event-Stream"},
		{"with a plain content type", strings.NewReader(stream), "text/plain"},
	}
}

// Rows B006, B056, B102, E53, E56.
func TestStreamIsReadInWhateverFormItComes(t *testing.T) {
	tests := append(bends(callStream), []bent{
		{"with types in the event field only", strings.NewReader(strings.NewReplacer(`{"type":"message_stop"}`, `{}`, `"type":"content_block_stop",`, "").Replace(callStream)), eventStream},
		{"with [DONE] in place of message_stop", strings.NewReader(strings.Replace(callStream, evStop, "[DONE]", 1)), eventStream},
		{"with its last frame cut off", strings.NewReader(callStream[:len(callStream)-10]), eventStream},
		{"with a connection that breaks after message_delta", io.MultiReader(strings.NewReader(callStream[:len(callStream)-40]), iotest.ErrReader(io.ErrUnexpectedEOF)), eventStream},
		{"with junk after message_delta", strings.NewReader(strings.Replace(callStream, evStop, `{"type":"content_block_delta","index":9`, 1)), eventStream},
	}...)
	want := newTaped(t, callStream)
	if _, err := drain(want.Runner); err != nil {
		t.Fatalf("AllStreaming() = %v", err)
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newTaped(t)
			r.bodies, r.contentType = []io.Reader{tt.body}, tt.contentType
			if turns, err := drain(r.Runner); err != nil || turns != 2 {
				t.Errorf("%d turns and the error %v, want 2 and none", turns, err)
			}
			if diff := cmp.Diff([]string{callInput}, r.inputs); diff != "" {
				t.Errorf("inputs of the tool (-want +got):\n%s", diff)
			}
			if len(r.requests) != 2 || !bytes.Equal(r.requests[1], want.requests[1]) {
				t.Errorf("requests = %s, want the second to be %s", r.requests, want.requests[1])
			}
			if r.open != 0 {
				t.Errorf("%d bodies are open, want 0", r.open)
			}
		})
	}
}

func goOn(t testing.TB, r *taped) {
	t.Helper()
	if err := r.AppendMessages(anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock("Go on."))); err != nil {
		t.Fatalf("AppendMessages() = %v", err)
	}
	if _, err := drain(r.Runner); err != nil {
		t.Fatalf("AllStreaming() = %v", err)
	}
}

// sentReply returns the content of the first reply in request n.
func sentReply(t testing.TB, r *taped, n int) string {
	t.Helper()
	if len(r.requests) <= n {
		t.Fatalf("%d requests, want more than %d", len(r.requests), n)
	}
	if err := toolrunnertest.CheckRequest(r.requests[n]); err != nil {
		t.Errorf("request %d is invalid: %v", n, err)
	}
	q := toolrunnertest.Request{Body: r.requests[n]}
	var reply struct{ Content json.RawMessage }
	if err := json.Unmarshal(q.Messages()[1], &reply); err != nil {
		t.Fatalf("request %d: %v", n, err)
	}
	return string(reply.Content)
}

// kindOf names the type of the error that err is or wraps.
func kindOf(err error) string {
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

// wantLost checks that err is one of a reply that was lost, that nothing of it
// is left, and that the next loop sends the request again and completes.
func wantLost(t testing.TB, r *taped, err error) {
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
	if len(r.inputs) != 0 || r.LastMessage() != nil || len(r.Messages()) != 1 || r.IterationCount() != 0 {
		t.Errorf("inputs = %q, last = %v, messages = %d, iterations = %d; want none, none, 1 and 0", r.inputs, r.LastMessage(), len(r.Messages()), r.IterationCount())
	}
	if _, err := drain(r.Runner); err != nil {
		t.Errorf("the next loop = %v", err)
	}
	if n := len(r.requests); n != 2 || !bytes.Equal(r.requests[0], r.requests[1]) {
		t.Errorf("%d requests: %s, want the same twice", n, r.requests)
	}
	if r.Outcome() != toolrunner.OutcomeCompleted || r.open != 0 {
		t.Errorf("Outcome() = %v with %d bodies open, want completed and none", r.Outcome(), r.open)
	}
}

// Rows E13, E143, B006, B037, B056, B057, B089, B090, G10.
func TestStreamThatFailsLeavesNothing(t *testing.T) {
	half := []string{evStart, evCall, evInput(0, `{"q":`)}
	then := func(events ...string) string { return frames(append(slices.Clone(half), events...)...) }
	rest := []string{evInput(0, `1}`), evEnd0, evCalled, evStop}
	changed := func(event string) string { return then(append([]string{event}, rest...)...) }
	failure := `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_1"}`
	const api, reply, stream = "*anthropic.Error", "*toolrunner.ReplyError", "*toolrunner.IncompleteStreamError"
	tests := []struct {
		name, body, contentType, want string
	}{
		{"nothing", "", "", stream},
		{"only comments", ": hello\n\n", "", stream},
		{"only [DONE]", "data: [DONE]\n\n", "", stream},
		{"only message_stop", frames(evStop), "", reply},
		{"no message_start", frames(evCall, evInput(0, `{}`), evEnd0, evCalled, evStop), "", reply},
		{"an empty message_start", frames(`{"type":"message_start"}`, evCall, evCalled, evStop), "", reply},
		{"a message_start with null", frames(`{"type":"message_start","message":null}`, evCall, evCalled, evStop), "", reply},
		{"a message_start with {}", frames(`{"type":"message_start","message":{}}`, evCall, evCalled, evStop), "", reply},
		{"a message_start of the user", frames(strings.Replace(evStart, "assistant", "user", 1), evCall, evCalled, evStop), "", reply},
		{"an end in the middle", then(), "", stream},
		{"an end after the block", then(rest[:2]...), "", stream},
		{"an end after a message_delta without a stop reason", then(rest[0], evEnd0, `{"type":"message_delta","delta":{"stop_reason":null},"usage":{"output_tokens":3}}`), "", stream},
		{"another message_start", changed(strings.Replace(evStart, "msg_1", "msg_2", 1)), "", reply},
		{"a block that begins twice", changed(evCall), "", reply},
		{"a delta for a block that has not begun", changed(evInput(3, "1")), "", reply},
		{"an end of a block that has not begun", changed(`{"type":"content_block_stop","index":4}`), "", reply},
		{"a block without a type", changed(`{"type":"content_block_start","index":1,"content_block":{"text":"a"}}`), "", reply},
		{"no block", changed(`{"type":"content_block_start","index":1}`), "", reply},
		{"a text delta in a call", changed(evTextDelta(0, "a")), "", reply},
		{"an input delta in a text", changed(evBlock(1, `{"type":"text","text":""}`) + "\n\ndata: " + evInput(1, "{")), "", reply},
		{"a thinking delta in a text", changed(evBlock(1, `{"type":"text","text":""}`) + "\n\ndata: " + evDelta(1, "thinking", "thinking", "a")), "", reply},
		{"a delta of unknown type", changed(evDelta(0, "holo", "y", "2")), "", reply},
		{"a delta without a type", changed(`{"type":"content_block_delta","index":0,"delta":{"partial_json":"2"}}`), "", reply},
		{"a delta that is missing", changed(`{"type":"content_block_delta","index":0}`), "", reply},
		{"a partial_json that is no string", changed(`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":2}}`), "", reply},
		{"a text that is no string", frames(evStart, evText, `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":["lost"]}}`, evEnded, evStop), "", reply},
		{"a negative index", changed(evInput(-1, "2")), "", reply},
		{"a broken index", changed(`{"type":"content_block_delta","index":0.5,"delta":{"type":"input_json_delta","partial_json":"2"}}`), "", reply},
		{"an index that is a string", changed(`{"type":"content_block_delta","index":"1","delta":{"type":"input_json_delta","partial_json":"2"}}`), "", reply},
		{"an event that is cut off", changed(`{"type":"content_block_delta","index":0,"delta":{"type":"inp`), "", reply},
		{"an event without its beginning", changed(`ta":{"type":"input_json_delta","partial_json":"2"}}`), "", reply},
		{"a delta that is only named so", then() + "event: content_block_delta\ndata: pong\n\n" + frames(rest...), "", reply},
		{"an event without a name that is no JSON", then() + "data: pong\n\n" + frames(rest...), "", reply},
		{"a delta under another name that is cut off", then() + "event: chunk\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"inp\n\n" + frames(rest...), "", reply},
		{"an event that is a list", changed(`[{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"2"}}]`), "", reply},

		{"an error", then(failure), "", api},
		{"an error first", frames(failure), "", api},
		{"an error that something follows", changed(failure), "", api},
		{"an error without an event field", then() + "data: " + failure + "\n\n", "", api},
		{"an error whose type is in the event field", then() + "event: error\ndata: {\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n", "", api},
		{"an error without a type", then(`{"error":{"type":"overloaded_error","message":"Overloaded"}}`), "", api},
		{"an error that only its event field names", then() + "event: error\ndata: {\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}\n\n", "", api},
		{"an error in words", then() + "event: error\ndata: Internal Server Error\n\n", "", api},
		{"an error of unknown type", then(`{"type":"error","error":{"type":"holo_error","message":"No","x":1}}`), "", api},
		{"an error without details", then(`{"type":"error","error":{}}`), "", api},
		{"an error that is a string", then(`{"type":"error","error":"Overloaded"}`), "", api},
		{"an error in a JSON body", failure, "application/json", api},
		{"an error without a type in a JSON body", `{"error":{"type":"overloaded_error","message":"Overloaded"}}`, "application/json; charset=utf-8", api},
		{"an error in an indented JSON body", "\n {\n\t\"error\" : {\"message\":\"Overloaded\"},\n \"type\" : \"error\" }\n", "application/json", api},
		{"an empty JSON body", "", "application/json", reply},
		{"a JSON body that is cut off", `{"type":"message","role":"assistant","content":[`, "application/json", reply},
		{"a JSON body of something else", `{"type":"message_batch"}`, "application/json", reply},
		{"a page", "<html>Bad gateway</html>", "text/html", stream},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newTaped(t, tt.body)
			if tt.contentType != "" {
				r.contentType = tt.contentType
			}
			_, err := drain(r.Runner)
			if got := kindOf(err); got != tt.want {
				t.Errorf("the error is a %s: %v, want a %s", got, err, tt.want)
			}
			wantLost(t, r, err)
			if tt.want == api && strings.Contains(tt.body, `"error":{"type":"overloaded_error"`) {
				var e *anthropic.Error
				if errors.As(err, &e) && (e.Type() != "overloaded_error" || e.RequestID != "req_tape") {
					t.Errorf("Type() = %q, RequestID = %q, want overloaded_error of req_tape", e.Type(), e.RequestID)
				}
			}
		})
	}
}
