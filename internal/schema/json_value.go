package schema

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/toolrunner/toolrunner/internal/wire"
)

// The kinds of a jsonValue: the first byte of its text, with one byte for all numbers.
const (
	kindObject = '{'
	kindArray  = '['
	kindString = '"'
	kindNumber = '0'
	kindTrue   = 't'
	kindFalse  = 'f'
	kindNull   = 'n'
)

// jsonValue is a JSON value that keeps what encoding/json drops: the order of keys, repeated keys, and the digits of
// numbers. Schemas are built and compiled as one, and tool input is checked as one.
type jsonValue struct { //nolint:recvcheck // as and clone make copies, the others work in place
	kind  byte
	key   string      // the key that it has in the object around it
	keyAt int         // where that key starts in the parsed text
	raw   string      // the text of a scalar; of what was parsed, any value's
	start int         // where raw starts in the parsed text
	elems []jsonValue // members of an object, items of an array
}

// Document is JSON that was parsed. It does not change.
type Document struct {
	text string
	root jsonValue
}

// parseDocument reads exactly one JSON value. Its error is the one of encoding/json.
func parseDocument(data []byte) (Document, error) {
	if !wire.Valid(data) {
		var discard json.RawMessage
		return Document{}, json.Unmarshal(data, &discard)
	}
	p := jsonParser{text: string(data)}
	return Document{text: p.text, root: p.value()}, nil
}

func parseJSON(data []byte) (jsonValue, error) {
	d, err := parseDocument(data)
	return d.root, err
}

func jsonObject(members ...jsonValue) jsonValue { return jsonValue{kind: kindObject, elems: members} }
func jsonArray(items ...jsonValue) jsonValue    { return jsonValue{kind: kindArray, elems: items} }
func jsonNumber(digits string) jsonValue        { return jsonValue{kind: kindNumber, raw: digits} }
func jsonNull() jsonValue                       { return jsonValue{kind: kindNull, raw: "null"} }

func jsonString(s string) jsonValue {
	return jsonValue{kind: kindString, raw: quoteJSON(s)}
}

func jsonBool(b bool) jsonValue {
	if b {
		return jsonValue{kind: kindTrue, raw: "true"}
	}
	return jsonValue{kind: kindFalse, raw: "false"}
}

// as returns v as the member with that key.
func (v jsonValue) as(key string) jsonValue {
	v.key = key
	return v
}

// get returns the member with that key, or nil. It is valid until the object grows or shrinks.
func (v *jsonValue) get(key string) *jsonValue {
	if v.kind != kindObject {
		return nil
	}
	for i := range v.elems {
		if v.elems[i].key == key {
			return &v.elems[i]
		}
	}
	return nil
}

func (v *jsonValue) set(key string, member jsonValue) {
	if old := v.get(key); old != nil {
		*old = member.as(key)
		return
	}
	v.elems = append(v.elems, member.as(key))
}

func (v *jsonValue) remove(key string) {
	kept := v.elems[:0]
	for _, member := range v.elems {
		if member.key != key {
			kept = append(kept, member)
		}
	}
	v.elems = kept
}

// text is the decoded text of a string and empty for any other kind.
func (v *jsonValue) text() string {
	if v == nil || v.kind != kindString {
		return ""
	}
	return unquoteJSON(v.raw)
}

// clone copies v as far down as a later change could reach.
func (v jsonValue) clone() jsonValue {
	elems := make([]jsonValue, len(v.elems))
	for i := range v.elems {
		elems[i] = v.elems[i].clone()
	}
	v.elems = elems
	return v
}

// appendTo appends the text of v without white space.
func (v *jsonValue) appendTo(b []byte) []byte {
	if v.kind != kindObject && v.kind != kindArray {
		return append(b, v.raw...)
	}
	b = append(b, v.kind)
	for i := range v.elems {
		if i > 0 {
			b = append(b, ',')
		}
		if v.kind == kindObject {
			b = append(append(b, quoteJSON(v.elems[i].key)...), ':')
		}
		b = v.elems[i].appendTo(b)
	}
	if v.kind == kindObject {
		return append(b, '}')
	}
	return append(b, ']')
}

