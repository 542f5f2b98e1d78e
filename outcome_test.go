package toolrunner

import (
	"strings"
	"testing"

	"github.com/toolrunner/toolrunner/internal/history"
)

func TestOutcomeStringsAreDistinct(t *testing.T) {
	seen := make(map[string]Outcome)
	for o := OutcomeRunning; o <= OutcomeFailed; o++ {
		s := o.String()
		if s == "unknown" || s != strings.ToLower(s) {
			t.Errorf("Outcome(%d).String() = %q", o, s)
		}
		if other, ok := seen[s]; ok {
			t.Errorf("outcomes %d and %d are both %q", other, o, s)
		}
		seen[s] = o
	}
	if got := Outcome(200).String(); got != "unknown" {
		t.Errorf("Outcome(200).String() = %q, want unknown", got)
	}
}

// The rules of stop reasons speak of outcomes in numbers of their own.
func TestOutcomesOfTheHistoryAreThePublicOnes(t *testing.T) {
	for public, own := range map[Outcome]history.Outcome{
		OutcomeRunning: history.OutcomeRunning, OutcomeCompleted: history.OutcomeCompleted,
		OutcomeMaxIterations: history.OutcomeMaxIterations, OutcomeLimitReached: history.OutcomeLimitReached,
		OutcomeTruncated: history.OutcomeTruncated, OutcomeRefused: history.OutcomeRefused,
		OutcomeStopped: history.OutcomeStopped, OutcomeSuspended: history.OutcomeSuspended, OutcomeFailed: history.OutcomeFailed,
	} {
		if Outcome(own) != public {
			t.Errorf("the history's outcome %d is %v here, want %v", own, Outcome(own), public)
		}
	}
}
