package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"

	"github.com/toolrunner/toolrunner"
)

func runRun(ctx context.Context, term *terminal, args []string) error {
	o, err := parseRun(term, args)
	if err != nil {
		return err
	}
	if err := o.readPrompt(term); err != nil {
		return err
	}
	var servers []server
	if o.servers != "" {
		if servers, err = readServers(o.servers, term.env); err != nil {
			return err
		}
	}
	hidden := secrets{}
	hidden.add(term.env("ANTHROPIC_API_KEY"), term.env("ANTHROPIC_AUTH_TOKEN"))
	for i := range servers {
		hidden.addServer(&servers[i])
	}
	p := newPeople(term, hidden)
	report := &reporter{printer: p}
	if o.json {
		report.printer = script{hidden.writer(term.out), p.err}
	}
	a := &agent{report: report, calls: make(map[string]*callRecord), policy: newPolicy(o, askNobody(report))}
	if keys := keyboard(term); keys != nil {
		always := func(tool string) { a.policy.always[tool] = true }
		a.policy.ask = (&asker{p.err, p.paint, lines(keys), report, always}).ask
	}
	return a.run(ctx, o, servers)
}

// run runs the agent and tells how it ended.
func (a *agent) run(ctx context.Context, o *runOptions, servers []server) error {
	begin := time.Now()
	quiet := context.AfterFunc(ctx, func() { a.report.report(interrupted{}) })
	still := a.report.every(time.Second)
	k := &kit{}
	runner, err := a.start(ctx, o, k, servers)
	if err == nil {
		err = a.follow(ctx, runner)
	}
	k.close()
	still()
	quiet()
	ended := a.ending(ctx, o, runner, err)
	ended.Duration = milliseconds(time.Since(begin))
	a.report.report(ended)
	if ended.ExitCode != exitOK {
		return told(ended.ExitCode)
	}
	return a.report.failed()
}

// start opens the tools and makes the runner.
func (a *agent) start(ctx context.Context, o *runOptions, k *kit, servers []server) (*toolrunner.Runner, error) {
	if err := k.open(ctx, o, servers, a.report); err != nil {
		return nil, err
	}
	a.policy.readOnly = k.readOnly
	var options []option.RequestOption
	if o.baseURL != "" {
		options = append(options, option.WithBaseURL(o.baseURL))
	}
	client := anthropic.NewClient(options...)
	params := toolrunner.Params{
		BetaMessageNewParams: anthropic.BetaMessageNewParams{
			Model:     o.model,
			MaxTokens: o.maxTokens,
			Messages:  []anthropic.BetaMessageParam{anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock(o.prompt))},
		},
		MaxIterations: o.maxIterations,
		Approve:       a.policy.approve,
		Middleware:    []toolrunner.Middleware{a.watch},
	}
	if o.system != "" {
		params.System = []anthropic.BetaTextBlockParam{{Text: o.system}}
	}
	runner, err := toolrunner.New(&client.Beta.Messages, k.tools, params)
	if err != nil {
		return nil, err
	}
	a.report.report(runStarted{o.model, k.names()})
	return runner, nil
}

// ending says how the run ended.
func (a *agent) ending(ctx context.Context, o *runOptions, runner *toolrunner.Runner, err error) runEnded {
	e := runEnded{Outcome: "failed", ExitCode: exitFailed, Text: a.last}
	if runner != nil {
		usage := runner.Usage()
		e.Turns = runner.IterationCount()
		e.InputTokens, e.OutputTokens = usage.InputTokens, usage.OutputTokens
		e.CacheReadInputTokens, e.CacheCreationInputTokens = usage.CacheReadInputTokens, usage.CacheCreationInputTokens
	}
	all, by := a.tally()
	e.Calls, e.DeniedCalls, e.FailedCalls = all, by[callDenied], by[callFailed]+by[callNotRun]
	switch {
	case ctx.Err() != nil:
		e.Outcome, e.ExitCode = "interrupted", exitInterrupted
	case err != nil:
		e.Error = explainError(err)
	case runner.Outcome() == toolrunner.OutcomeCompleted:
		e.Outcome, e.ExitCode = "completed", exitOK
	default:
		e.Outcome, e.ExitCode = strings.ReplaceAll(runner.Outcome().String(), " ", "_"), exitStopped
		e.Error = o.explainOutcome(runner.Outcome(), a.stop)
	}
	return e
}

// explainOutcome says why a run ended before the model was done, and what to do.
func (o *runOptions) explainOutcome(outcome toolrunner.Outcome, stop anthropic.BetaStopReason) string {
	switch outcome {
	case toolrunner.OutcomeMaxIterations:
		return fmt.Sprintf("the model was not done after %s; -max-iterations allows more", count(o.maxIterations, "reply"))
	case toolrunner.OutcomeTruncated:
		if stop == anthropic.BetaStopReasonModelContextWindowExceeded {
			return "the conversation has filled the context window of the model"
		}
		return fmt.Sprintf("the reply was cut off after %d tokens; -max-tokens allows more", o.maxTokens)
	case toolrunner.OutcomeRefused:
		return "the model refused"
	default:
		return "the run ended early: " + outcome.String()
	}
}

// explainError says what went wrong, in a line where the API said it.
func explainError(err error) string {
	if api := (*anthropic.Error)(nil); errors.As(err, &api) && api.Message != "" {
		text := fmt.Sprintf("the API answered %d %s: %s", api.StatusCode, api.Type(), api.Message)
		if api.RequestID != "" {
			text += " (request " + api.RequestID + ")"
		}
		if api.StatusCode == http.StatusUnauthorized {
			text += "; the key is taken from ANTHROPIC_API_KEY"
		}
		return text
	}
	return strings.TrimPrefix(err.Error(), "toolrunner: ")
}
