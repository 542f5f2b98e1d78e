package toolrunner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
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

// This file writes the records of a run: what it does, and what goes wrong beside its
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

// envLog is the variable that official SDKs read for the same purpose.
const envLog = "ANTHROPIC_LOG"

// environmentLogger returns the logger that ANTHROPIC_LOG asks for: info or
// debug, to standard error. Otherwise nobody gets records.
func environmentLogger() *slog.Logger {
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

// recorder writes the records of a runner.
type recorder struct {
	*slog.Logger

	redactor *redact.Handler
}

func newRecorder(logger *slog.Logger) recorder {
	h := redact.NewHandler(logger.Handler())
	return recorder{slog.New(h), h}
}

// of returns the recorder for a conversation, whose id each record has.
func (l recorder) of(id string) recorder {
	h := *l.redactor
	h.Conversation = id
	return recorder{slog.New(&h), &h}
}

// errorText returns the text of an error for a record. What the model or the API
// sent is in it at debug level only.
func (l recorder) errorText(ctx context.Context, err error) string {
	if !l.Enabled(ctx, slog.LevelDebug) {
		if input := (*schema.Error)(nil); errors.As(err, &input) {
			if fields := input.Fields(); len(fields) > 0 {
				return "invalid input: " + strings.Join(fields, ", ")
			}
			return "invalid input"
		}
		if reply := (*ReplyError)(nil); errors.As(err, &reply) {
			return redact.Excerpt(l.redactor.Known, (&ReplyError{Reason: reply.Reason, Err: reply.Err}).Error())
		}
		if incomplete := (*IncompleteStreamError)(nil); errors.As(err, &incomplete) && errors.Is(incomplete.Err, io.ErrUnexpectedEOF) {
			return redact.Excerpt(l.redactor.Known, (&IncompleteStreamError{Events: incomplete.Events, Last: incomplete.Last, Err: io.ErrUnexpectedEOF}).Error())
		}
	}
	return redact.Excerpt(l.redactor.Known, textOf(err))
}

// hide takes note of what a request holds that no record may.
func (l recorder) hide(ctx context.Context, r *request.Request) {
	if !l.Enabled(ctx, slog.LevelError) {
		return
	}
	r.OnHeader = l.redactor.Known.AddHeader
	for i := range r.Params.MCPServers {
		l.redactor.Known.Add(r.Params.MCPServers[i].AuthorizationToken.Value)
	}
}

func (l recorder) request(ctx context.Context, iteration int, r *request.Request, streaming bool, fresh []history.Message) {
	if !l.Enabled(ctx, slog.LevelInfo) {
		return
	}
	l.LogAttrs(ctx, slog.LevelInfo, "request",
		slog.Int("iteration", iteration), slog.String("model", r.Params.Model), slog.Int("messages", r.Messages()),
		slog.Int64("bytes", r.Size()), slog.Bool("streaming", streaming))
	if !l.Enabled(ctx, slog.LevelDebug) {
		return
	}
	for _, m := range fresh {
		l.LogAttrs(ctx, slog.LevelDebug, "message sent", slog.String("role", m.Role), slog.String("message", redact.Elide(m.Raw)))
	}
}

func (l recorder) attempt(ctx context.Context, iteration, attempt int, before *http.Response) {
	status := 0
	if before != nil {
		status = before.StatusCode
	}
	l.LogAttrs(ctx, slog.LevelWarn, "request retried", slog.Int("iteration", iteration), slog.Int("attempt", attempt), slog.Int("status", status))
}

// rejected reports a request that the API did not take now, and when it will at the earliest, if
// it says so.
func (l recorder) rejected(ctx context.Context, iteration, attempt int, response *http.Response) {
	if !l.Enabled(ctx, slog.LevelWarn) {
		return
	}
	attrs := []slog.Attr{slog.Int("iteration", iteration), slog.Int("attempt", attempt), slog.Int("status", response.StatusCode)}
	if after, ok := request.RetryAfter(response.Header, time.Now()); ok {
		attrs = append(attrs, slog.Duration("retry_after", after))
	}
	l.LogAttrs(ctx, slog.LevelWarn, "request rejected", attrs...)
}

// notRun reports calls of a reply that did not stop for them.
func (l recorder) notRun(ctx context.Context, iteration int, r *history.Reply) {
	if n := len(r.Message.Calls); n > 0 && history.RuleFor(anthropic.BetaStopReason(r.StopReason)).After == history.EndRun {
		l.LogAttrs(ctx, slog.LevelWarn, "calls not run", slog.Int("iteration", iteration), slog.Int("count", n), slog.String("stop_reason", r.StopReason))
	}
}

func (l recorder) failure(ctx context.Context, iteration int, err error) {
	l.LogAttrs(ctx, slog.LevelWarn, "request failed", slog.Int("iteration", iteration), slog.String("error", l.errorText(ctx, err)))
}

func (l recorder) reply(ctx context.Context, iteration int, r *history.Reply, took time.Duration, response *http.Response) {
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

func (l recorder) end(ctx context.Context, o Outcome, iterations int, u Usage) {
	l.LogAttrs(ctx, slog.LevelInfo, "run ended",
		slog.String("outcome", o.String()), slog.Int("iterations", iterations), slog.Int("replies", u.Replies),
		slog.Int64("input_tokens", u.InputTokens), slog.Int64("output_tokens", u.OutputTokens))
}

func (l recorder) skipped(ctx context.Context) {
	l.LogAttrs(ctx, slog.LevelWarn, "compaction skipped", slog.String("reason", "the last turn ended with calls that were not run"))
}

func (l recorder) dropped(ctx context.Context, n int) {
	l.LogAttrs(ctx, slog.LevelWarn, "breakpoints dropped", slog.Int("count", n))
}

func (l recorder) noSummary(ctx context.Context, err error) {
	l.LogAttrs(ctx, slog.LevelWarn, "compaction skipped", slog.String("reason", err.Error()))
}

func callAttrs(call *machine.Call) []slog.Attr {
	use := call.Use()
	return []slog.Attr{slog.String("tool", use.Name), slog.String("call_id", use.ID), slog.Int("iteration", call.Iteration())}
}

func (l recorder) started(ctx context.Context, call *machine.Call, eager bool) {
	if !l.Enabled(ctx, slog.LevelInfo) {
		return
	}
	attrs := callAttrs(call)
	if eager {
		attrs = append(attrs, slog.Bool("eager", true))
	}
	l.LogAttrs(ctx, slog.LevelInfo, "tool call started", attrs...)
}

func (l recorder) finished(ctx context.Context, call *machine.Call, result *Result, c dispatch.Completion) {
	level, text := slog.LevelInfo, "tool call ended"
	if result == nil || result.IsError {
		level, text = slog.LevelWarn, "tool call failed"
	}
	if c.Err != nil && errors.As(c.Err, new(*dispatch.AbandonedError)) {
		level, text = slog.LevelWarn, "tool call abandoned"
	}
	if !l.Enabled(ctx, level) {
		return
	}
	attrs := append(callAttrs(call), slog.Duration("duration", c.Took))
	err := c.Err
	if result != nil {
		err = cmp.Or(c.Err, result.Err)
	}
	if err == nil && level == slog.LevelWarn { // the tool said so itself
		err = errFailedResult
		if l.Enabled(ctx, slog.LevelDebug) {
			err = resultError(result)
		}
	}
	if err != nil {
		attrs = append(attrs, slog.String("error", l.errorText(ctx, err)))
	}
	if cause := (*history.PanicError)(nil); errors.As(err, &cause) {
		attrs = append(attrs, slog.String("stack", string(cause.Stack)))
	}
	l.LogAttrs(ctx, level, text, attrs...) //nolint:sloglint // one of three constants
}

// decided reports what was decided on a call, by an approver or by Decide.
func (l recorder) decided(ctx context.Context, call *machine.Call, d Decision) {
	if !l.Enabled(ctx, slog.LevelInfo) {
		return
	}
	attrs := append(callAttrs(call), slog.String("decision", d.String()))
	if d.reason != "" && l.Enabled(ctx, slog.LevelDebug) {
		attrs = append(attrs, slog.String("reason", redact.Excerpt(l.redactor.Known, d.reason)))
	}
	l.LogAttrs(ctx, slog.LevelInfo, "tool call decided", attrs...)
}

// toolsChanged reports tools that the model of a resumed run knows otherwise.
func (l recorder) toolsChanged(ctx context.Context, names []string) {
	l.LogAttrs(ctx, slog.LevelWarn, "tools changed", slog.Any("tools", names))
}

// traceBlocked reports a tracer or meter that took too long, and whose goroutine may still run.
func (l recorder) traceBlocked(ctx context.Context) {
	l.LogAttrs(ctx, slog.LevelWarn, "telemetry blocked", slog.Duration("after", telemetry.Patience))
}

func (l recorder) notSaved(ctx context.Context, err error) {
	l.LogAttrs(ctx, slog.LevelWarn, "checkpoint failed", slog.String("error", l.errorText(ctx, err)))
}

var errFailedResult = errors.New("the tool returned a failed result")

// refused reports a call that was answered without being run.
func (l recorder) refused(ctx context.Context, call *machine.Call, err error) {
	l.LogAttrs(ctx, slog.LevelWarn, "tool call failed", append(callAttrs(call), slog.Duration("duration", 0), slog.String("error", l.errorText(ctx, err)))...)
}

func (l recorder) notFound(ctx context.Context, call *machine.Call, available []string) {
	l.LogAttrs(ctx, slog.LevelWarn, "tool not found", append(callAttrs(call), slog.Any("available", available))...)
}

// textOf returns the text of an error, whose method may panic.
func textOf(err error) (text string) {
	defer func() {
		if value := recover(); value != nil {
			text = fmt.Sprintf("%T, whose text panics: %v", err, value)
		}
	}()
	return err.Error()
}
