package toolrunner

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
