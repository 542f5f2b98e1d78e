package toolrunner

import "github.com/anthropics/anthropic-sdk-go/v2"

// A reply's stop reason reaches this file; what the loop does next leaves it.

// Outcome is how a run stands or has ended.
type Outcome uint8

const (
	// OutcomeRunning is the outcome of a run that has not ended: it has not
	// begun, or the loop body has control.
	OutcomeRunning Outcome = iota
	// OutcomeCompleted means that the model has said all it had to say.
	OutcomeCompleted
	// OutcomeMaxIterations means that the run has used up Params.MaxIterations.
	// The tools of its last turn have run and their results are in the history;
	// raising the limit lets the run go on.
	OutcomeMaxIterations
	// OutcomeLimitReached means that the run has used up one of Params.Limits. The
	// tools of its last turn have run and their results are in the history; raising
	// the limit lets the run go on.
	OutcomeLimitReached
	// OutcomeTruncated means that max_tokens or the context window cut the last
	// reply off. None of its calls were run.
	OutcomeTruncated
	// OutcomeRefused means that the model refused. None of the reply's calls
	// were run.
	OutcomeRefused
	// OutcomeStopped means that the loop body broke off before the run had ended.
	// Going on with the run runs the calls of the last turn first.
	OutcomeStopped
	// OutcomeSuspended means that calls wait for a decision. Those of the same turn
	// that do not have run; see [Runner.Pending] and [Runner.Decide].
	OutcomeSuspended
	// OutcomeFailed means that the run ended with an error. Going on with it
	// takes the failed step again, and runs no call again that has run.
	OutcomeFailed
)

// String returns the outcome in lower case, such as "max iterations".
func (o Outcome) String() string {
	switch o {
	case OutcomeRunning:
		return "running"
	case OutcomeCompleted:
		return "completed"
	case OutcomeMaxIterations:
		return "max iterations"
	case OutcomeLimitReached:
		return "limit reached"
	case OutcomeTruncated:
		return "truncated"
	case OutcomeRefused:
		return "refused"
	case OutcomeStopped:
		return "stopped"
	case OutcomeSuspended:
		return "suspended"
	case OutcomeFailed:
		return "failed"
	}
	return "unknown"
}

// err is what RunToCompletion returns for a run that ended in o.
func (o Outcome) err() error {
	switch o {
	case OutcomeMaxIterations:
		return ErrMaxIterations
	case OutcomeLimitReached:
		return ErrLimitReached
	case OutcomeTruncated:
		return ErrTruncated
	case OutcomeRefused:
		return ErrRefused
	default:
		return nil
	}
}

// afterReply is what the loop does after a reply.
type afterReply uint8

const (
	endRun    afterReply = iota // the turn is over, and its calls are not run
	runCalls                    // its calls are run and their results sent
	resumeRun                   // it is sent back as it is, for the model to go on
)

// stopRule says what follows a stop reason.
type stopRule struct {
	after   afterReply
	outcome Outcome // if the run ends here
	unrun   string  // why calls of such a reply were not run, for the model
	reason  string  // the stop reason; empty also if there is none
	code    bool    // code at the server waits for results of its calls, and for nothing else
}

// ruleFor places each stop reason of the API. One that it does not know ends
// the run like end_turn.
func ruleFor(reason anthropic.BetaStopReason) stopRule {
	rule := ruleOf(reason)
	rule.reason = string(reason)
	return rule
}

func ruleOf(reason anthropic.BetaStopReason) stopRule {
	switch reason {
	case anthropic.BetaStopReasonToolUse:
		return stopRule{after: runCalls, outcome: OutcomeCompleted, unrun: unrunEnded}
	case anthropic.BetaStopReasonPauseTurn, anthropic.BetaStopReasonCompaction:
		return stopRule{after: resumeRun, outcome: OutcomeCompleted, unrun: unrunPaused}
	case anthropic.BetaStopReasonMaxTokens, anthropic.BetaStopReasonModelContextWindowExceeded:
		return stopRule{after: endRun, outcome: OutcomeTruncated, unrun: unrunTruncated}
	case anthropic.BetaStopReasonRefusal:
		return stopRule{after: endRun, outcome: OutcomeRefused, unrun: unrunRefused}
	case anthropic.BetaStopReasonEndTurn, anthropic.BetaStopReasonStopSequence:
		return stopRule{after: endRun, outcome: OutcomeCompleted, unrun: unrunEnded}
	default:
		return stopRule{after: endRun, outcome: OutcomeCompleted, unrun: unrunEnded}
	}
}

// What the model reads in place of the result of a call that was not run.
const (
	unrunEnded       = "Error: this call was not run, because the turn ended without waiting for it."
	unrunPaused      = "Error: this call was not run, because the turn was paused."
	unrunTruncated   = "Error: this call was not run, because the reply that holds it was cut off by its token limit."
	unrunRefused     = "Error: this call was not run, because the reply that holds it was refused."
	unrunGiven       = "Error: this call was not run."
	unrunStopped     = "Error: this call was not run, because the run was stopped before it started."
	unrunSuspended   = "Error: this call was not run, because it was still waiting for a decision."
	unrunInterrupted = "Error: this call was interrupted while it ran. Whether it took effect is unknown."
)
