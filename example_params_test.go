package toolrunner_test

import (
	"context"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// Params may change between turns. The history stays as it is.
func ExampleParams() {
	srv := toolrunnertest.New(
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "get_weather", `{"city":"Paris"}`)),
		toolrunnertest.Text("It is mild in Paris."),
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
		if turn.Iteration() == 1 {
			runner.Params.MaxTokens *= 2
		}
	}
	for _, request := range srv.Requests() {
		fmt.Println(string(request.Field("max_tokens")), "tokens,", len(request.Messages()), "messages")
	}
	// Output:
	// (looking at the weather in Paris)
	// 1024 tokens, 1 messages
	// 2048 tokens, 3 messages
}
