package schema

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
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
	raw   string      // the text of a scalar; of what was parsed, any value's
	start int         // where raw starts in the parsed text
	elems []jsonValue // members of an object, items of an array
}

// Document is JSON that was parsed. It does not change.
type Document struct {
	text    string
	root    jsonValue
	doubled bool // some object has a key twice
}

// parseDocument reads exactly one JSON value. Its error is the one of encoding/json.
func parseDocument(data []byte) (Document, error) {
	if !wire.Valid(data) {
		var discard json.RawMessage
		return Document{}, json.Unmarshal(data, &discard)
	}
	p := jsonParser{text: string(data)}
	root := p.value()
	return Document{text: p.text, root: root, doubled: p.doubled}, nil
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
	if i := indexOfKey(v.elems, key); i >= 0 {
		return &v.elems[i]
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
	v.elems = slices.DeleteFunc(v.elems, func(member jsonValue) bool { return member.key == key })
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
func (v *jsonValue) appendTo(b []byte) []byte { //nolint:unparam // like the append functions
	return v.appendSome(b, math.MaxInt)
}

// appendSome is appendTo for who needs no more than the first limit bytes of b, or a few more.
func (v *jsonValue) appendSome(b []byte, limit int) []byte {
	if v.kind != kindObject && v.kind != kindArray {
		return append(b, v.raw[:min(len(v.raw), limit)]...)
	}
	b = append(b, v.kind)
	for i := range v.elems {
		if len(b) > limit {
			return b
		}
		if i > 0 {
			b = append(b, ',')
		}
		if v.kind == kindObject {
			key := v.elems[i].key
			b = append(append(b, quoteJSON(key[:min(len(key), limit)])...), ':')
		}
		b = v.elems[i].appendSome(b, limit)
	}
	return append(b, v.kind+2) // } and ]
}

// canonical appends a text that exactly those values share which are the same JSON value: 1 is 1.0, and the order of keys
// does not count.
func (v *jsonValue) canonical(b []byte) []byte {
	switch v.kind {
	case kindString:
		return strconv.AppendQuote(b, v.text())
	case kindNumber:
		d := parseDecimal(v.raw)
		return strconv.AppendInt(append(append(b, "+-"[(1-d.sign())/2], '.'), d.digits...), int64(d.exp), 36)
	case kindArray, kindObject:
		elems := make([]*jsonValue, len(v.elems))
		for i := range v.elems {
			elems[i] = &v.elems[i]
		}
		if v.kind == kindObject {
			slices.SortStableFunc(elems, func(a, b *jsonValue) int { return strings.Compare(a.key, b.key) })
		}
		b = append(b, v.kind)
		for _, elem := range elems {
			if v.kind == kindObject {
				b = strconv.AppendQuote(b, elem.key)
			}
			b = append(elem.canonical(b), ',')
		}
		return append(b, ']')
	}
	return append(b, v.kind)
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

//go:noinline
func unquoteContent(content string) string { // apart, as it takes much stack
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
	// doubled is set once an object has a key twice.
	doubled bool
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
			p.doubled = p.doubled || ofObject && hasDoubled(p.stack[outer:])
			return p.take(outer)
		case ',':
			p.pos++
			continue
		}
		key := ""
		if ofObject {
			key = unquoteJSON(p.quoted())
			p.space()
			p.pos++ // the colon
		}
		elem := p.value()
		elem.key = key
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

// hasDoubled reports whether two members have one key.
func hasDoubled(members []jsonValue) bool {
	if len(members) > 16 {
		seen := make(map[string]struct{}, len(members))
		for i := range members {
			seen[members[i].key] = struct{}{}
		}
		return len(seen) < len(members)
	}
	for i := 1; i < len(members); i++ {
		if indexOfKey(members[:i], members[i].key) >= 0 {
			return true
		}
	}
	return false
}

func indexOfKey(members []jsonValue, key string) int {
	for i := range members {
		if members[i].key == key {
			return i
		}
	}
	return -1
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
