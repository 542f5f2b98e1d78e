// Command official plays conversations with the official Go runner.
package main

import (
	"context"
	"flag"
	"strings"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/toolrunner"

	"github.com/toolrunner/toolrunner/bench/internal/sdk"
	"github.com/toolrunner/toolrunner/bench/internal/work"
)

var disable = flag.Bool("disable-thread", false, "send the whole history with each request")

func main() { work.Main(prepare) }

func prepare(job *work.Job) (work.Player, error) {
	client := sdk.Client(job)
	tools, err := sdk.Tools(job, tool[work.Input], tool[work.Lines])
	return func(ctx context.Context) (work.Played, error) {
		params := anthropic.BetaToolRunnerParams{BetaMessageNewParams: sdk.Params(), DisableThread: *disable}
		if job.Stream != "" {
			return stream(ctx, client.Beta.Messages.NewToolRunnerStreaming(tools, params), job.Read)
		}
		runner := client.Beta.Messages.NewToolRunner(tools, params)
		message, err := runner.RunToCompletion(ctx)
		if err != nil {
			return work.Played{}, err
		}
		return work.Played{Turns: runner.IterationCount(), Text: message.Content[0].Text}, nil
	}, err
}

// stream reads every event, as this runner has no other way. Unless they are
// wanted, nothing is done with them.
func stream(ctx context.Context, runner *anthropic.BetaToolRunnerStreaming, read bool) (work.Played, error) {
	var p work.Played
	var text strings.Builder
	for events, err := range runner.AllStreaming(ctx) {
		if err != nil {
			return p, err
		}
		for event, err := range events {
			if err != nil {
				return p, err
			}
			if event.Type == "message_start" {
				p.Turns++
			}
			if read && (event.Delta.Text != "" || event.Delta.Thinking != "" || event.Delta.PartialJSON != "") {
				p.Events++
			}
			text.WriteString(event.Delta.Text)
		}
	}
	p.Text = text.String()
	return p, nil
}

func tool[In any](name, description string, schema []byte, run func(In) (string, error)) (anthropic.BetaTool, error) {
	return toolrunner.NewBetaToolFromBytes(name, description, schema, sdk.Handler(run))
}
