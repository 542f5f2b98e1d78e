package toolrunner

import (
	"context"
	"errors"
	"net"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
	"go.opentelemetry.io/otel/attribute"

	"github.com/toolrunner/toolrunner/internal/dispatch"
	"github.com/toolrunner/toolrunner/internal/history"
	"github.com/toolrunner/toolrunner/internal/machine"
	"github.com/toolrunner/toolrunner/internal/request"
	"github.com/toolrunner/toolrunner/internal/telemetry"
	"github.com/toolrunner/toolrunner/internal/wire"
)

// This file reports runs to OpenTelemetry: what happens, in the words of
// internal/telemetry.

// beginTrace returns ctx with the span of the loop, which begins with its first step.
// One that nobody goes on with, as Next allows, ends when the runner is collected.
func (r *Runner) beginTrace(ctx context.Context) context.Context {
	if r.trace == nil {
		r.mu.Lock()
		before := ""
		if r.resumed > 0 {
			before = r.machine.Trace()
		}
		r.mu.Unlock()
		providers := telemetry.Providers{Tracer: r.Params.TracerProvider, Meter: r.Params.MeterProvider}
		r.trace = providers.Begin(ctx, telemetry.RunStart{
			Conversation: r.machine.ID(), Model: r.Params.Model, Resumed: r.resumed > 0, Before: before,
			JSON: r.Params.OutputConfig.Format.Schema != nil || r.Params.OutputFormat.Schema != nil, //nolint:staticcheck // callers may still set it
		})
		if r.trace != nil {
			abandon := func(run *telemetry.Run) {
				run.End(context.Background(), telemetry.RunEnd{Outcome: OutcomeStopped.String()})
			}
			r.abandon = runtime.AddCleanup(r, abandon, r.trace)
			if trace := r.trace.Trace(); trace != "" {
				r.mu.Lock()
				r.machine.SetTrace(trace)
				r.mu.Unlock()
			}
		}
	}
	return r.trace.Context(ctx)
}

// endTrace ends the span of the loop.
func (r *Runner) endTrace(ctx context.Context, ended end, err error) {
	if r.trace == nil {
		return
	}
	limit, _, _ := strings.Cut(ended.limit, " ") // its name
	run := telemetry.RunEnd{Outcome: ended.outcome.String(), Limit: limit, Completed: ended.outcome == OutcomeCompleted}
	if ended.outcome == OutcomeFailed || err != nil && run.Completed && !errors.Is(err, ErrDone) {
		run.Completed = false
		run.Error = errorType(err)
	}
	if ctx.Err() != nil && errors.Is(ctx.Err(), context.Canceled) {
		run.Error = "" // the application stopped it
	}
	r.mu.Lock()
	usage, reply := r.machine.RunUsage(), r.last
	run.Iterations = r.machine.Iteration()
	r.mu.Unlock()
	run.InputTokens, run.OutputTokens = usage.AllInput(), usage.OutputTokens
	if reply != nil {
		run.StopReason = string(reply.get().StopReason)
	}
	r.abandon.Stop()
	r.trace.End(ctx, run)
	if r.trace.Blocked() {
		r.log.TraceBlocked(ctx)
	}
	r.trace = nil
}

// traceOptions returns what the SDK's own span of a request needs to be one of the run.
func (r *Runner) traceOptions() []option.RequestOption {
	if !r.trace.IsTraced() {
		return nil
	}
	options := []option.RequestOption{option.WithOpenTelemetryConversationID(r.machine.ID())}
	if r.Params.TracerProvider != nil {
		options = append(options, option.WithTracerProvider(r.Params.TracerProvider))
	}
	return options
}

// traceRequest records a request that has had its reply, or has failed.
func (r *Runner) traceRequest(ctx context.Context, t *Turn, reply *history.Reply, err error) {
	if r.trace == nil || t.request == nil {
		return
	}
	ended := telemetry.RequestEnd{Took: time.Since(t.began), Model: t.request.Params.Model}
	if err != nil {
		ended.Error = errorType(err)
	}
	if reply != nil {
		usage := machine.UsageOf(reply.Usage)
		ended.InputTokens, ended.OutputTokens = usage.AllInput(), usage.OutputTokens
		ended.ResponseModel = wire.StringMember(reply.Raw, "model")
	}
	r.trace.RequestEnded(ctx, ended)
}

