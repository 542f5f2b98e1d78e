package migrate_test

import (
	"context"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/toolrunner"
)

// Programs on the official runner.

func programBefore(ctx context.Context, client anthropic.Client) error {
	weather, err := toolrunner.NewBetaToolFromJSONSchema("get_weather", "Get the weather in a city.", getWeather)
	if err != nil {
		return err
	}
	runner := client.Beta.Messages.NewToolRunner([]anthropic.BetaTool{weather}, anthropic.BetaToolRunnerParams{
		BetaMessageNewParams: ask("How is the weather in Tokyo?"),
		MaxIterations:        10,
		DisableThread:        true,
	})
	for message, err := range runner.All(ctx) {
		if err != nil {
			return err
		}
		show(message)
	}
	return nil
}

func completionBefore(ctx context.Context, client anthropic.Client, tools []anthropic.BetaTool) error {
	runner := client.Beta.Messages.NewToolRunner(tools, anthropic.BetaToolRunnerParams{
		BetaMessageNewParams: ask("How is the weather in Tokyo?"),
		DisableThread:        true,
	})
	message, err := runner.RunToCompletion(ctx)
	if err != nil {
		return err
	}
	show(message)
	return nil
}

func stepsBefore(ctx context.Context, client anthropic.Client, tools []anthropic.BetaTool) error {
	runner := client.Beta.Messages.NewToolRunner(tools, anthropic.BetaToolRunnerParams{
		BetaMessageNewParams: ask("How is the weather in Tokyo?"),
		DisableThread:        true,
	})
	for {
		message, err := runner.NextMessage(ctx)
		if err != nil {
			return err
		}
		if message == nil {
			break
		}
		show(message)
	}
	fmt.Println("completed:", runner.IsCompleted())
	return nil
}

func streamBefore(ctx context.Context, client anthropic.Client, tools []anthropic.BetaTool) error {
	runner := client.Beta.Messages.NewToolRunnerStreaming(tools, anthropic.BetaToolRunnerParams{
		BetaMessageNewParams: ask("How is the weather in Tokyo?"),
		DisableThread:        true,
	})
	for events := range runner.AllStreaming(ctx) {
		for event, err := range events {
			if err != nil {
				return err
			}
			switch event := event.AsAny().(type) {
			case anthropic.BetaRawContentBlockDeltaEvent:
				switch delta := event.Delta.AsAny().(type) {
				case anthropic.BetaTextDelta:
					fmt.Print(delta.Text)
				}
			}
		}
	}
	return nil
}

func changesBefore(ctx context.Context, client anthropic.Client, tools []anthropic.BetaTool, extra anthropic.BetaTool) error {
	params := ask("How is the weather in Tokyo?")
	params.Betas = []anthropic.AnthropicBeta{anthropic.AnthropicBetaInlineTools2026_09_15}
	runner := client.Beta.Messages.NewToolRunner(tools, anthropic.BetaToolRunnerParams{
		BetaMessageNewParams: params,
		DisableThread:        true,
	})
	for message, err := range runner.All(ctx) {
		if err != nil {
			return err
		}
		if message.StopReason == anthropic.BetaStopReasonToolUse {
			runner.Params.MaxTokens = 2048
			runner.AddTools(extra)
			runner.RemoveToolsByNames("get_weather")
		}
	}
	return nil
}

func compactionBefore(ctx context.Context, client anthropic.Client, tools []anthropic.BetaTool) error {
	params := ask("How is the weather in Tokyo?")
	params.Betas = []anthropic.AnthropicBeta{anthropic.AnthropicBetaCompact2026_09_04}
	runner := client.Beta.Messages.NewToolRunner(tools, anthropic.BetaToolRunnerParams{
		BetaMessageNewParams: params,
		DisableThread:        true,
	})
	for message, err := range runner.All(ctx) {
		if err != nil {
			return err
		}
		if message.Usage.InputTokens > 100_000 {
			runner.CompactBeforeNextTurn(anthropic.BetaCompactionConfigUnionParam{})
		}
	}
	return nil
}

func definitionBefore(ctx context.Context, client anthropic.Client) error {
	weather, err := toolrunner.NewBetaToolFromJSONSchema("get_weather", "Get the weather in a city.", getWeather)
	if err != nil {
		return err
	}
	params := ask("How is the weather in Tokyo?")
	params.Tools = []anthropic.BetaToolUnionParam{{OfTool: &anthropic.BetaToolParam{ // in place of the tool's own
		Name:         weather.Name(),
		Description:  anthropic.String(weather.Description()),
		InputSchema:  weather.InputSchema(),
		CacheControl: anthropic.NewBetaCacheControlEphemeralParam(),
	}}}
	runner := client.Beta.Messages.NewToolRunner([]anthropic.BetaTool{weather}, anthropic.BetaToolRunnerParams{
		BetaMessageNewParams: params,
		DisableThread:        true,
	})
	_, err = runner.RunToCompletion(ctx)
	return err
}

// The official runner has no way to go on after the end: a second one begins with
// the messages of the first.
func secondRunBefore(ctx context.Context, client anthropic.Client, tools []anthropic.BetaTool) error {
	runner := client.Beta.Messages.NewToolRunner(tools, anthropic.BetaToolRunnerParams{
		BetaMessageNewParams: ask("How is the weather in Tokyo?"),
		DisableThread:        true,
	})
	if _, err := runner.RunToCompletion(ctx); err != nil {
		return err
	}
	params := ask("")
	params.Messages = append(runner.Messages(), say("And tomorrow?"))
	runner = client.Beta.Messages.NewToolRunner(tools, anthropic.BetaToolRunnerParams{
		BetaMessageNewParams: params,
		DisableThread:        true,
	})
	_, err := runner.RunToCompletion(ctx)
	return err
}
