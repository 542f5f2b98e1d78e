package toolrunner

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/toolrunner/toolrunner/internal/wire"
)

// A reply as JSON reaches this file, whether it came at once or was put together
// from a stream; what the history and the loop need of it leaves it.

// reply is a complete reply.
type reply struct {
	raw        []byte // the message
	message    draft  // as it goes into the history
	blank      bool   // it says nothing, and does not go into the history
	stopReason string
	usage      []byte
	container  string             // id of the container it ran in
	failed     map[string]*Result // by call id: results of calls that cannot be run
	notes      []string           // what was changed, so that the API takes it back
}

// readReply reads a message from the API. taken reports whether an id is in the
// conversation already.
//
// Some things are changed, as the API would not take them back: a tool_use block
// that is there twice goes once, an id that is taken or illegal is replaced, and so
// are a name that is illegal and an input that is no object, whose calls fail.
func readReply(raw []byte, taken func(id string) bool) (*reply, error) {
	r := &reply{raw: raw}
	role := roleAssistant
	var content []byte
	err := wire.Members(raw, func(key, value []byte) error {
		switch string(key) {
		case "role":
			role, _ = wire.Unquote(value)
		case "content":
			content = value
		case "stop_reason":
			r.stopReason, _ = wire.Unquote(value)
		case "usage":
			r.usage = value
		case "container":
			r.container = wire.ObjectMember(value, "id")
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, &ReplyError{Reason: "it is not a JSON object", Body: raw, Err: err}
	case role != roleAssistant || len(content) == 0 || content[0] != '[':
		return nil, &ReplyError{Reason: "it is not a message of the assistant with a list of blocks", Body: raw}
	}
	m, content := wrapContent(content) // what is kept of the blocks is part of it, not of raw
	blocks, err := parseBlocks(content)
	if err == nil {
		blocks, err = r.mend(blocks, taken)
	}
	if err != nil {
		return nil, &ReplyError{Reason: "its content cannot be used", Body: raw, Err: err}
	}
	if len(r.notes) > 0 {
		m = joinMessage(roleAssistant, rawsOf(blocks))
		r.raw = wire.SetMember(raw, "content", m.content())
	}
	said := false
	r.message, said = assistantMessage(m, blocks)
	r.blank = !said
	return r, nil
}

// wrapContent makes a message of a reply's content, which keeps its bytes, and
// returns the content that is part of it.
func wrapContent(content []byte) (message, []byte) {
	const head = `{"role":"assistant","content":`
	raw := append(append(append(make([]byte, 0, len(head)+len(content)+1), head...), content...), '}')
	return message{role: roleAssistant, raw: raw}, raw[len(head) : len(raw)-1]
}

// mend changes what the API would not take back, and notes it.
func (r *reply) mend(blocks []block, taken func(id string) bool) ([]block, error) {
	mended := blocks[:0]
	seen := make(map[string][]byte) // the tool_use blocks by the id they came with
	used := make(map[string]bool)
	for i := range blocks {
		if b := &blocks[i]; b.isServerUse() { // its result names it, so it keeps its id
			used[b.use().id] = true
		}
	}
	for _, b := range blocks {
		if b.kind == typeFallback {
			clear(seen) // what comes is another attempt
		}
		if b.kind == typeToolUse {
			id, _ := wire.Unquote(b.id)
			earlier, again := seen[id]
			switch {
			case id == "":
				return nil, errors.New("a tool_use block has no id")
			case again && !bytes.Equal(earlier, b.raw):
				return nil, fmt.Errorf("two different tool_use blocks have the id %q", id)
			case again:
				r.note("the tool_use block %q came twice; one is left", id)
				continue
			}
			seen[id] = b.raw
			b = r.mendID(b, id, func(id string) bool { return used[id] || taken(id) })
			used[b.use().id] = true
			b = r.mendName(r.mendInput(b))
		}
		mended = append(mended, b)
	}
	return mended, nil
}

func (r *reply) note(format string, args ...any) {
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
}

// mendID gives b an id that is legal and not taken.
func (r *reply) mendID(b block, id string, taken func(id string) bool) block {
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
	b.raw = wire.SetMember(b.raw, "id", b.id)
	return b
}

// mendInput gives b an input that is an object.
func (r *reply) mendInput(b block) block {
	if len(b.input) > 0 && b.input[0] == '{' {
		return b
	}
	id, _ := wire.Unquote(b.id)
	text, ok := wire.Unquote(b.input)
	if !ok {
		text = string(b.input)
	}
	r.fail(id, invalidInput(text))
	r.note("the input of the call %q is no JSON object; it became {}", id)
	raw := b.raw
	if b.input == nil {
		raw = slices.Concat(raw[:len(raw)-1], []byte(`,"input":{}}`))
	}
	b.input = []byte("{}")
	b.raw = wire.SetMember(raw, "input", b.input)
	return b
}

// mendName gives b a name that is legal. No tool has the name that it came with.
func (r *reply) mendName(b block) block {
	if isToolName(b.name) {
		return b
	}
	id, _ := wire.Unquote(b.id)
	r.fail(id, notFound(b.use()))
	name := legalName(b.name)
	name = name[:min(len(name), 128)]
	if name == "" {
		name = "unknown"
	}
	r.note("the name %q of the call %q is illegal; it became %q", b.name, id, name)
	b.name = name
	b.raw = wire.SetMember(b.raw, "name", wire.AppendString(nil, name))
	return b
}

// fail gives the call of an id its result.
func (r *reply) fail(id string, result *Result) {
	if r.failed == nil {
		r.failed = make(map[string]*Result)
	}
	r.failed[id] = result
}
