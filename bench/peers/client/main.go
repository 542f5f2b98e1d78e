// Command client only makes a client of the official SDK and sends one request.
// It is what the start of a program with a runner is compared with.
package main

import (
	"context"
	"errors"

	"github.com/toolrunner/toolrunner/bench/internal/sdk"
	"github.com/toolrunner/toolrunner/bench/internal/work"
)

func main() { work.Main(prepare) }

func prepare(job *work.Job) (work.Player, error) {
	if job.Turns != 1 || job.Stream != "" {
		return nil, errors.New("this peer sends one request")
	}
	client := sdk.Client(job)
	return func(ctx context.Context) (work.Played, error) {
		message, err := client.Beta.Messages.New(ctx, sdk.Params())
		if err != nil {
			return work.Played{}, err
		}
		return work.Played{Turns: 1, Text: message.Content[0].Text}, nil
	}, nil
}
