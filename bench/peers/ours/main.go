// Command ours plays conversations with the runner of this repository.
package main

import (
	"context"
	"flag"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/bench/internal/sdk"
	"github.com/toolrunner/toolrunner/bench/internal/work"
)

var thread = flag.Bool("thread", false, "keep the conversation in a message thread")

func main() { work.Main(prepare) }

func prepare(job *work.Job) (work.Player, error) {
	client := sdk.Client(job)
	tools, err := sdk.Tools(job, tool[work.Input], tool[work.Lines])
	// Params are large: made here, they would be on the stack of each run.
	newRunner := func() (*toolrunner.Runner, error) {
		return toolrunner.New(&client.Beta.Messages, tools, toolrunner.Params{BetaMessageNewParams: sdk.Params(), MessageThread: *thread})
	}
	return func(ctx context.Context) (work.Played, error) {
		runner, err := newRunner()
		if err != nil {
			return work.Played{}, err
		}
		if job.Stream != "" {
			return stream(ctx, runner, job.Read)
		}
		message, err := runner.RunToCompletion(ctx)
		if err != nil {
			return work.Played{}, err
		}
		return work.Played{Turns: runner.Usage().Replies, Text: message.Content[0].Text}, nil
	}, err
}

func stream(ctx context.Context, runner *toolrunner.Runner, read bool) (work.Played, error) {
	var p work.Played
	for turn, err := range runner.AllStreaming(ctx) {
		if err != nil {
			return p, err
		}
		p.Turns++
		if !read {
			continue
		}
		for event, err := range turn.Events() {
			if err != nil {
				return p, err
			}
			if event.Text != "" || event.Thinking != "" || event.PartialJSON != "" {
				p.Events++
			}
		}
	}
	content := runner.LastMessage().Content
	p.Text = content[len(content)-1].Text
	return p, nil
}

// tool makes a tool just as the peer with the official runner does.
func tool[In any](name, description string, schema []byte, run func(In) (string, error)) (anthropic.BetaTool, error) {
	return toolrunner.NewBetaToolFromBytes(name, description, schema, sdk.Handler(run))
}