// startCallTrace begins the span of a call whose handler is about to run, on a goroutine of
// its own.
func startCallTrace(ctx context.Context, run *telemetry.Run, call *machine.Call, tool *registered, input []byte, eager bool) (context.Context, *telemetry.Call) {
	if run == nil {
		return ctx, nil
	}
	use := call.Use()
	start := telemetry.CallStart{ID: use.ID, Name: use.Name, Toolset: use.Toolset, Iteration: call.Iteration(), Eager: eager, Input: input}
	if run.IsTraced() {
		start.Description = wire.StringMember(tool.definition, "description")
	}
	return run.StartCall(ctx, start)
}

// member returns a member of an object, or nil.
func member(object []byte, name string) (found []byte) {
	_ = wire.Members(object, func(key, value []byte) error {
		if string(key) == name {
			found = value
		}
		return nil
	})
	return found
}

// endCallTrace ends the span of a call. Its result is nil if it was interrupted.
func endCallTrace(ctx context.Context, call *telemetry.Call, use history.Use, result any, err error) {
	if call == nil {
		return
	}
	own, _ := result.(*Result)
	ended := telemetry.CallEnd{Interrupted: own == nil}
	if own != nil && own.IsError {
		ended.Error = callErrorType(err)
	}
	if own != nil && call.WantsResult() {
		block, sent := own.encode(use)
		ended.Result = member(block, "content")
		if sent.IsError && !own.IsError { // the API would refuse what the tool returned
			ended.Error = callErrorType(sent.Err)
		}
	}
	call.End(ctx, ended)
}

// callErrorType returns the type of a failure of a call, of which there are few.
func callErrorType(err error) string {
	switch {
	case errors.As(err, new(*dispatch.TimeoutError)):
		return "timeout"
	case errors.As(err, new(*history.PanicError)), errors.Is(err, dispatch.ErrGoexit):
		return "panic"
	case errors.As(err, new(*dispatch.AbortError)):
		return "abort"
	}
	return "tool_error"
}

// errorType returns the type of an error of a request or a run, as the SDK's own spans
// have it, or one of ours.
func errorType(err error) string {
	var api *anthropic.Error
	if errors.As(err, &api) {
		if t := api.Type(); t != "" {
			return string(t)
		}
		return strconv.Itoa(api.StatusCode)
	}
	var network net.Error
	switch {
	case errors.As(err, new(*dispatch.AbortError)):
		return "abort"
	case errors.As(err, new(*ReplyError)):
		return "invalid_reply"
	case errors.As(err, new(*IncompleteStreamError)):
		return "incomplete_stream"
	case errors.As(err, new(*checkpointError)):
		return "checkpoint_error"
	case errors.Is(err, context.DeadlineExceeded):
		return "client_timeout_error"
	case errors.As(err, &network):
		if network.Timeout() {
			return "client_timeout_error"
		}
		return "connection_error"
	}
	return "client_error"
}

// traceResponses has the span of a request learn from its responses. What it returns is to be
// called when the request goes out.
func (r *Runner) traceResponses(ctx context.Context, req *request.Request) func(*http.Request, int, machine.StepKind) {
	if !r.trace.IsTraced() {
		return func(*http.Request, int, machine.StepKind) {}
	}
	var traced *telemetry.Request
	req.OnResponse = func(response *http.Response) { traced.Observe(ctx, response) }
	return func(sent *http.Request, iteration int, kind machine.StepKind) {
		traced = r.trace.Request(sent, iteration, requestName(kind))
	}
}

// requestName says in a span what a request asks for.
func requestName(kind machine.StepKind) string {
	switch kind {
	case machine.Compact:
		return "compaction"
	case machine.Summarize:
		return "summary"
	default:
		return "turn"
	}
}

// traceRetry adds an event about another attempt of a request.
func (r *Runner) traceRetry(ctx context.Context, iteration, attempt int, before *http.Response) {
	if !r.trace.IsTraced() {
		return
	}
	status := 0
	if before != nil {
		status = before.StatusCode
	}
	r.trace.Event(ctx, "retry", attribute.Int("toolrunner.iteration", iteration), attribute.Int("toolrunner.attempt", attempt),
		attribute.Int("http.response.status_code", status))
}

// traceTakeover adds an event about a takeover, unless that failed.
func (r *Runner) traceTakeover(err *error) {
	if *err == nil {
		r.trace.Event(context.Background(), "takeover")
	}
}

// traceCall adds an event about a call that no span of its own tells of.
func (r *Runner) traceCall(ctx context.Context, event string, call *machine.Call, attributes ...attribute.KeyValue) {
	if !r.trace.IsTraced() {
		return
	}
	use := call.Use()
	r.trace.Event(ctx, event, append(attributes, attribute.String("gen_ai.tool.name", use.Name), attribute.String("gen_ai.tool.call.id", use.ID))...)
}
