package toolrunner_test

import (
	"context"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// A body may hold a call back that would start early, to see the whole reply first.
func ExampleTurn_Defer() {
	srv := toolrunnertest.New(
		toolrunnertest.Message(
			toolrunnertest.Call("toolu_1", "get_weather", `{"city":"Paris"}`),
			toolrunnertest.Say("One moment."),
		).StopReason("tool_use"),
		toolrunnertest.Text("It is mild in Paris."),
	)
	defer srv.Close()
	client := srv.Client()

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
