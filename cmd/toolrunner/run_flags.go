package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/config"

	"github.com/toolrunner/toolrunner"
)

const runAbout = `Sends PROMPT to the model, runs the tools that it calls, and prints its answer as it
comes. Without PROMPT the prompt is read from stdin; with PROMPT and -, what stdin
holds follows it; with -session a run that has begun may go on without one. The key
of the API is taken from the environment as the SDK takes it: ANTHROPIC_API_KEY,
ANTHROPIC_AUTH_TOKEN or a profile.

The answer goes to stdout. Stderr gets a line for each call and, in the end, what
the run took. A call of a tool that is not read-only is run if you say so at the
terminal; where there is none, it is denied, unless -yes or -allow says otherwise.
Interrupting cancels the run; interrupting once more ends the process.

Exit codes: 0 the model has answered; 1 the run failed; 2 the arguments make no
sense; 3 the run ended early: a limit was reached, the reply was cut off or
refused, or calls are suspended; 130 it was interrupted.

docs/cli.md in github.com/toolrunner/toolrunner has the format of -mcp, the events
of -json, and more.`

// runOptions are the arguments of the subcommand run.
type runOptions struct {
	prompt  string
	given   bool   // there is one, or stdin is named
	stdin   bool   // what it holds follows the prompt
	session string // the file

	model, system string
	maxTokens     int64
	maxIterations int
	limits        toolrunner.Limits
	baseURL       string

	servers string // the file
	tools   []string
	dir     string

	yes         bool
	allow, deny []string // patterns of names of tools

	json bool
}

// parseRun parses the arguments.
func parseRun(term *terminal, args []string) (*runOptions, error) {
	o := &runOptions{}
	flags := flag.NewFlagSet("run [PROMPT] [-]", flag.ContinueOnError)
	flags.StringVar(&o.model, "model", anthropic.ModelClaudeSonnet5_5, "the `model`")
	flags.StringVar(&o.system, "system", "", "the system prompt, as `text`")
	flags.Int64Var(&o.maxTokens, "max-tokens", 16384, "the most `tokens` that one reply may have")
	flags.IntVar(&o.maxIterations, "max-iterations", 100, "the most `replies` that the run may have; 0 for any number")
	flags.Int64Var(&o.limits.InputTokens, "max-input-tokens", 0, "end the run once its requests have had this many `tokens`; 0 for no limit")
	flags.Int64Var(&o.limits.OutputTokens, "max-output-tokens", 0, "end the run once its replies have had this many `tokens`; 0 for no limit")
	flags.Int64Var(&o.limits.TotalTokens, "max-total-tokens", 0, "end the run once both have had this many `tokens`; 0 for no limit")
	flags.DurationVar(&o.limits.Duration, "max-time", 0, "end the run after the turn in which this `time` is over, such as 5m; 0 for no limit")
	flags.IntVar(&o.limits.FailedCalls, "max-failed-calls", 0, "end the run once this many `calls` have failed one after the other; 0 for no limit")
	flags.StringVar(&o.baseURL, "base-url", "", "the `URL` of the API; else ANTHROPIC_BASE_URL, or the API itself")
	flags.StringVar(&o.servers, "mcp", "", "the `file` with the mcpServers whose tools are offered, each as server__tool")
	flags.Func("tools", "the `names`, between commas, of tools of the SDK's agent toolset that are offered:\n"+strings.Join(toolsetNames(), ", ")+", or all of them with all", o.addTools)
	flags.StringVar(&o.dir, "dir", ".", "the `folder` that -tools works in; bash can leave it, the others cannot")
	flags.BoolVar(&o.yes, "yes", false, "run every call without asking, except for those that -deny names")
	flags.Func("allow", "run calls of tools whose names match one of these `patterns` without asking: 'files__*,bash'", addPatterns(&o.allow))
	flags.Func("deny", "deny calls of tools whose names match one of these `patterns`, whatever else is said", addPatterns(&o.deny))
	flags.StringVar(&o.session, "session", "", "keep the run under this `name` in your state folder, or in the file of a path with a /, and go on with the one that is there")
	flags.BoolVar(&o.json, "json", false, "print one JSON object per event on stdout, for scripts")
	operands, err := parse(term, flags, runAbout, args, 2)
	if err != nil {
		return nil, err
	}
	if err := o.check(operands); err != nil {
		note(term.err, "toolrunner run: %v\n", err)
		return nil, errUsage
	}
	return o, nil
}

