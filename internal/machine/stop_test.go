package machine

import (
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner/internal/history"
)

// E1 to E12: what the loop does after a reply with a call and each stop reason.
func TestLoopFollowsTheStopReason(t *testing.T) {
	for reason, want := range map[anthropic.BetaStopReason]Step{
		anthropic.BetaStopReasonToolUse:                    {Kind: Run},
		anthropic.BetaStopReasonPauseTurn:                  {Kind: Send},
		anthropic.BetaStopReasonCompaction:                 {Kind: Send},
		anthropic.BetaStopReasonEndTurn:                    {Kind: End, Outcome: history.OutcomeCompleted},
		anthropic.BetaStopReasonStopSequence:               {Kind: End, Outcome: history.OutcomeCompleted},
		anthropic.BetaStopReasonMaxTokens:                  {Kind: End, Outcome: history.OutcomeTruncated},
		anthropic.BetaStopReasonModelContextWindowExceeded: {Kind: End, Outcome: history.OutcomeTruncated},
		anthropic.BetaStopReasonRefusal:                    {Kind: End, Outcome: history.OutcomeRefused},
	} {
		t.Run(string(reason), func(t *testing.T) {
			m := startMachine(t, [2]string{`{"type":"text","text":"so"},` + callA, string(reason)})
			if got := next(m, StepLimits{}); got.Kind != want.Kind || got.Outcome != want.Outcome {
				t.Errorf("step = %d (%v), want %d (%v)", got.Kind, got.Outcome, want.Kind, want.Outcome)
			}
		})
	}
	for _, blocks := range []string{`{"type":"text","text":"hi"}`, serverUse} {
		if got := next(startMachine(t, [2]string{blocks, "tool_use"}), StepLimits{}); got.Kind != End || got.Outcome != history.OutcomeCompleted { // E2
			t.Errorf("%s: step = %d (%v), want a completed end", blocks, got.Kind, got.Outcome)
		}
	}
}

func TestLoopTellsTheModelWhyACallWasNotRun(t *testing.T) {
	for reason, want := range map[string]string{
		"max_tokens": history.UnrunTruncated, "model_context_window_exceeded": history.UnrunTruncated, "refusal": history.UnrunRefused,
		"end_turn": history.UnrunEnded, "stop_sequence": history.UnrunEnded, "something_new": history.UnrunEnded,
	} {
		t.Run(reason, func(t *testing.T) {
			m := startMachine(t, [2]string{callA, reason})
			if err := follow(m, `{"role":"user","content":"go on"}`); err != nil {
				t.Fatal(err)
			}
			wantValidRequest(t, m)
			results := m.s.history.Messages[2]
			if got := string(results.Raw); !strings.Contains(got, want) || !strings.Contains(got, `"is_error":true`) {
				t.Errorf("result = %s, want an error that says %q", got, want)
			}
		})
	}
}
