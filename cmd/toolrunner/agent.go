package main

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
)

// agent is a run, and what has happened in it.
type agent struct {
	report *reporter
	policy *policy
	spent  toolrunner.Usage // before

	turns int
	last  string                   // text of the last reply
	stop  anthropic.BetaStopReason // of the last reply

	mu    sync.Mutex // guards the rest: handlers end on goroutines of their own
	calls map[string]*callRecord
}

// callRecord is what is known of a call.
type callRecord struct {
	begin   time.Time // of its handler; zero if it has not begun
	outcome outcome   // empty until it is over
}

// follow goes with the run to its end.
func (a *agent) follow(ctx context.Context, runner *toolrunner.Runner) error {
	a.report.report(waiting{forModel, time.Now()})
	for turn, err := range runner.AllStreaming(ctx) {
		if err != nil {
			return err
		}
		a.turn(ctx, turn)
		if err := a.report.failed(); err != nil {
			return err
		}
		a.report.report(waiting{forModel, time.Now()})
	}
	return nil
}

// turn tells what happens in a turn. An error of the stream, or of the calls,
// ends the run too.
func (a *agent) turn(ctx context.Context, turn *toolrunner.Turn) {
	n := turn.Iteration()
	a.report.report(turnStarted{n})
	for e, err := range turn.Events() {
		switch {
		case err != nil:
			return
		case e.Text != "":
			a.report.report(textAdded{n, e.Text})
		case e.Thinking != "":
			a.report.report(thinkingAdded{n, e.Thinking})
		case e.Type == "content_block_stop":
			a.report.report(blockEnded{})
		}
	}
	a.turns++
	a.last, a.stop = turn.Text(), turn.StopReason
	a.report.report(replied{n, string(turn.StopReason), a.last, turn.Usage.InputTokens, turn.Usage.OutputTokens})
	calls := turn.Calls()
	results, err := turn.Results(ctx)
	for i, call := range calls {
		if err != nil {
			a.end(call, a.withoutResult(call, err), "")
			continue
		}
		a.settle(call, results[i])
	}
}

// watch is a middleware that tells when calls begin and end.
func (a *agent) watch(next toolrunner.Handler) toolrunner.Handler {
	return func(ctx context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
		begin := time.Now()
		a.mu.Lock()
		a.calls[call.ID] = &callRecord{begin: begin}
		a.mu.Unlock()
		a.report.report(callStarted{call.Iteration, call.ID, call.Name, call.Input, begin})
		result, err := next(ctx, call)
		switch {
		case err != nil && ctx.Err() != nil:
			a.end(call, callCancelled, "")
		case err != nil:
			a.end(call, callFailed, err.Error())
		case result == nil:
			a.end(call, callOK, "")
		default:
			a.end(call, outcomeOf(result), contentText(result.Content))
		}
		return result, err
	}
}

func outcomeOf(result *toolrunner.Result) outcome {
	if result.IsError {
		return callFailed
	}
	return callOK
}

// settle tells of a call whose end was not seen: its handler was not called, or
// did not return.
func (a *agent) settle(call *toolrunner.Call, result *toolrunner.Result) {
	a.mu.Lock()
	_, begun := a.calls[call.ID]
	a.mu.Unlock()
	became := outcomeOf(result)
	switch {
	case a.policy.denied[call.ID]:
		became = callDenied
	case !begun && result.IsError:
		became = callNotRun
	}
	a.end(call, became, contentText(result.Content))
}

// withoutResult returns what became of a call whose turn has come to no results.
func (a *agent) withoutResult(call *toolrunner.Call, err error) outcome {
	suspended := (*toolrunner.SuspendedError)(nil)
	switch {
	case a.policy.denied[call.ID]:
		return callDenied
	case !errors.As(err, &suspended):
		return callCancelled
	case slices.ContainsFunc(suspended.Calls, func(c *toolrunner.Call) bool { return c.ID == call.ID }):
		return callSuspended
	}
	return callNotRun
}

// end tells what became of a call, once.
func (a *agent) end(call *toolrunner.Call, became outcome, text string) {
	a.mu.Lock()
	record := a.calls[call.ID]
	if record == nil {
		record = &callRecord{}
		a.calls[call.ID] = record
	}
	known := record.outcome != ""
	if !known {
		record.outcome = became
	}
	a.mu.Unlock()
	if known {
		return
	}
	var took time.Duration
	if !record.begin.IsZero() {
		took = time.Since(record.begin)
	}
	a.report.report(callEnded{call.Iteration, call.ID, call.Name, call.Input, became, text, milliseconds(took)})
}

// tally counts the calls, and those of them that ended so.
func (a *agent) tally() (all int, by map[outcome]int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	by = make(map[outcome]int)
	for _, record := range a.calls {
		by[record.outcome]++
	}
	return len(a.calls), by
}
