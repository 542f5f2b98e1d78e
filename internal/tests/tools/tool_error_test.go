package tools_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// E67-E70, S22: the content of a ToolError is what the model reads, and nothing
// else of it.
func TestToolErrorIsWhatTheModelReads(t *testing.T) {
	image := runtest.Content{OfImage: &anthropic.BetaImageBlockParam{Source: anthropic.BetaImageBlockParamSourceUnion{
		OfBase64: &anthropic.BetaBase64ImageSourceParam{Data: "AA==", MediaType: "image/png"},
	}}}
	own := &toolrunner.ToolError{Content: []runtest.Content{runtest.TextContent("no such file")}, Err: runtest.ErrBroken}
	tests := []struct {
		name   string
		result *toolrunner.Result
		err    error
		want   string // the content
	}{
		{"text", nil, own, `{"type":"text","text":"no such file"}`},
		{"wrapped", nil, fmt.Errorf("open: %w", own), `{"type":"text","text":"no such file"}`},
		{"joined", nil, errors.Join(runtest.ErrBroken, own), `{"type":"text","text":"no such file"}`},
		{"beside content", toolrunner.TextResult("half"), own, `{"type":"text","text":"no such file"}`},
		{"with an image", nil, &toolrunner.ToolError{Content: []runtest.Content{runtest.TextContent("see"), image}}, `{"type":"text","text":"see"},{"source":{"data":"AA==","media_type":"image/png","type":"base64"},"type":"image"}`},
		{"empty", nil, &toolrunner.ToolError{}, `{"type":"text","text":"Error: the tool failed without saying why."}`},
		{"only a private cause", nil, &toolrunner.ToolError{Err: runtest.ErrBroken}, `{"type":"text","text":"Error: the tool failed without saying why."}`},
		{"empty content", nil, &toolrunner.ToolError{Content: []runtest.Content{{}, runtest.TextContent("")}}, `{"type":"text","text":"Error: the tool failed without saying why."}`},
		{"malformed text", nil, &toolrunner.ToolError{Content: []runtest.Content{runtest.TextContent("a\xff\x00b")}}, `{"type":"text","text":"a` + "\ufffd" + `\u0000b"}`},
		{"broken content", nil, &toolrunner.ToolError{Content: []runtest.Content{runtest.RawContentBlock(`{"type":`)}}, ""},
		{"typed nil", nil, (*toolrunner.ToolError)(nil), `{"type":"text","text":"Error: the tool failed"}`},
		{"typed nil beside content", toolrunner.TextResult("half"), (*toolrunner.ToolError)(nil), `{"type":"text","text":"half"},{"type":"text","text":"Error: the tool failed"}`},
		{"wrapped typed nil", nil, fmt.Errorf("open: %w", (*toolrunner.ToolError)(nil)), `{"type":"text","text":"Error: open: the tool failed"}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var log bytes.Buffer
			fail := runtest.Raw("fail", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) { return test.result, test.err })
			var ran runtest.Tally
			d := runtest.StartUnchecked(t, toolrunner.Params{Logger: slog.New(slog.NewTextHandler(&log, nil))}, runtest.Tools(fail, ran.Tool("work")),
				toolrunnertest.Message(toolrunnertest.Call("a", "fail", `{}`), toolrunnertest.Call("b", "work", `{}`)), toolrunnertest.Text("done"))
			d.MustPlay(t, func(*toolrunner.Turn) {})
			ran.Want(t, 1)
			if test.want == "" {
				if got := string(d.Request(t, -1).ToolResult("a")); !strings.Contains(got, "could not be encoded") {
					t.Errorf("result = %s, want one that says why it is not there", got)
				}
			} else {
				d.WantResult(t, "a", `{"type":"tool_result","tool_use_id":"a","content":[`+test.want+`],"is_error":true}`)
			}
			if got := strings.Count(log.String(), `msg="tool call failed" tool=fail call_id=a`); got != 1 {
				t.Errorf("%d records of the failed call, want one:\n%s", got, log.String())
			}
			if bytes.Contains(d.Request(t, -1).Body, []byte(runtest.ErrBroken.Error())) {
				t.Errorf("the private cause was sent: %s", d.Request(t, -1).Body)
			}
		})
	}
}

// B110: Abort, from a handler or a middleware, wrapped or not, cancels the calls
// that run, begins no other, and ends the run with its error. Going on runs none
// of them again.
func TestAbortEndsTheRunAndItsSiblings(t *testing.T) {
	abort := func() error { return toolrunner.Abort(runtest.ErrBroken) }
	tests := []struct {
		name       string
		fatal      toolrunner.Handler
		middleware []toolrunner.Middleware
		content    string // of the result, before what tells of the end
	}{
		{"from a handler", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) { return nil, abort() }, nil, ""},
		{"wrapped", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
			return toolrunner.TextResult("half"), fmt.Errorf("writing: %w", abort())
		}, nil, "half"},
		{"from a middleware", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
			return toolrunner.TextResult("ok"), nil
		}, []toolrunner.Middleware{
			func(next toolrunner.Handler) toolrunner.Handler {
				return func(ctx context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
					result, err := next(ctx, call)
					if call.Name == "fatal" {
						err = abort()
					}
					return result, err
				}
			},
		}, "ok"},
		{"within a timeout", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) { return nil, abort() }, []toolrunner.Middleware{toolrunner.Timeout(time.Minute)}, ""},
		{"of a temporary error", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
			return nil, toolrunner.Abort(toolrunner.Temporary(runtest.ErrBroken))
		}, []toolrunner.Middleware{toolrunner.Retry(3, time.Second)}, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var fatal, slow, late runtest.Tally
				end := runtest.Raw("fatal", func(ctx context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
					fatal.Add(1)
					return test.fatal(ctx, call)
				})
				end.ReadOnly = true
				hang := runtest.Raw("hang", func(ctx context.Context, _ *toolrunner.Call) (*toolrunner.Result, error) {
					slow.Add(1)
					<-ctx.Done()
					if !errors.Is(context.Cause(ctx), runtest.ErrBroken) {
						t.Errorf("the cause of the sibling's context is %v, want the error of Abort", context.Cause(ctx))
					}
					return nil, ctx.Err()
				})
				d := runtest.StartUnchecked(t, toolrunner.Params{MaxConcurrency: 2, Middleware: test.middleware}, runtest.Tools(end, hang, late.Tool("late")),
					toolrunnertest.Message(toolrunnertest.Call("a", "hang", `{}`), toolrunnertest.Call("b", "fatal", `{}`), toolrunnertest.Call("c", "late", `{}`)),
					toolrunnertest.Text("done"))
				err := d.Play(t.Context(), func(*toolrunner.Turn) {})
				if !errors.Is(err, runtest.ErrBroken) {
					t.Errorf("the run ended with %v, want the error of Abort", err)
				}
				if got := d.Outcome(); got != toolrunner.OutcomeFailed {
					t.Errorf("Outcome() = %v, want failed", got)
				}
				d.WantHistory(t, "user 'hi'", "assistant call(a) call(b) call(c)", "user error(a) error(b) error(c)")
				late.Want(t, 0)
				d.MustPlay(t, func(*toolrunner.Turn) {})
				fatal.Want(t, 1)
				slow.Want(t, 1)
				late.Want(t, 1)
				content := `{"type":"text","text":"Error: the tool ended the run."}`
				if test.content != "" {
					content = `{"type":"text","text":"` + test.content + `"},` + content
				}
				d.WantResult(t, "b", `{"type":"tool_result","tool_use_id":"b","content":[`+content+`],"is_error":true}`)
				d.WantFaithful(t)
			})
		})
	}
}

// E71, G12: panics, wherever they come from, fail their own call; the stack goes
// to the log and the model reads nothing of it.
func TestPanicsFailTheirCallOnly(t *testing.T) {
	var m map[string]int
	boom := func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) { panic("secret") }
	around := func(before bool) toolrunner.Middleware {
		return func(next toolrunner.Handler) toolrunner.Handler {
			return func(ctx context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
				if call.Name != "fail" {
					return next(ctx, call)
				}
				if !before {
					_, _ = next(ctx, call)
				}
				panic("secret")
			}
		}
	}
	fine := func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
		return toolrunner.TextResult("ok"), nil
	}
	tests := []struct {
		name       string
		handler    toolrunner.Handler
		middleware []toolrunner.Middleware
		timeout    time.Duration
	}{
		{"handler", boom, nil, 0},
		{"handler with a timeout", boom, nil, time.Hour},
		{"handler within middleware", boom, []toolrunner.Middleware{toolrunner.Timeout(time.Hour), toolrunner.Limit(1), toolrunner.Retry(3, 0), toolrunner.Truncate(9)}, 0},
		{"nil map", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) { m["secret"] = 1; return nil, nil }, nil, 0},
		{"nil error", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) { panic(nil) }, nil, 0}, //nolint:govet // to panic is its purpose
		{"Goexit", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) { runtime.Goexit(); return nil, nil }, nil, 0},
		{"Goexit with a timeout", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) { runtime.Goexit(); return nil, nil }, nil, time.Hour},
		{"middleware before", fine, []toolrunner.Middleware{around(true)}, 0},
		{"middleware after", fine, []toolrunner.Middleware{around(false)}, 0},
		{"middleware that makes no handler", fine, []toolrunner.Middleware{func(next toolrunner.Handler) toolrunner.Handler {
			return nil
		}}, 0},
		{"middleware that panics as it is applied", fine, []toolrunner.Middleware{func(next toolrunner.Handler) toolrunner.Handler { panic("secret") }}, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var log bytes.Buffer
			fail := runtest.Raw("fail", test.handler)
			fail.Timeout = test.timeout
			d := runtest.StartUnchecked(t, toolrunner.Params{Middleware: test.middleware, Logger: slog.New(slog.NewTextHandler(&log, nil))}, runtest.Tools(fail),
				runtest.Calls("fail", "a"), toolrunnertest.Text("done"))
			d.MustPlay(t, func(*toolrunner.Turn) {})
			d.WantResult(t, "a", `{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"Error: the tool failed unexpectedly."}],"is_error":true}`)
			if got := strings.Count(log.String(), `msg="tool call failed" tool=fail call_id=a`); got != 1 {
				t.Errorf("%d records of the failed call, want one:\n%s", got, log.String())
			}
			if !strings.Contains(test.name, "Goexit") && !strings.Contains(log.String(), "stack=") {
				t.Errorf("the record has no stack:\n%s", log.String())
			}
			d.WantFaithful(t)
		})
	}
}

// A middleware that is nil is told at once.
func TestNilMiddlewareIsRefused(t *testing.T) {
	client := toolrunnertest.NewServer(t).Client()
	params := toolrunner.Params{Middleware: []toolrunner.Middleware{toolrunner.Limit(1), nil}}
	params.Model, params.MaxTokens, params.Messages = "claude-test", 100, runtest.MessageParams{runtest.User("hi")}
	if _, err := toolrunner.New(&client.Beta.Messages, nil, params); err == nil || !strings.Contains(err.Error(), "Params.Middleware[1]") {
		t.Errorf("New() error = %v, want one that names Params.Middleware[1]", err)
	}
}
