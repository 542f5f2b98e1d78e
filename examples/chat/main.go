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
	if err := chat(anthropic.NewClient(), os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// chat answers each line of in.
func chat(client anthropic.Client, in io.Reader, out io.Writer) error {
	tools := []anthropic.BetaTool{toolrunner.NewTool("get_weather", "Get the weather in a city.", getWeather)}
	var runner *toolrunner.Runner
	for lines := bufio.NewScanner(in); prompt(out) && lines.Scan(); {
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
			fmt.Fprintln(out, err)
			continue
		}
		answer(runner, out)
	}
	return nil
}

func prompt(out io.Writer) bool {
	_, err := fmt.Fprint(out, "> ")
	return err == nil
}

// answer prints the answer as it comes. After an error, or Ctrl-C, the conversation goes on:
// the next question is added to what there is.
func answer(runner *toolrunner.Runner, out io.Writer) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	for turn, err := range runner.AllStreaming(ctx) {
		if err != nil {
			break // Err has it
		}
		for event := range turn.Events() {
			fmt.Fprint(out, event.Text)
		}
		fmt.Fprintln(out)
	}
	if err := runner.Err(); errors.Is(err, toolrunner.ErrTruncated) {
		fmt.Fprintln(out, "[the answer was cut off: raise MaxTokens]")
	} else if err != nil {
		fmt.Fprintf(out, "[%v]\n", err)
	}
}
