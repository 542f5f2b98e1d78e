package toolrunner_test

import (
	"context"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

type weatherInput struct {
	Location string `json:"location" jsonschema:"required,description=The city and state, e.g. San Francisco, CA"`
	Unit     string `json:"unit,omitempty" jsonschema:"enum=celsius,enum=fahrenheit"`
}

type sumInput struct {
	A int `json:"a" jsonschema:"required"`
	B int `json:"b" jsonschema:"required"`
}

// The schema that the model reads is derived from the type that the handler gets.
func ExampleNewTool() {
	srv := toolrunnertest.New(
		toolrunnertest.Message(
			toolrunnertest.Call("toolu_1", "get_weather", `{"location":"Paris"}`),
			toolrunnertest.Call("toolu_2", "calculate_sum", `{"a":2,"b":3}`),
		),
		toolrunnertest.Text("It is mild in Paris, and 2 + 3 = 5."),
	)
	defer srv.Close()
	client := srv.Client()

	weather := toolrunner.NewTool("get_weather", "Get the weather in a city.",
		func(_ context.Context, in weatherInput) (string, error) { return "21 degrees in " + in.Location, nil })
	sum := toolrunner.NewTool("calculate_sum", "Add two numbers.",
		func(_ context.Context, in sumInput) (int, error) { return in.A + in.B, nil })

	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{weather, sum}, toolrunner.Params{
		BetaMessageNewParams: ask("How is the weather in Paris, and what is 2 + 3?"),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := runner.RunToCompletion(context.Background()); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(srv.Requests()[0].Field("tools")))
	printMessages(runner.Messages())
	// Output:
	// [{"input_schema":{"type":"object","properties":{"location":{"type":"string","description":"The city and state, e.g. San Francisco, CA"},"unit":{"type":"string","enum":["celsius","fahrenheit"]}},"required":["location"],"additionalProperties":false},"name":"get_weather","description":"Get the weather in a city."},{"input_schema":{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"required":["a","b"],"additionalProperties":false},"name":"calculate_sum","description":"Add two numbers."}]
	// {"content":[{"text":"How is the weather in Paris, and what is 2 + 3?","type":"text"}],"role":"user"}
	// {"content":[{"id":"toolu_1","input":{"location":"Paris"},"name":"get_weather","type":"tool_use"},{"id":"toolu_2","input":{"a":2,"b":3},"name":"calculate_sum","type":"tool_use"}],"role":"assistant"}
	// {"content":[{"tool_use_id":"toolu_1","content":[{"text":"21 degrees in Paris","type":"text"}],"type":"tool_result"},{"tool_use_id":"toolu_2","content":[{"text":"5","type":"text"}],"type":"tool_result"}],"role":"user"}
	// {"content":[{"text":"It is mild in Paris, and 2 + 3 = 5.","type":"text"}],"role":"assistant"}
}
