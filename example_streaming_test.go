package toolrunner_test

import (
	"context"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// A body sees each turn as soon as its reply begins, and may read it as it comes.
func ExampleRunner_AllStreaming() {
	srv := toolrunnertest.New(
		toolrunnertest.Message(
			toolrunnertest.Say("Let me look."),
			toolrunnertest.Call("toolu_1", "get_weather", `{"city":"Paris"}`),
		).Chunk(8),
		toolrunnertest.Text("It is mild in Paris.").Chunk(8),
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
	for turn, err := range runner.AllStreaming(context.Background()) {
		if err != nil {
			fmt.Println(err)
			return
		}
		for event, err := range turn.Events() {
			if err != nil {
				fmt.Println(err)
				return
			}
			if event.Text != "" {
				fmt.Printf("text  %q\n", event.Text)
			}
			if event.PartialJSON != "" {
				fmt.Printf("input %q\n", event.PartialJSON)
			}
		}
	}
	// Output:
	// text  "Let me l"
	// text  "ook."
	// input "{\"city\":"
	// input "\"Paris\"}"
	// (looking at the weather in Paris)
	// text  "It is mi"
	// text  "ld in Pa"
	// text  "ris."
}
