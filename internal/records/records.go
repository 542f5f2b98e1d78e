// Package records writes the records of a run: what it does, and what goes wrong beside its
// results. They hold names, ids, sizes and times. Each has the conversation_id, and the
// trace_id and span_id of the span that it belongs to, if there is one. What messages hold is
// in them at debug level only, keys and tokens at none; errors are cut off after
// 1,000 bytes.
//
//	level  message              attributes
//	info   request              iteration model messages bytes streaming
//	info   reply                iteration stop_reason duration input_tokens output_tokens request_id
//	info   run ended            outcome iterations replies input_tokens output_tokens
//	warn   request rejected     iteration attempt status, retry_after if the API says when
//	warn   request retried      iteration attempt status
//	warn   calls not run        iteration count stop_reason: the reply did not stop for them
//	warn   request failed       iteration error
//	warn   reply changed        iteration change
//	warn   breakpoints dropped  count: the oldest cache_control, as a request may have four
//	warn   compaction skipped   reason
//	debug  message sent         role message
//	debug  message received     message
//	info   tool call started    tool call_id iteration, eager while the reply streams
//	info   tool call ended      tool call_id iteration duration
//	warn   tool call failed     tool call_id iteration duration error, stack for a panic
//	warn   tool call abandoned  tool call_id iteration duration error: its handler ignores its context
//	info   tool call decided    tool call_id iteration decision, reason at debug level
//	warn   tools changed        tools: missing or others than when the resumed run was saved
//	warn   telemetry blocked    after: a tracer or meter took longer, and gets nothing more of the run
//	warn   checkpoint failed    error: at the end of a run that has another one
//	warn   tool not found       tool call_id iteration available
//	info   thread replayed      iteration reason, previous_message_id, unsupported: the whole history goes out again
//	info   no message threads   reason: the client's API has none
package records

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner/internal/dispatch"
	"github.com/toolrunner/toolrunner/internal/history"
	"github.com/toolrunner/toolrunner/internal/machine"
	"github.com/toolrunner/toolrunner/internal/redact"
	"github.com/toolrunner/toolrunner/internal/request"
	"github.com/toolrunner/toolrunner/internal/schema"
	"github.com/toolrunner/toolrunner/internal/telemetry"
)

// envLog is the variable that official SDKs read for the same purpose.
const envLog = "ANTHROPIC_LOG"

// FromEnvironment returns the logger that ANTHROPIC_LOG asks for: info or
// debug, to standard error. Otherwise nobody gets records.
func FromEnvironment() *slog.Logger {
	var level slog.Level
	switch os.Getenv(envLog) {
	case "info":
		level = slog.LevelInfo
	case "debug":
		level = slog.LevelDebug
	default:
		return slog.New(slog.DiscardHandler)
	}
	stderr := os.Stderr //nolint:forbidigo // the user has asked for it
	return slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: level}))
}

// Recorder writes the records of a runner. What nobody wants costs nothing.
type Recorder struct {
	*slog.Logger

	redactor *redact.Handler
	brief    func(error) error
}

// New returns a recorder. brief returns what an error says without what the model or the
// API has sent.
func New(logger *slog.Logger, brief func(error) error) Recorder {
	h := redact.NewHandler(logger.Handler())
	return Recorder{slog.New(h), h, brief}
}

// Of returns the recorder for a conversation, whose id each record has.
func (l Recorder) Of(id string) Recorder {
	h := *l.redactor
	h.Conversation = id
	return Recorder{slog.New(&h), &h, l.brief}
}

// errorText returns the text of an error for a record. What the model or the API
// sent is in it at debug level only.
func (l Recorder) errorText(ctx context.Context, err error) string {
	if !l.Enabled(ctx, slog.LevelDebug) {
		if input := (*schema.Error)(nil); errors.As(err, &input) {
			if fields := input.Fields(); len(fields) > 0 {
				return "invalid input: " + strings.Join(fields, ", ")
			}
			return "invalid input"
		}
		err = l.brief(err)
	}
	return redact.Excerpt(l.redactor.Known, TextOf(err))
}

// Hide takes note of what a request holds that no record may.
func (l Recorder) Hide(ctx context.Context, r *request.Request) {
	if !l.Enabled(ctx, slog.LevelError) {
		return
	}
	r.OnHeader = l.redactor.Known.AddHeader
	for i := range r.Params.MCPServers {
		l.redactor.Known.Add(r.Params.MCPServers[i].AuthorizationToken.Value)
	}
}

