// Package stream reads the streamed response to a request: it returns the
// response's events one by one, and in the end the bytes of the message that they
// make, as the API would have sent it without streaming.
package stream

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/ssestream"

	"github.com/toolrunner/toolrunner/internal/sse"
	"github.com/toolrunner/toolrunner/internal/wire"
)

const (
	// blockSize is the size of a read, unless more is available. A run that waits for
	// an event holds a block of this size.
	blockSize = 16 << 10
	// lastWait is how long a stream may stay silent when its message is complete
	// and message_stop is missing.
	lastWait = 10 * time.Second
	// drainTime is how long a stream may take to end after its last event. If it
	// ends in time, its connection can serve the next request.
	drainTime = 100 * time.Millisecond
)

// Reader reads a response. It is not safe for concurrent use.
type Reader struct {
	response *http.Response
	opening  opening                               // the body, unless the SDK decodes it
	source   func() (name, data []byte, err error) // returns the next event, valid until the next call
	sse      *sse.Reader                           // the reader that source uses, or nil
	acc      accumulator
	event    Event // the last one
	events   int
	last     string
	whole    []byte      // the message, if the server did not stream it
	timer    *time.Timer // closes the body when the message is complete and nothing follows
	err      error       // returned by Next once the stream has ended; io.EOF if the message is complete
}

// NewReader returns a reader of response. The body is closed when Next returns an
// error, and by Finish and Abandon.
func NewReader(response *http.Response) *Reader { return newReader(response, blockSize) }

// newReader is NewReader with another size of reads.
func newReader(response *http.Response, size int) *Reader {
	r := &Reader{response: response}
	r.opening.body = response.Body
	media, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	switch {
	case media == "" || strings.HasPrefix(media, "text/"):
		r.source = func() (name, data []byte, err error) { return r.readText(size) }
	case media == "application/json" || strings.HasSuffix(media, "+json"):
		r.source = r.readWhole
	default: // a format that the SDK has a decoder for, such as the event stream of AWS
		decoder := ssestream.NewDecoder(response)
		r.source = func() (name, data []byte, err error) {
			if decoder.Next() {
				return []byte(decoder.Event().Type), decoder.Event().Data, nil
			}
			if err = decoder.Err(); err == nil {
				err = io.EOF
			}
			return nil, nil, err
		}
	}
	return r
}

// readText is the source until the first byte tells what the body is: a message
// that was not streamed, under a content type that does not say so, or a stream.
func (r *Reader) readText(size int) (name, data []byte, err error) {
	if r.opening.first() == '{' {
		return r.readWhole()
	}
	r.sse = sse.NewReader(&r.opening, size)
	r.source = func() (name, data []byte, err error) {
		e, err := r.sse.Next()
		return e.Name, e.Data, err
	}
	return r.source()
}

// readWhole is the source for a message that the server did not stream: there are
// no events.
func (r *Reader) readWhole() (name, data []byte, err error) {
	if r.whole, err = io.ReadAll(&r.opening); err != nil {
		return nil, nil, err
	}
	if IsAPIError(r.whole) {
		return nil, nil, APIError(r.response, r.whole)
	}
	return nil, nil, io.EOF
}

// Next returns the next event. It skips pings, and events of an unknown type that
// it cannot read. The event is valid until the next
// call; see Keep. When the message is complete and the stream has ended, the error
// is io.EOF. Any other error means that there is no message: a *[FormatError], an
// *[IncompleteError], an error of the API, or [ErrAbandoned].
func (r *Reader) Next() (*Event, error) {
	if r.err != nil {
		return nil, r.err
	}
	if r.acc.stopped {
		return nil, r.end(io.EOF)
	}
	for {
		name, data, err := r.source()
		if err != nil {
			return nil, r.end(err)
		}
		data = bytes.TrimSpace(data)
		if len(data) == 0 || string(data) == "[DONE]" { // some proxies end a stream this way
			continue
		}
		if string(name) == errorEvent {
			return nil, r.end(APIError(r.response, data))
		}
		e := &r.event
		switch err := e.read(name, data); {
		case err != nil && e.mustBeRead():
			return nil, r.end(badEvent(data, err))
		case err != nil || e.Type == ping:
			continue
		case e.Type == errorEvent || e.Type == "" && IsAPIError(data):
			return nil, r.end(APIError(r.response, data))
		}
		r.events++
		r.last = e.Type
		if err := r.acc.add(e); err != nil {
			return nil, r.end(badEvent(data, err))
		}
		if r.acc.complete() && r.timer == nil {
			body := r.response.Body
			r.timer = time.AfterFunc(lastWait, func() { _ = body.Close() })
		}
		return e, nil
	}
}

