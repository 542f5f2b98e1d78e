package toolrunner_test

import (
	"context"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// With a threshold, the runner has the history compacted by itself. The request
// in the middle asks for a summary.
func ExampleAutoCompact() {
	srv := toolrunnertest.New(
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "get_weather", `{"city":"Paris"}`)).Usage(150_000, 50),
		toolrunnertest.Message(toolrunnertest.RawBlock(`{"type":"compaction","content":"Paris has 21 degrees."}`)).StopReason("compaction"),
		toolrunnertest.Text("It is mild in Paris."),
	)
	defer srv.Close()
	client := srv.Client()

	params := ask("How is the weather in Paris?")
	params.Betas = []anthropic.AnthropicBeta{anthropic.AnthropicBetaCompact2026_09_04}
	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{weatherTool()}, toolrunner.Params{
		BetaMessageNewParams: params,
		AutoCompact:          toolrunner.AutoCompact{Threshold: 100_000},
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
		fmt.Printf("%d messages, compaction: %q\n", len(request.Messages()), request.Field("compaction"))
	}
	// Output:
	// (looking at the weather in Paris)
	// 1 messages, compaction: ""
	// 3 messages, compaction: "{\"type\":\"summarize\"}"
	// 1 messages, compaction: ""
}
