package toolrunner

import (
	"maps"
	"slices"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner/internal/history"
)

// A loop body that takes over reaches this file; the history that it wants
// leaves it.

// retract takes the last reply out of the history, with the calls that it
// opened. Results of calls that have begun stand, and decisions, should the same
// calls come back.
func (l *loop) retract() {
	l.sequence++
	if l.inFlight { // its reply will not be recorded, but it counts
		l.inFlight = false
		l.iteration++
	}
	for _, m := range l.history.Messages[min(len(l.sent.history.Messages), len(l.history.Messages)):] {
		for _, id := range m.UseIDs() {
			delete(l.history.IDs, id)
		}
	}
	open := min(l.sent.open, len(l.open))
	l.drop(l.open[open:])
	l.dropEarly()
	l.history, l.open, l.rule = l.sent.history, l.open[:open], l.sent.rule
	l.history.Messages = slices.Clip(l.history.Messages) // a checkpoint still knows what comes after them
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
		return history.ErrNoMessages
	}
	dry := l.sent.history.Clone()
	for _, m := range l.history.Messages[len(dry.Messages):] {
		for _, id := range m.UseIDs() {
			delete(dry.IDs, id)
		}
	}
	maps.Copy(dry.IDs, l.queue.IDs) // they will follow
	if err := dry.AppendAll(messages, nil); err != nil {
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
		if p, err := history.EncodeParam(m.Param()); err == nil {
			known[string(p)] = m.Raw
		}
	}
	var dry history.History
	if err := dry.AppendAll(messages, known); err != nil {
		return err
	}
	l.retract()
	l.queue = history.History{Base: &l.history}
	l.takeOver(dry)
	l.mark()
	return nil
}

func (l *loop) takeOver(h history.History) {
	l.history = h
	l.rule = history.Rule{Unrun: history.UnrunGiven}
	l.openCalls(callWaiting, history.UnrunGiven)
	l.news = true
}
