package migrate_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
)

// The same programs on this runner.

func programAfter(ctx context.Context, client anthropic.Client) error {
	weather, err := toolrunner.NewBetaToolFromJSONSchema("get_weather", "Get the weather in a city.", getWeather)
	if err != nil {
		return err
	}
	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{weather}, toolrunner.Params{
		BetaMessageNewParams: ask("How is the weather in Tokyo?"),
		MaxIterations:        10,
	})
	if err != nil {
		return err
	}
	for turn, err := range runner.All(ctx) {
		if err != nil {
			return err
		}
		show(turn.BetaMessage)
	}
	return nil
}

func completionAfter(ctx context.Context, client anthropic.Client, tools []anthropic.BetaTool) error {
	runner, err := toolrunner.New(&client.Beta.Messages, tools, toolrunner.Params{
		BetaMessageNewParams: ask("How is the weather in Tokyo?"),
	})
	if err != nil {
		return err
	}
	message, err := runner.RunToCompletion(ctx)
	if err != nil { // also for a run that was cut off, refused, or reached MaxIterations
		return err
	}
	show(message)
	return nil
}

func stepsAfter(ctx context.Context, client anthropic.Client, tools []anthropic.BetaTool) error {
	runner, err := toolrunner.New(&client.Beta.Messages, tools, toolrunner.Params{
		BetaMessageNewParams: ask("How is the weather in Tokyo?"),
	})
	if err != nil {
		return err
	}
	for {
		turn, err := runner.Next(ctx)
		if errors.Is(err, toolrunner.ErrDone) {
			break
		}
		if err != nil {
			return err
		}
		show(turn.BetaMessage)
	}
	fmt.Println("completed:", runner.Outcome() == toolrunner.OutcomeCompleted)
	return nil
}

func streamAfter(ctx context.Context, client anthropic.Client, tools []anthropic.BetaTool) error {
	runner, err := toolrunner.New(&client.Beta.Messages, tools, toolrunner.Params{
		BetaMessageNewParams: ask("How is the weather in Tokyo?"),
	})
	if err != nil {
		return err
	}
	for turn, err := range runner.AllStreaming(ctx) {
		if err != nil {
			return err
		}
		for event := range turn.Events() { // if the stream fails, the outer loop has the error
			fmt.Print(event.Text)
		}
	}
	return nil
}

func changesAfter(ctx context.Context, client anthropic.Client, tools []anthropic.BetaTool, extra anthropic.BetaTool) error {
	params := ask("How is the weather in Tokyo?")
	params.Betas = []anthropic.AnthropicBeta{anthropic.AnthropicBetaInlineTools2026_09_15}
	runner, err := toolrunner.New(&client.Beta.Messages, tools, toolrunner.Params{BetaMessageNewParams: params})
	if err != nil {
		return err
	}
	for turn, err := range runner.All(ctx) {
		if err != nil {
			return err
		}
		if turn.StopReason == anthropic.BetaStopReasonToolUse {
			runner.Params.MaxTokens = 2048
			if err := runner.AddTools(extra); err != nil {
				return err
			}
			runner.RemoveToolsByNames("get_weather")
		}
	}
	return nil
}

func compactionAfter(ctx context.Context, client anthropic.Client, tools []anthropic.BetaTool) error {
	params := ask("How is the weather in Tokyo?")
	params.Betas = []anthropic.AnthropicBeta{anthropic.AnthropicBetaCompact2026_09_04}
	runner, err := toolrunner.New(&client.Beta.Messages, tools, toolrunner.Params{BetaMessageNewParams: params})
	if err != nil {
		return err
	}
	for turn, err := range runner.All(ctx) {
		if err != nil {
			return err
		}
		if turn.Usage.InputTokens > 100_000 {
			if err := runner.CompactBeforeNextTurn(anthropic.BetaCompactionConfigUnionParam{}); err != nil {
				return err
			}
		}
	}
	return nil
}

func definitionAfter(ctx context.Context, client anthropic.Client) error {
	weather := toolrunner.NewTool("get_weather", "Get the weather in a city.", getWeather)
	weather.Definition.CacheControl = anthropic.NewBetaCacheControlEphemeralParam()
	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{weather}, toolrunner.Params{
		BetaMessageNewParams: ask("How is the weather in Tokyo?"),
	})
	if err != nil {
		return err
	}
	_, err = runner.RunToCompletion(ctx)
	return err
}

func secondRunAfter(ctx context.Context, client anthropic.Client, tools []anthropic.BetaTool) error {
	runner, err := toolrunner.New(&client.Beta.Messages, tools, toolrunner.Params{
		BetaMessageNewParams: ask("How is the weather in Tokyo?"),
	})
	if err != nil {
		return err
	}
	if _, err := runner.RunToCompletion(ctx); err != nil {
		return err
	}
	if err := runner.AppendMessages(say("And tomorrow?")); err != nil {
		return err
	}
	_, err = runner.RunToCompletion(ctx)
	return err
}
