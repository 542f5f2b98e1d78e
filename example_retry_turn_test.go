package toolrunner_test

import (
	"context"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// A reply that was cut off is dropped, and asked for again with twice the room.
// At the ceiling the run ends with what there is.
func ExampleTurn_Retry() {
	srv := toolrunnertest.New()
	srv.Otherwise(toolrunnertest.Text("Once upon a time").StopReason("max_tokens"))
	defer srv.Close()
	client := srv.Client()

	runner, err := toolrunner.New(&client.Beta.Messages, nil, toolrunner.Params{
		BetaMessageNewParams: ask("Tell me a long story."),
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	const ceiling = 8192
	for turn, err := range runner.All(context.Background()) {
		if err != nil {
			fmt.Println(err)
			return
		}
		if turn.StopReason == anthropic.BetaStopReasonMaxTokens && runner.Params.MaxTokens < ceiling {
			runner.Params.MaxTokens = min(2*runner.Params.MaxTokens, ceiling)
			if err := turn.Retry(); err != nil {
				fmt.Println(err)
				return
			}
		}
	}
	for _, request := range srv.Requests() {
		fmt.Println(string(request.Field("max_tokens")), "tokens,", len(request.Messages()), "message")
	}
	fmt.Println(runner.Outcome(), len(runner.Messages()))
	// Output:
	// 1024 tokens, 1 message
	// 2048 tokens, 1 message
	// 4096 tokens, 1 message
	// 8192 tokens, 1 message
	// truncated 2
}
