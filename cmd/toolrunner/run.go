package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/question"
)

func runRun(ctx context.Context, term *terminal, args []string) error {
	o, err := parseRun(term, args)
	if err != nil {
		return err
	}
	if err := o.checkKey(term); err != nil {
		return err
	}
	kept, err := o.openSession(term.env)
	if err != nil {
		return err
	}
	defer kept.close()
	if err := o.readPrompt(ctx, term, kept.begun()); err != nil {
		return err
	}
	var servers []server
	if o.servers != "" {
		if servers, err = readServers(o.servers, term.env); err != nil {
			return err
		}
	}
	hidden := &secrets{}
	hidden.Add(term.env("ANTHROPIC_API_KEY"), term.env("ANTHROPIC_AUTH_TOKEN"))
	for i := range servers {
		hidden.addServer(&servers[i])
	}
	p := newPeople(term, hidden)
	report := &reporter{printer: p}
	if o.json {
		report.printer = script{term.out, p.err, hidden}
	}
	a := &agent{report: report, calls: make(map[string]*callRecord), policy: newPolicy(o, askNobody(report))}
	if keys := keyboard(term); keys != nil {
		a.policy.ask = a.terminalAsker(term, p, keys, kept != nil).ask
	}
	return a.run(ctx, o, kept, servers)
}

// terminalAsker returns what asks the user who types at keys.
func (a *agent) terminalAsker(term *terminal, p *people, keys *os.File, later bool) *asker {
	return &asker{
		terminal: question.Asker{
			Out: p.err, Typed: newTyping(keys),
			Size: func() (columns, rows int) {
				columns, rows, _ = sizeOf(term.err)
				return columns, rows
			},
			Paint: func(text string) string { return p.paint(reverse, text) },
		},
		report: a.report,
		schema: func(tool string) []byte { return a.policy.schemas[tool] },
		always: func(tool string) { a.policy.always[tool] = true },
		later:  later,
	}
}

// run runs the agent and tells how it ended.
func (a *agent) run(ctx context.Context, o *runOptions, kept *session, servers []server) error {
	begin := time.Now()
	announce := sync.OnceFunc(func() { a.report.report(interrupted{}) })
	quiet := context.AfterFunc(ctx, announce)
	still := a.report.every(time.Second)
	k := &kit{}
	a.report.report(waiting{forServers, begin})
	runner, err := a.start(ctx, o, kept, k, servers)
	if err == nil {
		err = a.follow(ctx, runner)
	}
	a.report.report(waiting{forTheEnd, time.Now()})
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
func (a *agent) start(ctx context.Context, o *runOptions, kept *session, k *kit, servers []server) (*toolrunner.Runner, error) {
	if err := k.open(ctx, o, servers, a.report); err != nil {
		return nil, err
	}
	a.policy.readOnly, a.policy.schemas = k.readOnly, k.schemas()
	k.serialize()
	var options []option.RequestOption
	if o.baseURL != "" {
		options = append(options, option.WithBaseURL(o.baseURL))
	}
	client := anthropic.NewClient(options...)
	runner, err := kept.open(&client.Beta.Messages, k.tools, a.params(o), o.prompt) //nolint:contextcheck // nothing is sent
	if err != nil {
		return nil, err
	}
	a.report.report(runStarted{o.model, k.names(), kept.begun()})
	a.spent = runner.Usage()
	return runner, a.decidePending(ctx, runner)
}

func (a *agent) params(o *runOptions) toolrunner.Params {
	params := toolrunner.Params{
		BetaMessageNewParams: anthropic.BetaMessageNewParams{Model: o.model, MaxTokens: o.maxTokens},
		MaxIterations:        o.maxIterations,
		Limits:               o.limits,
		Approve:              a.policy.approve,
		Middleware:           []toolrunner.Middleware{a.watch},
	}
	if o.system != "" {
		params.System = []anthropic.BetaTextBlockParam{{Text: o.system}}
	}
	return params
}

// ending says how the run ended.
func (a *agent) ending(ctx context.Context, o *runOptions, runner *toolrunner.Runner, err error) runEnded {
	e := runEnded{Outcome: "failed", ExitCode: exitFailed, Text: a.last, Turns: a.turns}
	if runner != nil {
		usage := runner.Usage()
		e.InputTokens, e.OutputTokens = usage.InputTokens-a.spent.InputTokens, usage.OutputTokens-a.spent.OutputTokens
		e.CacheReadInputTokens = usage.CacheReadInputTokens - a.spent.CacheReadInputTokens
		e.CacheCreationInputTokens = usage.CacheCreationInputTokens - a.spent.CacheCreationInputTokens
	}
	suspended := (*toolrunner.SuspendedError)(nil)
	all, by := a.tally()
	e.Calls, e.DeniedCalls, e.FailedCalls = all, by[callDenied], by[callFailed]+by[callNotRun]
	switch {
	case ctx.Err() != nil:
		e.Outcome, e.ExitCode = "interrupted", exitInterrupted
	case errors.As(err, &suspended):
		e.Outcome, e.ExitCode = "suspended", exitStopped
		e.Error = fmt.Sprintf("the run waits for you to decide on %s; go on with -session %s", count(len(suspended.Calls), "call"), o.session)
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
