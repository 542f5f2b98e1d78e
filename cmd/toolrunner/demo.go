package main

import (
	"context"
	"flag"
	"fmt"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

const demoAbout = `Runs a small agent and prints what happens. The model's part is played by a server
inside this process; the loop, the SDK's client and the tools are real, and each
call is slowed down as if it went over a network. With -live, the same agent talks
to the API that ANTHROPIC_API_KEY is for, at ANTHROPIC_BASE_URL if that is set.`

func runDemo(ctx context.Context, term *terminal, args []string) error {
	flags := flag.NewFlagSet("demo", flag.ContinueOnError)
	fast := flags.Bool("fast", false, "do not type, and do not slow the tools down")
	live := flags.Bool("live", false, "talk to the real API")
	model := flags.String("model", anthropic.ModelClaudeSonnet5_5, "model for -live")
	if _, err := parse(term, flags, demoAbout, args, 0); err != nil {
		return err
	}
	if *live {
		key := term.env("ANTHROPIC_API_KEY")
		if key == "" {
			note(term.err, "toolrunner demo: -live needs a key of the API in ANTHROPIC_API_KEY; leave -live out to run without one\n")
			return errUsage
		}
		options := []option.RequestOption{option.WithoutEnvironmentDefaults(), option.WithAPIKey(key)}
		if url := term.env("ANTHROPIC_BASE_URL"); url != "" {
			options = append(options, option.WithBaseURL(url))
		}
		client := anthropic.NewClient(options...)
		return demonstrate(ctx, term, &client, *model, "The model is "+*model+".", 0)
	}
	speed := pace{thinking: 300 * time.Millisecond, typing: 10 * time.Millisecond, latency: 300 * time.Millisecond}
	if *fast {
		speed = pace{}
	}
	server := toolrunnertest.NewServer(nil, demoScript(speed)...)
	defer server.Close()
	client := server.Client()
	return demonstrate(ctx, term, &client, "scripted", "The replies are scripted; the loop, the HTTP and the tools are real.", speed.latency)
}

// demonstrate runs the agent to its end.
func demonstrate(ctx context.Context, term *terminal, client *anthropic.Client, model, title string, latency time.Duration) error {
	account := newAccount(newPaper(term.out, term.env))
	runner, err := toolrunner.New(&client.Beta.Messages, demoTools(latency, account.watch), toolrunner.Params{
		BetaMessageNewParams: anthropic.BetaMessageNewParams{
			Model:     model,
			MaxTokens: 2048,
			Messages:  []anthropic.BetaMessageParam{anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock(demoPrompt))},
		},
		MaxIterations: 10,
	})
	if err != nil {
		return err
	}
	account.opening(title, demoPrompt)
	for turn, err := range runner.AllStreaming(ctx) {
		if err != nil {
			account.paper.end()
			return err
		}
		account.settle(runner.Messages())
		account.turn(turn)
	}
	account.closing(runner)
	if outcome := runner.Outcome(); outcome != toolrunner.OutcomeCompleted {
		return fmt.Errorf("the run ended early: %s", outcome)
	}
	return account.paper.err
}
