package toolrunner_test

import (
	"context"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// Context editing by the API is passed through. A reply that it paused after
// compacting is sent back, and the model goes on.
func ExampleParams_contextEditing() {
	const summary = `{"type":"compaction","content":"We spoke about Paris."}`
	srv := toolrunnertest.New(
		toolrunnertest.Message(toolrunnertest.RawBlock(summary)).StopReason("compaction"),
		toolrunnertest.Text("It is mild in Paris."),
	)
	defer srv.Close()
	client := srv.Client()

	params := ask("And how is the weather there?")
	params.Betas = []anthropic.AnthropicBeta{
		anthropic.AnthropicBetaContextManagement2025_06_27, anthropic.AnthropicBetaCompact2026_01_12,
	}
	params.ContextManagement.Edits = []anthropic.BetaContextManagementConfigEditUnionParam{
		{OfClearToolUses20250919: &anthropic.BetaClearToolUses20250919EditParam{Keep: anthropic.BetaToolUsesKeepParam{Value: 5}}},
		{OfCompact20260112: &anthropic.BetaCompact20260112EditParam{PauseAfterCompaction: anthropic.Bool(true)}},
	}
	runner, err := toolrunner.New(&client.Beta.Messages, nil, toolrunner.Params{BetaMessageNewParams: params})
	if err != nil {
		fmt.Println(err)
		return
	}
	for turn, err := range runner.All(context.Background()) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s %q\n", turn.StopReason, turn.Text())
	}
	fmt.Println(string(srv.Requests()[0].Field("context_management")))
	fmt.Println(string(srv.Requests()[1].Messages()[1]))
	// Output:
	// compaction ""
	// end_turn "It is mild in Paris."
	// {"edits":[{"keep":{"value":5,"type":"tool_uses"},"type":"clear_tool_uses_20250919"},{"pause_after_compaction":true,"type":"compact_20260112"}]}
	// {"role":"assistant","content":[{"type":"compaction","content":"We spoke about Paris."}]}
}
