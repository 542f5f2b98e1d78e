package faults_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2/option"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// loops are the ways to go through a run. Each returns the error that the loop gave.
func loops(c *runtest.Conversation) map[string]func() error {
	ctx := context.Background()
	return map[string]func() error{
		"All":          func() error { return runtest.Exhaust(c.All(ctx)) },
		"AllStreaming": func() error { return runtest.Exhaust(c.AllStreaming(ctx)) },
		"Next": func() error {
			for {
				if _, err := c.Next(ctx); errors.Is(err, toolrunner.ErrDone) {
					return nil
				} else if err != nil {
					return err
				}
			}
		},
		"RunToCompletion": func() error {
			_, err := c.RunToCompletion(ctx)
			return err
		},
	}
}

// Runner.Err says why a loop did not complete, whatever the loop was, and nothing where
// it did: a loop over All that was cut off ends without an error.
func TestErrSaysWhyTheRunDidNotComplete(t *testing.T) {
	boom := errors.New("boom")
	tests := map[string]struct {
		params  func(p *toolrunner.Params)
		replies []toolrunnertest.Reply
		want    func(err error) bool
		loud    bool // the loop gives the error as well
	}{
		"completed":      {nil, []toolrunnertest.Reply{callOf("a"), toolrunnertest.Text("done")}, func(err error) bool { return err == nil }, false},
		"stop sequence":  {nil, []toolrunnertest.Reply{toolrunnertest.Text("x").StopSequence("x")}, func(err error) bool { return err == nil }, false},
		"cut off":        {nil, []toolrunnertest.Reply{toolrunnertest.Text("x").StopReason("max_tokens")}, is(toolrunner.ErrTruncated), false},
		"full window":    {nil, []toolrunnertest.Reply{toolrunnertest.Text("x").StopReason("model_context_window_exceeded")}, is(toolrunner.ErrTruncated), false},
		"refused":        {nil, []toolrunnertest.Reply{toolrunnertest.Text("x").StopReason("refusal")}, is(toolrunner.ErrRefused), false},
		"max iterations": {func(p *toolrunner.Params) { p.MaxIterations = 1 }, []toolrunnertest.Reply{callOf("a")}, is(toolrunner.ErrMaxIterations), false},
		"limit reached": {func(p *toolrunner.Params) { p.Limits.OutputTokens = 1 }, []toolrunnertest.Reply{callOf("a")}, func(err error) bool {
			return errors.Is(err, toolrunner.ErrLimitReached) && strings.Contains(err.Error(), "Limits.OutputTokens")
		}, false},
		"suspended": {func(p *toolrunner.Params) { p.Approve = runtest.Suspending("a") }, []toolrunnertest.Reply{callOf("a")}, func(err error) bool {
			var suspended *toolrunner.SuspendedError
			return errors.As(err, &suspended) && runtest.IDsOf(suspended.Calls) == "a"
		}, true},
		"failed": {func(p *toolrunner.Params) {
			p.RequestOptions = []option.RequestOption{option.WithMaxRetries(0)}
		}, []toolrunnertest.Reply{toolrunnertest.Status(529, "overloaded_error", "busy")}, runtest.HasStatus(529), true},
		"approver failed": {func(p *toolrunner.Params) {
			p.Approve = func(context.Context, *toolrunner.Call) (toolrunner.Decision, error) { return toolrunner.Allow(), boom }
		}, []toolrunnertest.Reply{callOf("a")}, is(boom), true},
	}
	for name, test := range tests {
		for way := range loops(nil) {
			t.Run(name+"/"+way, func(t *testing.T) {
				params := toolrunner.Params{}
				if test.params != nil {
					test.params(&params)
				}
				c, _ := start(t, params, test.replies...)
				if c.Err() != nil {
					t.Errorf("Err() = %v before the first loop, want none", c.Err())
				}
				err := loops(c)[way]()
				if !test.want(c.Err()) {
					t.Errorf("Err() = %v", c.Err())
				}
				if loud := test.loud || way == "RunToCompletion" && name != "completed" && name != "stop sequence"; loud && (err == nil || !test.want(err)) || !loud && err != nil {
					t.Errorf("the loop gave %v, and Err() is %v", err, c.Err())
				}
			})
		}
	}
}

func is(target error) func(error) bool {
	return func(err error) bool { return errors.Is(err, target) }
}

