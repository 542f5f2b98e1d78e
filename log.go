package toolrunner

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"

	"github.com/toolrunner/toolrunner/internal/dispatch"
	"github.com/toolrunner/toolrunner/internal/machine"
)

// Public types meet internal/records here, which writes the records of a run.

// briefError returns what an error says without what the model or the API has sent.
func briefError(err error) error {
	if reply := (*ReplyError)(nil); errors.As(err, &reply) {
		return &ReplyError{Reason: reply.Reason, Err: reply.Err}
	}
	if incomplete := (*IncompleteStreamError)(nil); errors.As(err, &incomplete) && errors.Is(incomplete.Err, io.ErrUnexpectedEOF) {
		return &IncompleteStreamError{Events: incomplete.Events, Last: incomplete.Last, Err: io.ErrUnexpectedEOF}
	}
	return err
}

// recordFinished records a call whose handler has returned, or was given up: without a
// result then.
func (r *Runner) recordFinished(ctx context.Context, call *machine.Call, result *Result, c dispatch.Completion) {
	failed, err := result == nil || result.IsError, c.Err
	if result != nil {
		err = cmp.Or(c.Err, result.Err)
	}
	if err == nil && failed { // the tool said so itself
		err = errFailedResult
		if r.log.Enabled(ctx, slog.LevelDebug) {
			err = resultError(result)
		}
	}
	r.log.Finished(ctx, call, failed, err, c)
}

var errFailedResult = errors.New("the tool returned a failed result")
