// Package machine decides what a run of the tool runner does next. It is told what
// has happened (a reply, a result, a decision, a follow-up, a takeover) and says
// which step is next. It does no I/O, starts no goroutine and reads no clock, so
// that every driver shares every rule, and each rule is tested without a network.
//
// A driver asks [Machine.Next], which has no effects, and takes the step:
//
//   - [Settle]: call [Machine.Settle];
//   - [Run]: run the calls, and report each with [Machine.Start] and
//     [Machine.SetResult];
//   - [Send], [Compact], [Summarize]: call [Machine.Begin] right before the request
//     goes out. Exactly one of [Machine.Received], [Machine.Compacted],
//     [Machine.Summarized], [Machine.Failed], [Machine.Unsent] and a takeover ends what
//     Begin began;
//   - [End]: call [Machine.Finalize].
//
// A Machine is not safe for concurrent use. It never calls the caller's code.
package machine

import (
	"time"

	"github.com/toolrunner/toolrunner/internal/history"
)

// StepKind is what a driver does next.
type StepKind uint8

// The kinds of steps.
const (
	End       StepKind = iota // nothing: the run has ended, with Step.Outcome
	Settle                    // results and follow-ups go into the history
	Run                       // Step.Calls run
	Send                      // the history goes out
	Compact                   // the same, for the API to compact it
	Summarize                 // a request for a summary of the history goes out
)

// Step is what is next in a run.
type Step struct {
	Kind    StepKind
	Calls   []*Call         // of Run; those that an End with history.OutcomeSuspended waits for
	Outcome history.Outcome // of End
	Limit   string          // the limit that was reached, of an End with history.OutcomeLimitReached
	Config  []byte          // of Compact, encoded; nil: that of the parameters
	Skipped bool            // a scheduled compaction is dropped, because calls have no results
}

// StepLimits is what bounds the next step, as the caller's parameters say now.
type StepLimits struct {
	MaxIterations int // replies; 0 or less: no limit
	Limits        Limits
	AutoCompact   AutoCompact
	Now           time.Time
}

// Machine is the state of a run between its steps.
type Machine struct {
	id    string // of the conversation
	tools *Tools

	s state

	exchange  exchange
	thread    thread
	streaming []*Call // calls of the reply under way, which may run before it is complete
	calling   bool    // the open turn has come to its calls
	changes   int     // of the state since this machine is there
}

// state is what a snapshot holds. Only update changes it.
type state struct {
	sequence   int64
	history    history.History
	queue      history.History // follow-ups that wait; what comes before them is history
	open       []*Call         // for history.Open, one by one
	discarded  []*Call         // calls of a reply that was taken over, whose results stand
	rule       history.Rule    // of the last reply
	rollback   rollback
	needsReply bool // the history holds what the model has not answered
	standing   standing
	iteration  int    // replies of this run
	container  string // that the last reply with one ran in

	containerUntil string // when that expires, as the API has said it
	trace          string // the span of the last run; see SetTrace
	reply          []byte // the last one
	forced         any    // the forced tool choice that has done its work in this run
	usage          Usage
	spent          spending // by this run
	compaction     compaction
}

// standing is how far a run has come.
type standing uint8

const (
	running   standing = iota
	limited            // it ended at a limit: raising that, or a message of the user, lets it go on
	finalized          // it is over for good: what comes now begins another run
)

// New returns the machine of a conversation that begins with messages. It returns a
// *[history.Error] for messages that the API would refuse there.
func New(id string, tools *Tools, messages []history.Draft) (*Machine, error) {
	m := &Machine{id: id, tools: tools, calling: true}
	m.s.sequence = 1
	m.s.queue.Base = &m.s.history
	if err := m.s.history.AppendAll(messages, m.standIn); err != nil {
		return nil, err
	}
	m.s.needsReply = len(m.s.history.Messages) > 0
	m.s.adopt()
	m.s.reopen(m.s.open, waiting, history.UnrunGiven, 0)
	return m, nil
}

// update changes the state: the sequence of the machine and the versions of the
// calls rise, so that the next checkpoint has the change. Nothing else writes to
// the state.
func (m *Machine) update(change func(*state), calls ...*Call) {
	change(&m.s)
	m.s.sequence = min(m.s.sequence, maxCount-1) + 1
	m.changes++
	for _, call := range calls {
		call.version++
	}
}

