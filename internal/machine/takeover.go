package machine

import (
	"errors"

	"github.com/toolrunner/toolrunner/internal/history"
)

// Errors of a takeover.
var (
	ErrNoMessages = errors.New("Replace and SetMessages need at least one message")
	ErrCompacting = errors.New("the history cannot be replaced while it is being compacted")
)

// Retry drops the last reply: the same history goes out again. lost says that the
// loop body has a turn whose reply was lost: it counts.
func (m *Machine) Retry(lost bool) error {
	if m.compacting() {
		return ErrCompacting
	}
	m.retract(lost, func(s *state) { s.needsReply = true })
	return nil
}

// Replace puts messages in the place of the last reply and its results. It returns a
// *[history.Error] for messages that the API would refuse; nothing has then changed.
// For lost, see Retry.
func (m *Machine) Replace(messages []history.Draft, lost bool) error {
	if m.compacting() {
		return ErrCompacting
	}
	if len(messages) == 0 {
		return ErrNoMessages
	}
	h := m.s.rollback.history.Clone()
	h.Forget(m.since(m.s.rollback.history))
	if err := h.AppendAll(behindUsers(&h, messages), m.standIn); err != nil {
		return err
	}
	m.retract(lost, func(s *state) { s.takeOver(h, m.tools) })
	return nil
}

// SetMessages puts messages in the place of the whole history and of what was to
// follow. It returns a *[history.Error] for messages that the API would refuse;
// nothing has then changed. For lost, see Retry.
func (m *Machine) SetMessages(messages []history.Draft, lost bool) error {
	if m.compacting() {
		return ErrCompacting
	}
	if len(messages) == 0 {
		return ErrNoMessages
	}
	var h history.History
	if err := h.AppendAll(messages, m.standIn); err != nil {
		return err
	}
	m.retract(lost, func(s *state) {
		s.queue = history.History{Base: s.queue.Base}
		s.takeOver(h, m.tools)
		s.mark()
	})
	return nil
}

// compacting reports whether a request to compact is under way, or the body has its
// reply.
func (m *Machine) compacting() bool { return m.exchange.inBody || m.exchange.kind == Summarize }

// since returns the messages that came after those of a history.
func (m *Machine) since(h history.History) []history.Message {
	messages := m.s.history.Messages
	return messages[min(len(h.Messages), len(messages)):]
}

// standIn returns the result of a call that a history leaves unanswered: what the
// call came to, if it is known.
func (m *Machine) standIn(use history.Use) []byte {
	for _, calls := range [][]*Call{m.s.open, m.streaming, m.s.discarded} {
		for _, call := range calls {
			if call.isFor(use) && (call.state > waiting || call.state == unrun) {
				return call.resultBlock()
			}
		}
	}
	return history.ResultBlock(use, history.UnrunGiven, true)
}

// retract takes the last reply out of the history, with the calls that it opened, and
// then changes the state.
func (m *Machine) retract(lost bool, change func(*state)) {
	lost = lost || m.exchange.kind == Send // its reply will not be recorded, but it counts
	streaming := m.streaming
	m.streaming, m.exchange, m.calling = nil, exchange{}, true
	m.update(func(s *state) {
		if lost {
			s.iteration = more(s.iteration)
		}
		s.history.Forget(m.since(s.rollback.history))
		s.discard(without(s.open, s.rollback.open))
		s.discard(streaming)
		s.history, s.open, s.rule = s.rollback.history, s.rollback.open, s.rollback.rule
		s.history.Clip()
		change(s)
	})
}

// takeOver goes on from another history.
func (s *state) takeOver(h history.History, tools *Tools) {
	before := s.open
	tools.restate(s.history.Messages, h.Messages)
	s.history = h
	s.adopt()
	s.reopen(before, waiting, history.UnrunGiven, s.iteration)
	for _, call := range s.open {
		if call.failure != nil && call.state != answered {
			call.state, call.block = answered, call.failure
			call.version++
		}
	}
	s.needsReply = true
}
