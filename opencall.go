package toolrunner

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/toolrunner/toolrunner/internal/history"
)

// A call that the history has no result for, from the reply that makes it to the
// result that goes out.

// callState is how far an open call has come.
type callState uint8

const (
	callUnrun     callState = iota // it will not be run
	callSuspended                  // it waits for a decision
	callWaiting                    // it is to be run
	callStarted                    // its handler may have run
	callAnswered                   // its result is there
)

// String returns the state's name, as it is saved.
func (s callState) String() string {
	switch s {
	case callSuspended:
		return "suspended"
	case callWaiting:
		return "waiting"
	case callStarted:
		return "started"
	case callAnswered:
		return "answered"
	default:
		return "unrun"
	}
}

// parseCallState returns the state of a name.
func parseCallState(name string) (callState, bool) {
	for s := callUnrun; s <= callAnswered; s++ {
		if s.String() == name {
			return s, true
		}
	}
	return callUnrun, false
}

// openCall is a call without a result in the history.
type openCall struct {
	use       history.Use
	iteration int
	reply     int // how many replies the conversation had had when it became open
	version   int // grows with each change
	state     callState
	decided   bool
	decision  Decision
	repeat    bool   // it may run again after it was interrupted
	early     bool   // it is of a turn that has not come to its calls
	running   bool   // it began so, and its handler has not returned
	block     []byte // the encoded tool_result of an answered call
	cause     error  // the private cause of a failed one
	handed    *handedResult
	unrun     string // what the model reads if it is not run
}

// handedResult is a result that a caller has in hand, and may have changed.
type handedResult struct {
	result *Result
	slot   **Result // the element of the slice that the caller has
	before []byte   // as it was encoded when it was handed out
}

// decide makes d count for an open call, the first decision that does. It says why
// d cannot be made.
func (l *loop) decide(c *openCall, d Decision) error {
	switch {
	case c.state == callAnswered:
		return errors.New("it has its result already")
	case c.state == callStarted:
		return errors.New("it has started")
	case c.state == callUnrun:
		return errors.New("it will not be run")
	case c.decided:
		return fmt.Errorf("it was decided already: %v", c.decision)
	}
	if err := d.check(c.use); err != nil {
		return err
	}
	c.decided, c.decision = d.kind != suspend, d
	l.touch(c)
	switch d.kind {
	case suspend:
		c.state = callSuspended
	case deny:
		c.state, c.block = callAnswered, d.denial().encode(c.use)
	case allow, allowInput:
		c.state = callWaiting
	}
	return nil
}

// isFor reports whether c is the call use.
func (c *openCall) isFor(use history.Use) bool {
	return c.use.ID == use.ID && c.use.Name == use.Name && bytes.Equal(c.use.Input, use.Input)
}

// answer returns the result of the call, or what stands in for it.
func (c *openCall) answer() []byte {
	switch c.state {
	case callAnswered:
		return c.sent()
	case callStarted:
		return c.decision.annotated(ErrorResult(history.UnrunInterrupted)).encode(c.use)
	case callWaiting:
		return history.ResultBlock(c.use, history.UnrunStopped, true)
	case callSuspended:
		return history.ResultBlock(c.use, history.UnrunSuspended, true)
	default:
		return history.ResultBlock(c.use, c.unrun, true)
	}
}

// hand puts the result of an answered call into slot, for the caller to change.
// What is there when it goes out counts. A failed one has an error, whatever failed.
func (c *openCall) hand(slot **Result) {
	r := readResult(c.block)
	if r.Err = c.cause; r.IsError && r.Err == nil {
		r.Err = resultError(r)
	}
	*slot = r
	c.handed = &handedResult{result: r, slot: slot, before: r.encode(c.use)}
}

