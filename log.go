package toolrunner

import (
	"context"
	"errors"
	"log/slog"
)

// What happens beside the run's results reaches this file; records leave it.
// They hold names, ids, sizes and times, never the contents of messages.

// logger returns the logger of the run.
func (p *Params) logger() *slog.Logger {
	if p.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return p.Logger
}

// logCompletion reports a call that failed, and a handler that was left behind.
func logCompletion(ctx context.Context, log *slog.Logger, call *Call, c completion) {
	attrs := []slog.Attr{
		slog.String("tool", call.Name), slog.String("call_id", call.ID), slog.Int("iteration", call.Iteration), slog.Duration("duration", c.took),
	}
	if c.left {
		log.LogAttrs(ctx, slog.LevelWarn, "tool left behind", attrs...)
	}
	if c.result == nil || !c.result.IsError {
		return
	}
	if err := c.result.Err; err != nil {
		attrs = append(attrs, slog.String("error", err.Error()))
		if cause := (*panicError)(nil); errors.As(err, &cause) {
			attrs = append(attrs, slog.String("stack", string(cause.stack)))
		}
	}
	log.LogAttrs(ctx, slog.LevelWarn, "tool call failed", attrs...)
}

// logNotes reports what was changed in a reply.
func logNotes(ctx context.Context, log *slog.Logger, notes []string) {
	for _, note := range notes {
		log.LogAttrs(ctx, slog.LevelWarn, "reply changed", slog.String("change", note))
	}
}
