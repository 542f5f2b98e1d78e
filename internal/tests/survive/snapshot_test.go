package survive_test

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// payments returns a tool that pays, with side effects that it counts by input.
func payments(paid map[string]int) *toolrunner.Tool {
	type input struct {
		To string `json:"to"`
	}
	return toolrunner.NewTool("pay", "Pay a bill.", func(_ context.Context, in input) (string, error) {
		paid[in.To]++
		return "paid " + in.To, nil
	})
}

// E175, B080, B124: a run that waits for a decision is saved, resumed in another
// process and decided on; the calls that had run do not run again, and one request
// has all results.
func TestSuspendedRunGoesOnInAnotherProcess(t *testing.T) {
	srv := toolrunnertest.NewServer(t,
		toolrunnertest.Message(
			toolrunnertest.Call("toolu_1", "pay", `{"to":"rent"}`),
			toolrunnertest.Call("toolu_2", "pay", `{"to":"gold"}`),
			toolrunnertest.Call("toolu_3", "pay", `{"to":"water"}`)),
		toolrunnertest.Text("done"))
	client := srv.Client()
	paid := make(map[string]int)
	params := toolrunner.Params{
		MaxConcurrency: 1,
		Approve: func(_ context.Context, call *toolrunner.Call) (toolrunner.Decision, error) {
			if string(call.Input) == `{"to":"gold"}` {
				return toolrunner.Suspend(), nil
			}
			return toolrunner.Allow(), nil
		},
	}
	params.Model, params.MaxTokens = "claude-test", 100
	first := params
	first.Messages = []anthropic.BetaMessageParam{runtest.User("pay my bills")}
	r, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{payments(paid)}, first)
	if err != nil {
		t.Fatal(err)
	}
	var suspended *toolrunner.SuspendedError
	if _, err := r.RunToCompletion(t.Context()); !errors.As(err, &suspended) {
		t.Fatalf("RunToCompletion() error = %v, want a *SuspendedError", err)
	}
	snapshot, err := r.Snapshot()
	if err != nil {
		t.Fatal(err)
	}

	resumed, err := toolrunner.Resume(&client.Beta.Messages, []anthropic.BetaTool{payments(paid)}, params, snapshot)
	if err != nil {
		t.Fatal(err)
	}
	if got := resumed.Outcome(); got != toolrunner.OutcomeSuspended {
		t.Errorf("Outcome() = %v", got)
	}
	pending := resumed.Pending()
	if len(pending) != 1 || pending[0].ID != "toolu_2" || string(pending[0].Input) != `{"to":"gold"}` {
		t.Fatalf("Pending() = %+v", pending)
	}
	if err := resumed.Decide("toolu_2", toolrunner.Allow().For(pending[0])); err != nil {
		t.Fatal(err)
	}
	message, err := resumed.RunToCompletion(t.Context())
	if err != nil || message.Content[0].Text != "done" {
		t.Fatalf("RunToCompletion() = %v, %v", message, err)
	}
	if diff := cmp.Diff(map[string]int{"rent": 1, "gold": 1, "water": 1}, paid); diff != "" {
		t.Errorf("paid (-want +got):\n%s", diff)
	}
}

// A run that was kept in a file goes on from it, and what it has run does not run
// again, wherever it is cut off.
func TestFileCheckpointBringsARunBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run")
	srv := toolrunnertest.NewServer(t,
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "pay", `{"to":"rent"}`)),
		toolrunnertest.Message(toolrunnertest.Call("toolu_2", "pay", `{"to":"water"}`)),
		toolrunnertest.Text("done"))
	client := srv.Client()
	paid := make(map[string]int)
	params := toolrunner.Params{SnapshotKey: []byte("0123456789abcdef")}
	params.Model, params.MaxTokens = "claude-test", 100

	for n := 1; ; n++ {
		file, err := toolrunner.OpenFileCheckpoint(path)
		if err != nil {
			t.Fatal(err)
		}
		p := params
		p.Checkpoint = file.Append
		var r *toolrunner.Runner
		if snapshot := file.Snapshot(); snapshot == nil {
			p.Messages = []anthropic.BetaMessageParam{runtest.User("pay my bills")}
			r, err = toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{payments(paid)}, p)
		} else {
			r, err = toolrunner.Resume(&client.Beta.Messages, []anthropic.BetaTool{payments(paid)}, p, snapshot)
		}
		if err != nil {
			t.Fatal(err)
		}
		turn, err := r.Next(t.Context()) // and then the process dies
		if errors.Is(err, toolrunner.ErrDone) {
			break
		}
		if err != nil || n > 3 {
			t.Fatalf("turn %d: %v, %v", n, turn, err)
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(map[string]int{"rent": 1, "water": 1}, paid); diff != "" {
		t.Errorf("paid (-want +got):\n%s", diff)
	}
}

// Calls of the open turn are kept once, also where they began while their reply
// streamed: what is kept as dropped is of a reply that is gone.
func TestEagerCallsAreKeptOnce(t *testing.T) {
	var log runtest.Journal
	var kept []byte
	params := runtest.EagerParams()
	params.Checkpoint = func(_ context.Context, delta toolrunner.Delta) error {
		kept = append(kept, delta.Data...)
		return nil
	}
	c := runtest.Start(t, params, runtest.Tools(log.Reads("look"), log.Tool("change")), runtest.Blocks("a look", "b change"), toolrunnertest.Text("done"))
	c.MustStream(t, nil)
	log.WantSorted(t, "a", "b")
	if bytes.Contains(kept, []byte(`"dropped"`)) {
		t.Errorf("the run has dropped calls:\n%s", kept)
	}
}