// sent returns the block as it goes out: with its own bytes unless a caller has
// changed it.
func (c *openCall) sent() []byte {
	if c.handed != nil {
		if now := cmp.Or(*c.handed.slot, c.handed.result).encode(c.use); !bytes.Equal(now, c.handed.before) {
			return now
		}
	}
	return c.block
}

// input returns a copy of the input that the call runs with.
func (c *openCall) input() []byte {
	if c.decision.kind == allowInput {
		return bytes.Clone(c.decision.input)
	}
	return bytes.Clone(c.use.Written())
}

// public returns the call as callers see it.
func (c *openCall) public() *Call {
	call := c.unseen()
	call.Input, call.decided = c.input(), c.decided
	call.show()
	return call
}

// unseen returns the call without what it is to run with, for [Call.show] to
// complete when somebody is to see it.
func (c *openCall) unseen() *Call {
	return &Call{
		ID: c.use.ID, Name: c.use.Name, Iteration: c.iteration,
		reply: c.reply, original: c.use.Written(), block: &lateBlock{raw: c.use.Raw},
	}
}

// started reports that a call's handler is about to run. repeat says whether it
// may run again, should its result be lost. It reports false if a follow-up has
// answered the call.
func (l *loop) started(call *openCall, repeat bool) bool {
	if call.state != callWaiting {
		return false
	}
	call.state, call.repeat = callStarted, repeat
	call.running = call.early // the others have returned when the next step is asked for
	l.touch(call)
	return true
}

// returned reports that the handler of a call has returned, or was left behind.
func (l *loop) returned(call *openCall) { call.running = false }

// unstarted takes back that a call has started.
func (l *loop) unstarted(call *openCall) {
	if call.state == callStarted {
		call.state = callWaiting
		l.touch(call)
	}
}

// touch takes note that a call has changed.
func (l *loop) touch(call *openCall) {
	l.sequence++
	call.version++
}

// answer reports the result of a call. The first one counts.
func (l *loop) answer(call *openCall, block []byte, cause error) {
	if call.state == callAnswered {
		return
	}
	call.state, call.block, call.cause, call.handed = callAnswered, block, cause, nil
	l.touch(call)
}

// hand puts the result of an open call that has run into slot.
func (l *loop) hand(id string, slot **Result) {
	call := l.openCall(id)
	if call.state != callAnswered {
		l.answer(call, call.answer(), nil)
	}
	call.hand(slot)
}

// begin takes note of a call in the reply under way, which may run before the
// reply is complete. It returns nil for one that the reply will not have as it
// is: readReply has to mend it.
func (l *loop) begin(b *history.Block) *openCall {
	use := b.Use()
	again := slices.ContainsFunc(l.early, func(c *openCall) bool { return c.use.ID == use.ID })
	if again || l.taken(use.ID) || history.CheckUses([]history.Block{*b}) != nil {
		return nil
	}
	call := &openCall{
		use: use, iteration: l.iteration + 1, reply: l.usage.Replies + 1, state: callWaiting, early: true, unrun: history.UnrunEnded,
	}
	l.early = append(l.early, call)
	return call
}

// began reports whether the call of an id in the reply under way, or in the open
// turn, has started.
func (l *loop) began(id string) bool {
	return slices.ContainsFunc(slices.Concat(l.early, l.open), func(c *openCall) bool {
		return c.use.ID == id && c.state > callWaiting
	})
}

// comeToCalls has the calls of the open turn that began early count like the
// others.
func (l *loop) comeToCalls() {
	for _, call := range l.open {
		call.early = false
	}
}

// drop takes calls out of the turn. Results of those that have begun stand, and
// decisions, should the same calls come back.
func (l *loop) drop(calls []*openCall) {
	for _, call := range calls {
		if call.state > callWaiting || call.state == callSuspended || call.decided {
			l.dropped = append(l.dropped, call)
		}
	}
}

// dropEarly drops the calls of a reply that will not be recorded.
func (l *loop) dropEarly() {
	l.drop(l.early)
	l.early = nil
}
