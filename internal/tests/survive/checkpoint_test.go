// Package survive_test tests checkpoints, snapshots, and runs that another process takes
// up.
package survive_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/google/go-cmp/cmp"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// deltaLog keeps deltas.
type deltaLog []toolrunner.Delta

func (l *deltaLog) keep(_ context.Context, d toolrunner.Delta) error {
	*l = append(*l, d)
	return nil
}

// checkOrder checks that each delta follows the one before, and changes something.
func (l *deltaLog) checkOrder(t *testing.T) {
	t.Helper()
	all := *l
	for i, d := range all {
		if i == 0 && (d.After != 0 || !d.Full) || i > 0 && (d.After != all[i-1].Sequence || d.Full || d.ConversationID != all[0].ConversationID) {
			t.Errorf("delta %d is of %q, goes from %d to %d and is full: %v", i, d.ConversationID, d.After, d.Sequence, d.Full)
		}
		if d.Sequence <= d.After || !strings.HasSuffix(string(d.Data), "}\n") {
			t.Errorf("delta %d goes from %d to %d: %q", i, d.After, d.Sequence, d.Data)
		}
	}
}

// tellDelta says in short what a delta has of the calls.
func tellDelta(d toolrunner.Delta) string {
	var r struct {
		Messages []json.RawMessage
		Calls    []struct{ ID, State string }
		State    struct{ Ended bool }
	}
	_ = json.Unmarshal(d.Data, &r)
	words := []string{"kept"}
	if len(r.Messages) > 0 {
		words = append(words, "messages")
	}
	for _, c := range r.Calls {
		words = append(words, strings.TrimSpace(c.ID+" "+c.State))
	}
	if r.State.Ended {
		words = append(words, "ended")
	}
	return strings.Join(words, " ")
}

// The first delta comes before the first request, a reply's before its tools run, a
// start's before the handler if the call must not run twice, a result's after it.
func TestCheckpointIsCalledInOrder(t *testing.T) {
	var happened runtest.Journal
	var deltas deltaLog
	work := func(name string) *toolrunner.Tool {
		return runtest.Raw(name, func(_ context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
			happened.Add("%s runs", call.ID)
			return toolrunner.TextResult("ran"), nil
		})
	}
	again := work("again")
	again.Idempotent = true
	params := runtest.Asking("hi")
	params.MaxConcurrency = 1
	params.Checkpoint = func(ctx context.Context, d toolrunner.Delta) error {
		happened.Add("%s", tellDelta(d))
		return deltas.keep(ctx, d)
	}
	replies := []toolrunnertest.Reply{
		toolrunnertest.Message(toolrunnertest.Call("a", "work", `{}`), toolrunnertest.Call("b", "again", `{}`)), toolrunnertest.Text("done"),
	}
	for i, reply := range replies {
		replies[i] = toolrunnertest.Func(func(*toolrunnertest.Request) toolrunnertest.Reply {
			happened.Add("request %d", i)
			return reply
		})
	}
	c := runtest.Start(t, params, runtest.Tools(work("work"), again), replies...)
	c.Run(t)
	c.Run(t) // there is nothing new
	happened.Want(t,
		"kept messages", "request 0", "kept messages a waiting b waiting",
		"kept a started", "a runs", "kept a answered", "b runs", "kept b answered",
		"kept messages", "request 1", "kept messages", "kept ended")
	deltas.checkOrder(t)
}

