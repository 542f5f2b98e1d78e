package tracing_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/trace"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// X1, X2, X4, X6, X11: a run is one trace, whose requests and calls are its children. The
// names are those of the conventions; the SDK's own span of a request nests by itself.
func TestARunIsOneTrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := runtest.Raw("slow", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
			time.Sleep(time.Second)
			return toolrunner.TextResult("done"), nil
		})
		broken := runtest.Raw("broken", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
			time.Sleep(2 * time.Second)
			return nil, runtest.ErrBroken
		})
		params := toolrunner.Params{MaxConcurrency: 1}
		w := watch(t, params, runtest.Tools(slow, broken),
			toolrunnertest.Message(toolrunnertest.Call("a", "slow", `{}`), toolrunnertest.Call("b", "broken", `{}`)).Delay(time.Second),
			toolrunnertest.Text("so").Delay(time.Second))
		w.Run(t)
		want := `invoke_agent internal Ok outcome=completed iterations=2
  anthropic.messages.create client Ok iteration=1 request.kind=turn
  execute_tool slow internal Ok tool.name=slow iteration=1
  execute_tool broken internal Error tool.name=broken iteration=1 error.type=tool_error
  anthropic.messages.create client Ok iteration=2 request.kind=turn
`
		if diff := cmp.Diff(want, w.outline()); diff != "" {
			t.Errorf("spans (-want +got):\n%s", diff)
		}
		call := attributesOf(w.span(t, "execute_tool slow"))
		for key, value := range map[string]string{
			"gen_ai.operation.name": "execute_tool", "gen_ai.provider.name": "anthropic", "gen_ai.conversation.id": "c-1",
			"gen_ai.tool.call.id": "a", "gen_ai.tool.type": "function",
		} {
			if call[key] != value {
				t.Errorf("the call has %s=%q, want %q", key, call[key], value)
			}
		}
		run := attributesOf(w.span(t, "invoke_agent"))
		for key, value := range map[string]string{
			"gen_ai.operation.name": "invoke_agent", "gen_ai.provider.name": "anthropic", "gen_ai.conversation.id": "c-1",
			"gen_ai.request.model": "claude-test", "gen_ai.response.finish_reasons": `["end_turn"]`,
		} {
			if run[key] != value {
				t.Errorf("the run has %s=%q, want %q", key, run[key], value)
			}
		}
		if took := w.span(t, "execute_tool slow"); took.EndTime.Sub(took.StartTime) != time.Second {
			t.Errorf("the call took %v in its span, want 1s", took.EndTime.Sub(took.StartTime))
		}
	})
}

// X9: what a handler traces nests under its call.
func TestAHandlersContextHasItsSpan(t *testing.T) {
	var tracer trace.Tracer
	tool := runtest.Raw("outer", func(ctx context.Context, _ *toolrunner.Call) (*toolrunner.Result, error) {
		_, span := tracer.Start(ctx, "inner")
		span.End()
		return toolrunner.TextResult("ok"), nil
	})
	w := watch(t, toolrunner.Params{}, runtest.Tools(tool), toolrunnertest.Message(toolrunnertest.Call("a", "outer", `{}`)), toolrunnertest.Text("so"))
	tracer = w.tracers.Tracer("test")
	w.Run(t)
	if inner, outer := w.span(t, "inner"), w.span(t, "execute_tool outer"); inner.Parent.SpanID() != outer.SpanContext.SpanID() {
		t.Errorf("spans:\n%s", w.outline())
	}
}

// X4: the body keeps the application's context. X5: results that it asks for are children
// of what is current there, and link to the run.
func TestResultsInTheBodyAreTheBodysChildren(t *testing.T) {
	w := watch(t, toolrunner.Params{}, runtest.Tools(runtest.Says("tool", "ok")),
		toolrunnertest.Message(toolrunnertest.Call("a", "tool", `{}`)), toolrunnertest.Text("so"))
	ctx, app := w.tracers.Tracer("test").Start(t.Context(), "app")
	if _, err := w.TryRun(ctx, func(turn *toolrunner.Turn) {
		bodyCtx, body := w.tracers.Tracer("test").Start(ctx, "body")
		defer body.End()
		if _, err := turn.Results(bodyCtx); err != nil {
			t.Error(err)
		}
	}); err != nil {
		t.Fatal(err)
	}
	app.End()
	call := w.span(t, "execute_tool tool")
	if len(call.Links) != 1 || call.Links[0].SpanContext.SpanID() != w.span(t, "invoke_agent").SpanContext.SpanID() {
		t.Errorf("the call does not link to the run:\n%s", w.outline())
	}
	if run := w.span(t, "invoke_agent"); run.Parent.SpanID() != app.SpanContext().SpanID() {
		t.Errorf("the run is no child of what was current:\n%s", w.outline())
	}
	if parent := nameOf(w.spans.GetSpans(), call.Parent.SpanID()); parent != "body" {
		t.Errorf("the call is a child of %q, want the body's span", parent)
	}
}

