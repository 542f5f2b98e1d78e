package faults_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// F5: Results beside parameters that make no sense returns an error at once, and runs
// nothing, whoever has set them: there is no pass without progress.
func TestResultsBesideParamsThatMakeNoSenseReturnsAnError(t *testing.T) {
	senseless := map[string]func(p *toolrunner.Params){
		"MaxConcurrency": func(p *toolrunner.Params) { p.MaxConcurrency = -1 },
		"MaxTokens":      func(p *toolrunner.Params) { p.MaxTokens = 0 },
		"Validate":       func(p *toolrunner.Params) { p.Validate = 9 },
		"Middleware":     func(p *toolrunner.Params) { p.Middleware = []toolrunner.Middleware{nil} },
		"Messages":       func(p *toolrunner.Params) { p.Messages = runtest.MessageParams{runtest.User("x")} },
	}
	for name, set := range senseless {
		for _, by := range []string{"body", "approver"} {
			t.Run(name+", set by the "+by, func(t *testing.T) {
				var c *runtest.Conversation
				params := toolrunner.Params{}
				params.Approve = func(context.Context, *toolrunner.Call) (toolrunner.Decision, error) {
					if by == "approver" {
						set(&c.Params)
					}
					return toolrunner.Allow(), nil
				}
				c, ran := start(t, params, callOf("a"), toolrunnertest.Text("done"))
				before := c.Params
				err := c.Play(t.Context(), func(turn *toolrunner.Turn) {
					if by == "body" {
						set(&c.Params)
					}
					results, err := turn.Results(t.Context())
					if err == nil || !strings.Contains(err.Error(), "Params."+name) || results != nil {
						t.Errorf("Results() = %v, %v; want an error that names Params.%s", results, err, name)
					}
				})
				if err == nil || !strings.Contains(err.Error(), "Params."+name) {
					t.Errorf("the run's error = %v, want one that names Params.%s", err, name)
				}
				ran.Want(t)
				c.Params = before
				c.Params.Approve = nil
				mustDo(t, "going on", c.Play(t.Context(), nil))
				ran.Want(t, "a")
			})
		}
	}
}

// badError is an error whose methods panic, as those of a nil pointer in an error do.
type badError struct{ cause error }

func (e *badError) Error() string { return "bad: " + e.cause.Error() }

func (e *badError) Unwrap() error { return e.cause }

// badIs panics where errors.Is and errors.As look at it.
type badIs struct{}

func (badIs) Error() string { return "is" }

func (badIs) Is(error) bool { panic("is") }

func (badIs) As(any) bool { panic("as") }

// F15: whatever an error of the caller does, the call fails, not the run: an error whose
// methods panic, in the result, returned, or wrapped, with a logger that prints it.
func TestErrorWhoseMethodsPanicFailsItsCallOnly(t *testing.T) {
	var none *badError
	failing := map[string]func() (*toolrunner.Result, error){
		"Err of a failed result": func() (*toolrunner.Result, error) { return &toolrunner.Result{IsError: true, Err: none}, nil },
		"Err of a success":       func() (*toolrunner.Result, error) { return &toolrunner.Result{Err: none}, nil },
		"Err that panics in Is":  func() (*toolrunner.Result, error) { return &toolrunner.Result{IsError: true, Err: badIs{}}, nil },
		"returned":               func() (*toolrunner.Result, error) { return nil, none },
		"returned, panics in Is": func() (*toolrunner.Result, error) { return nil, badIs{} },
		"in a ToolError":         func() (*toolrunner.Result, error) { return nil, &toolrunner.ToolError{Err: none} },
		"joined":                 func() (*toolrunner.Result, error) { return nil, errors.Join(errors.New("first"), none) },
		"aborting": func() (*toolrunner.Result, error) {
			return toolrunner.ErrorResult("failed"), &toolrunner.ToolError{Err: badIs{}}
		},
	}
	for name, fail := range failing {
		for _, logs := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, logger %v", name, logs), func(t *testing.T) {
				var out strings.Builder
				params := toolrunner.Params{Logger: slog.New(slog.DiscardHandler)}
				if logs {
					params.Logger = slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))
				}
				tool := runtest.Raw("work", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) { return fail() })
				c := runtest.StartUnchecked(t, params, runtest.Tools(tool, runtest.Says("fine", "fine")),
					toolrunnertest.Message(toolrunnertest.Call("a", "work", `{}`), toolrunnertest.Call("b", "fine", `{}`)), toolrunnertest.Text("done"))
				c.MustPlay(t, func(turn *toolrunner.Turn) {
					results, err := turn.Results(t.Context())
					mustDo(t, "Results()", err)
					for _, result := range results {
						_ = result.String()
					}
				})
				if c.Request(t, -1).ToolResult("a") == nil {
					t.Error("the call has no result")
				}
				runtest.WantSuccess(t, c.Request(t, -1), "b", "fine")
			})
		}
	}
}

