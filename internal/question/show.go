package question

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// The input of a call enters this file; the rows that show all of it leave.

// node is a JSON value.
type node struct {
	kind  rune   // '{', '[', '"', or 0 for a literal
	text  string // of a text, decoded, or of a literal
	keys  []string
	items []*node
	size  int64 // bytes of the value
}

// parse reads JSON. It returns nil for what is none.
func parse(input []byte) *node {
	if !json.Valid(input) { // which bounds the depth too
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(input))
	decoder.UseNumber()
	return parseValue(decoder)
}

func parseValue(decoder *json.Decoder) *node {
	begin := decoder.InputOffset()
	token, err := decoder.Token()
	if err != nil {
		return nil
	}
	n := &node{}
	switch token := token.(type) {
	case json.Delim:
		n.kind = rune(token)
		for decoder.More() {
			if n.kind == '{' {
				key, _ := decoder.Token()
				n.keys = append(n.keys, fmt.Sprint(key))
			}
			n.items = append(n.items, parseValue(decoder))
		}
		_, _ = decoder.Token()
	case string:
		n.kind, n.text = '"', token
	case nil:
		n.text = "null"
	default:
		n.text = fmt.Sprint(token)
	}
	n.size = decoder.InputOffset() - begin
	return n
}

// Show returns the rows that show a call's input, each of at most width columns, or
// of 80 if width is not positive. A row begins with two spaces; if it goes on from
// the row before, with two spaces, a bar and a space. No input can make a row that
// begins otherwise, or hide a part of itself:
//
//   - each text stands between quotes, and a quote in it is escaped;
//   - control characters, characters that show nothing, that join or turn others, or
//     that look like a quote or a backslash are escaped;
//   - a space stands as a dot at the edge of a line, and where there are several;
//   - members that the schema does not name, and those that are there twice, say so.
func Show(call Call, width int) []string {
	r := newRows(width)
	root := parse(call.Input)
	if root == nil {
		r.begin(margin)
		r.word("[no JSON] ")
		r.quoted(string(call.Input), false)
		r.end()
		return r.done
	}
	s := shower{rows: r}
	s.top(root, newShape(call.Schema))
	r.end()
	return r.done
}

type shower struct{ *rows }

// top shows the whole input: of an object, each member on rows of its own.
func (s *shower) top(root *node, of shape) {
	if root.kind != '{' || len(root.items) == 0 {
		s.begin(margin)
		s.value(root, of, 1)
		return
	}
	s.members(root, of, 0, of.known)
}

// members shows the members of an object. If told is set, those that the schema does
// not name are marked.
func (s *shower) members(n *node, of shape, depth int, told bool) {
	seen := make(map[string]bool, len(n.keys))
	for i, key := range n.keys {
		value, named := of.member(key)
		s.begin(indent(depth))
		s.quoted(key, told && !named)
		if told && !named {
			s.word(" [not in the schema]")
		}
		if seen[key] {
			s.word(" [a second time]")
		}
		seen[key] = true
		s.word(": ")
		s.value(n.items[i], value, depth+1)
	}
}

// value shows a value, on the row that has begun and below it.
func (s *shower) value(n *node, of shape, depth int) {
	switch {
	case n.kind == '"':
		if strings.Contains(strings.TrimSuffix(n.text, "\n"), "\n") {
			s.begin(continuation)
		}
		s.quoted(n.text, false)
	case n.kind == 0:
		s.word(n.text)
	case len(n.items) == 0:
		s.word(string(n.kind) + string(n.kind+2)) // in ASCII a bracket closes two further on
	default:
		s.word(string(n.kind))
		if n.kind == '{' {
			s.members(n, of, depth, of.known && !of.isFree())
		} else {
			s.elements(n, of.items(), depth)
		}
		s.begin(indent(depth - 1))
		s.word(string(n.kind + 2))
	}
}

// elements shows the elements of an array; several small ones share a row.
func (s *shower) elements(n *node, of shape, depth int) {
	const small = 24
	s.begin(indent(depth))
	for i, item := range n.items {
		if i > 0 {
			s.word(",")
			if item.kind == '{' || item.kind == '[' || item.size > small || !s.fits(small+1) {
				s.begin(indent(depth))
			} else {
				s.word(" ")
			}
		}
		s.value(item, of, depth+1)
	}
}

// indent returns what goes before a member: it shows depth as far as there is room.
func indent(depth int) string {
	const most = 4
	return margin + strings.Repeat("  ", min(max(depth, 0), most))
}