// Next returns the next step. It has no effects.
func (m *Machine) Next(l StepLimits) Step {
	if calls := m.Waiting(); len(calls) > 0 {
		return Step{Kind: Run, Calls: calls}
	}
	if calls := m.Suspended(); len(calls) > 0 {
		return Step{Kind: End, Outcome: history.OutcomeSuspended, Calls: calls}
	}
	if m.unsettled() {
		return Step{Kind: Settle}
	}
	if s, ok := m.limitReached(l); ok {
		return s
	}
	s, ok := m.compactStep(l.AutoCompact)
	switch {
	case ok:
	case !m.s.needsReply && m.s.history.Last() != nil:
		s.Kind, s.Outcome = End, m.s.rule.Outcome
	default:
		s.Kind = Send
	}
	return s
}

// unsettled reports whether Settle has something to do.
func (m *Machine) unsettled() bool {
	return !m.held() && (m.answering() || m.pausedWithCalls() || m.codeWaits() || m.flushable()) || m.s.needsReply && m.s.standing == finalized
}

// pausedWithCalls reports whether the last reply was paused and holds calls. They are not
// run, and are answered all the same before the turn goes on: the API takes no call
// without a result.
func (m *Machine) pausedWithCalls() bool {
	return m.s.rule.After == history.ResumeRun && len(m.s.open) > 0
}

// codeWaits reports whether a follow-up waits for code at the server that waits for
// results of its calls, in a turn that has ended: those results go out first.
func (m *Machine) codeWaits() bool {
	return m.s.rule.Code && !m.s.needsReply && len(m.s.queue.Drafts) > 0
}

// Settle puts the results of the open turn into the history, and then the
// follow-ups. A turn none of whose calls are run stays open until something is to
// be said after it. countFailed says whether failed calls are counted for a limit.
func (m *Machine) Settle(countFailed bool, now time.Time) {
	if !m.unsettled() {
		return
	}
	m.update(func(s *state) {
		if !m.held() {
			if m.answering() {
				if countFailed {
					s.countFailed()
				}
				s.needsReply = true
				s.close()
			}
			if m.codeWaits() || m.pausedWithCalls() {
				s.needsReply = true
				s.close()
			}
			if m.flushable() {
				s.close()
				s.flush()
				s.reopen(nil, waiting, history.UnrunGiven, s.iteration)
			}
		}
		if s.needsReply && s.standing == finalized {
			s.beginRun(now)
		}
	})
}

// beginRun starts to count anew.
func (s *state) beginRun(now time.Time) {
	s.standing, s.iteration, s.forced, s.spent = running, 0, nil, spending{since: now}
}

// Finalize takes note that the run has ended as step says. A run that ended for good
// leaves no call open.
func (m *Machine) Finalize(step Step) {
	s := &m.s
	switch {
	case step.Outcome == history.OutcomeSuspended:
	case step.Outcome == history.OutcomeLimitReached || step.Outcome == history.OutcomeMaxIterations:
		if s.standing == running || s.compaction.scheduled != nil {
			m.update(func(s *state) { s.standing, s.compaction.scheduled = limited, nil })
		}
	case s.standing != finalized || len(s.open) > 0 || step.Skipped:
		m.update(func(s *state) {
			s.close()
			s.standing = finalized
			if step.Skipped {
				s.compaction.scheduled = nil
			}
		})
	}
}

// Enter takes note that the driver has control: the loop body, if there was one, has
// returned.
func (m *Machine) Enter(now time.Time) {
	m.exchange.inBody = m.exchange.inBody && m.exchange.kind != End
	m.s.spent.start(now)
}

// Pause takes note that nobody loops over the run. The time that it has taken counts
// for its limit; that of a run which is over for good does not matter any more.
func (m *Machine) Pause(now time.Time) {
	if m.s.spent.time(now) == m.s.spent.elapsed || m.s.standing == finalized {
		m.s.spent.pause(now)
		return
	}
	m.update(func(s *state) { s.spent.pause(now) })
}

// Leave takes note that the loop body broke off. At the last turn that is the end of
// the run.
func (m *Machine) Leave(now time.Time) {
	m.Enter(now)
	m.Pause(now)
	if m.Finished() {
		m.Finalize(Step{Kind: End, Outcome: m.s.rule.Outcome})
	}
}

// Finished reports whether the run would end if nothing came in between.
func (m *Machine) Finished() bool {
	return m.exchange.kind == End && !m.s.needsReply && m.s.compaction.scheduled == nil &&
		!m.flushable() && m.s.history.Last() != nil && !m.answering()
}

// Standing returns the outcome that a run has which is over but for its formal end, and
// otherwise the one given.
func (m *Machine) Standing(otherwise history.Outcome) history.Outcome {
	if m.Finished() {
		return m.s.rule.Outcome
	}
	return otherwise
}

