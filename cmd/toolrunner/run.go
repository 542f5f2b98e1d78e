package main

import (
	"context"
	"strings"
	"sync"
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
	hidden := &secrets{}
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
	announce := sync.OnceFunc(func() { a.report.report(interrupted{}) })
	quiet := context.AfterFunc(ctx, announce)
	still := a.report.every(time.Second)
	k := &kit{}
	runner, err := a.start(ctx, o, k, servers)
	if err == nil {
		err = a.follow(ctx, runner)
	}
	k.close()
	still()
	if !quiet() {
		announce() // waits for it
	}
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
		Limits:        o.limits,
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
		e.Error = o.explainOutcome(ctx, runner, a.stop)
	}
	return e
}
