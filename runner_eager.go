package toolrunner

import (
	"context"
	"strings"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner/internal/dispatch"
	"github.com/toolrunner/toolrunner/internal/history"
	"github.com/toolrunner/toolrunner/internal/machine"
	"github.com/toolrunner/toolrunner/internal/stream"
)

// eager runs calls while their reply streams. It belongs to the goroutine of the
// runner. A nil one does nothing.
type eager struct {
	calls    *dispatch.Dispatcher
	fill     func()                             // starts the calls that wait
	job      func(*history.Block) *dispatch.Job // of a call; nil if the reply will not have it as it is
	wanted   func(*dispatch.Job) bool           // whether the open turn has a call
	whole    []*stream.Block                    // calls that are there, and that the model has not moved on from
	deferred map[string]bool                    // by id: calls that the body holds back
	served   map[string]bool                    // ids that the API's own calls have: a call with one gets another
	halted   bool                               // no further call starts
}

func (r *Runner) newEager(ctx context.Context) *eager {
	calls := dispatch.New(r.Params.concurrency(), r.hooks(ctx))
	calls.Watch(ctx)
	return &eager{
		calls:    calls,
		fill:     func() { calls.Fill(ctx) },
		deferred: make(map[string]bool), served: make(map[string]bool),
		job: func(b *history.Block) *dispatch.Job {
			r.mu.Lock()
			call := r.machine.Expect(b)
			r.mu.Unlock()
			if call == nil {
				return nil
			}
			return r.job(call)
		},
		wanted: func(j *dispatch.Job) bool { return r.machine.IsOpen(jobOf(j).open) },
	}
}

// handled takes note that the reader asks for more than the last event of s. Until
// then it may have held back calls which that event makes start.
func (g *eager) handled(s *stream.Reader) {
	if g == nil {
		return
	}
	g.calls.Collect()
	switch e := s.Last(); e.Type {
	case stream.BlockStop:
		if b := s.Block(e.Index); b != nil && strings.HasSuffix(b.Type, history.TypeToolUse) {
			g.whole = append(g.whole, b)
		}
	case stream.BlockStart:
		if b := s.Block(e.Index); b != nil && b.Type == history.TypeFallback {
			g.halted = true // what came before it counts no more
			g.calls.Discard(func(*dispatch.Job) bool { return true })
		}
		g.movedOn()
	case stream.MessageDelta:
		if history.RuleFor(anthropic.BetaStopReason(s.StopReason())).After == history.RunCalls {
			g.movedOn()
		}
	}
	g.halted = g.halted || s.Unreadable()
	g.fill()
}

// movedOn has the calls wait for their turn that the model has moved on from. What
// history.ReadReply has to mend is not told from what has still to come, so no call
// after it starts either.
func (g *eager) movedOn() {
	for _, streamed := range g.whole {
		if g.halted {
			break
		}
		var j *dispatch.Job
		b, err := history.ParseBlock(streamed.AppendTo(nil))
		if err == nil && b.Kind != history.TypeToolUse {
			g.served[b.Use().ID] = true
			continue
		}
		if err == nil && !g.served[b.Use().ID] {
			j = g.job(&b)
		}
		if j == nil {
			g.halted = true
			break
		}
		g.calls.Add(j)
	}
	g.whole = nil
}

// goesEarly reports whether a call of tool, or of none, may run before its turn has
// come to its calls. What else a call has to wait for belongs here.
func (r *Runner) goesEarly(call *machine.Call, tool *registered) bool {
	g := r.eager
	if g == nil { // it is only looked at
		return true
	}
	goes := !g.halted && !g.deferred[call.Use().ID] && r.Params.Approve == nil && tool != nil && tool.readOnly && !tool.exclusive
	if !goes && (g.calls.Limit() == 1 || tool != nil && tool.exclusive) {
		g.halted = true // calls after this one have to begin after it
	}
	return goes
}

// prune cancels the calls that are not in the open turn. The lock is held.
func (g *eager) prune() {
	if g != nil {
		g.calls.Discard(func(j *dispatch.Job) bool { return !g.wanted(j) })
	}
}

// takenOver takes note that the reply was taken over. What a handler wanted for it,
// such as to end the run, does not count any more. The lock is held.
func (g *eager) takenOver() {
	if g != nil {
		g.halted = true
		g.calls.Forgive()
		g.prune()
	}
}

// err returns the error of a call that ended the run, or nil.
func (g *eager) err() error {
	if g == nil {
		return nil
	}
	return g.calls.Aborted()
}

// closeEager cancels the calls that still run, and returns when they have ended or
// were abandoned.
func (r *Runner) closeEager() {
	if g := r.eager; g != nil {
		r.eager = nil
		g.calls.Close()
	}
}

// takeDispatcher returns what runs the calls of the open turn, beside those that run.
func (r *Runner) takeDispatcher(ctx context.Context) *dispatch.Dispatcher {
	g := r.eager
	if g == nil {
		return dispatch.New(r.Params.concurrency(), r.hooks(ctx))
	}
	r.eager = nil
	g.calls.SetLimit(r.Params.concurrency())
	return g.calls
}

// holdBack has a call not start before the loop body is over. It reports false if it
// has started.
func (r *Runner) holdBack(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.machine.HasStarted(id) {
		return false
	}
	if r.eager != nil {
		r.eager.deferred[id] = true
	}
	return true
}