func badEvent(data []byte, err error) error {
	return &FormatError{Reason: "an event of its stream makes no sense", Body: data, Err: err}
}

// Last returns the event that Next returned last.
func (r *Reader) Last() *Event { return &r.event }

// Keep makes the last event's bytes valid for good. The fields of the Event are
// overwritten by Next all the same.
func (r *Reader) Keep() {
	if r.sse != nil {
		r.sse.Keep()
	}
}

// IsWhole reports whether the server has sent the message at once.
func (r *Reader) IsWhole() bool { return r.whole != nil }

// Ended reports whether Next returns an error from now on.
func (r *Reader) Ended() bool { return r.err != nil }

// Complete reports whether the events so far make a complete message.
func (r *Reader) Complete() bool { return r.acc.complete() }

// Finish ends the stream of a complete message without reading further events.
func (r *Reader) Finish() { _ = r.end(io.EOF) }

// Abandon ends the stream and closes the body. If the stream has ended, it does
// nothing.
func (r *Reader) Abandon() {
	if r.err == nil {
		r.err = ErrAbandoned
		if r.timer != nil {
			r.timer.Stop()
		}
		_ = r.response.Body.Close()
	}
}

// Message returns the message. It may be called when Next has returned io.EOF.
func (r *Reader) Message() ([]byte, error) {
	if r.whole != nil {
		return r.whole, nil
	}
	raw, err := r.acc.finish()
	if err != nil {
		return nil, &FormatError{Reason: "it cannot be put together from its stream", Err: err}
	}
	return raw, nil
}

// Text returns the text that the text blocks hold so far.
func (r *Reader) Text() string {
	var text strings.Builder
	for _, b := range r.acc.blocks {
		if b.Type == textBlock {
			text.WriteString(wire.StringMember(b.start, "text"))
			text.WriteString(wire.UnquoteContent(b.text.join()))
		}
	}
	return text.String()
}

// HasCall reports whether a tool_use block with the id has begun.
func (r *Reader) HasCall(id string) bool {
	for _, b := range r.acc.blocks {
		if b.Type == toolUseBlock && wire.StringMember(b.start, "id") == id {
			return true
		}
	}
	return false
}

// Block returns the content block with the index, or nil if it has not begun.
func (r *Reader) Block(index int) *Block {
	b, _ := r.acc.block(index)
	return b
}

// StopReason returns the stop reason, or "" if none has come.
func (r *Reader) StopReason() string {
	reason, _ := wire.Unquote(r.acc.message.Get("stop_reason"))
	return reason
}

// Unreadable reports whether an event has come that Message will fail for.
func (r *Reader) Unreadable() bool { return r.acc.unreadable != nil }

// end closes the stream and sets the error that Next returns from now on. If the
// message is complete, that is io.EOF, whatever err is.
func (r *Reader) end(err error) error {
	var api *anthropic.Error
	var format *FormatError
	switch {
	case r.acc.complete() || r.whole != nil && errors.Is(err, io.EOF):
		err = io.EOF
	case errors.As(err, &api) || errors.As(err, &format):
	case errors.Is(err, io.EOF):
		err = &IncompleteError{Events: r.events, Last: r.last, Err: r.unexpectedEnd()}
	default:
		err = &IncompleteError{Events: r.events, Last: r.last, Err: err}
	}
	r.err = err
	r.close()
	return err
}

// unexpectedEnd returns the error of a stream that just ends. If it had no events,
// it may be no stream, so the error quotes its beginning.
func (r *Reader) unexpectedEnd() error {
	text := r.opening.text()
	if r.events > 0 || len(text) == 0 {
		return io.ErrUnexpectedEOF
	}
	return &noStreamError{text}
}

// close closes the body. If the message is complete, it first reads what is left,
// for a short time, so that the connection can be used again.
func (r *Reader) close() {
	if r.timer != nil {
		r.timer.Reset(drainTime)
		defer r.timer.Stop()
		_, _ = io.Copy(io.Discard, io.LimitReader(r.response.Body, 64<<10))
	}
	_ = r.response.Body.Close()
}
