package machine

import (
	"fmt"
	"slices"

	"github.com/toolrunner/toolrunner/internal/history"
)

// Follow adds messages after everything else, as soon as the open turn allows.
// Results in them answer open calls in place of the calls' handlers. On an error,
// which is a *[history.Error], nothing has changed.
func (m *Machine) Follow(messages []history.Draft) error {
	claims := make(map[*Call][]byte)
	queue := m.s.queue.Point()
	byUser := false
	for i, draft := range messages {
		draft, more, err := m.claim(draft, claims)
		if err == nil && more {
			err = m.checkPictures(&draft, claims)
		}
		if err == nil && more {
			err = m.s.queue.Append(draft, func(use history.Use) []byte { return history.ResultBlock(use, history.UnrunGiven, true) })
		}
		if err != nil {
			m.s.queue.Back(queue)
			return &history.Error{Index: i, Reason: err.Error()}
		}
		byUser = byUser || more && draft.Role == history.RoleUser
	}
	m.update(func(s *state) {
		for call, block := range claims {
			call.state, call.block, call.cause = answered, block, nil
			call.version++
		}
		if byUser && s.standing == limited {
			s.standing = finalized // what the user says begins another run
		}
	})
	return nil
}

// claim takes the results out of a message that answer calls of the open turn. It
// reports false if nothing else is in it.
func (m *Machine) claim(draft history.Draft, claims map[*Call][]byte) (history.Draft, bool, error) {
	if len(draft.Results) == 0 || len(m.s.open) == 0 || len(m.s.queue.Open) > 0 {
		return draft, true, nil
	}
	blocks, err := draft.Blocks()
	if err != nil {
		return draft, false, err
	}
	for _, b := range blocks[:draft.Lead] {
		call := m.s.openCall(b.ToolUseID)
		switch {
		case call == nil || claims[call] != nil || call.state == answered:
			return draft, false, fmt.Errorf("the tool_result for %q answers no open call: each call is answered once", b.ToolUseID)
		case call.state == started:
			return draft, false, fmt.Errorf("the tool_result for %q comes too late: the call has started", b.ToolUseID)
		}
		if err := m.tooMany(call, b.Raw, claims); err != nil {
			return draft, false, err
		}
		claims[call] = b.Raw
	}
	if draft.Lead == len(blocks) {
		return draft, false, nil
	}
	return history.ReadMessage(history.JoinMessage(draft.Role, history.RawsOf(blocks[draft.Lead:])).Raw)
}

// flushable reports whether some follow-up can go into the history.
func (m *Machine) flushable() bool {
	if len(m.s.queue.Drafts) == 0 || m.held() || m.s.rule.Code {
		return false
	}
	now, _ := m.s.arrange()
	return len(now) > 0
}

// arrange returns the follow-ups that go into the history now, in their order there,
// and those that wait. A system message has to come before an assistant message or at
// the end, and after a message of the user: between two assistant messages, those of
// the user go first, and where there is none the system messages wait for one.
func (s *state) arrange() (now, later []history.Draft) {
	after := len(s.open) > 0 || s.history.TakesSystem()
	var system []history.Draft
	for _, draft := range s.queue.Drafts {
		switch draft.Role {
		case history.RoleSystem:
			system = append(system, draft)
			continue
		case history.RoleUser:
			after = true
		default:
			if after {
				now, system = append(now, system...), nil
			}
			after = false
		}
		now = append(now, draft)
	}
	if after {
		return append(now, system...), nil
	}
	return now, system
}

// flush moves the follow-ups that can go into the history there. Messages of the user
// go before system messages that the model has not answered.
func (s *state) flush() {
	s.prune()
	now, later := s.arrange()
	for _, draft := range behindUsers(&s.history, now) {
		s.history.Push(draft)
	}
	s.needsReply = true
	s.queue = history.History{Base: s.queue.Base}
	for _, draft := range later {
		s.queue.Push(draft)
	}
}

// behindUsers returns drafts as they follow in a history. Those of the user that come
// first go before system messages at its end, which are taken out of it: the model has
// not answered them, and they have to stay at the end or before an assistant message.
func behindUsers(h *history.History, drafts []history.Draft) []history.Draft {
	users := slices.IndexFunc(drafts, func(d history.Draft) bool { return d.Role != history.RoleUser })
	if users < 0 {
		users = len(drafts)
	}
	if users == 0 {
		return drafts
	}
	return slices.Concat(drafts[:users], h.PopSystem(), drafts[users:])
}
