package toolrunner

import (
	"errors"
	"maps"
	"slices"

	"github.com/anthropics/anthropic-sdk-go/v2"
)

// A loop body that takes over reaches this file; the history that it wants
// leaves it.

var errNoMessages = errors.New("toolrunner: a takeover leaves no messages; give at least one")

// retract takes the last reply out of the history, with the calls that it
// opened. Results of calls that have begun stand, and decisions, should the same
// calls come back.
func (l *loop) retract() {
	l.sequence++
	if l.inFlight { // its reply will not be recorded, but it counts
		l.inFlight = false
		l.iteration++
	}
	for _, m := range l.history.messages[min(len(l.sent.history.messages), len(l.history.messages)):] {
		for _, id := range m.useIDs() {
			delete(l.history.ids, id)
		}
	}
	open := min(l.sent.open, len(l.open))
	l.drop(l.open[open:])
	l.dropEarly()
	l.history, l.open, l.rule = l.sent.history, l.open[:open], l.sent.rule
	l.history.messages = slices.Clip(l.history.messages) // a checkpoint still knows what comes after them
}

// retry drops the last reply: the same history goes out again.
func (l *loop) retry() error {
	if l.compact.turn {
		return errCompacting
	}
	l.retract()
	l.news = true
	return nil
}

// replace puts messages in the place of the last reply and its results.
func (l *loop) replace(messages []anthropic.BetaMessageParam) error {
	if l.compact.turn {
		return errCompacting
	}
	if len(messages) == 0 {
		return errNoMessages
	}
	dry := l.sent.history.clone()
	for _, m := range l.history.messages[len(dry.messages):] {
		for _, id := range m.useIDs() {
			delete(dry.ids, id)
		}
	}
	maps.Copy(dry.ids, l.queue.ids) // they will follow
	if err := dry.appendAll(messages, nil); err != nil {
		return err
	}
	l.retract()
	l.takeOver(dry)
	return nil
}

// set puts messages in the place of the whole history and of what was to follow.
// Those that the caller left as they were keep their bytes.
func (l *loop) set(messages []anthropic.BetaMessageParam) error {
	if l.compact.turn {
		return errCompacting
	}
	known := make(map[string][]byte)
	for _, m := range l.view() {
		if p, err := encodeParam(m.param()); err == nil {
			known[string(p)] = m.raw
		}
	}
	var dry history
	if err := dry.appendAll(messages, known); err != nil {
		return err
	}
	l.retract()
	l.queue = history{base: &l.history}
	l.takeOver(dry)
	l.mark()
	return nil
}

func (l *loop) takeOver(h history) {
	l.history = h
	l.rule = stopRule{unrun: unrunGiven}
	l.openCalls(callWaiting, unrunGiven)
	l.news = true
}

// appendAll adds messages from the caller, which keep the bytes that are known
// for them.
func (h *history) appendAll(messages []anthropic.BetaMessageParam, known map[string][]byte) error {
	for i, p := range messages {
		raw, err := encodeParam(p)
		if original, ok := known[string(raw)]; ok {
			raw = original
		}
		var m draft
		ok := false
		if err == nil {
			m, ok, err = readMessage(raw)
		}
		if err == nil && ok {
			err = h.append(m, func(use toolUse) []byte { return ErrorResult(unrunGiven).encode(use) })
		}
		if err != nil {
			return &HistoryError{Index: i, Reason: err.Error()}
		}
	}
	if len(h.messages) == 0 {
		return errNoMessages
	}
	return nil
}
