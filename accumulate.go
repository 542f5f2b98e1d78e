package toolrunner

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/toolrunner/toolrunner/internal/history"
	"github.com/toolrunner/toolrunner/internal/wire"
)

// Events of a stream reach the accumulator one by one; the message that they
// make leaves it, as the API would have sent it at once. Events may be written
// over afterwards, so what it needs of them it copies.

// Types of stream events.
const (
	eventMessageStart = "message_start"
	eventBlockStart   = "content_block_start"
	eventBlockDelta   = "content_block_delta"
	eventBlockStop    = "content_block_stop"
	eventMessageDelta = "message_delta"
	eventMessageStop  = "message_stop"
	eventPing         = "ping"
	eventError        = "error"
)

// streamedBlock is a content block that grows.
type streamedBlock struct {
	index int
	kind  string
	start []byte // of the start event

	// What deltas added to its members, as the inside of string literals; that of
	// input is JSON text.
	text, thinking, signature, input pieces

	lists   map[string][][]byte
	replace wire.Object
}

// accumulator puts a reply together.
type accumulator struct {
	message    wire.Object
	usage      wire.Object
	blocks     []*streamedBlock // in order of index
	model      []byte           // of the model that a fallback went to
	stopReason bool             // one has come
	stopped    bool             // message_stop has come
	unreadable error            // a delta that cannot be put into its block
}

var errNotStarted = errors.New("it comes before message_start")

// add takes the next event. Unknown events change nothing.
func (a *accumulator) add(e *streamEvent) error {
	if a.message == nil && e.kind != eventMessageStart {
		switch e.kind {
		case eventBlockStart, eventBlockDelta, eventBlockStop, eventMessageDelta, eventMessageStop:
			return errNotStarted
		}
		return nil
	}
	switch e.kind {
	case eventMessageStart:
		return a.startMessage(e.message)
	case eventBlockStart:
		return a.startBlock(e.index, e.block)
	case eventBlockDelta:
		return a.grow(e)
	case eventBlockStop:
		_, err := a.block(e.index)
		return err
	case eventMessageDelta:
		return a.changeMessage(e)
	case eventMessageStop:
		a.stopped = true
	}
	return nil
}

func (a *accumulator) startMessage(data []byte) error {
	message, err := wire.ReadObject(bytes.Clone(data))
	if err != nil {
		return err
	}
	if a.message != nil {
		if string(a.message.Get("id")) != string(message.Get("id")) {
			return errors.New("a second message begins")
		}
		return nil // some proxies send it twice
	}
	a.message = message
	if usage := message.Get("usage"); len(usage) > 0 && usage[0] == '{' {
		a.usage, err = wire.ReadObject(usage)
	}
	return err
}

func (a *accumulator) changeMessage(e *streamEvent) error {
	for _, change := range [][]byte{e.delta, e.rest.AppendTo(nil)} {
		if len(change) == 0 || change[0] != '{' {
			continue
		}
		err := wire.Members(change, func(key, value []byte) error {
			if string(key) == "stop_reason" {
				if string(value) == `""` {
					return nil
				}
				a.stopReason = a.stopReason || string(value) != "null"
			}
			a.message.Set(string(key), bytes.Clone(value))
			return nil
		})
		if err != nil {
			return err
		}
	}
	if len(e.usage) == 0 || e.usage[0] != '{' {
		return nil
	}
	return wire.Members(e.usage, func(key, value []byte) error {
		a.usage.Set(string(key), bytes.Clone(value))
		return nil
	})
}

func (a *accumulator) startBlock(index int, start []byte) error {
	b := &streamedBlock{index: index, start: bytes.Clone(start), kind: wire.ObjectMember(start, "type")}
	if b.kind == "" {
		return errors.New("it has no content block with a type")
	}
	at, taken := slices.BinarySearchFunc(a.blocks, index, func(b *streamedBlock, index int) int { return b.index - index })
	if taken {
		return fmt.Errorf("content block %d begins twice", index)
	}
	a.blocks = slices.Insert(a.blocks, at, b)
	if b.kind == history.TypeFallback {
		return wire.Members(start, func(key, value []byte) error {
			if string(key) == "to" && len(value) > 0 && value[0] == '{' {
				if model := wire.StringMember(value, "model"); model != "" {
					a.model = wire.AppendString(nil, model)
				}
			}
			return nil
		})
	}
	return nil
}

func (a *accumulator) block(index int) (*streamedBlock, error) {
	if n := len(a.blocks); n > 0 && a.blocks[n-1].index == index {
		return a.blocks[n-1], nil
	}
	for _, b := range a.blocks {
		if b.index == index {
			return b, nil
		}
	}
	return nil, fmt.Errorf("content block %d has not begun", index)
}

