package stream

import (
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner/internal/wire"
)

// ErrAbandoned is returned by [Reader.Next] after [Reader.Abandon].
var ErrAbandoned = errors.New("the stream was abandoned")

// FormatError reports a stream that does not make a message.
type FormatError struct {
	Reason string
	Body   []byte // the event in question; nil if it is the whole stream
	Err    error  // the cause
}

// Error returns the reason and the cause.
func (e *FormatError) Error() string { return fmt.Sprintf("%s: %v", e.Reason, e.Err) }

// Unwrap returns the cause.
func (e *FormatError) Unwrap() error { return e.Err }

// IncompleteError reports a stream that ended before its message was complete.
type IncompleteError struct {
	Events int    // number of events received
	Last   string // type of the last one; empty if there was none
	Err    error  // what reading failed with; io.ErrUnexpectedEOF for a plain end
}

// Error returns how far the stream came.
func (e *IncompleteError) Error() string {
	return fmt.Sprintf("the stream ended after %d events: %v", e.Events, e.Err)
}

// Unwrap returns what reading failed with.
func (e *IncompleteError) Unwrap() error { return e.Err }

// noStreamError says what came in place of a stream.
type noStreamError struct{ text []byte }

func (e *noStreamError) Error() string {
	return fmt.Sprintf("%v: the body begins with %.200q", io.ErrUnexpectedEOF, e.text)
}

func (e *noStreamError) Unwrap() error { return io.ErrUnexpectedEOF }

// APIError returns the error that body describes. The response that it came with
// had the status of a success.
func APIError(response *http.Response, body []byte) error {
	e := &anthropic.Error{
		Request: response.Request, Response: response, StatusCode: response.StatusCode,
		RequestID: response.Header.Get("Request-Id"), WorkspaceID: response.Header.Get("Anthropic-Workspace-Id"),
	}
	if err := e.UnmarshalJSON(body); err != nil {
		return fmt.Errorf("the API reported an error that cannot be read: %.200q: %w", body, err)
	}
	return e
}

// IsAPIError reports whether a body that came with the status of a success
// describes an error instead of a message.
func IsAPIError(body []byte) bool {
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
