package toolrunner_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// A run that has used what it may ends between turns. Raising the limit lets it go
// on.
func ExampleLimits() {
	srv := toolrunnertest.New(
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "get_weather", `{"city":"Paris"}`)).Usage(900, 200),
		toolrunnertest.Text("It is mild.").Usage(1200, 20),
	)
	defer srv.Close()
	client := srv.Client()

	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{weatherTool()}, toolrunner.Params{
		BetaMessageNewParams: ask("How is the weather in Paris?"),
		Limits: toolrunner.Limits{
			TotalTokens: 1000,
			ToolCalls:   map[string]int{"get_weather": 10},
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = runner.RunToCompletion(context.Background())
	fmt.Println(err)
	fmt.Println(errors.Is(err, toolrunner.ErrLimitReached), runner.Outcome() == toolrunner.OutcomeLimitReached)

	runner.Params.Limits.TotalTokens = 5000
	message, err := runner.RunToCompletion(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(message.Content[0].Text)
	// Output:
	// (looking at the weather in Paris)
	// toolrunner: the run has reached one of Params.Limits: Limits.TotalTokens is 1000, and the run has had 1100
	// true true
	// It is mild.
}
