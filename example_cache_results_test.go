package toolrunner_test

import (
	"context"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// CacheResults answers a call of a ReadOnly tool with an earlier result for the
// same input.
func ExampleCacheResults() {
	srv := toolrunnertest.New(
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "get_weather", `{"city":"Paris"}`)),
		toolrunnertest.Message(toolrunnertest.Call("toolu_2", "get_weather", `{ "city": "Paris" }`)),
		toolrunnertest.Text("It is mild, and still mild."),
	)
	defer srv.Close()
	client := srv.Client()

	weather := weatherTool() // prints a line each time
	weather.ReadOnly = true
	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{weather}, toolrunner.Params{
		BetaMessageNewParams: ask("How is the weather in Paris? Look twice."),
		Middleware:           []toolrunner.Middleware{toolrunner.CacheResults(100)},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := runner.RunToCompletion(context.Background()); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(srv.Requests()[2].ToolResult("toolu_2")))
	// Output:
	// (looking at the weather in Paris)
	// {"type":"tool_result","tool_use_id":"toolu_2","content":[{"type":"text","text":"21 degrees"}]}
}
