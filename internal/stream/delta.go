package stream

import (
	"bytes"

	"github.com/toolrunner/toolrunner/internal/wire"
)

// A long reply is many deltas of a few bytes. This file reads deltas of the exact
// form that the API sends, without visiting their members.

// deltaForms lists the deltas that make up the bulk of a reply.
var deltaForms = [...]struct{ typ, head string }{ //nolint:gochecknoglobals // a constant
	{textDelta, `text_delta","text":"`},
	{inputDelta, `input_json_delta","partial_json":"`},
	{thinkingDelta, `thinking_delta","thinking":"`},
}

// deltaHead is the head of a delta of the usual form: everything up to and
// including the quote that opens its content.
type deltaHead struct {
	text  []byte // empty if there is none
	delta int    // where the delta begins
	index int
	typ   string
}

// readDeltaForm reads a delta whose members have the usual order and no space
// between them. For any other event it reports false and leaves e unchanged. Most
// deltas have the same head as the one before, so that only their content is read.
func (e *Event) readDeltaForm(data []byte) bool {
	if n := len(e.head.text); n > 0 && bytes.HasPrefix(data, e.head.text) {
		content, ok := deltaContent(data, n)
		if ok {
			e.Data, e.delta, e.content = data, data[e.head.delta:len(data)-1], content
		}
		return ok
	}
	head, ok := readDeltaHead(data)
	if !ok {
		return false
	}
	content, ok := deltaContent(data, len(head.text))
	if !ok {
		return false
	}
	head.text = append(e.head.text[:0], head.text...)
	*e = Event{
		Data: data, Type: BlockDelta, Index: head.index, delta: data[head.delta : len(data)-1], deltaType: head.typ, content: content, head: head,
	}
	return true
}

// deltaContent returns the content that begins at data[start]. It reports false if
// anything but the ends of the delta and of the event follows the content.
func deltaContent(data []byte, start int) ([]byte, bool) {
	end, err := wire.SkipString(data, start-1)
	if err != nil || string(data[end:]) != "}}" {
		return nil, false
	}
	return data[start : end-1], true
}

// readDeltaHead reads the head of a delta. Its text is part of data.
func readDeltaHead(data []byte) (deltaHead, bool) {
	const (
		head   = `{"type":"content_block_delta","index":`
		middle = `,"delta":`
		open   = `{"type":"`
		digits = 6
	)
	rest, ok := bytes.CutPrefix(data, []byte(head))
	if !ok {
		return deltaHead{}, false
	}
	index, n := 0, 0
	for n < min(len(rest), digits) && rest[n] >= '0' && rest[n] <= '9' {
		index = 10*index + int(rest[n]-'0')
		n++
	}
	if n == 0 || n > 1 && rest[0] == '0' {
		return deltaHead{}, false
	}
	if rest, ok = bytes.CutPrefix(rest[n:], []byte(middle)); !ok {
		return deltaHead{}, false
	}
	delta := len(data) - len(rest)
	if rest, ok = bytes.CutPrefix(rest, []byte(open)); !ok {
		return deltaHead{}, false
	}
	for _, form := range deltaForms {
		if content, ok := bytes.CutPrefix(rest, []byte(form.head)); ok {
			return deltaHead{text: data[:len(data)-len(content)], delta: delta, index: index, typ: form.typ}, true
		}
	}
	return deltaHead{}, false
}
