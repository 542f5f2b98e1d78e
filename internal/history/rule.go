package history

import "github.com/anthropics/anthropic-sdk-go/v2"

// Outcome is how a run stands or has ended.
type Outcome uint8

// The outcomes, as the public type has them.
const (
	OutcomeRunning Outcome = iota
	OutcomeCompleted
	OutcomeMaxIterations
	OutcomeLimitReached
	OutcomeTruncated
	OutcomeRefused
	OutcomeStopped
	OutcomeSuspended
	OutcomeFailed
)

// After is what the loop does after a reply.
type After uint8

const (
	EndRun    After = iota // the turn is over, and its calls are not run
	RunCalls               // its calls are run and their results sent
	ResumeRun              // it is sent back as it is, for the model to go on
)

// Rule says what follows a stop reason.
type Rule struct {
	After   After
	Outcome Outcome // if the run ends here
	Unrun   string  // why calls of such a reply were not run, for the model
	Reason  string  // the stop reason; empty also if there is none
	Code    bool    // code at the server waits for results of its calls, and for nothing else
}

// RuleFor places each stop reason of the API. One that it does not know ends
// the run like end_turn.
func RuleFor(reason anthropic.BetaStopReason) Rule {
	rule := ruleOf(reason)
	rule.Reason = string(reason)
	return rule
}

func ruleOf(reason anthropic.BetaStopReason) Rule {
	switch reason {
	case anthropic.BetaStopReasonToolUse:
		return Rule{After: RunCalls, Outcome: OutcomeCompleted, Unrun: UnrunEnded}
	case anthropic.BetaStopReasonPauseTurn, anthropic.BetaStopReasonCompaction:
		return Rule{After: ResumeRun, Outcome: OutcomeCompleted, Unrun: UnrunPaused}
	case anthropic.BetaStopReasonMaxTokens, anthropic.BetaStopReasonModelContextWindowExceeded:
		return Rule{After: EndRun, Outcome: OutcomeTruncated, Unrun: UnrunTruncated}
	case anthropic.BetaStopReasonRefusal:
		return Rule{After: EndRun, Outcome: OutcomeRefused, Unrun: UnrunRefused}
	case anthropic.BetaStopReasonEndTurn, anthropic.BetaStopReasonStopSequence:
		return Rule{After: EndRun, Outcome: OutcomeCompleted, Unrun: UnrunEnded}
	default:
		return Rule{After: EndRun, Outcome: OutcomeCompleted, Unrun: UnrunEnded}
	}
}

// What the model reads in place of the result of a call that was not run.
const (
	UnrunEnded       = "Error: this call was not run, because the turn ended without waiting for it."
	UnrunPaused      = "Error: this call was not run, because the turn was paused."
	UnrunTruncated   = "Error: this call was not run, because the reply that holds it was cut off by its token limit."
	UnrunRefused     = "Error: this call was not run, because the reply that holds it was refused."
	UnrunGiven       = "Error: this call was not run."
	UnrunStopped     = "Error: this call was not run, because the run was stopped before it started."
	UnrunSuspended   = "Error: this call was not run, because it was still waiting for a decision."
	UnrunInterrupted = "Error: this call was interrupted while it ran. Whether it took effect is unknown."
)
