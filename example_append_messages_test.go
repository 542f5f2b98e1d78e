package toolrunner_test

import (
	"context"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// What a body adds comes after the results of its turn.
func ExampleRunner_AppendMessages() {
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
		if len(turn.Calls()) > 0 {
			if err := runner.AppendMessages(say("Please be concise.")); err != nil {
				fmt.Println(err)
				return
			}
		}
	}
	printMessages(runner.Messages())
	// Output:
	// (looking at the weather in Paris)
	// {"content":[{"text":"How is the weather in Paris?","type":"text"}],"role":"user"}
	// {"content":[{"id":"toolu_1","input":{"city":"Paris"},"name":"get_weather","type":"tool_use"}],"role":"assistant"}
	// {"content":[{"tool_use_id":"toolu_1","content":[{"text":"21 degrees","type":"text"}],"type":"tool_result"}],"role":"user"}
	// {"content":[{"text":"Please be concise.","type":"text"}],"role":"user"}
	// {"content":[{"text":"Mild.","type":"text"}],"role":"assistant"}
}
