package toolrunner

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/ssestream"

	"github.com/toolrunner/toolrunner/internal/sse"
	"github.com/toolrunner/toolrunner/internal/wire"
)

// A response with a stream reaches this file; events leave it, and in the end a
// message.

// Event is one event of a streamed reply. It may be kept.
type Event struct {
	// Type is the type as on the wire: "content_block_delta", for example.
	Type string
	// Index is the index of the content block that the event is about; 0 for
	// events that are about the message.
	Index int
	// Text, Thinking and PartialJSON are what a delta adds to a text block, a
	// thinking block, or the input of a tool call.
	Text, Thinking, PartialJSON string

	raw []byte
}

// Raw returns the event as the API sent it. It must not be changed.
func (e Event) Raw() json.RawMessage { return e.raw }

// Union decodes the event into the SDK's type. It costs about ten times what
// the rest of the event does.
func (e Event) Union() (anthropic.BetaRawMessageStreamEventUnion, error) {
	var u anthropic.BetaRawMessageStreamEventUnion
	err := u.UnmarshalJSON(e.raw)
	return u, err
}

// streamEvent is an event with its parts as they came.
type streamEvent struct {
	data  []byte
	kind  string
	index int

	message, block, delta, usage []byte
	rest                         wire.Object // other members

	deltaKind string
	content   []byte // what a delta of a known kind adds, as the inside of a string literal

	head deltaHead // what it began with, if it was read in one go
}

// read reads the parts of an event. name is of the event field, and counts where
// the data has no type.
func (e *streamEvent) read(name, data []byte) error {
	if e.readDeltaForm(data) {
		return nil
	}
	return e.walk(name, data)
}

// walk reads an event of any form.
func (e *streamEvent) walk(name, data []byte) error {
	*e = streamEvent{data: data, kind: eventKind(name), head: deltaHead{text: e.head.text[:0]}}
	err := wire.Members(data, func(key, value []byte) error {
		switch string(key) {
		case "type":
			content, _ := wire.Content(value)
			e.kind = eventKind(content)
		case "index":
			var err error
			if e.index, err = strconv.Atoi(string(value)); err != nil || e.index < 0 {
				return fmt.Errorf("its index is %s", value)
			}
		case "message":
			e.message = value
		case "content_block":
			e.block = value
		case "delta":
			e.delta = value
		case "usage":
			e.usage = value
		case "error": // see apiError
		default:
			e.rest = append(e.rest, wire.Member{Key: string(key), Value: value})
		}
		return nil
	})
	if err == nil && e.kind == eventBlockDelta {
		err = e.readDelta()
	}
	return err
}

func (e *streamEvent) readDelta() error {
	var text, thinking, signature, partialJSON []byte
	err := wire.Members(e.delta, func(key, value []byte) error {
		var part *[]byte
		switch string(key) {
		case "type":
			content, _ := wire.Content(value)
			e.deltaKind = deltaKind(content)
			return nil
		case "text":
			part = &text
		case "thinking":
			part = &thinking
		case "signature":
			part = &signature
		case "partial_json":
			part = &partialJSON
		default:
			return nil
		}
		content, ok := wire.Content(value)
		if !ok && string(value) != "null" {
			return fmt.Errorf("its %s is not a string", key)
		}
		*part = content
		return nil
	})
	switch e.deltaKind {
	case "text_delta":
		e.content = text
	case "thinking_delta":
		e.content = thinking
	case "signature_delta":
		e.content = signature
	case "input_json_delta":
		e.content = partialJSON
	}
	return err
}

// eventKind returns the type of an event without allocating for known ones.
func eventKind(name []byte) string {
	switch string(name) {
	case eventBlockDelta:
		return eventBlockDelta
	case eventBlockStart:
		return eventBlockStart
	case eventBlockStop:
		return eventBlockStop
	}
	return string(name)
}

func deltaKind(name []byte) string {
	switch string(name) {
	case "text_delta":
		return "text_delta"
	case "input_json_delta":
		return "input_json_delta"
	case "thinking_delta":
		return "thinking_delta"
	}
	return string(name)
}

// stream is a reply that is being read. Its methods are for one goroutine.
type stream struct {
	response *http.Response
	source   func() (name, data []byte, err error) // the next event, there until the one after it
	reader   *sse.Reader                           // what source reads with, or nil
	acc      accumulator
	event    streamEvent // the last one
	events   int
	last     string
	whole    []byte      // the reply of a server that does not stream
	timer    *time.Timer // closes the body of a stream that has nothing more to say
	err      error       // io.EOF once the reply is complete
}

// blockSize is how much of a stream is read at once, unless more is there. A run that
// waits in a stream holds as much.
const blockSize = 16 << 10

// openStream begins to read a response.
func openStream(response *http.Response) *stream {
	s := &stream{response: response}
	media, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	switch media {
	case "text/event-stream", "":
		s.reader = sse.NewReader(response.Body, blockSize)
		s.source = func() (name, data []byte, err error) {
			e, err := s.reader.Next()
			return e.Name, e.Data, err
		}
	case "application/json":
		s.source = func() (name, data []byte, err error) {
			if s.whole, err = io.ReadAll(response.Body); err == nil {
				err = io.EOF
				if isFailure(s.whole) {
					err = apiError(response, s.whole)
				}
			}
			return nil, nil, err
		}
	default: // what the SDK has a decoder for, such as the event stream of AWS
		decoder := ssestream.NewDecoder(response)
		s.source = func() (name, data []byte, err error) {
			if decoder.Next() {
				return []byte(decoder.Event().Type), decoder.Event().Data, nil
			}
			if err = decoder.Err(); err == nil {
				err = io.EOF
			}
			return nil, nil, err
		}
	}
	return s
}