// grow adds a delta to its block.
func (a *accumulator) grow(e *streamEvent) error {
	b, err := a.block(e.index)
	if err != nil {
		return err
	}
	switch e.deltaKind {
	case "text_delta":
		return b.add(&b.text, e, history.TypeText)
	case "thinking_delta":
		return b.add(&b.thinking, e, typeThinking)
	case "signature_delta":
		return b.add(&b.signature, e, typeThinking)
	case "input_json_delta":
		if len(e.content) > 0 && isKnownKind(b.kind) && !strings.HasSuffix(b.kind, "tool_use") {
			return fmt.Errorf("an input delta for a %s block", b.kind)
		}
		b.input.add(e.content)
	case "citations_delta":
		return b.addTo("citations", e.delta, "citation", history.TypeText)
	case "compaction_delta":
		return wire.Members(e.delta, func(key, value []byte) error {
			if string(key) != "type" {
				b.replace.Set(string(key), bytes.Clone(value))
			}
			return nil
		})
	default:
		a.unreadable = fmt.Errorf("the delta type %q of content block %d is unknown", e.deltaKind, e.index)
	}
	return nil
}

const typeThinking = "thinking"

// isKnownKind reports whether the deltas of a type of block are known.
func isKnownKind(kind string) bool {
	switch kind {
	case history.TypeText, typeThinking, "redacted_thinking", history.TypeToolUse, "server_tool_use", "mcp_tool_use":
		return true
	}
	return false
}

// misfit reports whether a delta of blocks of a kind does not go with b.
func (b *streamedBlock) misfit(kind string) bool { return b.kind != kind && isKnownKind(b.kind) }

// add appends a delta to a member that blocks of a kind have. In another block an
// empty one does no harm.
func (b *streamedBlock) add(member *pieces, e *streamEvent, kind string) error {
	if len(e.content) == 0 {
		return nil
	}
	if b.misfit(kind) {
		return fmt.Errorf("a %s for a %s block", e.deltaKind, b.kind)
	}
	member.add(e.content)
	return nil
}

// addTo appends a member of the delta to a list of the block.
func (b *streamedBlock) addTo(name string, delta []byte, from, kind string) error {
	if b.misfit(kind) {
		return fmt.Errorf("a %s delta for a %s block", name, b.kind)
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

// grown returns what deltas added to a member.
func (b *streamedBlock) grown(key string) *pieces {
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

// size returns about how long the finished block is, and no less unless it is short.
func (b *streamedBlock) size() int {
	size := len(b.start) + b.text.size + b.thinking.size + b.signature.size + b.input.size + 64
	for _, values := range b.lists {
		for _, value := range values {
			size += len(value) + 1
		}
	}
	return size + b.replace.Size()
}

// appendTo appends the finished block. One without deltas stays as it came.
func (b *streamedBlock) appendTo(dst []byte) []byte {
	dst = slices.Grow(dst, b.size())
	if b.text.size+b.thinking.size+b.signature.size+b.input.size == 0 && b.lists == nil && b.replace == nil {
		return append(dst, b.start...)
	}
	o, _ := wire.ReadObject(b.start) // it was walked over when it came
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

// appendMember appends the value of a member: that of the start event and what
// deltas added, unless m was replaced.
func (b *streamedBlock) appendMember(dst []byte, m wire.Member) []byte {
	grown := b.grown(m.Key)
	if replaced := b.replace.Get(m.Key); grown.size == 0 || replaced != nil && string(replaced) != "null" {
		return append(dst, m.Value...)
	}
	if m.Key == "input" {
		return appendInput(dst, grown)
	}
	before, _ := wire.Content(m.Value)
	return append(grown.appendTo(append(append(dst, '"'), before...)), '"')
}

// appendInput appends the JSON text that stands in the string literals of grown, or
// a literal if that is no object: see reply.mendInput.
func appendInput(dst []byte, grown *pieces) []byte {
	start := len(dst)
	dst = grown.appendTo(dst)
	dst = wire.AppendUnquoted(dst[:start], dst[start:])
	if input := dst[start:]; wire.Valid(input) && bytes.TrimLeft(input, " \t\r\n")[0] == '{' {
		return dst
	}
	return append(grown.appendTo(append(dst[:start], '"')), '"')
}

// appendList returns a JSON array of the elements of list and values. A list
// that is none counts as empty.
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

// complete reports whether all of the reply is there. A stop reason is enough:
// what may follow it adds nothing.
func (a *accumulator) complete() bool { return a.stopped || a.stopReason }

// finish returns the message.
func (a *accumulator) finish() ([]byte, error) {
	if a.unreadable != nil {
		return nil, a.unreadable
	}
	if len(a.blocks) > 0 && a.message.Get("content") == nil {
		a.message = append(a.message, wire.Member{Key: "content"})
	}
	if a.usage != nil {
		a.message.Set("usage", a.usage.AppendTo(nil))
	}
	if a.model != nil {
		a.message.Set("model", a.model)
	}
	size := a.message.Size()
	for _, b := range a.blocks {
		size += b.size() + 1
	}
	return a.message.AppendWith(make([]byte, 0, size), func(dst []byte, m wire.Member) []byte {
		if m.Key == "content" && len(a.blocks) > 0 {
			return a.appendContent(dst)
		}
		return append(dst, m.Value...)
	}), nil
}

// appendContent appends the finished blocks.
func (a *accumulator) appendContent(dst []byte) []byte {
	for i, b := range a.blocks {
		if i == 0 {
			dst = append(dst, '[')
		} else {
			dst = append(dst, ',')
		}
		dst = b.appendTo(dst)
	}
	return append(dst, ']')
}
