// Providers runs the same loop against the API, Amazon Bedrock or Vertex AI: only the
// client differs.
//
//	go run . -provider bedrock -model us.anthropic.claude-sonnet-5-5-v1:0 "How is the weather in Paris?"
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/bedrock"
	"github.com/anthropics/anthropic-sdk-go/v2/vertex"
	"github.com/toolrunner/toolrunner"
)

func main() {
	provider := flag.String("provider", "api", "api, bedrock or vertex")
	model := flag.String("model", anthropic.ModelClaudeSonnet5_5, "the `name` of the model, as the provider calls it")
	flag.Parse()
	ctx := context.Background()
	answer, err := ask(ctx, newClient(ctx, *provider), *model, flag.Arg(0))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(answer)
}

func newClient(ctx context.Context, provider string) anthropic.Client {
	switch provider {
	case "bedrock": // takes credentials and region as the AWS SDK does
		return anthropic.NewClient(bedrock.WithLoadDefaultConfig(ctx))
	case "vertex": // takes the default credentials of Google Cloud
		return anthropic.NewClient(vertex.WithGoogleAuth(ctx, os.Getenv("CLOUD_ML_REGION"), os.Getenv("ANTHROPIC_VERTEX_PROJECT_ID")))
	default:
		return anthropic.NewClient()
	}
}

type weatherInput struct {
	City string `json:"city" jsonschema:"required"`
}

func ask(ctx context.Context, client anthropic.Client, model, question string) (string, error) {
	runner, err := newRunner(client, model, question)
	if err != nil {
		return "", err
	}
	message, err := runner.RunToCompletion(ctx)
	return toolrunner.Text(message), err
}

func newRunner(client anthropic.Client, model, question string) (*toolrunner.Runner, error) {
	weather := toolrunner.NewTool("get_weather", "Get the weather in a city.",
		func(_ context.Context, in weatherInput) (string, error) { return "21 degrees in " + in.City, nil })
	return toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{weather}, toolrunner.Params{
		BetaMessageNewParams: anthropic.BetaMessageNewParams{
			Model:     model,
			MaxTokens: 1024,
			Messages:  []anthropic.BetaMessageParam{anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock(question))},
		},
	})
}
