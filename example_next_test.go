package toolrunner_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// Next takes one step, for programs that have a loop of their own.
func ExampleRunner_Next() {
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
	for {
		turn, err := runner.Next(context.Background())
		if errors.Is(err, toolrunner.ErrDone) {
			break
		}
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(turn.StopReason)
	}
	fmt.Println(runner.Outcome())
	// Output:
	// tool_use
	// (looking at the weather in Paris)
	// end_turn
	// completed
}
