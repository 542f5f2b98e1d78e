package toolrunner_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// After an error of the API, another loop takes the step that failed again. The
// tools of the turn have run, and do not run again.
func ExampleRunner_All_afterAnError() {
	srv := toolrunnertest.New(
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "get_weather", `{"city":"Paris"}`)),
		toolrunnertest.Status(529, "overloaded_error", "Overloaded"),
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

	_, err = runner.RunToCompletion(context.Background())
	var failure *anthropic.Error
	if errors.As(err, &failure) {
		fmt.Println("status", failure.StatusCode)
	}

	message, err := runner.RunToCompletion(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(toolrunner.Text(message))
	// Output:
	// (looking at the weather in Paris)
	// status 529
	// It is mild.
}
