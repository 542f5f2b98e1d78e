package toolrunner

import (
	"errors"
	"fmt"
	"slices"

	"github.com/toolrunner/toolrunner/internal/wire"
)

// An encoded message reaches this file; what a history has to know of it leaves it
// with it.

const (
	roleUser      = "user"
	roleAssistant = "assistant"
	roleSystem    = "system"
)

// message is an encoded message. Its bytes are never changed. There is one for
// each message of a conversation, so it holds no more than has to be known later.
type message struct {
	role        string
	raw         []byte
	breakpoints int32 // its cache_control
	hanging     bool  // it ends with a server tool use that has no result yet
}

// draft is a message that is to go into a history, and what the history has to know
// of it then.
type draft struct {
	message
	uses     []string     // ids of all tool uses in it, the server's included
	calls    []toolUse    // of client tools, after the last fallback block
	results  []string     // ids that its tool results answer
	lead     int          // how many blocks are results that come first
	changes  []toolChange // to the tools that can be called
	fromCode bool         // code that the API runs has made some of the calls
}

// userMessage makes a message of encoded blocks that begin with results for uses.
func userMessage(raws [][]byte, uses []toolUse) draft {
	m := draft{message: joinMessage(roleUser, raws), lead: len(uses), results: make([]string, len(uses))}
	for i, use := range uses {
		m.results[i] = use.id
	}
	return m
}

// joinMessage encodes a message of encoded blocks.
func joinMessage(role string, raws [][]byte) message {
	size := len(`{"role":"assistant","content":[]}`)
	for _, raw := range raws {
		size += len(raw) + 1
	}
	head := `{"role":"` + role + `","content":`
	out := append(append(make([]byte, 0, size), head...), '[')
	for i, raw := range raws {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, raw...)
	}
	out = append(out, "]}"...)
	return message{role: role, raw: out}
}

func rawsOf(blocks []block) [][]byte {
	raws := make([][]byte, len(blocks))
	for i, b := range blocks {
		raws[i] = b.raw
	}
	return raws
}

// content returns the content member of the message.
func (m *message) content() []byte {
	var content []byte
	_ = wire.Members(m.raw, func(key, value []byte) error { // it was read or made before
		if string(key) == "content" {
			content = value
		}
		return nil
	})
	return content
}

// blocks reads the blocks of the message.
func (m *message) blocks() ([]block, error) { return parseBlocks(m.content()) }

// readMessage reads an encoded message. It reports false for an assistant
// message that says nothing, which the API refuses in the middle of a history.
func readMessage(raw []byte) (draft, bool, error) {
	m := draft{message: message{raw: raw}}
	var content []byte
	if string(raw) == "null" {
		return m, false, errors.New("it is a union of which no field is set; set one, such as OfUser")
	}
	err := wire.Members(raw, func(key, value []byte) error {
		switch string(key) {
		case "role":
			m.role, _ = wire.Unquote(value)
		case "content":
			content = value
		}
		return nil
	})
	if err != nil {
		return m, false, fmt.Errorf("it is not a JSON object: %w", err)
	}
	switch m.role {
	case roleUser, roleAssistant, roleSystem:
	default:
		return m, false, fmt.Errorf("its role is %q; use user, assistant or system", m.role)
	}
	var blocks []block
	if content != nil {
		if blocks, err = parseBlocks(content); err != nil {
			return m, false, err
		}
	}
	if m.role == roleAssistant {
		if err := checkUses(blocks); err != nil {
			return m, false, err
		}
		m, ok := assistantMessage(m.message, blocks)
		return m, ok, nil
	}
	return m, true, m.describeInput(blocks)
}

// checkUses says what is wrong with the calls of an assistant message.
func checkUses(blocks []block) error {
	for i := range blocks {
		b := &blocks[i]
		if b.kind != typeToolUse {
			continue
		}
		id, _ := wire.Unquote(b.id)
		switch {
		case id == "":
			return fmt.Errorf("content[%d] is a tool use that has no id", i)
		case !isLegal(id):
			return fmt.Errorf("content[%d] has the id %q; use letters, digits, underscores and hyphens", i, id)
		case !isToolName(b.name):
			return fmt.Errorf("content[%d] has the name %q; use 1 to 128 letters, digits, underscores and hyphens", i, b.name)
		case len(b.input) == 0 || b.input[0] != '{':
			return fmt.Errorf("content[%d] has an input that is not a JSON object: %.100q", i, b.input)
		}
	}
	return nil
}

