package stream

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/toolrunner/toolrunner/internal/wire"
)

// Types of blocks that have rules of their own here.
const (
	textBlock     = "text"
	thinkingBlock = "thinking"
	toolUseBlock  = "tool_use"
	fallbackBlock = "fallback"
)

// Block is a content block that has begun. Deltas add to it.
type Block struct {
	Index int
	Type  string

	start []byte // the content_block of its start event

	// The text that deltas added to these members, as the inside of string literals.
	// The text of input is JSON.
	text, thinking, signature, input pieces

	lists   map[string][][]byte // by member, the elements that deltas added
	replace wire.Object         // members whose values deltas replaced
}

// isKnown reports whether it is known which deltas blocks of a type have.
func isKnown(typ string) bool {
	switch typ {
	case textBlock, thinkingBlock, "redacted_thinking", toolUseBlock, "server_tool_use", "mcp_tool_use":
		return true
	}
	return false
}

// misfit reports whether b cannot have a delta for blocks of type typ.
func (b *Block) misfit(typ string) bool { return b.Type != typ && isKnown(b.Type) }

// add appends the content of a delta for blocks of type typ to a member. An empty
// delta fits every block.
func (b *Block) add(member *pieces, e *Event, typ string) error {
	if len(e.content) == 0 {
		return nil
	}
	if b.misfit(typ) {
		return fmt.Errorf("a %s for a %s block", e.deltaType, b.Type)
	}
	member.add(e.content)
	return nil
}

// addTo appends the member from of a delta for blocks of type typ to the list name.
func (b *Block) addTo(name string, delta []byte, from, typ string) error {
	if b.misfit(typ) {
		return fmt.Errorf("a %s delta for a %s block", name, b.Type)
	}
	return wire.Members(delta, func(key, value []byte) error {
		if string(key) == from {
			if b.lists == nil {
				b.lists = make(map[string][][]byte, 1)
			}
			b.lists[name] = append(b.lists[name], bytes.Clone(value))
		}
		return nil
	})
}

// grown returns the text that deltas added to a member.
func (b *Block) grown(key string) *pieces {
	switch key {
	case "text":
		return &b.text
	case "thinking":
		return &b.thinking
	case "signature":
		return &b.signature
	case "input":
		return &b.input
	}
	return &pieces{}
}

// size estimates the length of the finished block. Unless the block is short, the
// estimate is an upper bound.
func (b *Block) size() int {
	size := len(b.start) + b.text.size + b.thinking.size + b.signature.size + b.input.size + 64
	for _, values := range b.lists {
		for _, value := range values {
			size += len(value) + 1
		}
	}
	return size + b.replace.Size()
}

// AppendTo appends the block, with its deltas so far, to dst. A block without
// deltas keeps its bytes.
func (b *Block) AppendTo(dst []byte) []byte {
	dst = slices.Grow(dst, b.size())
	if b.text.size+b.thinking.size+b.signature.size+b.input.size == 0 && b.lists == nil && b.replace == nil {
		return append(dst, b.start...)
	}
	o, _ := wire.ReadObject(b.start) // startBlock has found it valid
	place := func(key string) {
		if b.grown(key).size > 0 && o.Get(key) == nil {
			o = append(o, wire.Member{Key: key})
		}
	}
	place("text")
	place("thinking")
	place("signature")
	for name, values := range b.lists {
		o.Set(name, appendList(o.Get(name), values))
	}
	place("input")
	for _, m := range b.replace {
		o.Set(m.Key, m.Value)
	}
	return o.AppendWith(dst, b.appendMember)
}

// appendMember appends the value of a member: the value of the start event followed
// by the text of deltas, unless a delta replaced it.
func (b *Block) appendMember(dst []byte, m wire.Member) []byte {
	grown := b.grown(m.Key)
	if replaced := b.replace.Get(m.Key); grown.size == 0 || replaced != nil && string(replaced) != "null" {
		return append(dst, m.Value...)
	}
	if m.Key == "input" {
		return appendInput(dst, m.Value, grown)
	}
	before, _ := wire.Content(m.Value)
	return append(grown.appendTo(append(append(dst, '"'), before...)), '"')
}

// appendInput appends the JSON text in the string literals of grown. White space
// counts as no delta: the input of the start event stays, or is {} if it is not an
// object. If the text is anything else but an object, appendInput appends a string
// literal with the text: whoever reads the message finds an input that cannot run,
// and can show what the model wrote.
func appendInput(dst, before []byte, grown *pieces) []byte {
	start := len(dst)
	dst = grown.appendTo(dst)
	dst = wire.AppendUnquoted(dst[:start], dst[start:])
	input := bytes.TrimLeft(dst[start:], " \t\r\n")
	switch {
	case len(input) == 0 && len(before) > 0 && before[0] == '{':
		return append(dst[:start], before...)
	case len(input) == 0:
		return append(dst[:start], "{}"...)
	case input[0] == '{' && wire.Valid(dst[start:]):
		return dst
	}
	return append(grown.appendTo(append(dst[:start], '"')), '"')
}

// appendList returns a JSON array of the elements of list, followed by values. If
// list is not an array, it counts as empty.
func appendList(list []byte, values [][]byte) []byte {
	out := []byte{'['}
	add := func(value []byte) error {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, value...)
		return nil
	}
	if len(list) > 0 && list[0] == '[' {
		_ = wire.Elements(list, add)
	}
	for _, value := range values {
		_ = add(value)
	}
	return append(out, ']')
}
