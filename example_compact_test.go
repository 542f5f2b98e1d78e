package toolrunner_test

import (
	"context"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// CompactBeforeNextTurn has the API summarize the history before it is sent
// again. The body sees that reply as well; it does not count as an iteration.
func ExampleRunner_CompactBeforeNextTurn() {
	srv := toolrunnertest.New(
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "get_weather", `{"city":"Paris"}`)).Usage(120_000, 50),
		toolrunnertest.Message(toolrunnertest.RawBlock(`{"type":"compaction","content":"Paris has 21 degrees."}`)).StopReason("compaction"),
		toolrunnertest.Text("It is mild in Paris."),
	)
	defer srv.Close()
	client := srv.Client()

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
