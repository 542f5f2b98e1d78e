// Command weather asks a model about the weather, with one tool at hand.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
)

type weatherInput struct {
	City string `json:"city" jsonschema:"required,description=A city, such as Paris"`
}

func getWeather(_ context.Context, in weatherInput) (string, error) {
	return "21 degrees in " + in.City, nil
}

func ask(ctx context.Context, client anthropic.Client, question string) (string, error) {
	tools := []anthropic.BetaTool{toolrunner.NewTool("get_weather", "Get the weather in a city.", getWeather)}
	runner, err := toolrunner.New(&client.Beta.Messages, tools, toolrunner.Params{
		BetaMessageNewParams: anthropic.BetaMessageNewParams{
			Model:     anthropic.ModelClaudeSonnet5_5,
			MaxTokens: 1024,
			Messages:  []anthropic.BetaMessageParam{anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock(question))},
		},
	})
	if err != nil {
		return "", err
	}
	message, err := runner.RunToCompletion(ctx)
	return toolrunner.Text(message), err
}

func main() {
	client := anthropic.NewClient() // takes ANTHROPIC_API_KEY
	answer, err := ask(context.Background(), client, "How is the weather in Paris?")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(answer)
}
