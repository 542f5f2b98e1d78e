package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
)

// session is the run that the file of -session keeps. A nil one keeps nothing.
type session struct {
	*toolrunner.FileCheckpoint

	path string
	key  []byte // seals what is in it
	lock *os.File
}

// openSession returns nil if there is no file to be kept. The file is locked before
// anything in it is read.
func (o *runOptions) openSession(env func(string) string) (s *session, err error) {
	if o.session == "" {
		return nil, nil //nolint:nilnil // a nil session keeps nothing
	}
	s = &session{}
	defer func() {
		if err != nil {
			s.close()
			s, err = nil, fmt.Errorf("-session %s: %s", o.session, explainError(err))
		}
	}()
	folders, err := userFolders(env)
	if err != nil {
		return s, err
	}
	if s.path, err = folders.sessionPath(o.session); err != nil {
		return s, err
	}
	if err := o.keepApart(s.path, folders); err != nil {
		return s, err
	}
	if s.lock, err = folders.lock(s.path); err != nil {
		return s, err
	}
	if s.key, err = folders.sealKey(); err != nil {
		return s, err
	}
	if s.FileCheckpoint, err = toolrunner.OpenFileCheckpoint(s.path); err != nil {
		return s, err
	}
	return s, nil
}

// begun reports whether there is a run in the file.
func (s *session) begun() bool { return s != nil && s.Snapshot() != nil }

// close closes the file. What is in it is safe without that.
func (s *session) close() {
	if s == nil {
		return
	}
	if s.FileCheckpoint != nil {
		_ = s.FileCheckpoint.Close() //nolint:staticcheck // not the session itself
	}
	if s.lock != nil {
		_ = s.lock.Close()
	}
}

// open returns the runner for a run that begins with the prompt, or goes on with
// it.
func (s *session) open(messages *anthropic.BetaMessageService, tools []anthropic.BetaTool, params toolrunner.Params, prompt string) (*toolrunner.Runner, error) {
	if s != nil {
		params.Checkpoint, params.SnapshotKey = s.Append, s.key
	}
	said := anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock(prompt))
	if !s.begun() {
		params.Messages = []anthropic.BetaMessageParam{said}
		return toolrunner.New(messages, tools, params)
	}
	runner, err := toolrunner.Resume(messages, tools, params, s.Snapshot())
	if snapshot := (*toolrunner.SnapshotError)(nil); errors.As(err, &snapshot) {
		return nil, fmt.Errorf("-session %s: %w; only files that this command has written for you can be used", s.path, err)
	}
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
