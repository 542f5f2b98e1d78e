package main

import (
	"context"
	"path"
	"slices"

	"github.com/toolrunner/toolrunner"
)

// policy decides which calls run. Its Approver is asked by one goroutine at a time.
type policy struct {
	yes         bool
	allow, deny []string            // patterns of names of tools
	readOnly    map[string]bool     // by name, of tools that do not say so themselves
	ask         toolrunner.Approver // the user

	schemas map[string][]byte // of the input of tools, by name

	always map[string]bool // tools that the user has let run from now on
	denied map[string]bool // calls that were denied, by id
}

func newPolicy(o *runOptions, ask toolrunner.Approver) *policy {
	return &policy{
		yes: o.yes, allow: o.allow, deny: o.deny, ask: ask,
		always: make(map[string]bool), denied: make(map[string]bool),
	}
}

const deniedByFlag = "this tool may not be used in this run; go on without it"

// approve is the [toolrunner.Approver] of the run.
func (p *policy) approve(ctx context.Context, call *toolrunner.Call) (toolrunner.Decision, error) {
	d, err := p.decide(ctx, call)
	p.denied[call.ID] = d.String() == toolrunner.Deny("").String()
	return d, err
}

func (p *policy) decide(ctx context.Context, call *toolrunner.Call) (toolrunner.Decision, error) {
	switch {
	case matches(p.deny, call.Name):
		return toolrunner.Forbid(deniedByFlag), nil
	case p.yes, call.ReadOnly, p.readOnly[call.Name], p.always[call.Name], matches(p.allow, call.Name):
		return toolrunner.Allow(), nil
	}
	return p.ask(ctx, call)
}

func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		ok, err := path.Match(pattern, name)
		return ok && err == nil
	})
}
