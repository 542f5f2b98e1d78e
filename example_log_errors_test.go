package toolrunner_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// The same loop, without stopping: each failure is noted, and the model reads it.
func ExampleTurn_Results_goOn() {
	srv := toolrunnertest.New(
		toolrunnertest.Message(
			toolrunnertest.Call("toolu_1", "pay", `{}`),
			toolrunnertest.Call("toolu_2", "get_weather", `{"city":"Paris"}`),
		),
		toolrunnertest.Text("I could not pay. The weather is mild."),
	)
	defer srv.Close()
	client := srv.Client()

	pay := toolrunner.NewTool("pay", "Pay the bill.", func(context.Context, struct{}) (string, error) {
		return "", errors.New("the card was refused")
	})
	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{pay, weatherTool()}, toolrunner.Params{
		BetaMessageNewParams: ask("Pay the bill, then look at the weather in Paris."),
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	ctx := context.Background()
	for turn, err := range runner.All(ctx) {
		if err != nil {
			fmt.Println(err)
			return
		}
		results, err := turn.Results(ctx)
		if err != nil {
			fmt.Println(err)
			return
		}
		for i, result := range results {
			if result.IsError {
				fmt.Println("failed:", turn.Calls()[i].Name, result.Err)
			}
		}
		fmt.Print(turn.Text())
	}
	// Output:
	// (looking at the weather in Paris)
	// failed: pay the card was refused
	// I could not pay. The weather is mild.
}
