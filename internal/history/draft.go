package history

import (
	"errors"
	"fmt"
	"slices"

	"github.com/toolrunner/toolrunner/internal/wire"
)

// This file reads an encoded message, and collects what the history needs to know
// of it.

// The roles of messages.
const (
	RoleUser      = "user"
	RoleAssistant = "assistant"
	RoleSystem    = "system"
)

// Message is an encoded message. Its bytes are never changed. There is one for
// each message of a conversation, so it holds no more than has to be known later.
type Message struct {
	Role        string
	Raw         []byte
	Breakpoints int32 // its cache_control
	Images      int32 // in it, and in its results
	Side        int32 // the longest side of those, in pixels
	ServerEnd   bool  // its last block is a server tool's use or result
	Directive   bool  // it sets options alone
}

// Draft is a message on its way into a history, with what the history needs to know
// when it is added.
type Draft struct {
	Message
	Uses     []string // ids of all tool uses in it, the server's included
	Calls    []Use    // of client tools, after the last fallback block
	Results  []string // ids that its tool results answer
	Lead     int      // how many blocks are results that come first
	Changes  []Change // to the tools that can be called
	FromCode bool     // code that the API runs has made some of the calls
	Index    int      // its place among the messages that the caller gave

	opened     []string // server tool uses without a result in it
	closed     []string // results of server tools whose use is not in it
	seam       bool     // a fallback block is in it
	thinks     bool     // its last block is thinking
	unsigned   bool     // it has thinking without a signature
	blockCount int      // of a message of the user
}

// UserMessage makes a message of encoded blocks that begin with results for uses.
func UserMessage(raws [][]byte, uses []Use) Draft {
	m := Draft{Message: JoinMessage(RoleUser, raws), Lead: len(uses), blockCount: len(raws), Results: make([]string, len(uses))}
	for i, use := range uses {
		m.Results[i] = use.ID
	}
	return m
}

// JoinMessage encodes a message of encoded blocks.
func JoinMessage(role string, raws [][]byte) Message {
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
	return Message{Role: role, Raw: out}
}

// RawsOf returns the bytes of blocks.
func RawsOf(blocks []Block) [][]byte {
	raws := make([][]byte, len(blocks))
	for i, b := range blocks {
		raws[i] = b.Raw
	}
	return raws
}

// Content returns the content member of the message.
func (m *Message) Content() []byte {
	var content []byte
	_ = wire.Members(m.Raw, func(key, value []byte) error { // it was read or made before
		if string(key) == "content" {
			content = value
		}
		return nil
	})
	return content
}

// Blocks reads the blocks of the message.
func (m *Message) Blocks() ([]Block, error) { return ParseBlocks(m.Content()) }

// ReadMessage reads an encoded message. It reports false for an assistant
// message that says nothing, which the API refuses in the middle of a history.
func ReadMessage(raw []byte) (Draft, bool, error) {
	raw, _ = wire.Sound(raw)
	m := Draft{Message: Message{Raw: raw}}
	var content, options []byte
	if string(raw) == "null" {
		return m, false, errors.New("it is a union of which no field is set; set one, such as OfUser")
	}
	err := wire.Members(raw, func(key, value []byte) error {
		switch string(key) {
		case "role":
			m.Role, _ = wire.Unquote(value)
		case "content":
			content = value
		case "output_config":
			options = value
		}
		return nil
	})
	if err != nil {
		return m, false, fmt.Errorf("it is not a JSON object: %w", err)
	}
	if wire.IsTooDeep(raw, 0) {
		return m, false, errTooDeep
	}
	switch m.Role {
	case RoleUser, RoleAssistant, RoleSystem:
	default:
		return m, false, fmt.Errorf("its role is %q; use user, assistant or system", m.Role)
	}
	var blocks []Block
	if content != nil {
		if blocks, err = ParseBlocks(content); err != nil {
			return m, false, err
		}
	}
	m.Directive = m.Role == RoleSystem && len(blocks) == 0 && len(options) > 0 && options[0] == '{'
	if err := checkShapes(m.Role, blocks); err != nil {
		return m, false, err
	}
	if m.Role == RoleAssistant {
		if err := CheckUses(blocks); err != nil {
			return m, false, err
		}
		m, ok := assistantMessage(m.Message, blocks)
		return m, ok, nil
	}
	return m, true, m.describeInput(blocks)
}

var errTooDeep = fmt.Errorf("it is JSON that is nested deeper than %d", wire.EnterDepth)

// CheckDepth says what is wrong with JSON that is to become part of a message.
func CheckDepth(raw []byte) error {
	const around = 10 // a message, its content, a result, its content
	if wire.IsTooDeep(raw, around) {
		return errTooDeep
	}
	return nil
}

