package machine

import (
	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner/internal/history"
)

// rollback is the state that a takeover goes back to: that of the last request.
type rollback struct {
	history history.History
	open    []*Call
	rule    history.Rule
}

// exchange is the request under way.
type exchange struct {
	kind   StepKind // End: none
	config []byte   // of a compaction that was scheduled
	inBody bool     // the loop body has the reply to a compaction

	form Form
	head any
}

// Begin takes note that the request of step goes out. Tool changes that wait go into
// the history first.
func (m *Machine) Begin(step Step) {
	m.calling = false
	m.exchange = exchange{kind: step.Kind, inBody: step.Kind == Compact}
	m.update(func(s *state) {
		if step.Kind == Compact || step.Skipped {
			m.exchange.config, s.compaction.scheduled = s.compaction.scheduled, nil
		}
		if step.Skipped {
			m.exchange.config = nil
		}
		if step.Kind != Summarize && !s.rule.Code {
			if changes, ok := m.tools.take(&s.history); ok {
				s.history.Push(changes)
			}
		}
		s.mark()
	})
}

// mark makes the state one that a takeover goes back to.
func (s *state) mark() { s.rollback = rollback{s.history, s.open, s.rule} }

// Received records the reply to the request under way. forced is the tool choice of
// the request if it made the model call a tool.
func (m *Machine) Received(r *history.Reply, forced any) {
	streaming, sent := m.streaming, m.exchange
	m.streaming, m.exchange = nil, exchange{}
	m.update(func(s *state) {
		s.iteration = more(s.iteration)
		s.spend(r.Usage)
		s.compaction.measure(contextTokens(r.Usage))
		s.reply = r.Raw
		if r.Container != "" {
			s.container, s.containerUntil = r.Container, r.Until
		}
		if !r.Blank {
			s.history.Push(r.Message)
		}
		s.rule = ruleOf(r, &s.history)
		s.discarded = nil
		if s.rule.After == history.RunCalls {
			s.countCalls(r.Message.Calls)
			s.reopen(append(s.open, streaming...), waiting, s.rule.Unrun, s.iteration)
		} else {
			s.reopen(s.open, unrun, s.rule.Unrun, s.iteration)
		}
		s.discard(without(streaming, s.open))
		s.failBroken(r)
		s.needsReply = s.rule.After == history.ResumeRun
		if s.answerable() {
			s.forced = forced
		}
	})
	m.thread.received(r, &sent, &m.s.history)
}

func ruleFor(reason string) history.Rule { return history.RuleFor(anthropic.BetaStopReason(reason)) }

// failBroken has calls fail that cannot run as they are in a reply: also should they
// come back by a takeover. A reply that was cut off or refused has cut its last call.
func (s *state) failBroken(r *history.Reply) {
	for id, block := range r.Failed {
		if call := s.openCall(id); call != nil {
			call.fail(block)
		}
	}
	cut, ok := r.Message.CutCall(s.rule)
	if !ok || len(s.open) == 0 {
		return
	}
	if last := s.open[len(s.open)-1]; last.isFor(cut) {
		last.fail(history.ResultBlock(last.use, s.rule.Unrun, true))
	}
}

// ruleOf returns what follows a reply that is in the history. After calls beside the work
// of a server tool, of this reply or an earlier one of its turn, results follow and
// nothing else: the API goes on with that work first.
func ruleOf(r *history.Reply, h *history.History) history.Rule {
	rule := endedBy(ruleFor(r.StopReason), h, false)
	rule.Code = len(h.Waiting()) > 0 && len(h.Open) > 0 && (rule.After != history.EndRun || r.Message.FromCode)
	return rule
}

// endedBy returns the rule, or one that ends the run if the history ends in a reply that
// stopped for calls and has none of ours, but leaves the use of a server tool open.
func endedBy(rule history.Rule, h *history.History, needsReply bool) history.Rule {
	answered := needsReply && h.LastReply() == nil // its results are in the history
	if rule.After == history.RunCalls && len(h.Open) == 0 && !answered && len(h.Waiting()) > 0 {
		rule.After = history.EndRun
	}
	return rule
}

// answerable reports whether calls of the last reply are to be run.
func (s *state) answerable() bool {
	for _, call := range s.open {
		if call.state != unrun && call.iteration == s.iteration {
			return true
		}
	}
	return false
}

// Failed ends the request under way without a reply.
func (m *Machine) Failed() {
	if m.exchange.kind == End {
		return
	}
	compacting := m.exchange.kind != Send
	m.exchange = exchange{}
	m.update(func(s *state) {
		s.discard(m.streaming)
		if compacting {
			s.compaction.floor = s.compaction.context
		}
	})
	m.streaming = nil
}
