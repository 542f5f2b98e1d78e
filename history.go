package toolrunner

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/toolrunner/toolrunner/internal/wire"
)

// Messages reach the history and are encoded, once; their bytes leave it with
// each request.

const (
	roleUser      = "user"
	roleAssistant = "assistant"
	roleSystem    = "system"
)

// message is an encoded message. Its bytes are never changed.
type message struct {
	role        string
	raw         []byte
	content     []byte       // part of raw
	uses        []string     // ids of all tool uses in it, the server's included
	calls       []toolUse    // of client tools, after the last fallback block
	results     []string     // ids that its tool results answer
	lead        int          // how many blocks are results that come first
	changes     []toolChange // to the tools that can be called
	breakpoints int          // its cache_control
	fromCode    bool         // code that the API runs has made some of the calls
	hanging     bool         // it ends with a server tool use that has no result yet
}

// history is the list of messages, and what keeps it one that the API accepts:
//
//   - each call is answered once, in the message right after it;
//   - results come first in that message, and answer nothing else;
//   - ids of tool uses are unique;
//   - no empty text, no empty message.
//
// Consecutive assistant messages are one turn that was paused and resumed: its
// calls are answered after the last of them.
type history struct {
	messages []message
	open     []toolUse // calls without a result, in order
	ids      map[string]bool
	changes  []toolChange
	base     *history // what comes before it; nil for the conversation itself
}

// has reports whether a tool use of that id is in the history.
func (h *history) has(id string) bool {
	return h.ids[id] || h.base != nil && h.base.has(id)
}

// last returns the last message, or nil.
func (h *history) last() *message {
	if len(h.messages) == 0 {
		return nil
	}
	return &h.messages[len(h.messages)-1]
}

// lastReply returns the last message if it is one of the assistant, or nil.
func (h *history) lastReply() *message {
	if last := h.last(); last != nil && last.role == roleAssistant {
		return last
	}
	return nil
}

// append adds m, or says why the API would refuse it there; the history is
// then unchanged. Calls that m should have answered and does not are answered
// by what unanswered returns, in front of its other content.
func (h *history) append(m message, unanswered func(toolUse) []byte) error {
	if err := h.refusal(&m); err != nil {
		return err
	}
	if m.role != roleAssistant && len(h.open) > 0 {
		given, err := m.blocks()
		if err != nil {
			return err
		}
		if m.role == roleUser {
			m = h.answered(given, unanswered)
		} else {
			h.push(h.answered(nil, unanswered))
		}
	}
	h.push(m)
	return nil
}

// refusal says what is wrong with m as the next message.
func (h *history) refusal(m *message) error {
	if last := h.lastReply(); last != nil && m.role != roleAssistant && len(h.open) == 0 {
		switch {
		case m.role == roleSystem:
			return errors.New("a system message follows an assistant message; put it after the next user message")
		case last.hanging:
			return errors.New("the assistant message before it ends with the use of a server tool that has no result; leave that block out, or let the turn go on first")
		}
	}
	seen := make(map[string]bool)
	for _, id := range m.uses {
		switch {
		case id == "":
			return errors.New("a tool use has no id")
		case seen[id] || h.has(id):
			return fmt.Errorf("the tool use id %q is in the history already; ids must be unique. A reply that the runner received is recorded by itself: append only what follows it", id)
		}
		seen[id] = true
	}
	clear(seen)
	for _, id := range m.results {
		if seen[id] || !slices.ContainsFunc(h.open, func(u toolUse) bool { return u.id == id }) {
			return fmt.Errorf("the tool_result for %q answers no open call: each call is answered once, in the one message right after it", id)
		}
		seen[id] = true
	}
	return nil
}

// answered returns the user message that answers the open calls, with results
// from given where they are there, and then the rest of given.
func (h *history) answered(given []block, unanswered func(toolUse) []byte) message {
	var raws [][]byte
	for _, use := range h.open {
		at := slices.IndexFunc(given, func(b block) bool { return b.kind == typeToolResult && b.toolUseID == use.id })
		if at >= 0 {
			raws = append(raws, given[at].raw)
			continue
		}
		raws = append(raws, unanswered(use))
	}
	for _, b := range given {
		if b.kind != typeToolResult {
			raws = append(raws, b.raw)
		}
	}
	return userMessage(raws, h.open)
}

// push adds m, which was checked.
func (h *history) push(m message) {
	if h.ids == nil {
		h.ids = make(map[string]bool)
	}
	for _, id := range m.uses {
		h.ids[id] = true
	}
	if m.role == roleAssistant {
		h.open = append(h.open, m.calls...)
	} else {
		h.open = nil
	}
	h.changes = append(h.changes, m.changes...)
	m.breakpoints = countBreakpoints(m.raw)
	h.messages = append(h.messages, m)
}

// userMessage makes a message of encoded blocks that begin with results for uses.
func userMessage(raws [][]byte, uses []toolUse) message {
	m := joinMessage(roleUser, raws)
	m.lead = len(uses)
	for _, use := range uses {
		m.results = append(m.results, use.id)
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
	return message{role: role, raw: out, content: out[len(head) : len(out)-1]}
}

func rawsOf(blocks []block) [][]byte {
	raws := make([][]byte, len(blocks))
	for i, b := range blocks {
		raws[i] = b.raw
	}
	return raws
}

// blocks reads the blocks of the message.
func (m *message) blocks() ([]block, error) { return parseBlocks(m.content) }

// readMessage reads an encoded message. It reports false for an assistant
// message that says nothing, which the API refuses in the middle of a history.
func readMessage(raw []byte) (message, bool, error) {
	m := message{raw: raw}
	if string(raw) == "null" {
		return m, false, errors.New("it is a union of which no field is set; set one, such as OfUser")
	}
	err := wire.Members(raw, func(key, value []byte) error {
		switch string(key) {
		case "role":
			m.role, _ = wire.Unquote(value)
		case "content":
			m.content = value
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
	if m.content != nil {
		if blocks, err = parseBlocks(m.content); err != nil {
			return m, false, err
		}
	}
	if m.role == roleAssistant {
		if err := checkUses(blocks); err != nil {
			return m, false, err
		}
		m, ok := assistantMessage(m, blocks)
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
func (m *message) describeInput(blocks []block) error {
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
func assistantMessage(m message, blocks []block) (message, bool) {
	if slices.ContainsFunc(blocks, func(b block) bool { return b.isEmptyText() }) {
		blocks = slices.DeleteFunc(blocks, func(b block) bool { return b.isEmptyText() })
		m = joinMessage(roleAssistant, rawsOf(blocks))
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
	return assistantMessage(joinMessage(roleAssistant, rawsOf(blocks)), blocks)
}

// clone returns a history that can grow apart from h.
func (h *history) clone() history {
	c := *h
	c.messages = slices.Clip(h.messages)
	c.open = slices.Clip(h.open)
	c.changes = slices.Clip(h.changes)
	c.ids = maps.Clone(h.ids)
	return c
}
