package toolrunner

import "github.com/toolrunner/toolrunner/internal/history"

// The loop's part in limits: what counts, and when it is enough.

// limitStep returns the end of a run that has used what it may, while there is
// something to send.
func (l *loop) limitStep(limit limits) (step, bool) {
	if !l.news {
		return step{}, false
	}
	s := step{kind: stepEnd, outcome: OutcomeMaxIterations}
	if limit.iterations <= 0 || l.iteration < limit.iterations {
		if s.limit = l.spent.reached(&limit.Limits, limit.now); s.limit == "" {
			return step{}, false
		}
		s.outcome = OutcomeLimitReached
	}
	if l.compact.scheduled != nil {
		l.compact.scheduled = nil
		l.sequence++
	}
	return s, true
}

// spend counts what a reply has cost.
func (l *loop) spend(object []byte) {
	var u Usage
	u.add(object)
	l.usage.plus(u)
	l.spent.usage.plus(u)
}

// countFailed counts how many of the last calls have failed.
func (l *loop) countFailed() {
	for _, call := range l.open {
		if l.spent.failing++; !history.IsFailed(call.answer()) {
			l.spent.failing = 0
		}
	}
}
