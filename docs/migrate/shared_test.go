package migrate_test

import (
	"context"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"
)

// What stays as it is: handlers, parameters, tools of one's own.

type weatherInput struct {
	City  string `json:"city" jsonschema:"required,description=The name of the city"`
	Units string `json:"units,omitempty" jsonschema:"enum=celsius,enum=fahrenheit"`
}

func getWeather(_ context.Context, in weatherInput) (anthropic.BetaToolResultBlockParamContentUnion, error) {
	return anthropic.BetaToolResultBlockParamContentUnion{
		OfText: &anthropic.BetaTextBlockParam{Text: "sunny in " + in.City},
	}, nil
}

// ask is a request with one question.
func ask(question string) anthropic.BetaMessageNewParams {
	return anthropic.BetaMessageNewParams{
		Model:     anthropic.ModelClaudeSonnet5_5,
		MaxTokens: 1024,
		Messages:  []anthropic.BetaMessageParam{say(question)},
	}
}

func say(text string) anthropic.BetaMessageParam {
	return anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock(text))
}

// show prints what a reply holds.
func show(message *anthropic.BetaMessage) {
	for _, block := range message.Content {
		switch block := block.AsAny().(type) {
		case anthropic.BetaTextBlock:
			fmt.Println("text:", block.Text)
		case anthropic.BetaToolUseBlock:
			fmt.Println("call:", block.Name, block.Input)
		}
	}
}