// Each end is kept, whatever ends the run.
func TestEachEndIsKept(t *testing.T) {
	tests := []struct {
		name  string
		reply toolrunnertest.Reply
		play  func(c *runtest.Conversation, ctx context.Context, cancel context.CancelCauseFunc)
	}{
		{"break", runtest.Calls("work", "a"), func(c *runtest.Conversation, ctx context.Context, _ context.CancelCauseFunc) {
			for range c.All(ctx) {
				_ = c.AppendMessages(runtest.User("more"))
				break
			}
		}},
		{"panic of the body", runtest.Calls("work", "a"), func(c *runtest.Conversation, ctx context.Context, _ context.CancelCauseFunc) {
			defer func() { _ = recover() }()
			for range c.All(ctx) {
				_ = c.AppendMessages(runtest.User("more"))
				panic("broken")
			}
		}},
		{"error of the API", toolrunnertest.Status(529, "overloaded_error", "x"), func(c *runtest.Conversation, ctx context.Context, _ context.CancelCauseFunc) {
			_, _ = c.RunToCompletion(ctx)
		}},
		{"cancel in the body", runtest.Calls("work", "a"), func(c *runtest.Conversation, ctx context.Context, cancel context.CancelCauseFunc) {
			for range c.All(ctx) {
				_ = c.AppendMessages(runtest.User("more"))
				cancel(runtest.ErrBroken)
			}
		}},
		{"cancel in a handler", runtest.Calls("cancel", "a"), func(c *runtest.Conversation, ctx context.Context, _ context.CancelCauseFunc) {
			_, _ = c.RunToCompletion(ctx)
		}},
		{"abort", runtest.Calls("abort", "a"), func(c *runtest.Conversation, ctx context.Context, _ context.CancelCauseFunc) {
			_, _ = c.RunToCompletion(ctx)
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			var deltas deltaLog
			params := runtest.Asking("hi")
			params.Checkpoint = func(ctx context.Context, d toolrunner.Delta) error {
				if err := ctx.Err(); err != nil { // as a store that is far away
					return err
				}
				return deltas.keep(ctx, d)
			}
			c := runtest.Start(t, params, runtest.Tools(runtest.Says("work", "ran"),
				runtest.Raw("cancel", func(ctx context.Context, _ *toolrunner.Call) (*toolrunner.Result, error) {
					cancel(runtest.ErrBroken)
					<-ctx.Done()
					return nil, ctx.Err()
				}),
				runtest.Raw("abort", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
					return nil, toolrunner.Abort(runtest.ErrBroken)
				})), test.reply)
			test.play(c, ctx, cancel)
			deltas.checkOrder(t)
			kept, err := toolrunner.Resume(&c.Client.Beta.Messages, runtest.Tools(runtest.Says("work", "ran")), runtest.ToAsk(params), joined(deltas))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(runtest.HistoryOf(t, c.Runner).Body), string(runtest.HistoryOf(t, kept).Body)); diff != "" {
				t.Errorf("kept are other messages (-want +got):\n%s", diff)
			}
		})
	}
}

// A cancelled run ends with the cause, also if the store is what notices.
func TestCancelledCheckpointEndsWithTheCause(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	params := runtest.Asking("hi")
	params.Checkpoint = func(ctx context.Context, _ toolrunner.Delta) error {
		cancel(runtest.ErrBroken)
		return ctx.Err()
	}
	c := runtest.New(t)
	_, err := c.NewRunner(t, params).RunToCompletion(ctx)
	if !errors.Is(err, runtest.ErrBroken) || !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "checkpoint") {
		t.Errorf("RunToCompletion() error = %v, want the cause alone", err)
	}
}

// An error or a panic of the checkpoint ends the run before anything goes on, and
// going on tries the same again.
func TestFailedCheckpointEndsTheRun(t *testing.T) {
	for name, fail := range map[string]func() error{
		"error": func() error { return runtest.ErrBroken },
		"panic": func() error { panic(runtest.ErrBroken) },
	} {
		t.Run(name, func(t *testing.T) {
			var deltas deltaLog
			var ran runtest.Journal
			attempts, failures := 0, 0
			params := runtest.Asking("hi")
			params.MaxConcurrency = 1
			params.Checkpoint = func(ctx context.Context, d toolrunner.Delta) error {
				if attempts++; attempts%3 == 1 {
					return fail()
				}
				return deltas.keep(ctx, d)
			}
			c := runtest.Start(t, params, runtest.Tools(ran.Tool("work")), runtest.Calls("work", "a", "b"), toolrunnertest.Text("done"))
			for {
				_, err := c.RunToCompletion(t.Context())
				if err == nil {
					break
				}
				if failures++; failures > 20 || !strings.Contains(err.Error(), "checkpoint failed") || c.Outcome() != toolrunner.OutcomeFailed {
					t.Fatalf("RunToCompletion() error = %v, outcome %v", err, c.Outcome())
				}
			}
			ran.Want(t, "a", "b")
			if failures < 4 {
				t.Errorf("the run failed %d times", failures)
			}
			deltas.checkOrder(t)
		})
	}
}

