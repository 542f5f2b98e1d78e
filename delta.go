package toolrunner

import (
	"bytes"

	"github.com/toolrunner/toolrunner/internal/wire"
)

// A long reply is many deltas of a few bytes. This file reads those that have the
// form in which the API sends them, in one go.

// deltaForms are the deltas that make up the bulk of a reply.
var deltaForms = [...]struct { //nolint:gochecknoglobals // a constant
	kind, head string
	part       func(*streamEvent) *[]byte
}{
	{"text_delta", `text_delta","text":"`, func(e *streamEvent) *[]byte { return &e.text }},
	{"input_json_delta", `input_json_delta","partial_json":"`, func(e *streamEvent) *[]byte { return &e.partialJSON }},
	{"thinking_delta", `thinking_delta","thinking":"`, func(e *streamEvent) *[]byte { return &e.thinking }},
}

// readDeltaForm reads a delta whose members stand in the usual order with nothing
// between them. It reports false, and has read nothing, for any other event.
func (e *streamEvent) readDeltaForm(data []byte) bool {
	const (
		head   = `{"type":"content_block_delta","index":`
		middle = `,"delta":`
		open   = `{"type":"`
		digits = 6
	)
	rest, ok := bytes.CutPrefix(data, []byte(head))
	if !ok {
		return false
	}
	index, n := 0, 0
	for n < min(len(rest), digits) && rest[n] >= '0' && rest[n] <= '9' {
		index = 10*index + int(rest[n]-'0')
		n++
	}
	if n == 0 || n > 1 && rest[0] == '0' {
		return false
	}
	if rest, ok = bytes.CutPrefix(rest[n:], []byte(middle)); !ok {
		return false
	}
	delta := rest
	if rest, ok = bytes.CutPrefix(rest, []byte(open)); !ok {
		return false
	}
	for i := range deltaForms {
		form := &deltaForms[i]
		content, ok := bytes.CutPrefix(rest, []byte(form.head))
		if !ok {
			continue
		}
		quote := len(form.head) - 1
		end, err := wire.SkipString(rest, quote)
		if err != nil || string(rest[end:]) != "}}" {
			return false
		}
		*e = streamEvent{data: data, kind: eventBlockDelta, index: index, delta: delta[:len(delta)-1], deltaKind: form.kind}
		*form.part(e) = content[:end-quote-2]
		return true
	}
	return false
}
