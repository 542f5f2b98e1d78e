package stream

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"github.com/toolrunner/toolrunner/internal/wire"
)

// Types of events.
const (
	MessageStart = "message_start"
	BlockStart   = "content_block_start"
	BlockDelta   = "content_block_delta"
	BlockStop    = "content_block_stop"
	MessageDelta = "message_delta"
	MessageStop  = "message_stop"

	ping       = "ping"
	errorEvent = "error"
)

// Types of deltas whose content is text.
const (
	textDelta      = "text_delta"
	thinkingDelta  = "thinking_delta"
	signatureDelta = "signature_delta"
	inputDelta     = "input_json_delta"
)

// Event is one event of a stream. Its slices are parts of Data.
type Event struct {
	Type    string // as on the wire
	Index   int    // of the content block; 0 for an event about the message
	Data    []byte // the event as JSON
	Message []byte // of a message_start

	block, delta, usage []byte
	rest                wire.Object // other members

	deltaType string
	content   []byte // the text that a delta of a known type adds, as the inside of a string literal

	head deltaHead // its head, if it was read by readDeltaForm
}

// Added returns the text that the event adds to a text block, to a thinking block,
// and to the input of a call, or that a block begins with. At most one of them is not empty.
func (e *Event) Added() (text, thinking, input string) {
	if e.Type == BlockStart {
		switch wire.StringMember(e.block, "type") {
		case textBlock:
			text = wire.StringMember(e.block, "text")
		case thinkingBlock:
			thinking = wire.StringMember(e.block, "thinking")
		}
		return text, thinking, ""
	}
	switch e.deltaType {
	case textDelta:
		text = wire.UnquoteContent(e.content)
	case thinkingDelta:
		thinking = wire.UnquoteContent(e.content)
	case inputDelta:
		input = wire.UnquoteContent(e.content)
	}
	return text, thinking, input
}

// Tool returns the id and the name of the call that the event begins, of a client tool or
// of one that the API runs. Both are empty for every other event.
func (e *Event) Tool() (id, name string) {
	if e.Type != BlockStart {
		return "", ""
	}
	isCall := false
	_ = wire.Members(e.block, func(key, value []byte) error { // whether it is valid is checked elsewhere
		switch string(key) {
		case "type":
			content, _ := wire.Content(value)
			isCall = bytes.HasSuffix(content, []byte("tool_use"))
			if !isCall {
				return errNoCall
			}
		case "id":
			id, _ = wire.Unquote(value)
		case "name":
			name, _ = wire.Unquote(value)
		}
		return nil
	})
	if !isCall {
		return "", ""
	}
	return id, name
}

// errNoCall ends reading a block that is none.
var errNoCall = errors.New("no call")

// read reads an event. name is the value of its event field, which is its type if
// data has none.
func (e *Event) read(name, data []byte) error {
	if e.readDeltaForm(data) {
		return nil
	}
	return e.walk(name, data)
}

// walk reads an event of any form.
func (e *Event) walk(name, data []byte) error {
	*e = Event{Data: data, Type: eventType(name), head: deltaHead{text: e.head.text[:0]}}
	var badIndex error
	err := wire.Members(data, func(key, value []byte) error {
		switch string(key) {
		case "type":
			content, _ := wire.Content(value)
			e.Type = eventType(content)
		case "index":
			var err error
			if e.Index, err = strconv.Atoi(string(value)); err != nil || e.Index < 0 {
				e.Index, badIndex = 0, fmt.Errorf("its index is %s", value)
			}
		case "message":
			e.Message = value
		case "content_block":
			e.block = value
		case "delta":
			e.delta = value
		case "usage":
			e.usage = value
		case "error": // see APIError
		default:
			e.rest = append(e.rest, wire.Member{Key: string(key), Value: value})
		}
		return nil
	})
	if err == nil {
		err = badIndex
	}
	if err == nil && e.Type == BlockDelta {
		err = e.readDelta()
	}
	return err
}

// mustBeRead reports whether an event that read failed for may be part of the
// message: its type, as far as read came, is known or missing.
func (e *Event) mustBeRead() bool {
	switch e.Type {
	case MessageStart, BlockStart, BlockDelta, BlockStop, MessageDelta, MessageStop, errorEvent, "":
		return true
	}
	return false
}

func (e *Event) readDelta() error {
	var text, thinking, signature, partialJSON []byte
	err := wire.Members(e.delta, func(key, value []byte) error {
		var part *[]byte
		switch string(key) {
		case "type":
			content, _ := wire.Content(value)
			e.deltaType = deltaType(content)
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
	switch e.deltaType {
	case textDelta:
		e.content = text
	case thinkingDelta:
		e.content = thinking
	case signatureDelta:
		e.content = signature
	case inputDelta:
		e.content = partialJSON
	}
	return err
}

// eventType returns name as a string. It does not allocate for the common types.
func eventType(name []byte) string {
	switch string(name) {
	case BlockDelta:
		return BlockDelta
	case BlockStart:
		return BlockStart
	case BlockStop:
		return BlockStop
	}
	return string(name)
}

// deltaType returns name as a string. It does not allocate for the common types.
func deltaType(name []byte) string {
	switch string(name) {
	case textDelta:
		return textDelta
	case inputDelta:
		return inputDelta
	case thinkingDelta:
		return thinkingDelta
	}
	return string(name)
}
