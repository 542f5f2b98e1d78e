package stream

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

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
	textStream = frames(evStart, evText, evTextDelta(0, "Bye."), evEnd0, evEnded, evStop)
	callStream = frames(evStart, evText, evTextDelta(0, "Täg 😀"), evEnd0,
		evBlock(1, `{"type":"tool_use","id":"toolu_1","name":"act","input":{}}`),
		evInput(1, ""), evInput(1, `{"z":"ü😀",`), evInput(1, `"n":9007199254740993}`), `{"type":"content_block_stop","index":1}`, evCalled, evStop)
)

// responseOf returns a response with a stream.
func responseOf(stream []byte) *http.Response {
	request, _ := http.NewRequest(http.MethodPost, "http://stream.invalid/v1/messages", nil)
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}},
		Body: io.NopCloser(bytes.NewReader(stream)), Request: request,
	}
}

// accumulate returns the message that the stream in response makes.
func accumulate(response *http.Response) ([]byte, error) {
	return readAll(response, blockSize, func(*Reader) {})
}

// readAll is accumulate with blocks of a size. It calls visit after each event.
func readAll(response *http.Response, size int, visit func(*Reader)) ([]byte, error) {
	r := newReader(response, size)
	for {
		_, err := r.Next()
		if errors.Is(err, io.EOF) {
			return r.Message()
		}
		if err != nil {
			return nil, err
		}
		visit(r)
	}
}

func decodeObject(data []byte) (map[string]any, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v map[string]any
	err := d.Decode(&v)
	return v, err
}
