package toolrunner_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// A run that reaches its limit has run the calls of its last turn, so that it
// can go on when the limit is raised.
func ExampleParams_maxIterations() {
	call := func(id string) toolrunnertest.Reply {
		return toolrunnertest.Message(toolrunnertest.Call(id, "get_weather", `{"city":"Paris"}`))
	}
	srv := toolrunnertest.New(call("toolu_1"), call("toolu_2"), toolrunnertest.Text("Still mild."))
	defer srv.Close()
	client := srv.Client()

	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{weatherTool()}, toolrunner.Params{
		BetaMessageNewParams: ask("How is the weather in Paris?"),
		MaxIterations:        2,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = runner.RunToCompletion(context.Background())
	fmt.Println(errors.Is(err, toolrunner.ErrMaxIterations), runner.Outcome(), runner.IterationCount())

	runner.Params.MaxIterations = 3
	message, err := runner.RunToCompletion(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(toolrunner.Text(message))
	// Output:
	// (looking at the weather in Paris)
	// (looking at the weather in Paris)
	// true max iterations 2
	// Still mild.
}
