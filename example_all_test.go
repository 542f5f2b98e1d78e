package toolrunner_test

import (
	"context"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// A body sees each turn once its reply is complete, before its calls run.
func ExampleRunner_All() {
	srv := toolrunnertest.New(
		toolrunnertest.Message(
			toolrunnertest.Say("Let me look."),
			toolrunnertest.Call("toolu_1", "get_weather", `{"city":"Paris"}`),
		),
		toolrunnertest.Text("It is mild."),
	)
	defer srv.Close()
	client := srv.Client()

	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{weatherTool()}, toolrunner.Params{
		BetaMessageNewParams: ask("How is the weather in Paris?"),
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
		fmt.Println(turn.Iteration(), turn.StopReason, turn.Text())
	}
	usage := runner.Usage()
	fmt.Println(usage.Replies, "replies,", usage.InputTokens+usage.OutputTokens, "tokens")
	// Output:
	// 1 tool_use Let me look.
	// (looking at the weather in Paris)
	// 2 end_turn It is mild.
	// 2 replies, 30 tokens
}
