package toolrunner_test

import (
	"context"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// Usage adds up what all replies have cost.
func ExampleUsage() {
	srv := toolrunnertest.New(
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "get_weather", `{"city":"Paris"}`)).Usage(20, 30).CacheUsage(400, 0),
		toolrunnertest.Text("It is mild.").Usage(60, 10).CacheUsage(0, 400),
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
	if _, err := runner.RunToCompletion(context.Background()); err != nil {
		fmt.Println(err)
		return
	}
	total := runner.Usage()
	fmt.Println("replies:", total.Replies)
	fmt.Println("in:", total.InputTokens, "out:", total.OutputTokens)
	fmt.Println("written to the cache:", total.CacheCreationInputTokens, "read from it:", total.CacheReadInputTokens)
	// Output:
	// (looking at the weather in Paris)
	// replies: 2
	// in: 80 out: 40
	// written to the cache: 400 read from it: 400
}
