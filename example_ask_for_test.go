package toolrunner_test

import (
	"context"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// Some tools need approval, and the rest does not.
func ExampleAskFor() {
	srv := toolrunnertest.New(
		toolrunnertest.Message(
			toolrunnertest.Call("toolu_1", "get_weather", `{"city":"Paris"}`),
			toolrunnertest.Call("toolu_2", "send_mail", `{"to":"ann@example.com"}`),
		),
		toolrunnertest.Text("I did not tell Ann."),
	)
	defer srv.Close()
	client := srv.Client()

	never := func(_ context.Context, call *toolrunner.Call) (toolrunner.Decision, error) {
		fmt.Println("declined:", call.Name)
		return toolrunner.Deny(""), nil
	}
	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{weatherTool(), mailTool()}, toolrunner.Params{
		BetaMessageNewParams: ask("Tell Ann how the weather in Paris is."),
		Approve:              toolrunner.AskFor(never, "send_mail", "delete_mail"),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := runner.RunToCompletion(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// declined: send_mail
	// (looking at the weather in Paris)
}