// X2, X3: how a run ends is its status and its outcome. What goes on is a new span.
func TestEndsOfRuns(t *testing.T) {
	call := toolrunnertest.Message(toolrunnertest.Call("a", "tool", `{}`))
	for _, test := range []struct {
		name    string
		params  toolrunner.Params
		replies []toolrunnertest.Reply
		run     func(*testing.T, *watched)
		want    string
	}{
		{
			name: "refused", replies: []toolrunnertest.Reply{toolrunnertest.Text("no").StopReason("refusal")},
			want: "invoke_agent internal Unset outcome=refused iterations=1",
		},
		{
			name: "max iterations", params: toolrunner.Params{MaxIterations: 1}, replies: []toolrunnertest.Reply{call},
			want: "invoke_agent internal Unset outcome=max iterations iterations=1",
		},
		{
			name: "limit", params: toolrunner.Params{Limits: toolrunner.Limits{OutputTokens: 1}}, replies: []toolrunnertest.Reply{call.Usage(1, 5)},
			want: "invoke_agent internal Unset outcome=limit reached iterations=1 limit=Limits.OutputTokens",
		},
		{
			name: "suspended", params: toolrunner.Params{Approve: runtest.Suspending("a")}, replies: []toolrunnertest.Reply{call},
			want: "invoke_agent internal Unset outcome=suspended iterations=1",
		},
		{
			name: "broken off", replies: []toolrunnertest.Reply{call},
			run: func(t *testing.T, w *watched) {
				t.Helper()
				w.FirstTurn(t)
			},
			want: "invoke_agent internal Unset outcome=stopped iterations=1",
		},
		{
			name: "failed", replies: []toolrunnertest.Reply{toolrunnertest.Status(400, "invalid_request_error", "no")},
			want: "invoke_agent internal Error outcome=failed iterations=0 error.type=invalid_request_error",
		},
		{
			name: "cancelled", replies: []toolrunnertest.Reply{call},
			run: func(t *testing.T, w *watched) {
				t.Helper()
				ctx, cancel := context.WithCancel(t.Context())
				_, _ = w.TryRun(ctx, func(*toolrunner.Turn) { cancel() })
			},
			want: "invoke_agent internal Unset outcome=failed iterations=1",
		},
		{
			name: "panic in the body", replies: []toolrunnertest.Reply{call},
			run: func(t *testing.T, w *watched) {
				t.Helper()
				defer func() { _ = recover() }()
				_, _ = w.TryRun(t.Context(), func(*toolrunner.Turn) { panic("body") })
			},
			want: "invoke_agent internal Unset outcome=stopped iterations=1",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := watch(t, test.params, runtest.Tools(runtest.Says("tool", "ok")), test.replies...)
			if test.run == nil {
				_, _ = w.TryRun(t.Context(), nil)
			} else {
				test.run(t, w)
			}
			run := w.span(t, "invoke_agent")
			if got := run.Name + " internal " + status(run.Status) + own(run.Attributes); got != test.want {
				t.Errorf("the run is\n%s, want\n%s", got, test.want)
			}
		})
	}
}

// X3: going on after an error is a run of its own, in a span of its own.
func TestGoingOnIsANewSpan(t *testing.T) {
	w := watch(t, toolrunner.Params{}, nil, toolrunnertest.Status(400, "invalid_request_error", "no"), toolrunnertest.Text("so"))
	if _, err := w.TryRun(t.Context(), nil); err == nil {
		t.Fatal("the first loop did not fail")
	}
	w.Run(t)
	want := `invoke_agent internal Error outcome=failed iterations=0 error.type=invalid_request_error
  anthropic.messages.create client Error iteration=1 request.kind=turn error.type=invalid_request_error
invoke_agent internal Ok outcome=completed iterations=1
  anthropic.messages.create client Ok iteration=1 request.kind=turn
`
	if diff := cmp.Diff(want, w.outline()); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
}

// X12, X13: an interrupted call neither failed nor succeeded. A tool's own timeout, a panic
// and an abort are failures, each of its type.
func TestFailuresOfCallsHaveTypes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		waits := func(ctx context.Context, _ *toolrunner.Call) (*toolrunner.Result, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		timeout := runtest.Raw("timeout", waits)
		timeout.Timeout = time.Second
		panics := runtest.Raw("panics", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) { panic("x") })
		says := runtest.Raw("says", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
			return toolrunner.ErrorResult("no"), nil
		})
		aborts := runtest.Raw("aborts", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
			return nil, toolrunner.Abort(errors.New("stop"))
		})
		w := watch(t, toolrunner.Params{}, runtest.Tools(timeout, panics, says, aborts, runtest.Raw("waits", waits)),
			toolrunnertest.Message(toolrunnertest.Call("a", "timeout", `{}`), toolrunnertest.Call("b", "panics", `{}`), toolrunnertest.Call("c", "says", `{}`)),
			toolrunnertest.Message(toolrunnertest.Call("d", "aborts", `{}`)),
			toolrunnertest.Message(toolrunnertest.Call("e", "waits", `{}`)))
		_, _ = w.TryRun(t.Context(), nil)
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, nil)
		defer cancel()
		_, _ = w.TryRun(ctx, nil)
		for name, want := range map[string]string{
			"timeout": "Error tool.name=timeout iteration=1 error.type=timeout",
			"panics":  "Error tool.name=panics iteration=1 error.type=panic",
			"says":    "Error tool.name=says iteration=1 error.type=tool_error",
			"aborts":  "Error tool.name=aborts iteration=2 error.type=abort",
			"waits":   "Unset tool.name=waits iteration=3 call.interrupted=true",
		} {
			span := w.span(t, "execute_tool "+name)
			if got := status(span.Status) + own(span.Attributes); got != want {
				t.Errorf("the call of %s is %q, want %q", name, got, want)
			}
		}
	})
}

