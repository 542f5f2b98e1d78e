package history

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/toolrunner/toolrunner/internal/sdktest"
)

// stopReasons says for each stop reason of the SDK what follows it (E1 to E11).
var stopReasons = map[anthropic.BetaStopReason]struct {
	after   After
	outcome Outcome
}{
	anthropic.BetaStopReasonToolUse:                    {RunCalls, OutcomeCompleted},
	anthropic.BetaStopReasonPauseTurn:                  {ResumeRun, OutcomeCompleted},
	anthropic.BetaStopReasonCompaction:                 {ResumeRun, OutcomeCompleted},
	anthropic.BetaStopReasonEndTurn:                    {EndRun, OutcomeCompleted},
	anthropic.BetaStopReasonStopSequence:               {EndRun, OutcomeCompleted},
	anthropic.BetaStopReasonMaxTokens:                  {EndRun, OutcomeTruncated},
	anthropic.BetaStopReasonModelContextWindowExceeded: {EndRun, OutcomeTruncated},
	anthropic.BetaStopReasonRefusal:                    {EndRun, OutcomeRefused},
}

func TestRuleForPlacesEachStopReason(t *testing.T) {
	check := func(reason anthropic.BetaStopReason, after After, outcome Outcome) {
		if got := RuleFor(reason); got.After != after || got.Outcome != outcome || got.Unrun == "" {
			t.Errorf("RuleFor(%q) = %+v, want %d, %d and a reason for the model", reason, got, after, outcome)
		}
	}
	for reason, want := range stopReasons {
		check(reason, want.after, want.outcome)
	}
	check("", EndRun, OutcomeCompleted)              // E12
	check("something_new", EndRun, OutcomeCompleted) // E11
	check("TOOL_USE", EndRun, OutcomeCompleted)
}

// blockKinds says for each content block of the SDK what it is to the loop.
var blockKinds = map[string]string{
	"text": "", "thinking": "", "redacted_thinking": "", "container_upload": "", "compaction": "", "mcp_tool_listing": "",
	"fallback": "seam",
	"tool_use": "call", "server_tool_use": "server call", "mcp_tool_use": "server call",
	"web_search_tool_result": "server result", "web_fetch_tool_result": "server result", "advisor_tool_result": "server result",
	"code_execution_tool_result": "server result", "bash_code_execution_tool_result": "server result",
	"text_editor_code_execution_tool_result": "server result", "tool_search_tool_result": "server result",
	"mcp_tool_result": "server result",
}

func TestBlocksAreToldApart(t *testing.T) {
	for kind, want := range blockKinds {
		raw := `{"type":"` + kind + `","id":"x"}`
		if strings.HasSuffix(kind, "_result") {
			raw = `{"type":"` + kind + `","tool_use_id":"x"}`
		}
		b, err := ParseBlock([]byte(raw))
		got := ""
		switch {
		case b.Kind == TypeFallback:
			got = "seam"
		case b.Kind == TypeToolUse:
			got = "call"
		case b.IsServerUse():
			got = "server call"
		case b.IsServerResult():
			got = "server result"
		}
		if err != nil || got != want {
			t.Errorf("%s is %q to the loop (%v), want %q", kind, got, err, want)
		}
	}
}

// When the SDK learns a new stop reason or block, the tables above need a row, and
// RuleFor or ParseBlock perhaps a case (E15).
func TestTablesNameEveryStopReasonAndBlockOfTheSDK(t *testing.T) {
	if diff := cmp.Diff(sdktest.Constants(t, "BetaStopReason"), texts(slices.Sorted(maps.Keys(stopReasons)))); diff != "" {
		t.Errorf("the stop reasons of the SDK are not those of our table (-SDK +table):\n%s", diff)
	}
	if diff := cmp.Diff(sdktest.Variants(t, "BetaContentBlockUnion"), slices.Sorted(maps.Keys(blockKinds))); diff != "" {
		t.Errorf("the blocks of the SDK are not those of our table (-SDK +table):\n%s", diff)
	}
}

func texts[S ~string](values []S) []string {
	all := make([]string, len(values))
	for i, v := range values {
		all[i] = string(v)
	}
	return all
}
