package toolrunner_test

import (
	"context"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// Calls of tools that only read may start while the reply still streams.
func ExampleParams_eagerTools() {
	srv := toolrunnertest.New(
		toolrunnertest.Message(
			toolrunnertest.Call("toolu_1", "get_weather", `{"city":"Paris"}`),
			toolrunnertest.Say("One moment."),
		).StopReason("tool_use"),
		toolrunnertest.Text("It is mild in Paris."),
	)
	defer srv.Close()
	client := srv.Client()

	looked := make(chan string, 1)
	type input struct {
		City string `json:"city" jsonschema:"required"`
	}
	weather := toolrunner.NewTool("get_weather", "Get the weather in a city.", func(_ context.Context, in input) (string, error) {
		looked <- in.City
		return "21 degrees", nil
	})
	weather.ReadOnly = true // it has no side effects
	params := toolrunner.Params{BetaMessageNewParams: ask("How is the weather in Paris?"), EagerTools: true}

	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{weather}, params)
	if err != nil {
		fmt.Println(err)
		return
	}
	for turn, err := range runner.AllStreaming(context.Background()) {
		if err != nil {
			fmt.Println(err)
			return
		}
		for event := range turn.Events() {
			if event.Text != "" && turn.Iteration() == 1 {
				fmt.Println("looked before the reply was complete:", <-looked)
			}
		}
		fmt.Printf("turn %d: %s\n", turn.Iteration(), turn.Text())
	}
	// Output:
	// looked before the reply was complete: Paris
	// turn 1: One moment.
	// turn 2: It is mild in Paris.
}
