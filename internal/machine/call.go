package machine

import (
	"bytes"
	"slices"

	"github.com/toolrunner/toolrunner/internal/history"
)

// callState is how far an open call has come. The order counts: a state above
// waiting means that the call has begun.
type callState uint8

const (
	unrun     callState = iota // it will not be run
	suspended                  // it waits for a decision
	waiting                    // it is to be run
	started                    // its handler may have run
	answered                   // its result is there
)

// callStates are the names of the states in a record.
var callStates = [...]string{"unrun", "suspended", "waiting", "started", "answered"} //nolint:gochecknoglobals // a constant

// Call is a call without a result in the history. Its methods return what never
// changes; what a call has come to, the machine says.
type Call struct {
	use        history.Use
	iteration  int
	replyIndex int // how many replies the conversation had had when it became open

	version  int // grows with each change
	state    callState
	decided  bool
	decision Decision
	repeats  bool   // it may run again after it was interrupted
	eager    bool   // it started before its turn had come to its calls
	running  bool   // it started so, and its handler has not returned
	unrun    string // what the model reads if it is not run
	failure  []byte // the result of a call that cannot run as the model made it; nil: it can
	block    []byte // the encoded tool_result of an answered call
	cause    error  // the private cause of a failed one
}

// Use returns the tool use, which must not be changed.
func (c *Call) Use() history.Use { return c.use }

// Iteration returns the number of the turn that made the call.
func (c *Call) Iteration() int { return c.iteration }

// ReplyIndex returns how many replies the conversation had had when the call was
// made, its own included.
func (c *Call) ReplyIndex() int { return c.replyIndex }

// Input returns a copy of the input that the call runs with, and whether a decision
// has been made, which may have changed it.
func (c *Call) Input() (input []byte, decided bool) {
	if c.decision.Kind == AllowInput {
		return bytes.Clone(c.decision.Input), c.decided
	}
	return bytes.Clone(c.use.Written()), c.decided
}

// IsDecided reports whether a decision has been made on the call.
func (c *Call) IsDecided() bool { return c.decided }

// Decision returns the decision on the call: the zero value before it was made.
func (c *Call) Decision() Decision { return c.decision }

// isFor reports whether c is the call use.
func (c *Call) isFor(use history.Use) bool {
	return c.use.ID == use.ID && c.use.Name == use.Name && bytes.Equal(c.use.Input, use.Input)
}

// fail has a call fail without being run.
func (c *Call) fail(block []byte) {
	if bytes.Equal(c.failure, block) {
		return
	}
	c.failure = block
	if c.state == waiting {
		c.state, c.block = answered, block
	}
}

// resultBlock returns the result of the call, or what stands in for it.
func (c *Call) resultBlock() []byte {
	switch c.state {
	case answered:
		return c.block
	case started:
		if c.decision.Kind == AllowInput {
			return history.ResultBlock(c.use, ChangedInputText(c.decision.Input), true, history.UnrunInterrupted)
		}
		return history.ResultBlock(c.use, history.UnrunInterrupted, true)
	case waiting:
		return history.ResultBlock(c.use, history.UnrunStopped, true)
	case suspended:
		return history.ResultBlock(c.use, history.UnrunSuspended, true)
	default:
		return history.ResultBlock(c.use, c.unrun, true)
	}
}

// ID returns the id of the conversation.
func (m *Machine) ID() string { return m.id }

// Owns reports whether the call is open, or one of the reply under way. The caller's
// code may have taken over since the call was looked up.
func (m *Machine) Owns(call *Call) bool {
	return slices.Contains(m.s.open, call) || slices.Contains(m.streaming, call)
}

// Same returns the open call that is the same as call: itself, or the one that a
// takeover has brought back. It returns nil if there is none.
func (m *Machine) Same(call *Call) *Call {
	if m.Owns(call) {
		return call
	}
	if open := m.s.openCall(call.use.ID); open != nil && open.isFor(call.use) {
		return open
	}
	return nil
}

// IsOpen reports whether the call is one of the open turn.
func (m *Machine) IsOpen(call *Call) bool { return slices.Contains(m.s.open, call) }

// Find returns the open call of an id, or nil.
func (m *Machine) Find(id string) *Call { return m.s.openCall(id) }

// Open returns the calls of the open turn that are to be answered by running them.
func (m *Machine) Open() []*Call { return m.s.open }

// TurnCalls returns the calls that the last reply of an iteration has opened and
// that are answered.
func (m *Machine) TurnCalls(iteration int) []*Call {
	var calls []*Call
	for _, call := range m.s.open {
		if call.state != unrun && call.iteration == iteration {
			calls = append(calls, call)
		}
	}
	return calls
}

func (s *state) openCall(id string) *Call {
	for _, call := range s.open {
		if call.use.ID == id {
			return call
		}
	}
	return nil
}

// Waiting returns the calls to run, and those that run. A call that was interrupted
// is among them only if it may run again, by the tool that it ran with and by the one
// of now.
func (m *Machine) Waiting() []*Call {
	var calls []*Call
	for _, call := range m.s.open {
		if call.running || m.runnable(call) {
			calls = append(calls, call)
		}
	}
	return calls
}

// Suspended returns the open calls that wait for a decision.
func (m *Machine) Suspended() []*Call {
	var calls []*Call
	for _, call := range m.s.open {
		if call.state == suspended {
			calls = append(calls, call)
		}
	}
	return calls
}

