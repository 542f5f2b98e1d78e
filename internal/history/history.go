// Package history holds the messages of a conversation, each encoded once. Their
// bytes are what is sent, saved and compared.
//
// It encodes the messages of the caller, reads the replies of the API, and refuses
// what the API would refuse. It knows neither the loop nor the public types.
package history

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// History is the list of messages, and what keeps it one that the API accepts:
//
//   - each call is answered once, in the message right after it;
//   - results come first in that message, and answer nothing else;
//   - ids of tool uses are unique;
//   - no empty text, no empty message.
//
// Consecutive assistant messages are one turn that was paused and resumed: its
// calls are answered after the last of them.
type History struct {
	Messages []Message
	Open     []Use // calls without a result, in order
	IDs      map[string]bool
	Changes  []Change
	Base     *History // what comes before it; nil for the conversation itself
	Drafts   []Draft  // its messages as they will go into another history, if it has a base

	turn    []string // ids of the calls of the assistant messages at the end
	waiting []string // uses of server tools in the turn that goes on, without a result
}

// Has reports whether a tool use of that id is in the history.
func (h *History) Has(id string) bool {
	return h.IDs[id] || h.Base != nil && h.Base.Has(id)
}

// Last returns the last message, or nil.
func (h *History) Last() *Message {
	if len(h.Messages) == 0 {
		return nil
	}
	return &h.Messages[len(h.Messages)-1]
}

// LastReply returns the last message if it is one of the assistant, or nil.
func (h *History) LastReply() *Message {
	if last := h.Last(); last != nil && last.Role == RoleAssistant {
		return last
	}
	return nil
}

// Append adds m, or says why the API would refuse it there; the history is
// then unchanged. Calls that m should have answered and does not are answered
// by what unanswered returns, in front of its other content.
func (h *History) Append(m Draft, unanswered func(Use) []byte) error {
	if err := h.Refusal(&m); err != nil {
		return err
	}
	if m.Role != RoleAssistant && len(h.Open) > 0 {
		given, err := m.Blocks()
		if err != nil {
			return err
		}
		if m.Role == RoleUser {
			m = h.Answered(given, unanswered)
		} else {
			h.Push(h.Answered(nil, unanswered))
		}
	}
	if m.look(); m.Images > 0 {
		if err := h.Pictures().And(m.Pictures()).Check(); err != nil {
			return err
		}
	}
	h.Push(m)
	return nil
}

// Refusal says what is wrong with m as the next message.
func (h *History) Refusal(m *Draft) error {
	if err := h.order(m); err != nil {
		return err
	}
	seen := make(map[string]bool)
	for _, id := range m.Uses {
		switch {
		case id == "":
			return errors.New("a tool use has no id")
		case seen[id] || h.Base != nil && h.Has(id) || h.isOpen(id):
			return fmt.Errorf("the tool use id %q is in the history already; ids must be unique. A reply that the runner received is recorded by itself: append only what follows it", id)
		}
		seen[id] = true
	}
	clear(seen)
	for _, id := range m.Results {
		if seen[id] || !slices.ContainsFunc(h.Open, func(u Use) bool { return u.ID == id }) {
			return fmt.Errorf("the tool_result for %q answers no open call: each call is answered once, in the one message right after it", id)
		}
		seen[id] = true
	}
	return nil
}

// isOpen reports whether an id is that of a call in the turn that goes on. One of a turn
// that was answered may come again: the API takes it.
func (h *History) isOpen(id string) bool {
	return slices.Contains(h.waiting, id) || slices.Contains(h.turn, id)
}

// Answered returns the user message that answers the open calls, with results
// from given where they are there, and then the rest of given.
func (h *History) Answered(given []Block, unanswered func(Use) []byte) Draft {
	raws := make([][]byte, 0, len(h.Open)+len(given))
	for _, use := range h.Open {
		at := slices.IndexFunc(given, func(b Block) bool { return b.Kind == TypeToolResult && b.ToolUseID == use.ID })
		if at >= 0 {
			raws = append(raws, given[at].Raw)
			continue
		}
		raws = append(raws, unanswered(use))
	}
	for _, b := range given {
		if b.Kind != TypeToolResult {
			raws = append(raws, b.Raw)
		}
	}
	return UserMessage(raws, h.Open)
}

// Push adds m, which was checked.
func (h *History) Push(m Draft) {
	if h.IDs == nil {
		h.IDs = make(map[string]bool)
	}
	for _, id := range m.Uses {
		h.IDs[id] = true
	}
	switch {
	case m.Role != RoleAssistant:
		h.Open = nil
	case len(h.Open) == 0:
		h.Open = slices.Clip(m.Calls)
	default:
		h.Open = append(h.Open, m.Calls...)
	}
	h.advance(&m)
	h.Changes = append(h.Changes, m.Changes...)
	m.Breakpoints = int32(CountBreakpoints(m.Raw)) //nolint:gosec // a message of that size does not fit into memory
	if m.Images == 0 {                             // otherwise it was looked at
		m.look()
	}
	h.Messages = append(h.Messages, m.Message)
	if h.Base != nil {
		h.Drafts = append(h.Drafts, m)
	}
}

// Clone returns a history that can grow apart from h.
func (h *History) Clone() History {
	c := *h
	c.Messages = slices.Clip(h.Messages)
	c.Open = slices.Clip(h.Open)
	c.Changes = slices.Clip(h.Changes)
	c.Drafts = slices.Clip(h.Drafts)
	c.IDs = maps.Clone(h.IDs)
	return c
}

// Restore adds a message, if the API accepts it there as it is, or a host that takes
// thinking without a signature.
func (h *History) Restore(raw []byte, unsigned bool) error {
	m, ok, err := ReadMessage(raw)
	if err != nil {
		return err
	}
	if err := m.thinkingFault(unsigned); err != nil {
		return err
	}
	if !ok || !bytes.Equal(m.Raw, raw) {
		return errors.New("it says nothing, or holds empty text")
	}
	if err := h.Refusal(&m); err != nil {
		return err
	}
	if m.Role != RoleAssistant && len(m.Results) < len(h.Open) {
		return errors.New("it leaves calls without results that the message before it makes")
	}
	h.Push(m)
	return nil
}
