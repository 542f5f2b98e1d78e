// Command chat is a conversation at a terminal: one question a line, with a tool.
//
//	export ANTHROPIC_API_KEY=...
//	go run ./examples/chat
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
)

type weatherInput struct {
	City string `json:"city" jsonschema:"required,description=A city, such as Paris"`
}

func getWeather(_ context.Context, in weatherInput) (string, error) {
	return "21 degrees in " + in.City, nil
}

func main() {
	if err := chat(anthropic.NewClient(), os.Stdin, func(text string) { fmt.Print(text) }); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// chat answers each line of in.
func chat(client anthropic.Client, in io.Reader, show func(string)) error {
	tools := []anthropic.BetaTool{toolrunner.NewTool("get_weather", "Get the weather in a city.", getWeather)}
	var runner *toolrunner.Runner
	lines := bufio.NewScanner(in)
	for show("> "); lines.Scan(); show("> ") {
		question := anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock(lines.Text()))
		var err error
		if runner == nil {
			runner, err = toolrunner.New(&client.Beta.Messages, tools, toolrunner.Params{
				BetaMessageNewParams: anthropic.BetaMessageNewParams{
					Model: anthropic.ModelClaudeSonnet5_5, MaxTokens: 4096,
					Messages:     []anthropic.BetaMessageParam{question},
					CacheControl: anthropic.NewBetaCacheControlEphemeralParam(), // each question reads the past from the cache
				},
				MaxIterations: 20, // for each question
			})
		} else {
			err = runner.AppendMessages(question)
		}
		if err != nil { // such as an empty line
			show(err.Error() + "\n")
			continue
		}
		answer(runner, show)
	}
	return lines.Err()
}

// answer shows the answer as it comes. After an error, or Ctrl-C, the conversation goes on:
// the next question is added to what there is.
func answer(runner *toolrunner.Runner, show func(string)) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	for turn, err := range runner.AllStreaming(ctx) {
		if err != nil {
			break // Err has it
		}
		for event, err := range turn.Events() {
			if err != nil {
				break // the loop around has it
			}
			show(event.Text)
		}
		show("\n")
	}
	if err := runner.Err(); errors.Is(err, toolrunner.ErrTruncated) {
		show("[the answer was cut off: raise MaxTokens]\n")
	} else if err != nil {
		show("[" + err.Error() + "]\n")
	}
}
