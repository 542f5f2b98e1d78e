package toolrunner_test

import (
	"context"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// Replace takes over: these messages go out in place of the reply and its
// results. A call that they answer does not run.
func ExampleTurn_Replace() {
	srv := toolrunnertest.New(
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "get_weather", `{"city":"Paris"}`)),
		toolrunnertest.Text("Mild."),
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
	for turn, err := range runner.All(context.Background()) {
		if err != nil {
			fmt.Println(err)
			return
		}
		calls := turn.Calls()
		if len(calls) == 0 {
			continue
		}
		results := make([]anthropic.BetaContentBlockParamUnion, len(calls))
		for i, call := range calls {
			results[i] = anthropic.NewBetaToolResultBlock(call.ID, "20 degrees, as of this morning", false)
		}
		err := turn.Replace(turn.ToParam(), anthropic.NewBetaUserMessage(results...), say("Please be concise."))
		if err != nil {
			fmt.Println(err)
			return
		}
	}
	printMessages(runner.Messages()[1:])
	// Output:
	// {"content":[{"id":"toolu_1","input":{"city":"Paris"},"name":"get_weather","type":"tool_use"}],"role":"assistant"}
	// {"content":[{"tool_use_id":"toolu_1","is_error":false,"content":[{"text":"20 degrees, as of this morning","type":"text"}],"type":"tool_result"}],"role":"user"}
	// {"content":[{"text":"Please be concise.","type":"text"}],"role":"user"}
	// {"content":[{"text":"Mild.","type":"text"}],"role":"assistant"}
}
