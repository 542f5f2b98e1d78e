package toolrunner_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// Nobody is there to ask: the calls that need approval wait, the others run, and the
// run ends. It goes on once each call is decided on.
func ExampleSuspend() {
	srv := toolrunnertest.New(
		toolrunnertest.Message(
			toolrunnertest.Call("toolu_1", "get_weather", `{"city":"Paris"}`),
			toolrunnertest.Call("toolu_2", "send_mail", `{"to":"ann@example.com"}`),
		),
		toolrunnertest.Text("Ann knows."),
	)
	defer srv.Close()
	client := srv.Client()

	later := func(context.Context, *toolrunner.Call) (toolrunner.Decision, error) { return toolrunner.Suspend(), nil }
	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{weatherTool(), mailTool()}, toolrunner.Params{
		BetaMessageNewParams: ask("Tell Ann how the weather in Paris is."),
		Approve:              toolrunner.AskFor(later, "send_mail"),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = runner.RunToCompletion(context.Background())
	var suspended *toolrunner.SuspendedError
	if !errors.As(err, &suspended) {
		fmt.Println(err)
		return
	}
	fmt.Println(runner.Outcome() == toolrunner.OutcomeSuspended, len(suspended.Calls))

	for _, call := range runner.Pending() { // an hour later
		fmt.Println("allowed:", call.Name, string(call.Input))
		if err := runner.Decide(call.ID, toolrunner.Allow()); err != nil {
			fmt.Println(err)
			return
		}
	}
	message, err := runner.RunToCompletion(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(message.Content[0].Text)
	// Output:
	// (looking at the weather in Paris)
	// true 1
	// allowed: send_mail {"to":"ann@example.com"}
	// (sending mail to ann@example.com)
	// Ann knows.
}
