package toolrunner_test

import (
	"context"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// A choice that forces a call is sent until the model has called a tool, as the
// run could not come to an end otherwise.
func ExampleParams_toolChoice() {
	srv := toolrunnertest.New(
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "get_weather", `{"city":"Paris"}`)),
		toolrunnertest.Text("It is mild."),
	)
	defer srv.Close()
	client := srv.Client()

	params := ask("How is the weather in Paris?")
	params.ToolChoice = anthropic.BetaToolChoiceUnionParam{OfAny: &anthropic.BetaToolChoiceAnyParam{}}
	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{weatherTool()}, toolrunner.Params{
		BetaMessageNewParams: params,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := runner.RunToCompletion(context.Background()); err != nil {
		fmt.Println(err)
		return
	}
	for _, request := range srv.Requests() {
		fmt.Printf("tool_choice: %s\n", request.Field("tool_choice"))
	}
	// Output:
	// (looking at the weather in Paris)
	// tool_choice: {"type":"any"}
	// tool_choice:
}
