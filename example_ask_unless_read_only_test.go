package toolrunner_test

import (
	"context"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// Tools that only look need no approval.
func ExampleAskUnlessReadOnly() {
	srv := toolrunnertest.New(
		toolrunnertest.Message(
			toolrunnertest.Call("toolu_1", "get_weather", `{"city":"Paris"}`),
			toolrunnertest.Call("toolu_2", "send_mail", `{"to":"ann@example.com"}`),
		),
		toolrunnertest.Text("I have told Ann."),
	)
	defer srv.Close()
	client := srv.Client()

	weather := weatherTool()
	weather.ReadOnly = true
	confirm := func(_ context.Context, call *toolrunner.Call) (toolrunner.Decision, error) {
		fmt.Println("confirmed:", call.Name)
		return toolrunner.Allow(), nil
	}
	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{weather, mailTool()}, toolrunner.Params{
		BetaMessageNewParams: ask("Tell Ann how the weather in Paris is."),
		MaxConcurrency:       1,
		Approve:              toolrunner.AskUnlessReadOnly(confirm),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := runner.RunToCompletion(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// confirmed: send_mail
	// (looking at the weather in Paris)
	// (sending mail to ann@example.com)
}