// Request reports a request that goes out, and the messages that are new in it.
func (l Recorder) Request(ctx context.Context, iteration int, r *request.Request, streaming bool, fresh []history.Message) {
	if !l.Enabled(ctx, slog.LevelInfo) {
		return
	}
	attrs := []slog.Attr{
		slog.Int("iteration", iteration), slog.String("model", r.Params.Model), slog.Int("messages", r.Messages()),
		slog.Int64("bytes", r.Size()), slog.Bool("streaming", streaming),
	}
	if thread := r.Thread().String(); thread != "" {
		attrs = append(attrs, slog.String("thread", thread))
	}
	l.LogAttrs(ctx, slog.LevelInfo, "request", attrs...)
	if !l.Enabled(ctx, slog.LevelDebug) {
		return
	}
	for _, m := range fresh {
		l.LogAttrs(ctx, slog.LevelDebug, "message sent", slog.String("role", m.Role), slog.String("message", redact.Elide(m.Raw)))
	}
}

// Attempt reports another attempt of a request, with the response to the one before, or nil.
func (l Recorder) Attempt(ctx context.Context, iteration, attempt int, before *http.Response) {
	status := 0
	if before != nil {
		status = before.StatusCode
	}
	l.LogAttrs(ctx, slog.LevelWarn, "request retried", slog.Int("iteration", iteration), slog.Int("attempt", attempt), slog.Int("status", status))
}

// Rejected reports a request that the API did not take now, and when it will at the earliest, if
// it says so.
func (l Recorder) Rejected(ctx context.Context, iteration, attempt int, response *http.Response) {
	if !l.Enabled(ctx, slog.LevelWarn) {
		return
	}
	attrs := []slog.Attr{slog.Int("iteration", iteration), slog.Int("attempt", attempt), slog.Int("status", response.StatusCode)}
	if after, ok := request.RetryAfter(response.Header, time.Now()); ok {
		attrs = append(attrs, slog.Duration("retry_after", after))
	}
	l.LogAttrs(ctx, slog.LevelWarn, "request rejected", attrs...)
}

// NotRun reports calls of a reply that did not stop for them.
func (l Recorder) NotRun(ctx context.Context, iteration int, r *history.Reply) {
	if n := len(r.Message.Calls); n > 0 && history.RuleFor(anthropic.BetaStopReason(r.StopReason)).After == history.EndRun {
		l.LogAttrs(ctx, slog.LevelWarn, "calls not run", slog.Int("iteration", iteration), slog.Int("count", n), slog.String("stop_reason", r.StopReason))
	}
}

// Failure reports a request that has no reply.
func (l Recorder) Failure(ctx context.Context, iteration int, err error) {
	l.LogAttrs(ctx, slog.LevelWarn, "request failed", slog.Int("iteration", iteration), slog.String("error", l.errorText(ctx, err)))
}

// Reply reports a reply, and what was changed in it. response is the one it came with, or nil.
func (l Recorder) Reply(ctx context.Context, iteration int, r *history.Reply, took time.Duration, response *http.Response) {
	for _, note := range r.Notes {
		l.LogAttrs(ctx, slog.LevelWarn, "reply changed", slog.Int("iteration", iteration), slog.String("change", note))
	}
	if !l.Enabled(ctx, slog.LevelInfo) {
		return
	}
	usage := machine.UsageOf(r.Usage)
	id := ""
	if response != nil {
		id = response.Header.Get("Request-Id")
	}
	l.LogAttrs(ctx, slog.LevelInfo, "reply",
		slog.Int("iteration", iteration), slog.String("stop_reason", r.StopReason), slog.Duration("duration", took),
		slog.Int64("input_tokens", usage.InputTokens), slog.Int64("output_tokens", usage.OutputTokens), slog.String("request_id", id))
	if l.Enabled(ctx, slog.LevelDebug) {
		l.LogAttrs(ctx, slog.LevelDebug, "message received", slog.String("message", redact.Elide(r.Raw)))
	}
}

// Ended reports the end of a run.
func (l Recorder) Ended(ctx context.Context, outcome fmt.Stringer, iterations int, u machine.Usage) {
	l.LogAttrs(ctx, slog.LevelInfo, "run ended",
		slog.String("outcome", outcome.String()), slog.Int("iterations", iterations), slog.Int("replies", u.Replies),
		slog.Int64("input_tokens", u.InputTokens), slog.Int64("output_tokens", u.OutputTokens))
}

// Skipped reports a compaction that was asked for and cannot be.
func (l Recorder) Skipped(ctx context.Context) {
	l.LogAttrs(ctx, slog.LevelWarn, "compaction skipped", slog.String("reason", "the last turn ended with calls that were not run"))
}

// Dropped reports how many cache_control were taken out of the history.
func (l Recorder) Dropped(ctx context.Context, n int) {
	l.LogAttrs(ctx, slog.LevelWarn, "breakpoints dropped", slog.Int("count", n))
}

