package main

import (
	"context"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
)

// agent makes the runners, one for each request. They share nothing but what store
// keeps.
type agent struct {
	client  anthropic.Client
	tools   []anthropic.BetaTool
	store   *store
	sealKey []byte
}

// session is a runner, and the state of its run that the store has.
type session struct {
	*toolrunner.Runner
	store    *store
	run      string
	sequence int64
}

// keep is the runner's checkpoint.
func (s *session) keep(ctx context.Context, delta toolrunner.Delta) error {
	err := s.store.keep(ctx, delta)
	if err == nil {
		s.run, s.sequence = delta.ConversationID, delta.Sequence
	}
	return err
}

// params are those of each process that works on a run. What only reads runs at
// once; everything else waits for a person.
func (a *agent) params(s *session) toolrunner.Params {
	later := func(context.Context, *toolrunner.Call) (toolrunner.Decision, error) { return toolrunner.Suspend(), nil }
	return toolrunner.Params{
		BetaMessageNewParams: anthropic.BetaMessageNewParams{Model: anthropic.ModelClaudeSonnet5_5, MaxTokens: 4096},
		MaxIterations:        20,
		Approve:              toolrunner.AskUnlessReadOnly(later),
		Checkpoint:           s.keep,
		SnapshotKey:          a.sealKey,
		ConversationID:       s.run, // of a run that is resumed: the snapshot of another is refused
	}
}

// begin begins a run.
func (a *agent) begin(task string) (s *session, err error) {
	s = &session{store: a.store}
	params := a.params(s)
	params.Messages = []anthropic.BetaMessageParam{anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock(task))}
	s.Runner, err = toolrunner.New(&a.client.Beta.Messages, a.tools, params)
	return s, err
}

// resume takes up a run as it was kept last.
func (a *agent) resume(ctx context.Context, run string) (*session, error) {
	sequence, snapshot, err := a.store.load(ctx, run)
	if err != nil {
		return nil, err
	}
	s := &session{store: a.store, run: run, sequence: sequence}
	s.Runner, err = toolrunner.Resume(&a.client.Beta.Messages, a.tools, a.params(s), snapshot)
	return s, err
}
