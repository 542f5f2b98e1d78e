package toolrunner_test

import (
	"context"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// An event holds what a delta adds. Everything else is in its raw JSON, or in
// the SDK's type, which is decoded on demand.
func ExampleTurn_Events() {
	srv := toolrunnertest.New(toolrunnertest.Text("It is mild.").Usage(12, 4))
	defer srv.Close()
	client := srv.Client()

	runner, err := toolrunner.New(&client.Beta.Messages, nil, toolrunner.Params{BetaMessageNewParams: ask("How is the weather?")})
	if err != nil {
		fmt.Println(err)
		return
	}
	show := func(event toolrunner.Event) error {
		union, err := event.Union()
		if err != nil {
			return err
		}
		switch e := union.AsAny().(type) {
		case anthropic.BetaRawContentBlockStartEvent:
			fmt.Println("block", e.Index, "is", e.ContentBlock.Type)
		case anthropic.BetaRawMessageDeltaEvent:
			fmt.Println("stopped for", e.Delta.StopReason, "after", e.Usage.OutputTokens, "tokens")
		case anthropic.BetaRawMessageStopEvent:
			fmt.Println(string(event.Raw()))
		}
		return nil
	}
	for turn, err := range runner.AllStreaming(context.Background()) {
		if err != nil {
			fmt.Println(err)
			return
		}
		for event, err := range turn.Events() {
			if err == nil {
				err = show(event)
			}
			if err != nil {
				fmt.Println(err)
				return
			}
		}
	}
	// Output:
	// block 0 is text
	// stopped for end_turn after 4 tokens
	// {"type":"message_stop"}
}
