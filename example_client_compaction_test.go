package toolrunner_test

import (
	"context"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// For an API that cannot compact, the runner asks the model for a summary.
func ExampleClientCompaction() {
	srv := toolrunnertest.New(
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "get_weather", `{"city":"Paris"}`)).Usage(150_000, 50),
		toolrunnertest.Text("The user asks for the weather in Paris; it has 21 degrees."),
		toolrunnertest.Text("It is mild in Paris."),
	)
	defer srv.Close()
	client := srv.Client()

	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{weatherTool()}, toolrunner.Params{
		BetaMessageNewParams: ask("How is the weather in Paris?"),
		AutoCompact: toolrunner.AutoCompact{
			Threshold: 100_000,
			Client:    &toolrunner.ClientCompaction{Model: "claude-small", MaxTokens: 2000},
		},
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
		fmt.Println(request.Model(), len(request.Messages()))
	}
	printMessages(runner.Messages())
	// Output:
	// (looking at the weather in Paris)
	// claude-test 1
	// claude-small 4
	// claude-test 1
	// {"content":[{"text":"This is a summary of the conversation so far, which it replaces:\n\nThe user asks for the weather in Paris; it has 21 degrees.","type":"text"}],"role":"user"}
	// {"content":[{"text":"It is mild in Paris.","type":"text"}],"role":"assistant"}
}
