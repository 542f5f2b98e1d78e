package toolrunner_test

import (
	"context"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// Without the check, a typed tool still fails on input that it cannot decode.
// What is missing is the zero value.
func ExampleValidation_off() {
	srv := toolrunnertest.New(
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "get_weather", `{"unit":"kelvin"}`)),
		toolrunnertest.Text("It is mild."),
	)
	defer srv.Close()
	client := srv.Client()

	weather := toolrunner.NewTool("get_weather", "Get the weather in a city.",
		func(_ context.Context, in weatherInput) (string, error) {
			fmt.Printf("handler: %q %q\n", in.Location, in.Unit)
			return "21 degrees", nil
		})
	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{weather}, toolrunner.Params{
		BetaMessageNewParams: ask("How is the weather?"),
		Validate:             toolrunner.ValidateOff,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := runner.RunToCompletion(context.Background()); err != nil {
		fmt.Println(err)
		return
	}
	// Output: handler: "" "kelvin"
}
