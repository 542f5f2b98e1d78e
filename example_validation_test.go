package toolrunner_test

import (
	"context"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// Input that breaks the schema does not reach the handler. The model reads what
// is wrong, and tries again.
func ExampleValidation() {
	srv := toolrunnertest.New(
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "get_weather", `{"unit":"kelvin"}`)),
		toolrunnertest.Message(toolrunnertest.Call("toolu_2", "get_weather", `{"location":"Paris","unit":"celsius"}`)),
		toolrunnertest.Text("It is mild in Paris."),
	)
	defer srv.Close()
	client := srv.Client()

	weather := toolrunner.NewTool("get_weather", "Get the weather in a city.",
		func(_ context.Context, in weatherInput) (string, error) {
			fmt.Println("handler:", in.Location, in.Unit)
			return "21 degrees", nil
		})
	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{weather}, toolrunner.Params{
		BetaMessageNewParams: ask("How is the weather in Paris?"),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := runner.RunToCompletion(context.Background()); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(srv.Requests()[1].ToolResult("toolu_1")))
	// Output:
	// handler: Paris celsius
	// {"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"Error: invalid input:\n- unit: expected one of \"celsius\", \"fahrenheit\", got string \"kelvin\"\n- location: missing; expected string"}],"is_error":true}
}

// The lenient option is for models that write JSON into strings.
func ExampleValidation_lenient() {
	srv := toolrunnertest.New(
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "calculate_sum", `{"a":"2","b":3}`)),
		toolrunnertest.Text("It is 5."),
	)
	defer srv.Close()
	client := srv.Client()

	sum := toolrunner.NewTool("calculate_sum", "Add two numbers.",
		func(_ context.Context, in sumInput) (int, error) { return in.A + in.B, nil })
	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{sum}, toolrunner.Params{
		BetaMessageNewParams: ask("What is 2 + 3?"),
		Validate:             toolrunner.ValidateLenient,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := runner.RunToCompletion(context.Background()); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(srv.Requests()[1].ToolResult("toolu_1")))
	// Output:
	// {"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"5"}]}
}