// next returns the next event that is to be passed on, which is there until the
// one after it. At the end of a complete reply it returns io.EOF; any other error
// means that there is no reply.
func (s *stream) next() (*streamEvent, error) {
	if s.err != nil {
		return nil, s.err
	}
	if s.acc.stopped {
		return nil, s.end(io.EOF)
	}
	for {
		name, data, err := s.source()
		if err != nil {
			return nil, s.end(err)
		}
		data = bytes.TrimSpace(data)
		if len(data) == 0 || string(data) == "[DONE]" { // some proxies end a stream so
			continue
		}
		if string(name) == eventError {
			return nil, s.end(apiError(s.response, data))
		}
		e := &s.event
		switch err := e.read(name, data); {
		case err != nil:
			return nil, s.end(&ReplyError{Reason: "an event of its stream makes no sense", Body: data, Err: err})
		case e.kind == eventPing:
			continue
		case e.kind == eventError || e.kind == "" && isFailure(data):
			return nil, s.end(apiError(s.response, data))
		}
		s.events++
		s.last = e.kind
		if err := s.acc.add(e); err != nil {
			return nil, s.end(&ReplyError{Reason: "an event of its stream makes no sense", Body: data, Err: err})
		}
		if s.acc.complete() && s.timer == nil {
			body := s.response.Body
			s.timer = time.AfterFunc(lastWait, func() { _ = body.Close() })
		}
		return e, nil
	}
}

// public returns the last event as the caller sees it, who may keep it.
func (s *stream) public() Event {
	if s.reader != nil {
		s.reader.Keep()
	}
	e := &s.event
	ev := Event{Type: e.kind, Index: e.index, raw: e.data}
	switch e.deltaKind {
	case "text_delta":
		ev.Text = wire.UnquoteContent(e.content)
	case "thinking_delta":
		ev.Thinking = wire.UnquoteContent(e.content)
	case "input_json_delta":
		ev.PartialJSON = wire.UnquoteContent(e.content)
	}
	return ev
}

// end closes the stream with the error that next returns from now on. Once the
// reply is complete, nothing that comes can spoil it.
func (s *stream) end(err error) error {
	var api *anthropic.Error
	var reply *ReplyError
	switch {
	case s.acc.complete() || s.whole != nil && errors.Is(err, io.EOF):
		err = io.EOF
	case errors.As(err, &api) || errors.As(err, &reply):
	case errors.Is(err, io.EOF):
		err = &IncompleteStreamError{Events: s.events, Last: s.last, Err: io.ErrUnexpectedEOF}
	default:
		err = &IncompleteStreamError{Events: s.events, Last: s.last, Err: err}
	}
	s.err = err
	s.close()
	return err
}

const (
	// lastWait is how long a stream may stay silent once its reply is complete
	// but for message_stop.
	lastWait = 10 * time.Second
	// drainTime is how long a stream may take to end after its last event. One
	// that ends leaves its connection for the next request.
	drainTime = 100 * time.Millisecond
)

// close gives the connection back, or closes it if the stream goes on.
func (s *stream) close() {
	if s.timer != nil {
		s.timer.Reset(drainTime)
		defer s.timer.Stop()
		_, _ = io.Copy(io.Discard, io.LimitReader(s.response.Body, 64<<10))
	}
	_ = s.response.Body.Close()
}

// abandon ends the stream where it is.
func (s *stream) abandon() {
	if s.err == nil {
		s.err = ErrTurnOver
		if s.timer != nil {
			s.timer.Stop()
		}
		_ = s.response.Body.Close()
	}
}

// message returns the reply after next has returned io.EOF.
func (s *stream) message() ([]byte, error) {
	if s.whole != nil {
		return s.whole, nil
	}
	raw, err := s.acc.finish()
	if err != nil {
		return nil, &ReplyError{Reason: "it cannot be put together from its stream", Err: err}
	}
	return raw, nil
}

// apiError returns the error that body describes, which came with a response
// that looked like a success.
func apiError(response *http.Response, body []byte) error {
	e := &anthropic.Error{
		Request: response.Request, Response: response, StatusCode: response.StatusCode,
		RequestID: response.Header.Get("Request-Id"), WorkspaceID: response.Header.Get("Anthropic-Workspace-Id"),
	}
	if err := e.UnmarshalJSON(body); err != nil {
		return fmt.Errorf("the API reported an error that cannot be read: %.200q: %w", body, err)
	}
	return e
}

// isFailure reports whether a body with the status of a success describes an
// error.
func isFailure(body []byte) bool {
	failure, content := false, false
	_ = wire.Members(body, func(key, value []byte) error {
		switch string(key) {
		case "type":
			failure = failure || string(value) == `"error"`
		case "error":
			failure = failure || len(value) > 0 && value[0] == '{'
		case "content":
			content = true
		}
		return nil
	})
	return failure && !content
}