// CheckUses says what is wrong with the calls of an assistant message.
func CheckUses(blocks []Block) error {
	for i := range blocks {
		b := &blocks[i]
		if b.Kind != TypeToolUse {
			continue
		}
		id, _ := wire.Unquote(b.id)
		switch {
		case id == "":
			return fmt.Errorf("content[%d] is a tool use that has no id", i)
		case !isLegal(id):
			return fmt.Errorf("content[%d] has the id %q; use letters, digits, underscores and hyphens", i, id)
		case !IsToolName(b.name):
			return fmt.Errorf("content[%d] has the name %q; use 1 to 128 letters, digits, underscores and hyphens", i, b.name)
		case len(b.input) == 0 || b.input[0] != '{':
			return fmt.Errorf("content[%d] has an input that is not a JSON object: %.100q", i, b.input)
		}
	}
	return nil
}

// describeInput reads the blocks of a user or system message.
func (m *Draft) describeInput(blocks []Block) error {
	if len(blocks) == 0 && !m.Directive {
		return errors.New("it has no content; leave it out")
	}
	m.blockCount = len(blocks)
	blank := !m.Directive
	for i := range blocks {
		b := &blocks[i]
		switch {
		case b.isEmptyText():
			return fmt.Errorf("content[%d] is an empty text block, which the Messages API refuses; leave it out", i)
		case b.Kind == TypeToolUse:
			return fmt.Errorf("content[%d] is a tool_use block in a message of the %s; only assistant messages hold them", i, m.Role)
		case b.Kind == TypeToolResult && b.IsEmptyError():
			return fmt.Errorf("content[%d] is a tool_result with is_error and without content, which the Messages API refuses; say what went wrong", i)
		case b.Kind == TypeToolResult && m.Lead < i:
			return fmt.Errorf("content[%d] is a tool_result after other content; results come first in their message", i)
		case b.Kind == TypeToolResult:
			m.Results = append(m.Results, b.ToolUseID)
			m.Lead++
		case m.Role == RoleSystem:
			m.Changes = append(m.Changes, b.Changes...)
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
func assistantMessage(encoded Message, blocks []Block) (Draft, bool) {
	m := Draft{Message: encoded}
	if slices.ContainsFunc(blocks, func(b Block) bool { return b.isEmptyText() }) {
		blocks = slices.DeleteFunc(blocks, func(b Block) bool { return b.isEmptyText() })
		m.Message = JoinMessage(RoleAssistant, RawsOf(blocks))
	}
	blank := true
	pending := make(map[string]bool)
	for i := range blocks {
		b := &blocks[i]
		blank = blank && b.isBlankText()
		m.unsigned = m.unsigned || isUnsigned(b)
		switch {
		case b.Kind == TypeCompaction:
			m.Changes = append(m.Changes, b.Changes...)
		case b.Kind == TypeFallback:
			m.Calls, m.FromCode, m.seam = nil, false, true // calls before it belong to an attempt that is over
			clear(pending)
			m.opened = nil
		case b.Kind == TypeToolUse:
			use := b.Use()
			m.Uses = append(m.Uses, use.ID)
			m.Calls = append(m.Calls, use)
			if pending[b.callerID] { // it goes on when the call is answered
				delete(pending, b.callerID)
				m.FromCode = true
				m.opened = append(m.opened, b.callerID)
			}
		case b.IsServerUse():
			id, _ := wire.Unquote(b.id)
			m.Uses = append(m.Uses, id)
			pending[id] = true
		case b.IsServerResult():
			if at := slices.Index(m.opened, b.ToolUseID); at >= 0 {
				m.opened = slices.Delete(m.opened, at, at+1)
			} else if !pending[b.ToolUseID] {
				m.closed = append(m.closed, b.ToolUseID)
			}
			delete(pending, b.ToolUseID)
		}
	}
	for i := range blocks {
		if id, _ := wire.Unquote(blocks[i].id); blocks[i].IsServerUse() && pending[id] {
			m.opened = append(m.opened, id)
		}
	}
	if n := len(blocks); n > 0 {
		m.ServerEnd = blocks[n-1].IsServerUse() || blocks[n-1].IsServerResult()
		m.thinks = len(withoutFinalThinking(blocks)) < n
	}
	return m, !blank
}

// UseIDs returns the ids of all tool uses in a message.
func (m *Message) UseIDs() []string {
	if m.Role != RoleAssistant {
		return nil
	}
	blocks, _ := m.Blocks() // they were read before
	d, _ := assistantMessage(*m, blocks)
	return d.Uses
}
