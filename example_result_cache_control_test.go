package toolrunner_test

import (
	"context"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// What the body changes in a result is what is sent. Here the last result of a
// turn becomes a cache breakpoint.
func ExampleTurn_Results_cacheControl() {
	srv := toolrunnertest.New(
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "get_weather", `{"city":"Paris"}`)),
		toolrunnertest.Text("It is mild."),
	)
	defer srv.Close()
	client := srv.Client()

	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{weatherTool()}, toolrunner.Params{
		BetaMessageNewParams: ask("How is the weather in Paris?"),
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	ctx := context.Background()
	for turn, err := range runner.All(ctx) {
		if err != nil {
			fmt.Println(err)
			return
		}
		results, err := turn.Results(ctx)
		if err != nil {
			fmt.Println(err)
			return
		}
		if len(results) > 0 {
			results[len(results)-1].CacheControl = anthropic.NewBetaCacheControlEphemeralParam()
		}
	}
	fmt.Println(string(srv.Requests()[1].ToolResult("toolu_1")))
	// Output:
	// (looking at the weather in Paris)
	// {"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"21 degrees"}],"cache_control":{"type":"ephemeral"}}
}