// equalTo reports whether both are the same JSON value: 1 is 1.0, and the order of keys does not count.
func (v *jsonValue) equalTo(w *jsonValue) bool {
	if v.kind != w.kind || len(v.elems) != len(w.elems) {
		return false
	}
	switch v.kind {
	case kindString:
		return v.text() == w.text()
	case kindNumber:
		return v.raw == w.raw || parseDecimal(v.raw).compare(parseDecimal(w.raw)) == 0
	case kindArray:
		for i := range v.elems {
			if !v.elems[i].equalTo(&w.elems[i]) {
				return false
			}
		}
	case kindObject:
		for i := range v.elems {
			other := w.get(v.elems[i].key)
			if other == nil || !v.elems[i].equalTo(other) {
				return false
			}
		}
	}
	return true
}

func quoteJSON(s string) string {
	quoted, err := json.Marshal(s)
	if err != nil {
		return `""` // not reached: every Go string has a JSON form
	}
	return string(quoted)
}

// unquoteJSON decodes the text of a JSON string. Plain text, by far the most frequent, is not copied.
func unquoteJSON(raw string) string {
	content, plain := plainContent(raw)
	if plain {
		return content
	}
	return unquoteContent(content)
}

// ownText is unquoteJSON for who keeps the text: it is no part of raw, which would stay alive with it.
func ownText(raw string) string {
	content, plain := plainContent(raw)
	if plain {
		return strings.Clone(content)
	}
	return unquoteContent(content)
}

func unquoteContent(content string) string {
	var short [128]byte
	return wire.UnquoteContent(append(short[:0], content...))
}

// plainContent is what stands between the quotes. It is plain if that is what the string says.
func plainContent(raw string) (content string, plain bool) {
	content = raw[1 : len(raw)-1]
	return content, strings.IndexByte(content, '\\') < 0 && utf8.ValidString(content)
}

// jsonParser reads text that is known to be valid JSON.
type jsonParser struct {
	text  string
	pos   int
	stack []jsonValue // the elements so far of what is open
}

func (p *jsonParser) value() jsonValue {
	p.space()
	v := jsonValue{start: p.pos}
	switch c := p.text[p.pos]; c {
	case '{', '[':
		v.kind = c
		p.pos++
		v.elems = p.elements(c == '{')
		v.raw = p.text[v.start:p.pos]
	case '"':
		v.kind = kindString
		v.raw = p.quoted()
	default:
		v.kind = kindNumber
		if c == 't' || c == 'f' || c == 'n' {
			v.kind = c
		}
		end := strings.IndexAny(p.text[p.pos:], ",]} \t\r\n")
		if end < 0 {
			end = len(p.text) - p.pos
		}
		v.raw = p.text[p.pos : p.pos+end]
		p.pos += end
	}
	return v
}

func (p *jsonParser) elements(ofObject bool) []jsonValue {
	outer := len(p.stack)
	for {
		p.space()
		switch p.text[p.pos] {
		case '}', ']':
			p.pos++
			return p.take(outer)
		case ',':
			p.pos++
			continue
		}
		key, keyAt := "", p.pos
		if ofObject {
			key = unquoteJSON(p.quoted())
			p.space()
			p.pos++ // the colon
		}
		elem := p.value()
		elem.key, elem.keyAt = key, keyAt
		if len(p.stack) == cap(p.stack) {
			p.stack = slices.Grow(p.stack, max(4, len(p.stack)))
		}
		p.stack = append(p.stack, elem)
	}
}

// take returns the elements on the stack above those of the outer values.
func (p *jsonParser) take(outer int) []jsonValue {
	elems := p.stack[outer:]
	switch {
	case len(elems) == 0:
		return nil
	case outer == 0: // of the largest value, mostly: it is not worth a copy
		p.stack = nil
		return slices.Clip(elems)
	}
	p.stack = p.stack[:outer]
	return slices.Clone(elems)
}

func (p *jsonParser) quoted() string {
	start := p.pos
	for p.pos = wire.SkipPlain(p.text, start+1); p.text[p.pos] != '"'; p.pos = wire.SkipPlain(p.text, p.pos) {
		p.pos += len(`\"`) // an escape: there are no control characters
	}
	p.pos++
	return p.text[start:p.pos]
}

func (p *jsonParser) space() {
	for p.pos < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.pos]) >= 0 {
		p.pos++
	}
}
