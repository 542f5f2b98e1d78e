package history

import (
	"bytes"
	"errors"
	"slices"

	"github.com/toolrunner/toolrunner/internal/wire"
)

// This file marks the input of calls that never run: what the model wrote of it is no
// object, or was cut off. The run that has the reply knows that by itself. The mark is in
// the bytes, for a reply that the caller takes elsewhere.

// invalidKey is the one key of an object that stands for such an input. The
// documentation of the API names it.
const invalidKey = "INVALID_JSON"

// unreadable returns the object that stands for an input.
func unreadable(text string) []byte {
	object := append(append([]byte("{"), wire.AppendString(nil, invalidKey)...), ':')
	return append(wire.AppendString(object, text), '}')
}

var errOtherKey = errors.New("another key")

// Unreadable returns the result of a call whose input stands for one that cannot be
// read. It reports false for any other call.
func Unreadable(use Use) (result []byte, ok bool) {
	if !bytes.Contains(use.Input, []byte(invalidKey)) { // nearly all of them
		return nil, false
	}
	text := ""
	err := wire.Members(use.Input, func(key, value []byte) error {
		if string(key) != invalidKey || ok {
			return errOtherKey
		}
		if text, ok = wire.Unquote(value); !ok {
			return errOtherKey
		}
		return nil
	})
	if err != nil || !ok {
		return nil, false
	}
	if wire.Members([]byte(text), func(_, _ []byte) error { return nil }) == nil {
		return ResultBlock(use, cutInput(text), true), true
	}
	return ResultBlock(use, InvalidInput(text), true), true
}

// CutCall returns the call that a reply was cut off in, if its rule is that of one that
// was cut off or refused: the last one, whose input may not be whole if nothing comes
// after it, or if there is none.
func (m *Message) CutCall(rule Rule) (Use, bool) {
	if rule.After != EndRun || rule.Outcome == OutcomeCompleted {
		return Use{}, false
	}
	blocks, _ := m.Blocks() // they were read before
	for i, b := range slices.Backward(blocks) {
		if b.Kind == TypeToolUse {
			use := b.Use()
			return use, i == len(blocks)-1 || string(use.Written()) == "{}"
		}
	}
	return Use{}, false
}

// Elsewhere returns a reply for histories that know nothing of it: a call whose input is
// no object, or was cut off, is marked as one that cannot run.
func (r *Reply) Elsewhere(rule Rule) Message {
	cut, wasCut := r.Message.CutCall(rule)
	if len(r.unread) == 0 && !wasCut {
		return r.Message.Message
	}
	blocks, _ := r.Message.Blocks() // they were read before
	for i := range blocks {
		use := blocks[i].Use()
		text, broken := r.unread[use.ID]
		if !broken && wasCut && use.ID == cut.ID {
			text, broken = string(use.Written()), true
		}
		if broken && blocks[i].Kind == TypeToolUse {
			blocks[i] = blocks[i].withInput(unreadable(text))
		}
	}
	return JoinMessage(RoleAssistant, RawsOf(blocks))
}

// withCaller returns the block of a call that another server tool's use makes.
func (b *Block) withCaller(id string) Block {
	other := *b
	_ = wire.KnownMembers(b.Raw, func(key, value []byte) error { // it was read before
		if string(key) == "caller" {
			other.Raw = wire.SetMember(b.Raw, "caller", wire.SetMember(value, "tool_id", wire.AppendString(nil, id)))
		}
		return nil
	})
	other.callerID = id
	return other
}

// withInput returns the block of a call with another input.
func (b *Block) withInput(input []byte) Block {
	other := *b
	other.Raw, other.input = putMember(b.Raw, "input", input), input
	return other
}