// F15: the same for an approver and a checkpoint: the run ends with an error, and no panic
// leaves the loop.
func TestErrorWhoseMethodsPanicEndsTheRunWithAnError(t *testing.T) {
	var none *badError
	for _, bad := range []error{none, badIs{}} {
		approving := toolrunner.Params{Approve: func(context.Context, *toolrunner.Call) (toolrunner.Decision, error) { return toolrunner.Allow(), bad }}
		saving := toolrunner.Params{Checkpoint: func(context.Context, toolrunner.Delta) error { return bad }}
		aborting := runtest.Raw("work", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) { return nil, toolrunner.Abort(bad) })
		for name, params := range map[string]toolrunner.Params{"approver": approving, "checkpoint": saving, "abort": {}} {
			c := runtest.StartUnchecked(t, params, runtest.Tools(aborting), callOf("a"))
			c.Server.Ignore("reply-unused")
			wantErr(t, name, c.Play(t.Context(), nil))
		}
	}
}

// F16: a summary that may be so long that the SDK wants it streamed streams by itself.
func TestLongSummaryStreamsByItself(t *testing.T) {
	params := toolrunner.Params{AutoCompact: toolrunner.AutoCompact{Threshold: 100, Client: &toolrunner.ClientCompaction{MaxTokens: 32000}}}
	c, _ := start(t, params, callOf("a").Usage(1000, 1), toolrunnertest.Text("so far"), toolrunnertest.Text("done"))
	turns := 0
	c.MustPlay(t, func(*toolrunner.Turn) { turns++ })
	if !c.Request(t, 1).Stream() || c.Request(t, 2).Stream() {
		t.Error("want the summary to stream, and the turns not to")
	}
	if got := string(c.Request(t, 1).Field("max_tokens")); got != "32000" {
		t.Errorf("max_tokens = %s, want 32000", got)
	}
	c.WantShape(t, "user 'This is a summary of the conversation so far, which it replaces:\n\nso far'")
	if turns != 2 || c.IterationCount() != 2 {
		t.Errorf("%d turns and %d iterations, want 2: a summary is no turn", turns, c.IterationCount())
	}
}

// F16: one that breaks off leaves the conversation as it was.
func TestLongSummaryThatBreaksOffChangesNothing(t *testing.T) {
	params := toolrunner.Params{AutoCompact: toolrunner.AutoCompact{Threshold: 100, Client: &toolrunner.ClientCompaction{MaxTokens: 32000}}}
	c, _ := start(t, params, callOf("a").Usage(1000, 1), toolrunnertest.Text("so far").EndAfter(3), toolrunnertest.Text("done"))
	wantErr(t, "the first loop", c.Play(t.Context(), nil))
	c.MustPlay(t, nil)
	c.WantShape(t, "user 'hi'", "assistant call(a)", "user result(a)")
}

// P12: a request for no tokens is refused, by New and by Resume, and names the field.
func TestMaxTokensOfNothingIsRefused(t *testing.T) {
	c := runtest.New(t)
	for _, n := range []int64{0, -1} {
		params := runtest.Asking("hi")
		params.MaxTokens = n
		if _, err := toolrunner.New(&c.Client.Beta.Messages, nil, params); err == nil || !strings.Contains(err.Error(), "Params.MaxTokens") {
			t.Errorf("New() with %d tokens: error = %v, want one that names Params.MaxTokens", n, err)
		}
	}
}

// Limits.EachTool bounds the calls of each tool that Limits.ToolCalls does not name.
func TestEachToolBoundsTheToolsThatAreNotNamed(t *testing.T) {
	for name, want := range map[string]struct {
		limits  toolrunner.Limits
		replies int
	}{
		"each":              {toolrunner.Limits{EachTool: 2}, 2},
		"named ones differ": {toolrunner.Limits{EachTool: 1, ToolCalls: map[string]int{"work": 3}}, 3},
		"others only":       {toolrunner.Limits{EachTool: 9, ToolCalls: map[string]int{"other": 1}}, 4},
	} {
		t.Run(name, func(t *testing.T) {
			c, _ := start(t, toolrunner.Params{Limits: want.limits}, callOf("a"), callOf("b"), callOf("d"), toolrunnertest.Text("done"))
			c.Server.Ignore("reply-unused")
			c.MustPlay(t, nil)
			c.WantRequests(t, want.replies)
			if reached := errors.Is(c.Err(), toolrunner.ErrLimitReached); reached != (want.replies < 4) {
				t.Errorf("Err() = %v after %d replies", c.Err(), want.replies)
			}
		})
	}
	for _, limits := range []toolrunner.Limits{{EachTool: -1}, {ToolCalls: map[string]int{"": 1}}, {ToolCalls: map[string]int{"work": 0}}} {
		params := runtest.Asking("hi")
		params.Limits = limits
		c := runtest.New(t)
		_, err := toolrunner.New(&c.Client.Beta.Messages, nil, params)
		wantErr(t, fmt.Sprintf("New() with %+v", limits), err)
	}
}

