package toolrunner

import (
	"cmp"
	"crypto/rand"
	"slices"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner/internal/history"
)

// What has happened reaches the loop: a reply, a result, a follow-up. What is to
// be done next leaves it. There is no I/O here, no clock and no goroutine: a
// driver asks for the next step, takes it, and reports back.

// stepKind is what a driver is to do.
type stepKind uint8

const (
	stepEnd       stepKind = iota // nothing: the run has ended
	stepRun                       // run step.calls, and report each with started and answer
	stepSend                      // send the history, and report with receive or fail
	stepCompact                   // the same, for the API to compact it; report with compacted
	stepSummarize                 // ask for a summary of it; report with summarized
)

type step struct {
	kind    stepKind
	calls   []*openCall                              // also those that an end waits for
	outcome Outcome                                  // of stepEnd
	limit   string                                   // that a run with OutcomeLimitReached has reached
	config  anthropic.BetaCompactionConfigUnionParam // of stepCompact
	skipped bool                                     // a compaction was, as calls are left without results
}

// limits is what bounds a run, as Params have it.
type limits struct {
	iterations int // replies; 0 or less: any
	compact    AutoCompact
	Limits
	now time.Time
}

// loop is the state of a run between its steps.
type loop struct {
	history history.History
	queue   history.History // follow-ups that wait for the results of the open turn
	tools   *toolset
	open    []*openCall // for history.open, one by one
	early   []*openCall // calls of the reply under way, which may run before it is complete
	usage   Usage
	spent   spending // by this run

	rule      history.Rule // of the last reply
	news      bool         // the history holds what the model has not answered
	inFlight  bool         // a request is under way
	sent      sentState    // what a takeover goes back to
	dropped   []*openCall  // calls of a reply that was taken over, whose results stand
	choice    any          // the forced tool choice that has done its work in this run
	ended     bool         // the run ended for good: what comes now begins another one
	iteration int          // replies of this run
	container string       // that the last reply ran in which had one
	run       string       // id of the conversation
	sequence  int64        // grows with whatever happens to it
	reply     []byte       // the last one

	compact compaction
}

// sentState is where the loop stood when the last request went out.
type sentState struct {
	history history.History
	open    int // calls that were open
	rule    history.Rule
}

// newLoop returns the loop of a conversation that begins with messages.
func newLoop(tools *toolset, messages []anthropic.BetaMessageParam) (*loop, error) {
	l := &loop{tools: tools, rule: history.Rule{Unrun: history.UnrunGiven}, run: rand.Text(), sequence: 1}
	l.queue.Base = &l.history
	if err := l.follow(messages); err != nil {
		return nil, err
	}
	l.flush()
	if last := l.history.LastReply(); last != nil && last.Hanging {
		l.resumeGiven()
	}
	return l, nil
}

// resumeGiven has a conversation that begins with a paused turn go on with it.
func (l *loop) resumeGiven() {
	l.rule = history.RuleFor(anthropic.BetaStopReasonPauseTurn)
	for _, call := range l.open {
		call.state, call.unrun = callUnrun, l.rule.Unrun
	}
}

// openCall returns the open call of an id, or nil.
func (l *loop) openCall(id string) *openCall {
	for _, call := range l.open {
		if call.use.ID == id {
			return call
		}
	}
	return nil
}

// step decides what is next.
func (l *loop) step(limit limits) step {
	l.compact.turn = false
	l.spent.run(limit.now)
	if waiting := l.waiting(); len(waiting) > 0 {
		return step{kind: stepRun, calls: waiting}
	}
	if suspended := l.suspended(); len(suspended) > 0 {
		return step{kind: stepEnd, outcome: OutcomeSuspended, calls: suspended}
	}
	l.settle(limit.FailedCalls > 0)
	if waiting := l.waiting(); len(waiting) > 0 { // a follow-up ended in calls
		return step{kind: stepRun, calls: waiting}
	}
	if l.news && l.ended {
		l.ended, l.iteration, l.choice, l.spent = false, 0, nil, spending{since: limit.now}
		l.sequence++
	}
	if s, ok := l.limitStep(limit); ok {
		return s
	}
	s, ok := l.compactStep(limit.compact)
	if !ok && !l.news && l.history.Last() != nil {
		l.end()
		s.kind, s.outcome = stepEnd, Outcome(l.rule.Outcome)
		return s
	}
	if !ok {
		s.kind = stepSend
	}
	l.flushToolChanges()
	l.inFlight = true
	l.mark()
	return s
}

// end ends the run for good: nothing of it is left open.
func (l *loop) end() {
	if l.ended && len(l.open) == 0 {
		return
	}
	l.prune()
	l.close()
	l.ended = true
	l.sequence++
}

// leave takes note that the loop body has broken off. At the last turn that is
// the end of the run.
func (l *loop) leave(now time.Time) {
	l.compact.turn = false
	l.spent.pause(now)
	if l.finished() {
		l.end()
	}
}

// mark takes note of where a takeover goes back to.
func (l *loop) mark() {
	l.sent = sentState{l.history, len(l.open), l.rule}
	l.sequence++
}

// waiting returns the calls to run, and those that run. A call that was interrupted
// is among them only if it may run again, by the tool that it ran with and by the one
// of now.
func (l *loop) waiting() []*openCall {
	var calls []*openCall
	for _, call := range l.open {
		if call.state == callStarted && call.repeat && !call.running && l.repeatable(call.use.Name) {
			call.state = callWaiting
			l.touch(call)
		}
		if call.state == callWaiting || call.running {
			calls = append(calls, call)
		}
	}
	return calls
}

func (l *loop) repeatable(name string) bool {
	tool := l.lookup(name)
	return tool != nil && tool.repeatable
}