// The runner waits for a slow checkpoint: nothing is sent or run meanwhile.
func TestRunWaitsForASlowCheckpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept := time.Now()
		check := func(what string) {
			if time.Now().Before(kept) {
				t.Errorf("%s, and the delta is not safe yet", what)
			}
		}
		params := runtest.Asking("hi")
		params.Checkpoint = func(context.Context, toolrunner.Delta) error {
			kept = time.Now().Add(time.Minute)
			<-time.After(time.Minute)
			return nil
		}
		work := runtest.Raw("work", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
			check("the tool runs")
			return nil, nil
		})
		c := runtest.Start(t, params, runtest.Tools(work), toolrunnertest.Func(func(*toolrunnertest.Request) toolrunnertest.Reply {
			check("the request arrives")
			return runtest.Calls("work", "a")
		}), toolrunnertest.Text("done"))
		c.Run(t)
	})
}

// A checkpoint may call the methods of its runner.
func TestCheckpointMayUseTheRunner(t *testing.T) {
	var r *toolrunner.Runner
	var mu sync.Mutex
	times := 0
	params := runtest.Asking("hi")
	params.Checkpoint = func(_ context.Context, d toolrunner.Delta) error {
		mu.Lock()
		defer mu.Unlock()
		if _, err := r.Snapshot(); err != nil {
			return err
		}
		_, _, _, _, _ = r.Messages(), r.Usage(), r.Pending(), r.Outcome(), r.IterationCount()
		if times++; times == 2 {
			return r.AppendMessages(runtest.User("and this"))
		}
		return nil
	}
	c := runtest.New(t, runtest.Calls("work", "a"), toolrunnertest.Text("done"))
	r = c.NewRunner(t, params, runtest.Tools(runtest.Says("work", "ran"))...)
	if _, err := r.RunToCompletion(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.WantShape(t, "user 'hi'", "assistant call(a)", "user result(a)", "user 'and this'")
}

// transport answers requests without reading them.
type transport func() string

func (f transport) RoundTrip(q *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Request: q, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(f())),
	}, nil
}

// What is kept grows with what happens, not with what has happened before.
func TestCheckpointsGrowWithTheRun(t *testing.T) {
	const turns, size = 500, 4096
	var cost []int // of each turn
	bytes := 0
	params := runtest.Asking("hi")
	params.MaxIterations = turns
	params.Checkpoint = func(_ context.Context, d toolrunner.Delta) error {
		bytes += len(d.Data)
		return nil
	}
	client := anthropic.NewClient(option.WithAPIKey("test"), option.WithHTTPClient(&http.Client{Transport: transport(func() string {
		cost, bytes = append(cost, bytes), 0
		return fmt.Sprintf(`{"type":"message","role":"assistant","stop_reason":"tool_use","content":[{"type":"tool_use","id":"toolu_%d","name":"work","input":{}}]}`, len(cost))
	})}))
	r, err := toolrunner.New(&client.Beta.Messages, runtest.Tools(runtest.Says("work", strings.Repeat("x", size))), params)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.RunToCompletion(t.Context()); !errors.Is(err, toolrunner.ErrMaxIterations) {
		t.Fatal(err)
	}
	for i, n := range cost[1:] {
		if n < 2*size || n > 4*size {
			t.Fatalf("turn %d of %d bytes has cost %d bytes, want 2 to 4 times as much", i+1, size, n)
		}
	}
}
