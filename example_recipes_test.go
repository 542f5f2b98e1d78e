package toolrunner_test

import (
	"context"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// The model thinks before it answers, and a streaming body shows a summary of that.
func Example_thinking() {
	srv, client := scripted(
		toolrunnertest.Message(
			toolrunnertest.Thinking("Paris lies in a mild climate.", "c2lnbmF0dXJl"),
			toolrunnertest.Call("toolu_1", "get_weather", `{"city":"Paris"}`),
		),
		toolrunnertest.Text("It is mild."),
	)
	params := ask("How is the weather in Paris?")
	params.MaxTokens = 16000 // what the model thinks counts
	params.Thinking = anthropic.BetaThinkingConfigParamUnion{OfAdaptive: &anthropic.BetaThinkingConfigAdaptiveParam{
		Display: anthropic.BetaThinkingConfigAdaptiveDisplaySummarized,
	}}
	params.OutputConfig.Effort = anthropic.BetaOutputConfigEffortMedium
	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{weatherTool()}, toolrunner.Params{BetaMessageNewParams: params})
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
			if event.Thinking != "" {
				fmt.Printf("thinks %q\n", event.Thinking)
			}
			if event.Text != "" {
				fmt.Printf("says   %q\n", event.Text)
			}
		}
	}
	fmt.Println(string(srv.Requests()[1].Messages()[1]))
	// Output:
	// thinks "Paris lies in a "
	// thinks "mild climate."
	// (looking at the weather in Paris)
	// says   "It is mild."
	// {"role":"assistant","content":[{"type":"thinking","thinking":"Paris lies in a mild climate.","signature":"c2lnbmF0dXJl"},{"type":"tool_use","id":"toolu_1","name":"get_weather","input":{"city":"Paris"}}]}
}

// One agent is a tool of another one: the handler runs a conversation of its own.
func Example_agentAsATool() {
	_, client := scripted(
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "research", `{"question":"Is Paris mild?"}`)),
		toolrunnertest.Message(toolrunnertest.Call("toolu_2", "get_weather", `{"city":"Paris"}`)),
		toolrunnertest.Text("21 degrees: mild."),
		toolrunnertest.Text("Yes, take a light coat."),
	)
	type input struct {
		Question string `json:"question" jsonschema:"required,description=One question, with all that is needed to answer it"`
	}
	research := toolrunner.NewTool("research", "Let a researcher answer a question. It knows nothing of this conversation.",
		func(ctx context.Context, in input) (string, error) {
			researcher, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{weatherTool()}, toolrunner.Params{
				BetaMessageNewParams: ask(in.Question),
				MaxIterations:        10,
			})
			if err != nil {
				return "", err
			}
			message, err := researcher.RunToCompletion(ctx) // ends when the outer run is cancelled
			if err != nil {
				return "", err // the outer model reads it
			}
			return toolrunner.Text(message), nil
		})
	research.ReadOnly = true // as all of its tools are

	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{research}, toolrunner.Params{
		BetaMessageNewParams: ask("Do I need a coat in Paris?"),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	message, err := runner.RunToCompletion(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(toolrunner.Text(message))
	// Output:
	// (looking at the weather in Paris)
	// Yes, take a light coat.
}
