// Package sdk is what the peers have in common that use the official SDK.
package sdk

import (
	"context"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"

	"github.com/toolrunner/toolrunner/bench/internal/work"
)

// Client returns a client of the server.
func Client(job *work.Job) anthropic.Client {
	return anthropic.NewClient(option.WithoutEnvironmentDefaults(), option.WithAPIKey("key"),
		option.WithBaseURL(job.URL()), option.WithHTTPClient(job.Client), option.WithMaxRetries(0))
}

// Params returns the parameters of a conversation.
func Params() anthropic.BetaMessageNewParams {
	return anthropic.BetaMessageNewParams{
		Model:     work.Model,
		MaxTokens: work.MaxTokens,
		System:    []anthropic.BetaTextBlockParam{{Text: work.System}},
		Messages:  []anthropic.BetaMessageParam{anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock(work.Prompt))},
	}
}

// maker makes a tool from a function.
type maker[In any] func(name, description string, schema []byte, run func(In) (string, error)) (anthropic.BetaTool, error)

// Tools returns the tools of a conversation.
func Tools(job *work.Job, input maker[work.Input], lines maker[work.Lines]) ([]anthropic.BetaTool, error) {
	var tools []anthropic.BetaTool
	for i := range work.Tools {
		t, err := input(work.Name(i), work.Description(i), work.Schema(i), func(in work.Input) (string, error) {
			return work.Run(in, job.Text)
		})
		if err != nil {
			return nil, err
		}
		tools = append(tools, t)
	}
	if job.Stream == "" {
		return tools, nil
	}
	take, err := lines("take", "Takes lines.", []byte(work.LinesSchema), func(in work.Lines) (string, error) { return work.Take(in), nil })
	return append(tools, take), err
}

// Handler returns run as the official constructors want it.
func Handler[In any](run func(In) (string, error)) func(context.Context, In) (anthropic.BetaToolResultBlockParamContentUnion, error) {
	return func(_ context.Context, in In) (anthropic.BetaToolResultBlockParamContentUnion, error) {
		text, err := run(in)
		if err != nil {
			return anthropic.BetaToolResultBlockParamContentUnion{}, err
		}
		return anthropic.BetaToolResultBlockParamContentUnion{OfText: &anthropic.BetaTextBlockParam{Text: text}}, nil
	}
}
