package toolrunner

import (
	"bytes"

	"github.com/toolrunner/toolrunner/internal/wire"
)

// A long reply is many deltas of a few bytes. This file reads those that have the
// form in which the API sends them, in one go.

// deltaForms are the deltas that make up the bulk of a reply.
var deltaForms = [...]struct{ kind, head string }{ //nolint:gochecknoglobals // a constant
	{"text_delta", `text_delta","text":"`},
	{"input_json_delta", `input_json_delta","partial_json":"`},
	{"thinking_delta", `thinking_delta","thinking":"`},
}

// deltaHead is what a delta of the usual form begins with: all up to the quote
// that opens its content.
type deltaHead struct {
	text  []byte // empty: none
	delta int    // where the delta begins
	index int
	kind  string
}

// readDeltaForm reads a delta whose members stand in the usual order with nothing
// between them. It reports false, and has read nothing, for any other event. Most
// deltas begin as the one before them, so that only what follows has to be read.
func (e *streamEvent) readDeltaForm(data []byte) bool {
	if n := len(e.head.text); n > 0 && bytes.HasPrefix(data, e.head.text) {
		content, ok := deltaContent(data, n)
		if ok {
			e.data, e.delta, e.content = data, data[e.head.delta:len(data)-1], content
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
	*e = streamEvent{
		data: data, kind: eventBlockDelta, index: head.index, delta: data[head.delta : len(data)-1], deltaKind: head.kind, content: content, head: head,
	}
	return true
}

// deltaContent returns the content that begins at data[start], if nothing follows
// it but the end of the delta and that of the event.
func deltaContent(data []byte, start int) ([]byte, bool) {
	end, err := wire.SkipString(data, start-1)
	if err != nil || string(data[end:]) != "}}" {
		return nil, false
	}
	return data[start : end-1], true
}

// readDeltaHead reads the head of a delta, which is part of data.
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
			return deltaHead{text: data[:len(data)-len(content)], delta: delta, index: index, kind: form.kind}, true
		}
	}
	return deltaHead{}, false
}
