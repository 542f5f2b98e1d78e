package toolrunner

import (
	"context"
	"slices"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner/internal/stream"
)

// Events of a reply that streams reach this file, once the reader has handled
// them; calls that need not wait for the rest of the reply leave it, to be run.

// eager runs calls while their reply streams. It belongs to the goroutine of the
// runner. A nil one does nothing.
type eager struct {
	calls    *dispatcher
	fill     func()            // starts the calls that wait
	job      func(*block) *job // of a call; nil if the reply will not have it as it is
	wanted   func(*job) bool   // whether the open turn has a call
	whole    []*stream.Block   // calls that are there, and that the model has not moved on from
	deferred map[string]bool   // by id: calls that the body holds back
	halted   bool              // no further call starts
}

func (r *Runner) newEager(ctx context.Context) *eager {
	calls := newDispatcher(r.Params.concurrency(), r.manager(ctx))
	calls.watch(ctx)
	return &eager{
		calls:    calls,
		fill:     func() { calls.fill(ctx) },
		deferred: make(map[string]bool),
		job: func(b *block) *job {
			r.mu.Lock()
			call := r.loop.begin(b)
			r.mu.Unlock()
			if call == nil {
				return nil
			}
			return r.job(call)
		},
		wanted: func(j *job) bool { return slices.Contains(r.loop.open, openOf(j)) },
	}
}

// handled takes note that the reader asks for more than the last event of s.
// Until then it may have held back calls which that event makes start.
func (g *eager) handled(s *stream.Reader) {
	if g == nil {
		return
	}
	g.calls.collect()
	switch e := s.Last(); e.Type {
	case stream.BlockStop:
		if b := s.Block(e.Index); b != nil && b.Type == typeToolUse {
			g.whole = append(g.whole, b)
		}
	case stream.BlockStart:
		if b := s.Block(e.Index); b != nil && b.Type == typeFallback {
			g.halted = true // what came before it counts no more
			g.calls.drop(everyJob)
		}
		g.movedOn()
	case stream.MessageDelta:
		if ruleFor(anthropic.BetaStopReason(s.StopReason())).after == runCalls {
			g.movedOn()
		}
	}
	g.halted = g.halted || s.Unreadable()
	g.fill()
}

// movedOn has the calls wait for their turn that the model has moved on from.
// What readReply has to mend is not told from what has still to come, so no call
// after it starts either.
func (g *eager) movedOn() {
	for _, streamed := range g.whole {
		if g.halted {
			break
		}
		var j *job
		if b, err := parseBlock(streamed.AppendTo(nil)); err == nil {
			j = g.job(&b)
		}
		if j == nil {
			g.halted = true
			break
		}
		g.calls.waiting = append(g.calls.waiting, j)
	}
	g.whole = nil
}

// goesEarly reports whether a call of tool, or of none, may run before its reply
// is complete. What else a call has to wait for belongs here.
func (r *Runner) goesEarly(call *openCall, tool *registered) bool {
	g := r.eager
	goes := !g.halted && !g.deferred[call.use.id] && r.Params.Approve == nil && tool != nil && tool.readOnly && !tool.exclusive
	if !goes && (g.calls.limit == 1 || tool != nil && tool.exclusive) {
		g.halted = true // calls after this one have to begin after it
	}
	return goes
}

// prune cancels the calls that are not in the open turn.
func (g *eager) prune() {
	if g != nil {
		g.calls.drop(func(j *job) bool { return !g.wanted(j) })
	}
}

// takenOver takes note that the reply was taken over. What a handler wanted for
// it, such as to end the run, does not count any more.
func (g *eager) takenOver() {
	if g != nil {
		g.halted, g.calls.aborted, g.calls.lost = true, nil, nil
		g.prune()
	}
}

// err returns the error of a call that ended the run, or nil.
func (g *eager) err() error {
	if g == nil {
		return nil
	}
	g.calls.collect()
	return g.calls.aborted
}

// endEager cancels the calls that still run, and returns when they have ended or
// were left behind.
func (r *Runner) endEager() {
	if g := r.eager; g != nil {
		r.eager = nil
		g.calls.end()
	}
}

// takeCalls returns what runs the calls of the open turn, beside those that run.
func (r *Runner) takeCalls(ctx context.Context) *dispatcher {
	g := r.eager
	if g == nil {
		return newDispatcher(r.Params.concurrency(), r.manager(ctx))
	}
	r.eager = nil
	g.calls.limit = r.Params.concurrency()
	return g.calls
}
