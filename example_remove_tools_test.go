package toolrunner_test

import (
	"context"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// Definitions that the API itself answers can come during a run, and tools go.
func ExampleRunner_AddToolParams() {
	srv := toolrunnertest.New(toolrunnertest.Text("Hello."), toolrunnertest.Text("I searched the web."))
	defer srv.Close()
	client := srv.Client()

	params := ask("Hi!")
	params.Betas = []anthropic.AnthropicBeta{anthropic.AnthropicBetaInlineTools2026_09_15}
	weather := weatherTool()
	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{weather}, toolrunner.Params{BetaMessageNewParams: params})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := runner.RunToCompletion(context.Background()); err != nil {
		fmt.Println(err)
		return
	}

	runner.RemoveTools(weather)
	err = runner.AddToolParams(anthropic.BetaToolUnionParam{OfWebSearchTool20260209: &anthropic.BetaWebSearchTool20260209Param{}})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := runner.AppendMessages(say("Search the web for the weather in Paris.")); err != nil {
		fmt.Println(err)
		return
	}
	if _, err := runner.RunToCompletion(context.Background()); err != nil {
		fmt.Println(err)
		return
	}
	for _, message := range srv.Requests()[1].Messages()[2:] {
		fmt.Println(string(message))
	}
	// Output:
	// {"role":"user","content":[{"text":"Search the web for the weather in Paris.","type":"text"}]}
	// {"role":"system","content":[{"type":"tool_removal","tool":{"type":"tool_reference","name":"get_weather"}},{"type":"tool_addition","tool":{"type":"tool_definition","definition":{"name":"web_search","type":"web_search_20260209"}}}]}
}