// describeInput reads the blocks of a user or system message.
func (m *draft) describeInput(blocks []block) error {
	if len(blocks) == 0 && m.role == roleUser {
		return errors.New("it has no content; leave it out")
	}
	blank := m.role == roleUser
	for i := range blocks {
		b := &blocks[i]
		switch {
		case b.isEmptyText():
			return fmt.Errorf("content[%d] is an empty text block, which the Messages API refuses; leave it out", i)
		case b.kind == typeToolUse:
			return fmt.Errorf("content[%d] is a tool_use block in a message of the %s; only assistant messages hold them", i, m.role)
		case b.kind == typeToolResult && b.isEmptyError():
			return fmt.Errorf("content[%d] is a tool_result with is_error and without content, which the Messages API refuses; say what went wrong", i)
		case b.kind == typeToolResult && m.lead < i:
			return fmt.Errorf("content[%d] is a tool_result after other content; results come first in their message", i)
		case b.kind == typeToolResult:
			m.results = append(m.results, b.toolUseID)
			m.lead++
		case m.role == roleSystem:
			m.changes = append(m.changes, b.changes...)
		}
		blank = blank && b.isBlankText()
	}
	if blank {
		return errors.New("its text is nothing but space, which the Messages API refuses; leave the message out")
	}
	return nil
}

// assistantMessage describes an assistant message of blocks. Empty text blocks
// are left out, as the API sends them and refuses them. It reports false if
// nothing is left, or nothing but space.
func assistantMessage(encoded message, blocks []block) (draft, bool) {
	m := draft{message: encoded}
	if slices.ContainsFunc(blocks, func(b block) bool { return b.isEmptyText() }) {
		blocks = slices.DeleteFunc(blocks, func(b block) bool { return b.isEmptyText() })
		m.message = joinMessage(roleAssistant, rawsOf(blocks))
	}
	blank := true
	pending := make(map[string]bool)
	for i := range blocks {
		b := &blocks[i]
		blank = blank && b.isBlankText()
		switch {
		case b.kind == typeCompaction:
			m.changes = append(m.changes, b.changes...)
		case b.kind == typeFallback:
			m.calls = nil // calls before it belong to an attempt that is over
		case b.kind == typeToolUse:
			use := b.use()
			m.uses = append(m.uses, use.id)
			m.calls = append(m.calls, use)
			if pending[b.callerID] { // it goes on when the call is answered
				delete(pending, b.callerID)
				m.fromCode = true
			}
		case b.isServerUse():
			id, _ := wire.Unquote(b.id)
			m.uses = append(m.uses, id)
			pending[id] = true
		case b.isServerResult():
			delete(pending, b.toolUseID)
		}
	}
	m.hanging = len(pending) > 0
	return m, !blank
}

// withoutHanging returns an assistant message without the uses of server tools
// that have no result. It reports false if nothing is left of it.
func (m *message) withoutHanging() (message, bool) {
	blocks, err := m.blocks()
	if err != nil {
		return *m, true
	}
	answered := make(map[string]bool)
	for i := range blocks {
		if blocks[i].isServerResult() {
			answered[blocks[i].toolUseID] = true
		}
	}
	blocks = slices.DeleteFunc(blocks, func(b block) bool {
		id, _ := wire.Unquote(b.id)
		return b.isServerUse() && !answered[id]
	})
	pruned, ok := assistantMessage(joinMessage(roleAssistant, rawsOf(blocks)), blocks)
	return pruned.message, ok
}

// useIDs returns the ids of all tool uses in a message.
func (m *message) useIDs() []string {
	if m.role != roleAssistant {
		return nil
	}
	blocks, _ := m.blocks() // they were read before
	d, _ := assistantMessage(*m, blocks)
	return d.uses
}
