package history

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner/internal/wire"
)

// This file reads a complete reply, plain or accumulated from a stream, and repairs
// what the API would not take back.

// Reply is a complete reply.
type Reply struct {
	Raw        []byte // the message
	Message    Draft  // as it goes into the history
	Blank      bool   // it says nothing, and does not go into the history
	StopReason string
	Usage      []byte
	Container  string            // id of the container it ran in
	Until      string            // when that expires, as the API says it
	Failed     map[string][]byte // by call id: the tool_result of a call that cannot be run
	unread     map[string]string // by call id: the text of an input that is no object
	Notes      []string          // what was changed, so that the API takes it back
}

// maxReplyBlocks bounds the content of a reply. Real ones are far below; what looks through
// calls one by one stays quick.
const maxReplyBlocks = 10_000

// ReadReply reads a message from the API. taken reports whether an id is in the
// conversation already.
//
// Some things are changed, as the API would not take them back: a tool_use block
// that is there twice goes once, and an id that is taken or illegal is replaced. A
// call without input gets an empty one. A name that is illegal and an input that is no
// object are replaced, and their calls fail. Text that is not Unicode is replaced.
func ReadReply(raw []byte, taken func(id string) bool) (*Reply, error) {
	r, body := &Reply{}, raw
	raw, changed := wire.Sound(raw)
	if r.Raw = raw; changed {
		r.note("text that no other reader takes, such as half a surrogate pair, became U+FFFD")
	}
	role := RoleAssistant
	var content []byte
	err := wire.Members(raw, func(key, value []byte) error {
		switch string(key) {
		case "role":
			role, _ = wire.Unquote(value)
		case "content":
			content = value
		case "stop_reason":
			r.StopReason, _ = wire.Unquote(value)
		case "usage":
			r.Usage = value
		case "container":
			r.Container, r.Until = wire.ObjectMember(value, "id"), wire.ObjectMember(value, "expires_at")
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, &ReplyError{Reason: "it is not a JSON object", Body: body, Err: err}
	case wire.IsTooDeep(raw, 0):
		return nil, &ReplyError{Reason: "it cannot be used", Body: body, Err: errTooDeep}
	case role != RoleAssistant || len(content) == 0 || content[0] != '[':
		return nil, &ReplyError{Reason: "it is not a message of the assistant with a list of blocks", Body: body}
	}
	m, content := wrapContent(content) // what is kept of the blocks is part of it, not of raw
	blocks, err := ParseBlocks(content)
	if len(blocks) > maxReplyBlocks {
		err = fmt.Errorf("it has more than %d content blocks", maxReplyBlocks)
	}
	if err == nil {
		blocks, err = r.mend(blocks, taken)
	}
	if err != nil {
		return nil, &ReplyError{Reason: "its content cannot be used", Body: body, Err: err}
	}
	if len(r.Notes) > 0 {
		m = JoinMessage(RoleAssistant, RawsOf(blocks))
		r.Raw = wire.SetMember(raw, "content", m.Content())
	}
	said := false
	r.Message, said = assistantMessage(m, blocks)
	if r.Blank = !said; r.Blank && r.StopReason == string(anthropic.BetaStopReasonPauseTurn) {
		return nil, &ReplyError{Reason: "it was paused and says nothing, so there is nothing to go on from", Body: body}
	}
	return r, nil
}

// wrapContent makes a message of a reply's content, which keeps its bytes, and
// returns the content that is part of it.
func wrapContent(content []byte) (Message, []byte) {
	const head = `{"role":"assistant","content":`
	raw := append(append(append(make([]byte, 0, len(head)+len(content)+1), head...), content...), '}')
	return Message{Role: RoleAssistant, Raw: raw}, raw[len(head) : len(raw)-1]
}

// mend changes what the API would not take back, and notes it.
func (r *Reply) mend(blocks []Block, taken func(id string) bool) ([]Block, error) {
	mended := blocks[:0]
	seen := make(map[string][]byte) // the tool_use blocks by the id they came with
	used := make(map[string]bool)
	for i := range blocks {
		if b := &blocks[i]; b.IsServerUse() { // its result names it, so it keeps its id
			used[b.Use().ID] = true
		}
	}
	blocks = r.mendThinking(blocks)
	for _, b := range blocks {
		if b.Kind == TypeFallback {
			clear(seen) // what comes is another attempt
		}
		if b.Kind == TypeToolUse {
			id, _ := wire.Unquote(b.id)
			earlier, again := seen[id]
			switch {
			case id == "":
				return nil, errors.New("a tool_use block has no id")
			case again && !bytes.Equal(earlier, b.Raw):
				return nil, fmt.Errorf("two different tool_use blocks have the id %q", id)
			case again:
				r.note("the tool_use block %q came twice; one is left", id)
				continue
			}
			seen[id] = b.Raw
			b = r.mendID(b, id, func(id string) bool { return used[id] || taken(id) })
			used[b.Use().ID] = true
			b = r.mendName(r.mendInput(b))
		}
		mended = append(mended, b)
	}
	return mended, nil
}

// mendThinking leaves out thinking that the API would not take back: without a
// signature, as a cut-off leaves it, and at the end ("The final block in an assistant
// message cannot be thinking").
func (r *Reply) mendThinking(blocks []Block) []Block {
	kept := slices.DeleteFunc(blocks, func(b Block) bool {
		return b.Kind == typeThinking && checkMembers(&b, "thinking", "signature") != nil
	})
	if n := len(blocks) - len(kept); n > 0 {
		r.note("%d thinking blocks have no signature; they are left out", n)
	}
	ended := withoutFinalThinking(kept)
	if len(ended) < len(kept) {
		r.note("the thinking at the end is left out")
	}
	return ended
}

// withoutFinalThinking returns blocks up to the thinking at their end, which may have
// blank text behind it: that goes when the model is to go on with the message.
func withoutFinalThinking(blocks []Block) []Block {
	n := len(blocks)
	for end := n; end > 0; end-- {
		switch b := &blocks[end-1]; {
		case b.Kind == typeThinking:
			n = end - 1
		case !b.isBlankText():
			return blocks[:n]
		}
	}
	return blocks[:n]
}

func (r *Reply) note(format string, args ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}

// mendID gives b an id that is legal and not taken.
func (r *Reply) mendID(b Block, id string, taken func(id string) bool) Block {
	legal := legalName(id)
	fresh := legal
	for n := 2; taken(fresh); n++ {
		fresh = fmt.Sprintf("%s_%d", legal, n)
	}
	if fresh == id {
		return b
	}
	r.note("the id %q of a tool_use block is taken or illegal; it became %q", id, fresh)
	b.id = wire.AppendString(nil, fresh)
	b.Raw = wire.SetMember(b.Raw, "id", b.id)
	return b
}

// mendInput gives b an input that is an object.
func (r *Reply) mendInput(b Block) Block {
	if len(b.input) > 0 && b.input[0] == '{' {
		return b
	}
	use := b.Use()
	text, ok := wire.Unquote(b.input)
	if !ok {
		text = string(b.input)
	}
	if blank := strings.TrimSpace(text) == "" || text == "null" && !ok; blank {
		r.note("the call %q has no input; it became {}", use.ID)
	} else {
		r.fail(use, InvalidInput(text))
		if r.unread == nil {
			r.unread = make(map[string]string)
		}
		r.unread[use.ID] = text
		r.note("the input of the call %q is no JSON object; it became {}", use.ID)
	}
	return b.withInput([]byte("{}"))
}

// mendName gives b a name that is legal. No tool has the name that it came with.
func (r *Reply) mendName(b Block) Block {
	if IsToolName(b.name) {
		return b
	}
	use := b.Use()
	r.fail(use, NotFound(use))
	name := legalName(b.name)
	name = name[:min(len(name), 128)]
	if name == "" {
		name = "unknown"
	}
	r.note("the name %q of the call %q is illegal; it became %q", b.name, use.ID, name)
	b.name = name
	b.Raw = putMember(b.Raw, "name", wire.AppendString(nil, name))
	return b
}

// putMember returns the object of a block with a member replaced, or added if it is
// absent.
func putMember(object []byte, name string, value []byte) []byte {
	if hasMember(object, name) {
		return wire.SetMember(object, name, value)
	}
	object = append(wire.AppendString(append(slices.Clone(object[:len(object)-1]), ','), name), ':')
	return append(append(object, value...), '}')
}

func hasMember(object []byte, name string) bool {
	has := false
	_ = wire.KnownMembers(object, func(key, _ []byte) error { // it was read before
		has = has || string(key) == name
		return nil
	})
	return has
}

// fail gives a call its result.
func (r *Reply) fail(use Use, text string) {
	if r.Failed == nil {
		r.Failed = make(map[string][]byte)
	}
	r.Failed[use.ID] = ResultBlock(use, text, true)
}
