package toolrunner

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner/internal/history"
	"github.com/toolrunner/toolrunner/internal/stream"
	"github.com/toolrunner/toolrunner/internal/wire"
)

// Event is one event of a streamed reply. The caller may retain it.
type Event struct {
	// Type is the type as on the wire: "content_block_delta", for example.
	Type string
	// Index is the index of the content block that the event is about; 0 for
	// events that are about the message.
	Index int
	// Text, Thinking and PartialJSON are what the event adds to a text block, a
	// thinking block, or the input of a tool call: what a delta adds, or what a block
	// begins with.
	Text, Thinking, PartialJSON string
	// ToolID and ToolName are the id and the name of the call that a content_block_start
	// begins, also of a tool that the API runs. They are empty for every other event.
	ToolID, ToolName string

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

// lastEvent returns the last event of a stream as the caller sees it, who may keep it.
func lastEvent(s *stream.Reader) Event {
	s.Keep()
	e := s.Last()
	event := Event{Type: e.Type, Index: e.Index, raw: e.Data}
	event.Text, event.Thinking, event.PartialJSON = e.Added()
	event.ToolID, event.ToolName = e.Tool()
	return event
}

// wholeEvent returns the event of a block that came whole.
func wholeEvent(index int, block history.Block) Event {
	raw := fmt.Appendf(nil, `{"type":%q,"index":%d,"content_block":%s}`, stream.BlockStart, index, block.Raw)
	e := Event{Type: stream.BlockStart, Index: index, raw: raw}
	switch block.Kind {
	case history.TypeText:
		e.Text, _ = wire.Unquote(block.Text)
	case "thinking":
		e.Thinking = wire.StringMember(block.Raw, "thinking")
	case history.TypeToolUse:
		e.PartialJSON = string(block.Use().Written())
	}
	return e
}

// streamError returns an error of the stream package as the caller sees it.
func streamError(err error) error {
	var format *stream.FormatError
	var incomplete *stream.IncompleteError
	switch {
	case errors.As(err, &format):
		return (*ReplyError)(format)
	case errors.As(err, &incomplete):
		return (*IncompleteStreamError)(incomplete)
	case errors.Is(err, stream.ErrAbandoned):
		return ErrTurnOver
	}
	return err
}
