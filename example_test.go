package toolrunner_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// The smallest program: one typed tool, one loop. The server plays the model; in
// a program of yours the client is anthropic.NewClient().
func Example() {
	srv := toolrunnertest.NewServer(nil,
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "get_weather", `{"city":"Paris"}`)),
		toolrunnertest.Text("Paris has 21 degrees."),
	)
	defer srv.Close()
	client := srv.Client()

	type input struct {
		City string `json:"city" jsonschema:"required"`
	}
	weather := toolrunner.NewTool("get_weather", "Get the weather in a city.",
		func(_ context.Context, in input) (string, error) { return "21 degrees in " + in.City, nil })

	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{weather}, toolrunner.Params{
		BetaMessageNewParams: anthropic.BetaMessageNewParams{
			Model:     anthropic.ModelClaudeSonnet5_5,
			MaxTokens: 1024,
			Messages:  []anthropic.BetaMessageParam{anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock("How is the weather in Paris?"))},
		},
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
		for _, call := range turn.Calls() {
			fmt.Println("call:", call.Name, string(call.Input))
		}
		if text := turn.Text(); text != "" {
			fmt.Println("text:", text)
		}
	}
	fmt.Println(runner.Outcome())
	// Output:
	// call: get_weather {"city":"Paris"}
	// text: Paris has 21 degrees.
	// completed
}

// scripted returns an API in memory that gives these replies, one to each request, and a
// client for it. In a program of yours the client is anthropic.NewClient().
func scripted(replies ...toolrunnertest.Reply) (*toolrunnertest.Server, anthropic.Client) {
	srv := toolrunnertest.NewServer(nil, replies...)
	return srv, srv.Client()
}

// ask is what the other examples send.
func ask(question string) anthropic.BetaMessageNewParams {
	return anthropic.BetaMessageNewParams{Model: "claude-test", MaxTokens: 1024, Messages: []anthropic.BetaMessageParam{say(question)}}
}

// say is a message of the user.
func say(text string) anthropic.BetaMessageParam {
	return anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock(text))
}

// weatherTool is what their model calls, where it does not matter how it is made.
func weatherTool() *toolrunner.Tool {
	type input struct {
		City string `json:"city" jsonschema:"required"`
	}
	return toolrunner.NewTool("get_weather", "Get the weather in a city.", func(_ context.Context, in input) (string, error) {
		fmt.Println("(looking at the weather in " + in.City + ")")
		return "21 degrees", nil
	})
}

// printMessages prints messages as they are sent.
func printMessages(messages []anthropic.BetaMessageParam) {
	for _, message := range messages {
		encoded, err := json.Marshal(message)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(string(encoded))
	}
}
