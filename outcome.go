package toolrunner

// Outcome is how a run stands or has ended.
type Outcome uint8

const (
	// OutcomeRunning means that the run has not ended: it has not begun, or the loop body
	// runs.
	OutcomeRunning Outcome = iota
	// OutcomeCompleted means that the model ended its turn.
	OutcomeCompleted
	// OutcomeMaxIterations means that the run has reached Params.MaxIterations. The tools
	// of its last turn have run and their results are in the history. Raise the limit to
	// let the run go on, or append a message of the user to begin the next run.
	OutcomeMaxIterations
	// OutcomeLimitReached means that the run has reached one of Params.Limits. The rest is
	// as for OutcomeMaxIterations.
	OutcomeLimitReached
	// OutcomeTruncated means that max_tokens or the context window cut the last reply off.
	// None of its calls ran.
	OutcomeTruncated
	// OutcomeRefused means that the model refused. None of the reply's calls ran.
	OutcomeRefused
	// OutcomeStopped means that the loop body broke off before the run had ended.
	// The next All, AllStreaming, Next or RunToCompletion runs the calls of the last turn
	// first.
	OutcomeStopped
	// OutcomeSuspended means that calls wait for a decision. The other calls of the turn
	// have run. See [Runner.Pending] and [Runner.Decide].
	OutcomeSuspended
	// OutcomeFailed means that the run ended with an error. The next loop repeats the
	// failed step, and runs no call again that has run.
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
