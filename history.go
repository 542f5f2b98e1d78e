package toolrunner

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Messages reach the history and are encoded, once; their bytes leave it with
// each request.

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
	drafts   []draft  // its messages as they will go into another history, if it has a base
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
func (h *history) append(m draft, unanswered func(toolUse) []byte) error {
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
func (h *history) refusal(m *draft) error {
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
func (h *history) answered(given []block, unanswered func(toolUse) []byte) draft {
	raws := make([][]byte, 0, len(h.open)+len(given))
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
func (h *history) push(m draft) {
	if h.ids == nil {
		h.ids = make(map[string]bool)
	}
	for _, id := range m.uses {
		h.ids[id] = true
	}
	switch {
	case m.role != roleAssistant:
		h.open = nil
	case len(h.open) == 0:
		h.open = slices.Clip(m.calls)
	default:
		h.open = append(h.open, m.calls...)
	}
	h.changes = append(h.changes, m.changes...)
	m.breakpoints = int32(countBreakpoints(m.raw)) //nolint:gosec // a message of that size does not fit into memory
	h.messages = append(h.messages, m.message)
	if h.base != nil {
		h.drafts = append(h.drafts, m)
	}
}

// clone returns a history that can grow apart from h.
func (h *history) clone() history {
	c := *h
	c.messages = slices.Clip(h.messages)
	c.open = slices.Clip(h.open)
	c.changes = slices.Clip(h.changes)
	c.drafts = slices.Clip(h.drafts)
	c.ids = maps.Clone(h.ids)
	return c
}
