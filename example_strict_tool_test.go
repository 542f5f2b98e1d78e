package toolrunner_test

import (
	"context"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// A strict tool gets the schema that strict mode asks for: closed, with every
// property required. What may be left out becomes nullable, and what strict mode
// refuses, such as bounds, is said in the description. It is checked all the same.
func ExampleTool_strict() {
	srv := toolrunnertest.New(
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "get_forecast", `{"city":"Paris","days":3}`)),
		toolrunnertest.Text("It stays mild."),
	)
	defer srv.Close()
	client := srv.Client()

	type input struct {
		City string `json:"city" jsonschema:"required"`
		Days int    `json:"days,omitempty" jsonschema:"minimum=1,maximum=7"`
	}
	forecast := toolrunner.NewTool("get_forecast", "Get the forecast for a city.",
		func(_ context.Context, in input) (string, error) { return "mild in " + in.City, nil })
	forecast.Definition.Strict = anthropic.Bool(true)

	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{forecast}, toolrunner.Params{
		BetaMessageNewParams: ask("What will the weather be in Paris?"),
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
	// Output: [{"input_schema":{"type":"object","properties":{"city":{"type":"string"},"days":{"type":["integer","null"],"description":"{minimum: 1, maximum: 7}"}},"required":["city","days"],"additionalProperties":false},"name":"get_forecast","description":"Get the forecast for a city.","strict":true}]
}