// P5: two loops at once over one runner, and a loop beside Next, are an error, which
// leaves the first loop as it is. A loop in the body of another is allowed.
func TestTwoLoopsAtOnceAreAnError(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	work := runtest.Raw("work", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
		close(entered)
		<-leave
		return toolrunner.TextResult("ran"), nil
	})
	c := runtest.StartUnchecked(t, toolrunner.Params{}, runtest.Tools(work), callOf("a"), toolrunnertest.Text("done"))
	first := make(chan error, 1)
	go func() { first <- c.Play(context.WithoutCancel(t.Context()), nil) }()
	select {
	case <-entered:
	case <-time.After(10 * time.Second):
		t.Fatal("the call has not started")
	}
	for name, second := range map[string]func() error{
		"All":             func() error { return runtest.Exhaust(c.All(t.Context())) },
		"AllStreaming":    func() error { return runtest.Exhaust(c.AllStreaming(t.Context())) },
		"Next":            func() error { _, err := c.Next(t.Context()); return err },
		"RunToCompletion": func() error { _, err := c.RunToCompletion(t.Context()); return err },
	} {
		if err := second(); err == nil || !strings.Contains(err.Error(), "two loops at once") {
			t.Errorf("%s beside a loop: error = %v, want one that says so", name, err)
		}
	}
	close(leave)
	mustDo(t, "the first loop", <-first)
	runtest.WantSuccess(t, c.Request(t, -1), "a", "ran")
	if got := c.Outcome(); got != toolrunner.OutcomeCompleted {
		t.Errorf("Outcome() = %v, want completed", got)
	}
}

// Params.ConversationID names the conversation everywhere; Resume refuses another.
func TestConversationHasTheIDThatItIsGiven(t *testing.T) {
	var seen []string
	params := toolrunner.Params{ConversationID: "order-7", Checkpoint: func(_ context.Context, d toolrunner.Delta) error {
		seen = append(seen, d.ConversationID)
		return nil
	}}
	work := runtest.Raw("work", func(_ context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
		seen = append(seen, call.ConversationID, strings.SplitN(call.IdempotencyKey(), "-a-", 2)[0])
		return toolrunner.TextResult("ran"), nil
	})
	c := runtest.StartUnchecked(t, params, runtest.Tools(work), callOf("a"), toolrunnertest.Text("done"))
	c.MustPlay(t, func(turn *toolrunner.Turn) {
		for _, call := range turn.Calls() {
			seen = append(seen, call.ConversationID)
		}
	})
	for _, id := range append(seen, c.ConversationID()) {
		if id != "order-7" {
			t.Errorf("the id is %q somewhere, want order-7", id)
		}
	}
	snapshot, err := c.Snapshot()
	mustDo(t, "Snapshot()", err)
	for id, want := range map[string]bool{"": true, "order-7": true, "order-8": false} {
		params := runtest.ToAsk(runtest.Asking(""))
		params.ConversationID = id
		r, err := toolrunner.Resume(&c.Client.Beta.Messages, runtest.Tools(work), params, snapshot)
		refused := (*toolrunner.SnapshotError)(nil)
		if want != (err == nil) || err != nil && (!errors.As(err, &refused) || !strings.Contains(err.Error(), "order-8")) {
			t.Errorf("Resume() with the id %q: error = %v, want it taken: %v", id, err, want)
		}
		if r != nil && r.ConversationID() != "order-7" {
			t.Errorf("ConversationID() = %q, want order-7", r.ConversationID())
		}
	}
	one, two := runtest.New(t).NewRunner(t, runtest.Asking("hi")), runtest.New(t).NewRunner(t, runtest.Asking("hi"))
	if one.ConversationID() == "" || one.ConversationID() == two.ConversationID() {
		t.Errorf("two conversations have the ids %q and %q, want two random ones", one.ConversationID(), two.ConversationID())
	}
}
