package toolrunner

import (
	"bytes"
	"cmp"
	"slices"
)

// A call that the history has no result for, from the reply that makes it to the
// result that goes out.

// callState is how far an open call has come.
type callState uint8

const (
	callUnrun    callState = iota // it will not be run
	callWaiting                   // it is to be run
	callStarted                   // its handler may have run
	callAnswered                  // its result is there
)

// openCall is a call without a result in the history.
type openCall struct {
	use       toolUse
	iteration int
	state     callState
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

// isFor reports whether c is the call use.
func (c *openCall) isFor(use toolUse) bool {
	return c.use.id == use.id && c.use.name == use.name && bytes.Equal(c.use.input, use.input)
}

// answer returns the result of the call, or what stands in for it.
func (c *openCall) answer() []byte {
	switch c.state {
	case callAnswered:
		return c.sent()
	case callStarted:
		return ErrorResult(unrunInterrupted).encode(c.use)
	case callWaiting:
		return ErrorResult(unrunStopped).encode(c.use)
	default:
		return ErrorResult(c.unrun).encode(c.use)
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

// public returns the call as handlers see it.
func (c *openCall) public() *Call {
	call := &Call{ID: c.use.id, Name: c.use.name, Input: bytes.Clone(c.use.input), Iteration: c.iteration}
	if call.Input == nil {
		call.Input = []byte("{}")
	}
	_ = call.Block.UnmarshalJSON(c.use.raw) // it was read before
	return call
}

// begin takes note of a call in the reply under way, which may run before the
// reply is complete. It returns nil for one that the reply will not have as it
// is: readReply has to mend it.
func (l *loop) begin(b *block) *openCall {
	use := b.use()
	again := slices.ContainsFunc(l.early, func(c *openCall) bool { return c.use.id == use.id })
	if again || use.id == "" || use.id != legalName(use.id) || l.taken(use.id) ||
		!toolName.MatchString(use.name) || len(use.input) == 0 || use.input[0] != '{' {
		return nil
	}
	call := &openCall{use: use, iteration: l.iteration + 1, state: callWaiting, early: true, unrun: unrunEnded}
	l.early = append(l.early, call)
	return call
}

// began reports whether the call of an id in the reply under way, or in the open
// turn, has started.
func (l *loop) began(id string) bool {
	return slices.ContainsFunc(slices.Concat(l.early, l.open), func(c *openCall) bool {
		return c.use.id == id && c.state > callWaiting
	})
}

// comeToCalls has the calls of the open turn that began early count like the
// others.
func (l *loop) comeToCalls() {
	for _, call := range l.open {
		call.early = false
	}
}

// drop takes calls out of the turn. Results of those that have begun stand,
// should the same calls come back.
func (l *loop) drop(calls []*openCall) {
	for _, call := range calls {
		if call.state > callWaiting {
			l.dropped = append(l.dropped, call)
		}
	}
}

// dropEarly drops the calls of a reply that will not be recorded.
func (l *loop) dropEarly() {
	l.drop(l.early)
	l.early = nil
}
