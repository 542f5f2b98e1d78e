package toolrunner_test

import (
	"context"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// With a threshold, the runner has the history compacted by itself. The request
// in the middle asks for a summary.
func ExampleAutoCompact() {
	srv, client := scripted(
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "get_weather", `{"city":"Paris"}`)).Usage(150_000, 50),
		toolrunnertest.Message(toolrunnertest.RawBlock(`{"type":"compaction","content":"Paris has 21 degrees."}`)).StopReason("compaction"),
		toolrunnertest.Text("It is mild in Paris."),
	)

	params := ask("How is the weather in Paris?")
	params.Betas = []anthropic.AnthropicBeta{anthropic.AnthropicBetaCompact2026_09_04}
	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{weatherTool()}, toolrunner.Params{
		BetaMessageNewParams: params,
		AutoCompact:          toolrunner.AutoCompact{Threshold: 100_000},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := runner.RunToCompletion(context.Background()); err != nil {
		fmt.Println(err)
		return
	}
	for _, request := range srv.Requests() {
		fmt.Printf("%d messages, compaction: %q\n", len(request.Messages()), request.Field("compaction"))
	}
	// Output:
	// (looking at the weather in Paris)
	// 1 messages, compaction: ""
	// 3 messages, compaction: "{\"type\":\"summarize\"}"
	// 1 messages, compaction: ""
}

// CompactBeforeNextTurn has the API summarize the history before it is sent
// again. The body sees that reply as well; it does not count as an iteration.
func ExampleRunner_CompactBeforeNextTurn() {
	srv, client := scripted(
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "get_weather", `{"city":"Paris"}`)).Usage(120_000, 50),
		toolrunnertest.Message(toolrunnertest.RawBlock(`{"type":"compaction","content":"Paris has 21 degrees."}`)).StopReason("compaction"),
		toolrunnertest.Text("It is mild in Paris."),
	)

	params := ask("How is the weather in Paris?")
	params.Betas = []anthropic.AnthropicBeta{anthropic.AnthropicBetaCompact2026_09_04}
	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{weatherTool()}, toolrunner.Params{
		BetaMessageNewParams: params,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for turn, err := range runner.All(context.Background()) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(turn.StopReason)
		if turn.Usage.InputTokens > 100_000 {
			err := runner.CompactBeforeNextTurn(anthropic.BetaCompactionConfigUnionParam{})
			if err != nil {
				fmt.Println(err)
				return
			}
		}
	}
	printMessages(runner.Messages())
	fmt.Println(len(srv.Requests()), "requests,", runner.IterationCount(), "iterations")
	// Output:
	// tool_use
	// (looking at the weather in Paris)
	// compaction
	// end_turn
	// {"content":[{"content":"Paris has 21 degrees.","type":"compaction"}],"role":"assistant"}
	// {"content":[{"text":"It is mild in Paris.","type":"text"}],"role":"assistant"}
	// 3 requests, 2 iterations
}

// For an API that cannot compact, the runner asks the model for a summary.
func ExampleClientCompaction() {
	srv, client := scripted(
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "get_weather", `{"city":"Paris"}`)).Usage(150_000, 50),
		toolrunnertest.Text("The user asks for the weather in Paris; it has 21 degrees."),
		toolrunnertest.Text("It is mild in Paris."),
	)

	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{weatherTool()}, toolrunner.Params{
		BetaMessageNewParams: ask("How is the weather in Paris?"),
		AutoCompact: toolrunner.AutoCompact{
			Threshold: 100_000,
			Client:    &toolrunner.ClientCompaction{Model: "claude-small", MaxTokens: 2000},
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := runner.RunToCompletion(context.Background()); err != nil {
		fmt.Println(err)
		return
	}
	for _, request := range srv.Requests() {
		fmt.Println(request.Model(), len(request.Messages()))
	}
	printMessages(runner.Messages())
	// Output:
	// (looking at the weather in Paris)
	// claude-test 1
	// claude-small 4
	// claude-test 1
	// {"content":[{"text":"This is a summary of the conversation so far, which it replaces:\n\nThe user asks for the weather in Paris; it has 21 degrees.","type":"text"}],"role":"user"}
	// {"content":[{"text":"It is mild in Paris.","type":"text"}],"role":"assistant"}
}

// Context editing by the API is passed through. A reply that it paused after
// compacting is sent back, and the model goes on.
func ExampleParams_contextEditing() {
	const summary = `{"type":"compaction","content":"We spoke about Paris."}`
	srv, client := scripted(
		toolrunnertest.Message(toolrunnertest.RawBlock(summary)).StopReason("compaction"),
		toolrunnertest.Text("It is mild in Paris."),
	)

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
