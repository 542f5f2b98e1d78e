// Package faults_test holds the faults that were found in the loop, by reading and by
// random programs, each as a kind: one test says what is right, beside the code of the
// fault. The tests use the public API alone.
package faults_test

import (
	"context"
	"log/slog"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// callOf is a reply that calls the tool "work" once for each id.
func callOf(ids ...string) toolrunnertest.Reply { return runtest.Calls("work", ids...) }

// start starts a conversation with the tool "work", which notes its calls. Its body may
// change what was sent.
func start(t *testing.T, params toolrunner.Params, replies ...toolrunnertest.Reply) (*runtest.Conversation, *runtest.Journal) {
	t.Helper()
	var ran runtest.Journal
	return runtest.StartUnchecked(t, params, runtest.Tools(ran.Tool("work")), replies...), &ran
}

// wantErr fails the test if there is no error.
func wantErr(t *testing.T, what string, err error) {
	t.Helper()
	if err == nil {
		t.Errorf("%s error = nil, want one", what)
	}
}

// mustDo fails the test if there is an error.
func mustDo(t *testing.T, what string, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("%s error = %v", what, err)
	}
}

// continued returns another runner that begins with messages, on the same server.
func continued(t *testing.T, c *runtest.Conversation, messages []anthropic.BetaMessageParam, tools ...*toolrunner.Tool) *runtest.Conversation {
	t.Helper()
	return &runtest.Conversation{Runner: c.NewRunner(t, runtest.Given(messages...), runtest.Tools(tools...)...), Server: c.Server, Client: c.Client}
}

// logFunc is a handler of records.
type logFunc func(slog.Record)

func (f logFunc) Enabled(context.Context, slog.Level) bool { return true }

func (f logFunc) Handle(_ context.Context, r slog.Record) error { f(r); return nil }

func (f logFunc) WithAttrs([]slog.Attr) slog.Handler { return f }

func (f logFunc) WithGroup(string) slog.Handler { return f }