// suspended returns the calls that wait for a decision.
func (l *loop) suspended() []*openCall {
	var calls []*openCall
	for _, call := range l.open {
		if call.state == callSuspended {
			calls = append(calls, call)
		}
	}
	return calls
}

// settle puts the results of the open turn into the history, and then the
// follow-ups. A turn none of whose calls are run stays open until there is
// something to say after it.
func (l *loop) settle(count bool) {
	if l.held() {
		return
	}
	if l.answering() {
		if count {
			l.countFailed()
		}
		l.news = true
		l.close()
	}
	if l.flushable() {
		l.close()
		l.flush()
	}
}

// held reports whether nothing but its continuation may follow the last reply: it
// was paused in the middle of a server tool's work.
func (l *loop) held() bool {
	last := l.history.LastReply()
	return l.rule.After == history.ResumeRun && last != nil && last.Hanging
}

// answering reports whether calls of the open turn are answered by running them.
func (l *loop) answering() bool {
	return slices.ContainsFunc(l.open, func(c *openCall) bool { return c.state != callUnrun })
}

// results returns the message that answers the open calls as they stand.
func (l *loop) results() history.Draft {
	return l.history.Answered(nil, func(use history.Use) []byte { return l.openCall(use.ID).answer() })
}

// close answers the open calls.
func (l *loop) close() {
	if len(l.open) == 0 {
		return
	}
	results := l.results()
	l.prune()
	l.history.Push(results)
	l.open = nil
	l.sequence++
}

// prune makes the last reply one that something may follow: a server tool's work
// that a reply left unfinished when it ended will never have a result.
func (l *loop) prune() {
	last := l.history.LastReply()
	if last == nil || !last.Hanging || l.rule.After != history.EndRun {
		return
	}
	open := l.history.Open
	pruned, ok := last.WithoutHanging()
	l.history.Messages = slices.Clone(l.history.Messages[:len(l.history.Messages)-1])
	if ok {
		l.history.Messages = append(l.history.Messages, pruned)
	}
	l.history.Open = open
}

// openCalls makes open what history.open is. Calls that are new in it have the
// state and the reason given, unless they are known from a reply that was taken
// over.
func (l *loop) openCalls(state callState, unrun string) {
	before := append(l.open, l.dropped...)
	l.open = make([]*openCall, 0, len(l.history.Open))
	for _, use := range l.history.Open {
		at := slices.IndexFunc(before, func(c *openCall) bool { return c.isFor(use) })
		if at < 0 {
			l.open = append(l.open, &openCall{use: use, iteration: l.iteration, reply: l.usage.Replies, state: state, unrun: unrun})
			continue
		}
		l.open = append(l.open, before[at])
	}
}

// flushToolChanges adds the queued tool changes as one system message. The API
// refuses one right after an assistant message, so they wait for a user message.
func (l *loop) flushToolChanges() {
	if len(l.tools.changes) == 0 || l.history.Last() == nil || l.history.LastReply() != nil {
		return
	}
	changes := l.tools.queued
	l.history.Push(history.Draft{Message: history.JoinMessage(history.RoleSystem, l.tools.take()), Changes: changes})
}

// receive records a reply to the request under way.
func (l *loop) receive(r *history.Reply) {
	early := l.early
	l.inFlight, l.early, l.dropped = false, nil, nil
	l.iteration++
	l.sequence++
	l.reply = r.Raw
	l.container = cmp.Or(r.Container, l.container)
	l.rule = history.RuleFor(anthropic.BetaStopReason(r.StopReason))
	l.spend(r.Usage)
	l.compact.measure(contextTokens(r))
	if !r.Blank {
		l.history.Push(r.Message)
	}
	state := callUnrun
	if l.rule.After == history.RunCalls {
		state, l.dropped = callWaiting, early
		for i := range r.Message.Calls {
			l.spent.call(r.Message.Calls[i].Name)
		}
	}
	l.openCalls(state, l.rule.Unrun)
	l.dropped = nil
	l.drop(slices.DeleteFunc(early, func(c *openCall) bool { return slices.Contains(l.open, c) }))
	for id, result := range r.Failed {
		if call := l.openCall(id); call != nil && call.state == callWaiting {
			l.answer(call, result, nil)
		}
	}
	l.news = l.rule.After == history.ResumeRun
	l.rule.Code = l.rule.After == history.RunCalls && r.Message.FromCode
}

// taken reports whether the id of a tool use is in the conversation.
func (l *loop) taken(id string) bool { return l.queue.Has(id) }

// finished reports whether the run would end if nothing came in between.
func (l *loop) finished() bool {
	if l.inFlight || l.news || l.compact.scheduled != nil || l.flushable() || l.history.Last() == nil {
		return false
	}
	return !l.answering()
}

// lookup returns the tool that answers calls of name, or nil.
func (l *loop) lookup(name string) *registered {
	return l.tools.lookup(name, l.history.Changes, l.queue.Changes)
}

// fail ends the request under way without a reply.
func (l *loop) fail() {
	l.inFlight = false
	l.sequence++
	l.dropEarly()
	l.compact.fail()
}

// view returns the messages as they would go on from here: with the results of
// a turn that has some, and with the follow-ups. A turn whose calls have not
// begun is left open, unless one of them is not to run as the model made it.
func (l *loop) view() []history.Message {
	messages := l.history.Messages
	begun := false
	for _, call := range l.open {
		begun = begun || call.state > callWaiting && !call.early || call.state == callSuspended || call.decision.kind == allowInput
	}
	if begun && !l.held() {
		messages = append(slices.Clip(messages), l.results().Message)
	}
	if (begun || len(l.open) == 0) && !l.inFlight && l.flushable() {
		messages = slices.Clip(messages)
		for _, m := range l.follows(messages) {
			messages = append(messages, m.Message)
		}
	}
	return messages
}