// IsRunning reports whether a call has started before its turn came to its calls, and
// has not returned.
func (m *Machine) IsRunning(call *Call) bool { return call.running }

// Runnable reports whether a call may start now.
func (m *Machine) Runnable(call *Call) bool { return m.Owns(call) && m.runnable(call) }

func (m *Machine) runnable(call *Call) bool {
	if call.state == waiting {
		return true
	}
	if call.state != started || call.running || !call.repeats {
		return false
	}
	tool := m.Lookup(call.use.Name)
	return tool != nil && tool.Repeatable
}

// ComeToCalls takes note that the calls of the open turn are run now. Calls that
// have started before count like the others from now on.
func (m *Machine) ComeToCalls() { m.calling = true }

// Calling reports whether the open turn has come to its calls.
func (m *Machine) Calling() bool { return m.calling }

// Start takes note that a call's handler is about to run. repeats says whether it may
// run again, should its result be lost. It reports false for a call that is not to
// start: it has its result, was suspended, or is not open any more.
func (m *Machine) Start(call *Call, repeats bool) bool {
	if !m.Runnable(call) {
		return false
	}
	m.update(func(*state) {
		call.state, call.repeats = started, repeats
		call.eager = !m.calling
		call.running = call.eager // others have returned when the next step is asked for
	}, call)
	return true
}

// Returned takes note that the handler of a call has returned, or was abandoned.
func (m *Machine) Returned(call *Call) { call.running = false }

// TakeBack takes note that a call has not started after all.
func (m *Machine) TakeBack(call *Call) {
	if call.state == started {
		m.update(func(*state) { call.state, call.eager, call.running = waiting, false, false }, call)
	}
}

// SetResult sets the result of a call: an encoded tool_result, and the private cause
// of a failed one. The first one counts.
func (m *Machine) SetResult(call *Call, block []byte, cause error) {
	if call.state != answered {
		if err := m.tooMany(call, block, nil); err != nil {
			block, cause = history.ResultBlock(call.use, tooManyText(err), true), err
		}
		m.update(func(*state) { call.state, call.block, call.cause = answered, block, cause }, call)
	}
}

// Amend puts block in the place of a result that the loop body has changed. It does
// nothing for a call that is not open any more.
func (m *Machine) Amend(call *Call, block []byte) {
	if m.Owns(call) && call.state == answered && !bytes.Equal(call.block, block) {
		if err := m.tooMany(call, block, nil); err != nil {
			block = history.ResultBlock(call.use, tooManyText(err), true)
		}
		m.update(func(*state) { call.block = block }, call)
	}
}

// Result returns the result of an open call, or what stands in for it, which counts
// from now on, and the private cause of a failed one.
func (m *Machine) Result(call *Call) (block []byte, cause error) {
	m.SetResult(call, call.resultBlock(), nil)
	return call.block, call.cause
}

// Expect takes note of a call in the reply under way, which may run before the reply
// is complete. It returns nil for one that the reply will not have as it is.
func (m *Machine) Expect(b *history.Block) *Call {
	use := b.Use()
	again := slices.ContainsFunc(m.streaming, func(c *Call) bool { return c.use.ID == use.ID })
	_, broken := history.Unreadable(use)
	if again || broken || m.Taken(use.ID) || history.CheckUses([]history.Block{*b}) != nil {
		return nil
	}
	call := &Call{use: use, iteration: more(m.s.iteration), replyIndex: more(m.s.usage.Replies), state: waiting, unrun: history.UnrunEnded}
	m.streaming = append(m.streaming, call)
	return call
}

// HasStarted reports whether the call of an id in the reply under way, or in the open
// turn, has started.
func (m *Machine) HasStarted(id string) bool {
	return slices.ContainsFunc(slices.Concat(m.streaming, m.s.open), func(c *Call) bool {
		return c.use.ID == id && c.state > waiting
	})
}

// Taken reports whether the id of a tool use is in the conversation.
func (m *Machine) Taken(id string) bool { return m.s.queue.Has(id) }

// Place returns where the reply to the request under way comes. It is valid until the
// history changes.
func (m *Machine) Place() history.Place {
	return history.Place{Taken: m.Taken, Turn: m.s.history.Turn(), Waiting: m.s.history.Waiting()}
}

// reopen makes open what the history leaves open. Calls that are new in it have the
// state and the reason given; known ones keep what they have come to.
func (s *state) reopen(known []*Call, fresh callState, reason string, iteration int) {
	known = append(slices.Clip(known), s.discarded...)
	s.open = nil
	for _, use := range s.history.Open {
		at := slices.IndexFunc(known, func(c *Call) bool { return c.isFor(use) })
		if at < 0 {
			call := &Call{use: use, iteration: iteration, replyIndex: s.usage.Replies, state: fresh, unrun: reason}
			if result, broken := history.Unreadable(use); broken {
				call.fail(result)
			}
			s.open = append(s.open, call)
			continue
		}
		s.open = append(s.open, known[at])
	}
}

// discard takes calls out of the turn. Results of those that have begun stand, and
// decisions and failures, should the same calls come back.
func (s *state) discard(calls []*Call) {
	for _, call := range calls {
		if call.state > waiting || call.state == suspended || call.decided || call.failure != nil {
			s.discarded = append(s.discarded, call)
		}
	}
}

// without returns the calls that are not among others.
func without(calls, others []*Call) []*Call {
	return slices.DeleteFunc(slices.Clone(calls), func(c *Call) bool { return slices.Contains(others, c) })
}