// Runner.Err is nil while a body has control and when it broke off, and that of the last
// loop afterwards.
func TestErrIsThatOfTheLastLoop(t *testing.T) {
	c, _ := start(t, toolrunner.Params{}, toolrunnertest.Text("x").StopReason("max_tokens"), callOf("a"), toolrunnertest.Text("done"))
	c.MustPlay(t, nil)
	runtest.WantCause(t, c.Err(), toolrunner.ErrTruncated)
	c.MustAppend(t, runtest.User("more"))
	for _, err := range c.All(t.Context()) {
		mustDo(t, "All()", err)
		mustDo(t, "Err() in the body", c.Err())
		break
	}
	mustDo(t, "Err() of a body that broke off", c.Err())
	c.MustPlay(t, nil)
	mustDo(t, "Err() of a run that completed", c.Err())
}

// Runner.Err says that the caller's code panicked.
func TestErrSaysThatTheCallersCodePanicked(t *testing.T) {
	params := toolrunner.Params{RequestOptions: []option.RequestOption{option.WithMiddleware(nil)}}
	c, _ := start(t, params)
	func() {
		defer func() { _ = recover() }()
		_ = c.Play(t.Context(), nil)
	}()
	wantErr(t, "Err()", c.Err())
}

// P11: exported types print as a person wants to read them, by value and by pointer, and
// none prints what may be secret: keys, contents that were not asked for.
func TestExportedTypesPrintForAPerson(t *testing.T) {
	c, _ := start(t, toolrunner.Params{SnapshotKey: []byte("0123456789abcdef-secret")}, callOf("a"), toolrunnertest.Text("done"))
	var turn *toolrunner.Turn
	c.MustPlay(t, func(now *toolrunner.Turn) {
		if turn == nil {
			turn = now
		}
	})
	call := toolrunner.Call{ID: "a", Name: "work", Input: json.RawMessage(`{"n":1}`)}
	path := filepath.Join(t.TempDir(), "run")
	checkpoint, err := toolrunner.OpenFileCheckpoint(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = checkpoint.Close() })
	work := runtest.Says("work", "x")
	work.ReadOnly = true
	for _, test := range []struct {
		value any
		want  string
	}{
		{call, `work(a) {"n":1}`},
		{&call, `work(a) {"n":1}`},
		{toolrunner.TextResult("hi"), `result "hi"`},
		{toolrunner.ErrorResult("no"), `failed result "no"`},
		{&toolrunner.Result{Err: (*badError)(nil)}, "result"},
		{(*toolrunner.Result)(nil), "result"},
		{work, "tool work, read only"},
		{toolrunner.Usage{Replies: 2, InputTokens: 3, OutputTokens: 4}, "2 replies, 3 input tokens, 0 from and 0 into the cache, 4 output tokens"},
		{toolrunner.Event{Type: "content_block_delta", Index: 1, Text: "so"}, `content_block_delta 1 text "so"`},
		{toolrunner.Delta{ConversationID: "c", After: 1, Sequence: 2, Data: []byte("secret")}, "delta of c from 1 to 2, 6 bytes"},
		{toolrunner.Event{Type: "content_block_start", Index: 1, ToolID: "a", ToolName: "work"}, `content_block_start 1 work(a)`},
		{&toolrunner.Question{Call: &call}, `question about work(a) {"n":1}`},
		{toolrunner.ValidateInput, "input"},
		{toolrunner.ValidateLenient, "lenient"},
		{toolrunner.ValidateOff, "off"},
		{toolrunner.AutoCompact{}, "no compaction"},
		{toolrunner.AutoCompact{Threshold: 9, Client: &toolrunner.ClientCompaction{}}, "compaction above 9 tokens, by a summary"},
		{checkpoint, "checkpoint in " + path},
		{toolrunner.Allow(), "allow"},
		{toolrunner.Deny("secret"), "deny"},
		{toolrunner.OutcomeMaxIterations, "max iterations"},
	} {
		if got := fmt.Sprint(test.value); !strings.HasPrefix(got, test.want) {
			t.Errorf("%T prints %q, want %q", test.value, got, test.want)
		}
	}
	for _, verb := range []string{"%v", "%+v", "%s", "%#v"} {
		for _, value := range []any{c.Runner, turn, c.Params, &c.Params} {
			if got := fmt.Sprintf(verb, value); strings.Contains(got, "secret") || strings.Contains(got, "0x") || len(got) > 2000 {
				t.Errorf("%T prints %q with %s", value, got, verb)
			}
		}
	}
	long := toolrunner.Call{ID: "a", Name: "work", Input: json.RawMessage(`"` + strings.Repeat("x", 10000) + `"`)}
	if got := long.String(); len(got) > 300 {
		t.Errorf("a long call prints %d bytes", len(got))
	}
}
