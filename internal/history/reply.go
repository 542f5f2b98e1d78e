package history

import (
	"bytes"
	"cmp"
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
	ID         string
	Message    Draft // as it goes into the history
	Blank      bool  // it says nothing, and does not go into the history
	StopReason string
	Usage      []byte
	Container  string            // id of the container it ran in
	Until      string            // when that expires, as the API says it
	Failed     map[string][]byte // by call id: the tool_result of a call that cannot be run
	unread     map[string]string // by call id: the text of an input that is no object
	Notes      []string          // what was changed, so that the API takes it back
}

// Place is where in a conversation a reply comes.
type Place struct {
	Taken   func(id string) bool // whether an id is in the conversation already
	Turn    []string             // ids in the turn that goes on
	Waiting []string             // those of server tools that have no result so far

	Unsigned bool // the host takes thinking without a signature
}

// maxReplyBlocks bounds the content of a reply. Real ones are far below; what looks through
// calls one by one stays quick.
const maxReplyBlocks = 10_000

// ReadReply reads a message from the API.
//
// Some things are changed, as the API would not take them back: a tool_use block
// that is there twice goes once, and an id that is taken or illegal is replaced. A
// call without input gets an empty one. A name that is illegal and an input that is no
// object are replaced, and their calls fail. Text that is not Unicode is replaced.
// Blocks that no message of the assistant may hold are left out, and so is a second result
// of a server tool.
func ReadReply(raw []byte, place Place) (*Reply, error) {
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
		case "id":
			r.ID, _ = wire.Unquote(value)
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
		blocks = r.mendServed(r.mendShapes(blocks, place.Unsigned), place)
		blocks, err = r.mend(r.mendEnd(blocks), place.Taken)
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
	seen := make(map[string][]byte)    // the tool_use blocks by the id they came with
	used := servedIDs(blocks, Place{}) // their results name them, so they keep their ids
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

// mendShapes leaves out blocks that the API would not take back from an assistant, such
// as thinking without a signature, as a cut-off leaves it.
func (r *Reply) mendShapes(blocks []Block, unsigned bool) []Block {
	return slices.DeleteFunc(blocks, func(b Block) bool {
		err := checkShape(RoleAssistant, &b)
		if err == nil && isUnsigned(&b) && !unsigned {
			err = errors.New("is thinking without a signature")
		}
		if err != nil {
			r.note("a block is left out: it %v", err)
		}
		return err != nil
	})
}

// mendServed gives uses of server tools ids that are legal and new in the turn, and input
// that is an object. It leaves out a result that comes before its use or a second time;
// one whose use is nowhere stays: its use may be in what a caller has left out.
func (r *Reply) mendServed(blocks []Block, place Place) []Block {
	open, names := make(map[string]bool), make(map[string]string) // the ids that they came with by those that they have
	for _, id := range place.Waiting {
		open[id] = true
	}
	used := slices.Concat(place.Turn, place.Waiting)
	served := servedIDs(blocks, place)
	kept := blocks[:0]
	for _, b := range blocks {
		switch id, _ := wire.Unquote(b.id); {
		case b.Kind == TypeFallback:
			clear(open)
			clear(names)
			used = nil
		case b.IsServerUse():
			b = r.mendUse(b, id, func(id string) bool { return slices.Contains(used, id) })
			fresh := b.Use().ID
			names[id], open[fresh] = fresh, true
			used = append(used, fresh)
		case b.IsServerResult():
			if fresh := names[b.ToolUseID]; fresh != "" && fresh != b.ToolUseID {
				b.ToolUseID, b.Raw = fresh, wire.SetMember(b.Raw, "tool_use_id", wire.AppendString(nil, fresh))
			}
			if !open[b.ToolUseID] && served[b.ToolUseID] {
				r.note("the %s for %q has no open use before it; it is left out", b.Kind, b.ToolUseID)
				continue
			}
			delete(open, b.ToolUseID)
		case b.Kind == TypeToolUse:
			if fresh := names[b.callerID]; fresh != "" && fresh != b.callerID {
				b = b.withCaller(fresh)
			}
		}
		kept = append(kept, b)
	}
	return kept
}

// servedIDs returns the ids of uses in the turn and in the blocks of a reply to it.
func servedIDs(blocks []Block, place Place) map[string]bool {
	served := make(map[string]bool)
	for _, id := range place.Turn {
		served[id] = true
	}
	for i := range blocks {
		if blocks[i].IsServerUse() {
			served[blocks[i].Use().ID] = true
		}
	}
	return served
}

// mendUse gives the use of a server tool an id that is legal and not taken, and an input.
func (r *Reply) mendUse(b Block, id string, taken func(id string) bool) Block {
	b = r.mendID(b, id, taken)
	if len(b.input) > 0 && b.input[0] == '{' {
		return b
	}
	r.note("the input of the server tool's use %q is no JSON object; it became {}", id)
	return b.withInput([]byte("{}"))
}

// mendEnd leaves out thinking at the end: "The final block in an assistant message cannot
// be thinking".
func (r *Reply) mendEnd(blocks []Block) []Block {
	ended := withoutFinalThinking(blocks)
	if len(ended) < len(blocks) {
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
	legal := cmp.Or(legalName(id), "id")
	fresh := legal
	for n := 2; taken(fresh); n++ {
		fresh = fmt.Sprintf("%s_%d", legal, n)
	}
	if fresh == id {
		return b
	}
	r.note("the id %q of a %s block is taken or illegal; it became %q", id, b.Kind, fresh)
	b.id = wire.AppendString(nil, fresh)
	b.Raw = putMember(b.Raw, "id", b.id)
	return b
}

// mendInput gives b an input that is an object. One that is text is the text of an input,
// as a stream brings it.
func (r *Reply) mendInput(b Block) Block {
	if len(b.input) > 0 && b.input[0] == '{' {
		return b
	}
	use := b.Use()
	text, ok := wire.Unquote(b.input)
	if !ok {
		text = string(b.input)
	}
	if none := strings.TrimSpace(text) == "" || text == "null" && !ok; none {
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
