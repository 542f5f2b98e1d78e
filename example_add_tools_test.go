package toolrunner_test

import (
	"context"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// Tools may come and go during a run. The model is told with the next request.
func ExampleRunner_AddTools() {
	srv := toolrunnertest.New(
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "log_in", `{}`)),
		toolrunnertest.Message(toolrunnertest.Call("toolu_2", "get_weather", `{"city":"Paris"}`)),
		toolrunnertest.Text("It is mild in Paris."),
	)
	defer srv.Close()
	client := srv.Client()

	var runner *toolrunner.Runner
	logIn := toolrunner.NewTool("log_in", "Log in, to have more tools.", func(context.Context, struct{}) (string, error) {
		runner.RemoveToolsByNames("log_in")
		return "welcome", runner.AddTools(weatherTool())
	})
	params := ask("Log in, then look at the weather in Paris.")
	params.Betas = []anthropic.AnthropicBeta{anthropic.AnthropicBetaInlineTools2026_09_15}
	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{logIn}, toolrunner.Params{BetaMessageNewParams: params})
	if err != nil {
		fmt.Println(err)
		return
	}
	message, err := runner.RunToCompletion(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(srv.Requests()[1].Messages()[3]))
	fmt.Println(toolrunner.Text(message))
	// Output:
	// (looking at the weather in Paris)
	// {"role":"system","content":[{"type":"tool_removal","tool":{"type":"tool_reference","name":"log_in"}},{"type":"tool_addition","tool":{"type":"tool_definition","definition":{"input_schema":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false},"name":"get_weather","description":"Get the weather in a city."}}}]}
	// It is mild in Paris.
}