// Messages returns the history, for a request. It must not be changed.
func (m *Machine) Messages() []history.Message { return m.s.history.Messages }

// Container returns the id of the container that the last reply with one ran in, unless
// it has expired: the API refuses each request that names such a one.
func (m *Machine) Container(now time.Time) string {
	until, err := time.Parse(time.RFC3339, m.s.containerUntil)
	if err == nil && !now.Before(until) {
		return ""
	}
	return m.s.container
}

// Trace returns what SetTrace was given last, also before the run was resumed.
func (m *Machine) Trace() string { return m.s.trace }

// SetTrace keeps how the run's span is known, for a later run to link to it.
func (m *Machine) SetTrace(trace string) {
	if trace != m.s.trace {
		m.update(func(s *state) { s.trace = trace })
	}
}

// Forced returns the forced tool choice that has done its work in this run, or nil.
func (m *Machine) Forced() any { return m.s.forced }

// Iteration returns how many replies the run has had.
func (m *Machine) Iteration() int { return m.s.iteration }

// Usage returns what the replies of the conversation have cost.
func (m *Machine) Usage() Usage { return m.s.usage }

// RunUsage returns what the replies of the run have cost.
func (m *Machine) RunUsage() Usage { return m.s.spent.usage }

// LastReply returns the last reply, or nil, and what follows it.
func (m *Machine) LastReply() ([]byte, history.Rule) { return m.s.reply, m.s.rule }

// BoundBreakpoints takes the oldest cache_control out of the messages from an index on, so
// that most are left there, and returns how many it took.
func (m *Machine) BoundBreakpoints(from, most int) int {
	n := history.Breakpoints(m.s.history.Messages[from:]) - max(0, most)
	if n <= 0 {
		return 0
	}
	dropped := 0
	m.update(func(s *state) { dropped = s.history.DropBreakpoints(from, n) })
	return dropped
}

// held reports whether nothing but its continuation may follow the last reply: it
// was paused in the middle of a server tool's work, and has no calls.
func (m *Machine) held() bool {
	return m.s.rule.After == history.ResumeRun && len(m.s.open) == 0 && m.s.history.LastReply() != nil && len(m.s.history.Waiting()) > 0
}

// answering reports whether calls of the open turn are answered by running them.
func (m *Machine) answering() bool {
	for _, call := range m.s.open {
		if call.state != unrun {
			return true
		}
	}
	return false
}

// adopt sets the rule of a history that the caller made. One that ends with the use
// of a server tool goes on with it: the API has its result, or makes it. Code at the
// server may wait for results of calls, which may be there.
func (s *state) adopt() {
	s.rule = history.Rule{Unrun: history.UnrunGiven}
	switch {
	case len(s.history.Waiting()) == 0:
	case len(s.history.Open) == 0 && s.history.LastReply() != nil:
		s.rule = ruleFor("pause_turn")
	default:
		s.rule = ruleFor("tool_use")
		s.rule.Code = true
	}
}

// close answers the open calls.
func (s *state) close() {
	if len(s.open) == 0 {
		return
	}
	results := s.results()
	s.prune()
	s.history.Push(results)
	s.open = nil
}

// results returns the message that answers the open calls as they stand.
func (s *state) results() history.Draft {
	return s.history.Answered(nil, func(use history.Use) []byte { return s.openCall(use.ID).resultBlock() })
}

// prune makes the last reply one that something may follow: a server tool's work
// that a reply left unfinished when it ended will never have a result.
func (s *state) prune() {
	if s.rule.After == history.EndRun {
		s.history.Prune()
	}
}

// View returns the messages as they would go on from here: with the results of a
// turn that has some, or whose calls will not run, and with the follow-ups; without work
// of server tools that will never be done. A turn whose calls have not begun is left
// open, unless one of them is not to run as the model made it. The messages must not be
// changed.
func (m *Machine) View() []history.Message {
	s := m.s // pushing to the copy leaves the original as it is
	s.history = s.history.Fork()
	closed := m.begun() && !m.held()
	if closed {
		s.close()
	}
	if (closed || !m.answering()) && m.exchange.kind == End && m.flushable() {
		s.close()
		s.flush()
	}
	if len(s.open) == 0 {
		s.prune()
	}
	return s.history.Messages
}

// begun reports whether the open turn is shown with results: a call has one or has
// started, or will not run as the model made it.
func (m *Machine) begun() bool {
	for _, call := range m.s.open {
		switch {
		case call.state > waiting && (m.calling || !call.eager), call.state == suspended, call.decision.Kind == AllowInput:
			return true
		case call.state == unrun:
			return true
		}
	}
	return false
}
