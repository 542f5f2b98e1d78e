package toolrunner_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// A body sees each turn as soon as its reply begins, and may read it as it comes.
func ExampleRunner_AllStreaming() {
	_, client := scripted(
		toolrunnertest.Message(
			toolrunnertest.Say("Let me look."),
			toolrunnertest.Call("toolu_1", "get_weather", `{"city":"Paris"}`),
		).Chunk(8),
		toolrunnertest.Text("It is mild in Paris.").Chunk(8),
	)

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
			if event.ToolName != "" {
				fmt.Println("calls", event.ToolName)
			}
			if event.PartialJSON != "" {
				fmt.Printf("input %q\n", event.PartialJSON)
			}
		}
	}
	// Output:
	// text  "Let me l"
	// text  "ook."
	// calls get_weather
	// input "{\"city\":"
	// input "\"Paris\"}"
	// (looking at the weather in Paris)
	// text  "It is mi"
	// text  "ld in Pa"
	// text  "ris."
}

// An event holds what a delta adds. Everything else is in its raw JSON, or in
// the SDK's type, which is decoded on demand.
func ExampleTurn_Events() {
	_, client := scripted(toolrunnertest.Text("It is mild.").Usage(12, 4))

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

// After a streamed run the last message is there as if it had come at once.
func ExampleRunner_LastMessage() {
	_, client := scripted(toolrunnertest.Text("It is mild in Paris.").Usage(20, 8))

	runner, err := toolrunner.New(&client.Beta.Messages, nil, toolrunner.Params{
		BetaMessageNewParams: ask("How is the weather in Paris?"),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, err := range runner.AllStreaming(context.Background()) {
		if err != nil {
			fmt.Println(err)
			return
		}
	}
	message := runner.LastMessage()
	fmt.Println(toolrunner.Text(message), message.StopReason, message.Usage.OutputTokens)
	// Output: It is mild in Paris. end_turn 8
}

// A stream that breaks off is an error, never a short answer. Another loop sends
// the request again.
func ExampleIncompleteStreamError() {
	_, client := scripted(
		toolrunnertest.Text("It is mild, and it will stay so.").EndAfter(4),
		toolrunnertest.Text("It is mild, and it will stay so."),
	)

	runner, err := toolrunner.New(&client.Beta.Messages, nil, toolrunner.Params{BetaMessageNewParams: ask("How is the weather?")})
	if err != nil {
		fmt.Println(err)
		return
	}

	for range 2 {
		for turn, err := range runner.AllStreaming(context.Background()) {
			var broken *toolrunner.IncompleteStreamError
			if errors.As(err, &broken) {
				fmt.Println("broke off after", broken.Events, "events, the last a", broken.Last)
				break
			}
			if err != nil {
				fmt.Println(err)
				return
			}
			for event := range turn.Events() { // the loop around it has the error, too
				if event.Text != "" {
					fmt.Printf("%q\n", event.Text)
				}
			}
		}
	}
	// Output:
	// "It is mild, and "
	// broke off after 3 events, the last a content_block_delta
	// "It is mild, and "
	// "it will stay so."
}

// Calls of tools that only read may start while the reply still streams.
func ExampleParams_eagerTools() {
	_, client := scripted(
		toolrunnertest.Message(
			toolrunnertest.Call("toolu_1", "get_weather", `{"city":"Paris"}`),
			toolrunnertest.Say("One moment."),
		).StopReason("tool_use"),
		toolrunnertest.Text("It is mild in Paris."),
	)

	looked := make(chan string, 1)
	type input struct {
		City string `json:"city" jsonschema:"required"`
	}
	weather := toolrunner.NewTool("get_weather", "Get the weather in a city.", func(_ context.Context, in input) (string, error) {
		looked <- in.City
		return "21 degrees", nil
	})
	weather.ReadOnly = true // it has no side effects
	params := toolrunner.Params{BetaMessageNewParams: ask("How is the weather in Paris?"), EagerTools: true}

	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{weather}, params)
	if err != nil {
		fmt.Println(err)
		return
	}
	for turn, err := range runner.AllStreaming(context.Background()) {
		if err != nil {
			fmt.Println(err)
			return
		}
		for event := range turn.Events() {
			if event.Text != "" && turn.Iteration() == 1 {
				fmt.Println("looked before the reply was complete:", <-looked)
			}
		}
		fmt.Printf("turn %d: %s\n", turn.Iteration(), turn.Text())
	}
	// Output:
	// looked before the reply was complete: Paris
	// turn 1: One moment.
	// turn 2: It is mild in Paris.
}

// A body may hold a call back that would start early, to see the whole reply first.
func ExampleTurn_Defer() {
	_, client := scripted(
		toolrunnertest.Message(
			toolrunnertest.Call("toolu_1", "get_weather", `{"city":"Paris"}`),
			toolrunnertest.Say("One moment."),
		).StopReason("tool_use"),
		toolrunnertest.Text("It is mild in Paris."),
	)

	weather := weatherTool()
	weather.ReadOnly = true
	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{weather}, toolrunner.Params{
		BetaMessageNewParams: ask("How is the weather in Paris?"),
		EagerTools:           true,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	hold := func(turn *toolrunner.Turn, event toolrunner.Event) error {
		union, err := event.Union()
		if err != nil {
			return err
		}
		start, ok := union.AsAny().(anthropic.BetaRawContentBlockStartEvent)
		if !ok || start.ContentBlock.Type != "tool_use" || start.ContentBlock.Name != "get_weather" {
			return nil
		}
		return turn.Defer(start.ContentBlock.ID)
	}
	for turn, err := range runner.AllStreaming(context.Background()) {
		if err != nil {
			fmt.Println(err)
			return
		}
		for event, err := range turn.Events() {
			if err == nil {
				err = hold(turn, event)
			}
			if err != nil {
				fmt.Println(err)
				return
			}
		}
		fmt.Printf("turn %d: %s\n", turn.Iteration(), turn.Text())
	}
	// Output:
	// turn 1: One moment.
	// (looking at the weather in Paris)
	// turn 2: It is mild in Paris.
}