// Retries, takeovers, decisions and calls that never ran are events of the run.
func TestEventsOfARun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type in struct {
			N int `json:"n"`
		}
		typed := toolrunner.NewTool("typed", "", func(context.Context, in) (string, error) { return "ok", nil })
		params := toolrunner.Params{Approve: func(context.Context, *toolrunner.Call) (toolrunner.Decision, error) {
			time.Sleep(3 * time.Second)
			return toolrunner.Deny("no"), nil
		}, RequestOptions: []option.RequestOption{option.WithMaxRetries(1)}}
		w := watch(t, params, runtest.Tools(typed),
			toolrunnertest.Status(529, "overloaded_error", "busy"),
			toolrunnertest.Message(toolrunnertest.Call("a", "none", `{}`), toolrunnertest.Call("b", "typed", `{"n":"x"}`), toolrunnertest.Call("c", "typed", `{"n":1}`)),
			toolrunnertest.Text("again"), toolrunnertest.Text("so"))
		again := true
		if _, err := w.TryRun(t.Context(), func(turn *toolrunner.Turn) {
			if turn.Text() == "again" && again {
				again = false
				if err := turn.Retry(); err != nil {
					t.Error(err)
				}
			}
		}); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range w.span(t, "invoke_agent").Events {
			got = append(got, e.Name+own(e.Attributes))
		}
		want := []string{
			"toolrunner.retry iteration=1 attempt=2", "toolrunner.tool_not_found tool.name=none", "toolrunner.invalid_input tool.name=typed",
			"toolrunner.decision decision=deny wait=3 tool.name=typed", "toolrunner.takeover",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	})
}

// A request that goes out again because of its thread is an event of the run.
func TestReplaysOfThreadsAreEvents(t *testing.T) {
	params := toolrunner.Params{MessageThread: true}
	w := watch(t, params, runtest.Tools(runtest.Says("tool", "ok")), toolrunnertest.Message(toolrunnertest.Call("a", "tool", `{}`)), toolrunnertest.Text("so"))
	if _, err := w.TryRun(t.Context(), func(*toolrunner.Turn) { w.Server.Forget() }); err != nil {
		t.Fatal(err)
	}
	events := w.span(t, "invoke_agent").Events
	if len(events) != 1 || events[0].Name != "toolrunner.thread_replayed" || own(events[0].Attributes) != " thread.reason=thread_not_found" {
		t.Errorf("events = %v", events)
	}
}

// A run that is resumed, also in another process, links to the one before.
func TestResumedRunsLinkToTheRunBefore(t *testing.T) {
	params := runtest.Asking("hi")
	params.Approve = runtest.Suspending("a")
	w := watch(t, params, runtest.Tools(runtest.Says("tool", "ok")), toolrunnertest.Message(toolrunnertest.Call("a", "tool", `{}`)), toolrunnertest.Text("so"))
	w.RunSuspended(t, "a")
	first := w.span(t, "invoke_agent").SpanContext
	w.spans.Reset()
	snapshot, err := w.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	w.Runner, err = toolrunner.Resume(&w.Client.Beta.Messages, runtest.Tools(runtest.Says("tool", "ok")), w.Params, snapshot)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Decide("a", toolrunner.Allow()); err != nil {
		t.Fatal(err)
	}
	w.Run(t)
	links := w.span(t, "invoke_agent").Links
	if len(links) != 1 || links[0].SpanContext.TraceID() != first.TraceID() || links[0].SpanContext.SpanID() != first.SpanID() {
		t.Errorf("links = %v, want one to %v", links, first.SpanID())
	}
}

// Records and spans share ids: the conversation, the trace and the call lead from one to
// the other.
func TestRecordsLeadToSpans(t *testing.T) {
	tape := &runtest.RecordTape{}
	params := toolrunner.Params{Logger: slog.New(tape)}
	w := watch(t, params, runtest.Tools(runtest.Says("tool", "ok")), toolrunnertest.Message(toolrunnertest.Call("a", "tool", `{}`)), toolrunnertest.Text("so"))
	w.Run(t)
	run := w.span(t, "invoke_agent").SpanContext
	if len(tape.Records) < 5 {
		t.Fatalf("there are %d records", len(tape.Records))
	}
	for _, r := range tape.Records {
		if r.Attrs["trace_id"].String() != run.TraceID().String() || r.Attrs["span_id"].String() != run.SpanID().String() || r.Attrs["conversation_id"].String() != "c-1" {
			t.Errorf("the record %q has %v", r.Text, r.Attrs)
		}
	}
}
