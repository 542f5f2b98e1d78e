package main

import (
	"context"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
)

// session is the run that the file of -session keeps. A nil one keeps nothing.
type session struct{ *toolrunner.FileCheckpoint }

// openSession returns nil if there is no file to be kept.
func (o *runOptions) openSession() (*session, error) {
	if o.session == "" {
		return nil, nil //nolint:nilnil // a nil session keeps nothing
	}
	file, err := toolrunner.OpenFileCheckpoint(o.session)
	if err != nil {
		return nil, fmt.Errorf("-session %s: %s", o.session, explainError(err))
	}
	return &session{file}, nil
}

// begun reports whether there is a run in the file.
func (s *session) begun() bool { return s != nil && s.Snapshot() != nil }

// close closes the file. What is in it is safe without that.
func (s *session) close() {
	if s != nil {
		_ = s.Close()
	}
}

// open returns the runner for a run that begins with the prompt, or goes on with
// it.
func (s *session) open(messages *anthropic.BetaMessageService, tools []anthropic.BetaTool, params toolrunner.Params, prompt string) (*toolrunner.Runner, error) {
	if s != nil {
		params.Checkpoint = s.Append
	}
	said := anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock(prompt))
	if !s.begun() {
		params.Messages = []anthropic.BetaMessageParam{said}
		return toolrunner.New(messages, tools, params)
	}
	runner, err := toolrunner.Resume(messages, tools, params, s.Snapshot())
	if err != nil || prompt == "" {
		return runner, err
	}
	return runner, runner.AppendMessages(said)
}

// decidePending decides on the calls that were suspended before.
func (a *agent) decidePending(ctx context.Context, runner *toolrunner.Runner) error {
	for _, call := range runner.Pending() {
		d, err := a.policy.approve(ctx, call)
		if err != nil {
			return err
		}
		if err := runner.Decide(call.ID, d); err != nil { //nolint:contextcheck // nothing is sent
			return err
		}
		if a.policy.denied[call.ID] {
			a.end(call, callDenied, "")
		}
	}
	return nil
}
