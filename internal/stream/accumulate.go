package stream

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/toolrunner/toolrunner/internal/wire"
)

// Bounds on a message. Real ones are far below; without bounds, odd streams cost
// time that grows with the square of their length.
const (
	maxBlocks  = 10_000
	maxMembers = 256 // of the message, of its usage, and of those that deltas replace in a block
)

// accumulator makes a message of the events of its stream. Events may be
// overwritten after add returns, so add copies the parts that it keeps.
type accumulator struct {
	message    wire.Object
	usage      wire.Object
	blocks     []*Block // ordered by index
	model      []byte   // the model that a fallback block names, as a literal
	stopReason bool     // a stop reason has come
	stopped    bool     // message_stop has come
	unreadable error    // an unknown delta, without which its block is not whole
}

var errNotStarted = errors.New("it comes before message_start")

// add adds the next event. It ignores events of unknown types.
func (a *accumulator) add(e *Event) error {
	if a.message == nil && e.Type != MessageStart {
		switch e.Type {
		case BlockStart, BlockDelta, BlockStop, MessageDelta, MessageStop:
			return errNotStarted
		}
		return nil
	}
	switch e.Type {
	case MessageStart:
		return a.startMessage(e.Message)
	case BlockStart:
		return a.startBlock(e.Index, e.block)
	case BlockDelta:
		return a.grow(e)
	case BlockStop:
		_, err := a.block(e.Index)
		return err
	case MessageDelta:
		return a.changeMessage(e)
	case MessageStop:
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
	if a.message = message; len(message) > maxMembers {
		return errMembers("the message")
	}
	if usage := message.Get("usage"); len(usage) > 0 && usage[0] == '{' {
		if a.usage, err = wire.ReadObject(usage); err == nil && len(a.usage) > maxMembers {
			err = errMembers("its usage")
		}
	}
	return err
}

func (a *accumulator) changeMessage(e *Event) error {
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
			return setBounded(&a.message, key, value, "the message")
		})
		if err != nil {
			return err
		}
	}
	if len(e.usage) == 0 || e.usage[0] != '{' {
		return nil
	}
	return wire.Members(e.usage, func(key, value []byte) error {
		return setBounded(&a.usage, key, value, "its usage")
	})
}

// setBounded sets a member of what o is, to a copy of value.
func setBounded(o *wire.Object, key, value []byte, what string) error {
	o.Set(string(key), bytes.Clone(value))
	if len(*o) > maxMembers {
		return errMembers(what)
	}
	return nil
}

func errMembers(what string) error {
	return fmt.Errorf("%s has more than %d members", what, maxMembers)
}

func (a *accumulator) startBlock(index int, start []byte) error {
	b := &Block{Index: index, start: bytes.Clone(start), Type: wire.ObjectMember(start, "type")}
	if b.Type == "" {
		return errors.New("it has no content block with a type")
	}
	at, taken := a.find(index)
	if taken {
		return fmt.Errorf("content block %d begins twice", index)
	}
	if len(a.blocks) == maxBlocks {
		return fmt.Errorf("the message has more than %d content blocks", maxBlocks)
	}
	a.blocks = slices.Insert(a.blocks, at, b)
	if b.Type == fallbackBlock {
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

func (a *accumulator) block(index int) (*Block, error) {
	if n := len(a.blocks); n > 0 && a.blocks[n-1].Index == index {
		return a.blocks[n-1], nil
	}
	if at, ok := a.find(index); ok {
		return a.blocks[at], nil
	}
	return nil, fmt.Errorf("content block %d has not begun", index)
}

// find returns the place of the block with the index, or the one where it belongs.
func (a *accumulator) find(index int) (at int, found bool) {
	return slices.BinarySearchFunc(a.blocks, index, func(b *Block, index int) int { return b.Index - index })
}

// grow adds a delta to its block.
func (a *accumulator) grow(e *Event) error {
	b, err := a.block(e.Index)
	if err != nil {
		return err
	}
	switch e.deltaType {
	case textDelta:
		return b.add(&b.text, e, textBlock)
	case thinkingDelta:
		return b.add(&b.thinking, e, thinkingBlock)
	case signatureDelta:
		return b.add(&b.signature, e, thinkingBlock)
	case inputDelta:
		if len(e.content) > 0 && isKnown(b.Type) && !strings.HasSuffix(b.Type, "tool_use") {
			return fmt.Errorf("an input delta for a %s block", b.Type)
		}
		b.input.add(e.content)
	case "citations_delta":
		return b.addTo("citations", e.delta, "citation", textBlock)
	case "compaction_delta":
		return wire.Members(e.delta, func(key, value []byte) error {
			if string(key) != "type" {
				return setBounded(&b.replace, key, value, "the block")
			}
			return nil
		})
	default:
		a.unreadable = fmt.Errorf("the delta type %q of content block %d is unknown", e.deltaType, e.Index)
	}
	return nil
}

// complete reports whether the message is complete. A stop reason is enough: the
// events after it add no content.
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
		dst = b.AppendTo(dst)
	}
	return append(dst, ']')
}
