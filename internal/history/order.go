package history

import (
	"errors"
	"fmt"
	"slices"
)

// What may follow what. This file has the rules for every way into a history: messages
// that a caller gives, follow-ups, replies, snapshots. What the API says about them, in
// its own words:
//
//   - "role 'system' must precede an 'assistant' message or end the array"; it stands
//     behind a message of the user or a server tool's result, and never first ("use the
//     top-level system parameter"). A group of system messages counts as one, and one of
//     options alone (content [] with output_config) may stand anywhere.
//   - "tool_use ids were found without tool_result blocks immediately after": calls are
//     answered in the one message right after their turn, results first.
//   - "... tool use with id ... was found without a corresponding ... block": a server
//     tool's use has its result in the same turn. While one is open beside a client call,
//     nothing but that call's results may follow, and then the turn goes on.
//   - "unexpected tool_use_id found in ... blocks": a result has its use before it.

// order says why the API would refuse a message after those of the history, or returns
// nil. Messages on top of another history (Base) are put in order by who owns them.
func (h *History) order(m *Draft) error {
	if m.Directive {
		return nil
	}
	last := h.lastOrdinary()
	switch m.Role {
	case RoleAssistant:
		return h.orderResults(m)
	case RoleSystem:
		switch {
		case last == nil && h.Base == nil:
			return errors.New("a system message comes first; use Params.System")
		case len(h.Open) > 0 && len(h.waiting) > 0:
			return h.waitingError("a system message")
		case len(h.Open) > 0: // their results go in between
		case last != nil && last.Role == RoleAssistant && !last.ServerEnd:
			return errors.New("a system message follows an assistant message; put it after the next user message")
		case len(h.waiting) > 0 && last.Role == RoleUser:
			return h.waitingError("a system message")
		}
	default:
		switch {
		case last != nil && last.Role == RoleSystem && h.Base == nil:
			return errors.New("a user message follows a system message, which must precede an assistant message or come last; put the system message behind it")
		case len(h.waiting) == 0 || last == nil:
		case len(h.Open) > 0 && !m.isResults():
			return h.waitingError("other content than its results")
		case len(h.Open) == 0 && last.Role == RoleAssistant:
			return errors.New("the assistant message before it ends with the use of a server tool that has no result; leave that block out, or let the turn go on first")
		case len(h.Open) == 0:
			return h.waitingError("a user message")
		}
	}
	return nil
}

// orderResults says which result of a server tool has no use.
func (h *History) orderResults(m *Draft) error {
	for i, id := range m.closed {
		if !slices.Contains(h.waiting, id) || slices.Contains(m.closed[:i], id) {
			return fmt.Errorf("the result of a server tool for %q has no use before it in its turn; leave it out, or keep the message with its use", id)
		}
	}
	return nil
}

func (h *History) waitingError(what string) error {
	return fmt.Errorf("%s follows while the server tool use %q waits for its result: send the results of the client calls alone, and let the turn go on first", what, h.waiting[0])
}

// Waiting returns the ids of the server tool uses that have no result yet, in the turn
// that goes on. They must not be changed.
func (h *History) Waiting() []string { return h.waiting }

// Turn returns the ids of the calls, the server's included, in the assistant messages that
// the next one goes on with. They must not be changed.
func (h *History) Turn() []string { return h.turn }

// lastOrdinary returns the last message that is more than options, or nil.
func (h *History) lastOrdinary() *Message {
	for i := len(h.Messages) - 1; i >= 0; i-- {
		if !h.Messages[i].Directive {
			return &h.Messages[i]
		}
	}
	return nil
}

// isResults reports whether a message holds results and nothing else.
func (m *Draft) isResults() bool { return m.Lead > 0 && m.Lead == m.blockCount }

// advance takes note of the server tools that wait after a message.
func (h *History) advance(m *Draft) {
	switch {
	case m.Directive:
	case m.Role == RoleAssistant:
		h.turn = append(slices.Clip(h.turn), m.Uses...)
		if m.seam {
			h.waiting = nil
		}
		h.waiting = append(slices.DeleteFunc(slices.Clone(h.waiting), func(id string) bool { return slices.Contains(m.closed, id) }), m.opened...)
		if len(h.waiting) == 0 {
			h.waiting = nil
		}
	case m.Role == RoleUser:
		if h.turn = nil; !m.isResults() {
			h.waiting = nil
		}
	}
}
