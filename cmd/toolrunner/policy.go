package main

import (
	"context"
	"path"
	"slices"
	"sync"

	"github.com/toolrunner/toolrunner"
)

// A call comes in before it is run; whether it may run goes out.

// policy says which calls are run.
type policy struct {
	yes         bool
	allow, deny []string        // patterns of names of tools
	readOnly    map[string]bool // by name of the tool
	ask         func(context.Context, *toolrunner.Call) (verdict, error)

	mu     sync.Mutex        // guards the rest
	always map[string]bool   // tools that the user has let run from now on
	denied map[string]string // why, by id of the call
}

func newPolicy(o *runOptions) *policy {
	return &policy{yes: o.yes, allow: o.allow, deny: o.deny, always: make(map[string]bool), denied: make(map[string]string)}
}

// verdict is what a user says to a call.
type verdict struct {
	run    bool
	always bool   // and so to other calls of the tool
	reason string // what the model reads of a call that is not to run
}

// What the model reads.
const (
	deniedByFlag   = "the user does not allow this tool in this run"
	deniedByUser   = "the user denied this call"
	deniedByNobody = "this call needs the approval of a user, and there is none in this run; go on without it"
)

// allows reports whether a call may run, and why not.
func (p *policy) allows(ctx context.Context, call *toolrunner.Call) (bool, string, error) {
	p.mu.Lock()
	always := p.always[call.Name]
	p.mu.Unlock()
	switch {
	case matches(p.deny, call.Name):
		return false, p.note(call, deniedByFlag), nil
	case p.yes, always, p.readOnly[call.Name], matches(p.allow, call.Name):
		return true, "", nil
	}
	a, err := p.ask(ctx, call)
	if err != nil {
		return false, "", err
	}
	if !a.run {
		return false, p.note(call, a.reason), nil
	}
	if a.always {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.always[call.Name] = true
	}
	return true, "", nil
}

// note takes note of a call that is denied.
func (p *policy) note(call *toolrunner.Call, reason string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.denied[call.ID] = reason
	return reason
}

// wasDenied reports whether a call was denied.
func (p *policy) wasDenied(callID string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, denied := p.denied[callID]
	return denied
}

func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		ok, err := path.Match(pattern, name)
		return ok && err == nil
	})
}