// check takes the operands, and says which option makes no sense.
func (o *runOptions) check(operands []string) error {
	o.given = len(operands) > 0
	prompts := 0
	for _, operand := range operands {
		switch {
		case operand == "-":
			o.stdin = true
		case prompts > 0:
			return fmt.Errorf("unexpected argument %q; put the prompt between quotes", operand)
		default:
			o.prompt = operand
			prompts++
		}
	}
	switch {
	case o.maxTokens < 1:
		return fmt.Errorf("-max-tokens is %d; use a positive number", o.maxTokens)
	case o.maxIterations < 0:
		return fmt.Errorf("-max-iterations is %d; use 0 for any number, or a positive one", o.maxIterations)
	case min(o.limits.InputTokens, o.limits.OutputTokens, o.limits.TotalTokens, int64(o.limits.Duration), int64(o.limits.FailedCalls)) < 0:
		return errors.New("a limit is negative; use 0 for none, or a positive one")
	case o.model == "":
		return errors.New("-model is empty")
	case o.baseURL != "" && !isHTTP(o.baseURL):
		return fmt.Errorf("-base-url is %q; use a URL that begins with http:// or https://", o.baseURL)
	}
	return nil
}

// addTools is -tools.
func (o *runOptions) addTools(list string) error {
	for name := range strings.SplitSeq(list, ",") {
		switch name = strings.TrimSpace(name); {
		case name == "all":
			o.tools = append(o.tools, toolsetNames()...)
		case !slices.Contains(toolsetNames(), name):
			return fmt.Errorf("there is no tool %q; there are %s", name, strings.Join(toolsetNames(), ", "))
		default:
			o.tools = append(o.tools, name)
		}
	}
	return nil
}

// addPatterns returns a flag that is a list of patterns.
func addPatterns(patterns *[]string) func(string) error {
	return func(list string) error {
		for pattern := range strings.SplitSeq(list, ",") {
			pattern = strings.TrimSpace(pattern)
			if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
				return fmt.Errorf("%q is not a pattern", pattern)
			}
			*patterns = append(*patterns, pattern)
		}
		return nil
	}
}

// readAll reads to the end, or until ctx ends: a read that is given up goes on.
func readAll(ctx context.Context, r io.Reader) ([]byte, error) {
	var text []byte
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		text, err = io.ReadAll(r)
	}()
	select {
	case <-done:
		return text, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// checkKey says at once that there is no key, where the SDK would send a request without
// one. Another server than the API may need none.
func (o *runOptions) checkKey(term *terminal) error {
	if o.baseURL != "" || term.env("ANTHROPIC_BASE_URL") != "" {
		return nil
	}
	for _, name := range []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_PROFILE", "ANTHROPIC_CUSTOM_HEADERS", "ANTHROPIC_IDENTITY_TOKEN_FILE"} {
		if term.env(name) != "" {
			return nil
		}
	}
	if profiles, err := os.ReadDir(config.DefaultDir()); err == nil && len(profiles) > 0 {
		return nil
	}
	note(term.err, "toolrunner run: there is no key of the API: set ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN or a profile\n")
	return errUsage
}

// readPrompt adds to the prompt what stdin holds, if it is to. A run that has begun
// may go on without one.
func (o *runOptions) readPrompt(ctx context.Context, term *terminal, begun bool) error {
	if !o.given && begun {
		return nil
	}
	if o.stdin || !o.given {
		if _, ok := columns(term.in); ok && o.prompt == "" {
			note(term.err, "toolrunner run: give a prompt, or pipe one in; \"toolrunner help run\" tells more\n")
			return errUsage
		}
		text, err := readAll(ctx, term.in)
		if err != nil {
			return fmt.Errorf("reading the prompt: %w", err)
		}
		o.prompt += "\n" + string(text)
	}
	o.prompt = strings.TrimSpace(o.prompt)
	if o.prompt == "" {
		note(term.err, "toolrunner run: the prompt is empty\n")
		return errUsage
	}
	return nil
}
