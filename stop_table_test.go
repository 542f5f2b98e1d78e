package toolrunner

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/toolrunner/toolrunner/internal/history"
	"github.com/toolrunner/toolrunner/internal/sdktest"
	"github.com/toolrunner/toolrunner/internal/wire"
)

// E1 to E12: what the loop does after a reply with a call and each stop reason.
func TestLoopFollowsTheStopReason(t *testing.T) {
	for reason, want := range map[anthropic.BetaStopReason]step{
		anthropic.BetaStopReasonToolUse:                    {kind: stepRun},
		anthropic.BetaStopReasonPauseTurn:                  {kind: stepSend},
		anthropic.BetaStopReasonCompaction:                 {kind: stepSend},
		anthropic.BetaStopReasonEndTurn:                    {kind: stepEnd, outcome: OutcomeCompleted},
		anthropic.BetaStopReasonStopSequence:               {kind: stepEnd, outcome: OutcomeCompleted},
		anthropic.BetaStopReasonMaxTokens:                  {kind: stepEnd, outcome: OutcomeTruncated},
		anthropic.BetaStopReasonModelContextWindowExceeded: {kind: stepEnd, outcome: OutcomeTruncated},
		anthropic.BetaStopReasonRefusal:                    {kind: stepEnd, outcome: OutcomeRefused},
	} {
		t.Run(string(reason), func(t *testing.T) {
			l := startLoop(t, [2]string{`{"type":"text","text":"so"},` + callA, string(reason)})
			if got := l.step(limits{}); got.kind != want.kind || got.outcome != want.outcome {
				t.Errorf("step = %d (%v), want %d (%v)", got.kind, got.outcome, want.kind, want.outcome)
			}
		})
	}
	for _, blocks := range []string{`{"type":"text","text":"hi"}`, serverUse} {
		if got := startLoop(t, [2]string{blocks, "tool_use"}).step(limits{}); got.kind != stepEnd || got.outcome != OutcomeCompleted { // E2
			t.Errorf("%s: step = %d (%v), want a completed end", blocks, got.kind, got.outcome)
		}
	}
}

func TestLoopTellsTheModelWhyACallWasNotRun(t *testing.T) {
	for reason, want := range map[string]string{
		"max_tokens": history.UnrunTruncated, "model_context_window_exceeded": history.UnrunTruncated, "refusal": history.UnrunRefused,
		"end_turn": history.UnrunEnded, "stop_sequence": history.UnrunEnded, "something_new": history.UnrunEnded,
	} {
		t.Run(reason, func(t *testing.T) {
			l := startLoop(t, [2]string{callA, reason})
			if err := l.follow(rawMessages(`{"role":"user","content":"go on"}`)); err != nil {
				t.Fatal(err)
			}
			wantValidRequest(t, l)
			results := l.history.Messages[2]
			if got := string(results.Raw); !strings.Contains(got, want) || !strings.Contains(got, `"is_error":true`) {
				t.Errorf("result = %s, want an error that says %q", got, want)
			}
		})
	}
}

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

var (
	streamEvents = []string{eventMessageStart, eventBlockStart, eventBlockDelta, eventBlockStop, eventMessageDelta, eventMessageStop}
	streamDeltas = map[string]string{ // with the block that each grows
		"text_delta": history.TypeText, "citations_delta": history.TypeText, "thinking_delta": typeThinking, "signature_delta": typeThinking,
		"input_json_delta": history.TypeToolUse, "compaction_delta": "compaction",
	}
)

func TestAccumulatorKnowsEachDelta(t *testing.T) {
	for delta, kind := range streamDeltas {
		a := &accumulator{message: wire.Object{}, blocks: []*streamedBlock{{kind: kind, start: []byte(`{"type":"` + kind + `"}`)}}}
		err := a.add(&streamEvent{kind: eventBlockDelta, deltaKind: delta, delta: []byte(`{"type":"` + delta + `"}`)})
		if err != nil || a.unreadable != nil {
			t.Errorf("%s: %v, %v", delta, err, a.unreadable)
		}
	}
}

// When the SDK learns a new event or delta, the tables above need a row, and the
// accumulator perhaps a rule (E15).
func TestTablesNameEveryEventAndDeltaOfTheSDK(t *testing.T) {
	if diff := cmp.Diff(sdktest.Variants(t, "BetaRawMessageStreamEventUnion"), slices.Sorted(slices.Values(streamEvents))); diff != "" {
		t.Errorf("the events of the SDK are not those of our table (-SDK +table):\n%s", diff)
	}
	if diff := cmp.Diff(sdktest.Variants(t, "BetaRawContentBlockDeltaUnion"), slices.Sorted(maps.Keys(streamDeltas))); diff != "" {
		t.Errorf("the deltas of the SDK are not those of our table (-SDK +table):\n%s", diff)
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