// ThreadReplayed reports a request that goes out again because the API has refused its thread.
func (l Recorder) ThreadReplayed(ctx context.Context, iteration int, previous, reason string, unsupported []string) {
	attrs := []slog.Attr{slog.Int("iteration", iteration), slog.String("reason", reason)}
	if previous != "" {
		attrs = append(attrs, slog.String("previous_message_id", previous))
	}
	if len(unsupported) > 0 {
		attrs = append(attrs, slog.Any("unsupported", unsupported))
	}
	l.LogAttrs(ctx, slog.LevelInfo, "thread replayed", attrs...)
}

// Threadless reports a client whose API has no message threads.
func (l Recorder) Threadless(ctx context.Context) {
	l.LogAttrs(ctx, slog.LevelInfo, "no message threads", slog.String("reason", "the client's API has none, so each request holds the whole history"))
}

// NoSummary reports a compaction that has brought no summary.
func (l Recorder) NoSummary(ctx context.Context, err error) {
	l.LogAttrs(ctx, slog.LevelWarn, "compaction skipped", slog.String("reason", err.Error()))
}

func callAttrs(call *machine.Call) []slog.Attr {
	use := call.Use()
	return []slog.Attr{slog.String("tool", use.Name), slog.String("call_id", use.ID), slog.Int("iteration", call.Iteration())}
}

// Started reports a call whose handler is about to run.
func (l Recorder) Started(ctx context.Context, call *machine.Call, eager bool) {
	if !l.Enabled(ctx, slog.LevelInfo) {
		return
	}
	attrs := callAttrs(call)
	if eager {
		attrs = append(attrs, slog.Bool("eager", true))
	}
	l.LogAttrs(ctx, slog.LevelInfo, "tool call started", attrs...)
}

// Finished reports a call whose handler has returned, or was given up. failed says that the
// model reads an error, and err why.
func (l Recorder) Finished(ctx context.Context, call *machine.Call, failed bool, err error, c dispatch.Completion) {
	level, text := slog.LevelInfo, "tool call ended"
	if failed {
		level, text = slog.LevelWarn, "tool call failed"
	}
	if c.Err != nil && errors.As(c.Err, new(*dispatch.AbandonedError)) {
		level, text = slog.LevelWarn, "tool call abandoned"
	}
	if !l.Enabled(ctx, level) {
		return
	}
	attrs := append(callAttrs(call), slog.Duration("duration", c.Took))
	if err != nil {
		attrs = append(attrs, slog.String("error", l.errorText(ctx, err)))
	}
	if cause := (*history.PanicError)(nil); errors.As(err, &cause) {
		attrs = append(attrs, slog.String("stack", string(cause.Stack)))
	}
	l.LogAttrs(ctx, level, text, attrs...) //nolint:sloglint // one of three constants
}

// Decided reports what was decided on a call, by an approver or by Decide.
func (l Recorder) Decided(ctx context.Context, call *machine.Call, decision fmt.Stringer, reason string) {
	if !l.Enabled(ctx, slog.LevelInfo) {
		return
	}
	attrs := append(callAttrs(call), slog.String("decision", decision.String()))
	if reason != "" && l.Enabled(ctx, slog.LevelDebug) {
		attrs = append(attrs, slog.String("reason", redact.Excerpt(l.redactor.Known, reason)))
	}
	l.LogAttrs(ctx, slog.LevelInfo, "tool call decided", attrs...)
}

// ToolsChanged reports tools that the model of a resumed run knows otherwise.
func (l Recorder) ToolsChanged(ctx context.Context, names []string) {
	l.LogAttrs(ctx, slog.LevelWarn, "tools changed", slog.Any("tools", names))
}

// TraceBlocked reports a tracer or meter that took too long, and whose goroutine may still run.
func (l Recorder) TraceBlocked(ctx context.Context) {
	l.LogAttrs(ctx, slog.LevelWarn, "telemetry blocked", slog.Duration("after", telemetry.Patience))
}

// NotSaved reports a checkpoint that has failed at the end of a run.
func (l Recorder) NotSaved(ctx context.Context, err error) {
	l.LogAttrs(ctx, slog.LevelWarn, "checkpoint failed", slog.String("error", l.errorText(ctx, err)))
}

// Refused reports a call that was answered without being run.
func (l Recorder) Refused(ctx context.Context, call *machine.Call, err error) {
	l.LogAttrs(ctx, slog.LevelWarn, "tool call failed", append(callAttrs(call), slog.Duration("duration", 0), slog.String("error", l.errorText(ctx, err)))...)
}

// NotFound reports a call of a tool that is not there, and the names of those that are.
func (l Recorder) NotFound(ctx context.Context, call *machine.Call, available []string) {
	l.LogAttrs(ctx, slog.LevelWarn, "tool not found", append(callAttrs(call), slog.Any("available", available))...)
}

// TextOf returns the text of an error, whose method may panic.
func TextOf(err error) (text string) {
	defer func() {
		if value := recover(); value != nil {
			text = fmt.Sprintf("%T, whose text panics: %v", err, value)
		}
	}()
	return err.Error()
}
