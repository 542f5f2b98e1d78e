package toolrunner

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner/internal/dispatch"
	"github.com/toolrunner/toolrunner/internal/history"
	"github.com/toolrunner/toolrunner/internal/machine"
)

// Errors to branch on with [errors.Is].
var (
	// ErrDone is returned by [Runner.Next] when the run has ended.
	// [Runner.Outcome] says how.
	ErrDone = errors.New("toolrunner: the run has ended")

	// ErrTurnOver is returned by methods of a [Turn] that is used after its loop
	// body; they have changed nothing.
	ErrTurnOver = errors.New("toolrunner: the turn is over: use its methods inside the loop body that received it")

	// ErrMaxIterations is returned by [Runner.RunToCompletion] for
	// [OutcomeMaxIterations].
	ErrMaxIterations = errors.New("toolrunner: the run has reached Params.MaxIterations")

	// ErrLimitReached is returned by [Runner.RunToCompletion] for
	// [OutcomeLimitReached], in an error that names the limit.
	ErrLimitReached = errors.New("toolrunner: the run has reached one of Params.Limits")

	// ErrTruncated is returned by [Runner.RunToCompletion] for [OutcomeTruncated].
	ErrTruncated = errors.New("toolrunner: the reply was cut off by max_tokens or by the context window")

	// ErrRefused is returned by [Runner.RunToCompletion] for [OutcomeRefused].
	ErrRefused = errors.New("toolrunner: the model refused")
)

// ReplyError reports a reply that the runner cannot use: it is not a message,
// or it holds calls that cannot be told apart. Nothing of it was recorded and no
// tool ran; going on with the run sends the same request again. [Runner.All],
// [Runner.AllStreaming], [Runner.Next], [Runner.RunToCompletion], [Turn.Events] and
// [Turn.Results] return it.
type ReplyError struct {
	Reason string
	Body   []byte // the reply as it came, as far as it came
	Err    error  // what decoding it failed with; may be nil
}

// Error says what is wrong, and quotes the beginning of the reply.
func (e *ReplyError) Error() string {
	const most = 200
	text := "toolrunner: the reply cannot be used: " + e.Reason
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	if len(e.Body) > 0 {
		text += fmt.Sprintf(": %.*q", most, e.Body)
	}
	return text
}

// Unwrap returns what decoding failed with, or nil.
func (e *ReplyError) Unwrap() error { return e.Err }

// IncompleteStreamError reports a stream that ended before its reply was
// complete: no message_stop came, and no stop reason either. Nothing of the
// reply was recorded and no tool ran; going on with the run sends the same
// request again. [Runner.AllStreaming], [Turn.Events] and [Turn.Results] return it,
// and so do [Runner.All], [Runner.Next] and [Runner.RunToCompletion] where
// max_tokens is so large that they stream as well.
type IncompleteStreamError struct {
	Events int    // events that had come
	Last   string // type of the last one; empty if none had
	Err    error  // what reading failed with; wraps io.ErrUnexpectedEOF for a plain end, and quotes a body without events
}

// Error says how far the stream came.
func (e *IncompleteStreamError) Error() string {
	if e.Events == 0 {
		return fmt.Sprintf("toolrunner: the stream ended before its first event: %v", e.Err)
	}
	return fmt.Sprintf("toolrunner: the stream ended before the reply was complete, after %d events, the last of them %s: %v", e.Events, e.Last, e.Err)
}

// Unwrap returns what reading failed with.
func (e *IncompleteStreamError) Unwrap() error { return e.Err }

// HistoryError reports messages that the Messages API would refuse. [New],
// [Runner.AppendMessages], [Runner.SetMessages] and [Turn.Replace] return it; none
// of the messages has then been added.
type HistoryError struct {
	Index  int    // of the message among those given
	Reason string // what is wrong, and what to do about it
}

// Error says which message is wrong, and why.
func (e *HistoryError) Error() string {
	return fmt.Sprintf("toolrunner: message %d: %s", e.Index, e.Reason)
}

// publicError returns an error from inside as callers see it.
func publicError(err error) error {
	if err == nil {
		return nil
	}
	var refused *history.Error
	var unusable *history.ReplyError
	var snapshot *machine.SnapshotError
	switch {
	case errors.As(err, &refused):
		return &HistoryError{Index: refused.Index, Reason: refused.Reason}
	case errors.As(err, &unusable):
		return &ReplyError{Reason: unusable.Reason, Body: unusable.Body, Err: unusable.Err}
	case errors.As(err, &snapshot):
		return &SnapshotError{Reason: snapshot.Reason, Err: snapshot.Err}
	case errors.Is(err, machine.ErrNoMessages), errors.Is(err, machine.ErrCompacting):
		return prefixed(err)
	}
	return err
}

// prefixed returns err with the name of the package in front of its text.
func prefixed(err error) error { return fmt.Errorf("toolrunner: %w", err) }

// SnapshotError reports a snapshot that a run cannot be resumed from: it is not one,
// is damaged or was tampered with, or does not fit the tools. [Resume] and
// [OpenFileCheckpoint] return it.
type SnapshotError struct {
	Reason string // what is wrong, and what to do about it
	Err    error  // why; may be nil
}

// Error says what is wrong.
func (e *SnapshotError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("toolrunner: the snapshot cannot be used: %s: %v", e.Reason, e.Err)
	}
	return "toolrunner: the snapshot cannot be used: " + e.Reason
}

// Unwrap returns the cause, or nil.
func (e *SnapshotError) Unwrap() error { return e.Err }

// ToolError is an error that carries what the model reads of it. A [Handler] or a
// [Middleware] returns it, wrapped or not: Content is sent as it is, as a failed
// result.
type ToolError struct {
	Content []anthropic.BetaToolResultBlockParamContentUnion
	Err     error // the private cause; never sent
}

// Error returns the text of the private cause, or else the first text that the
// model reads.
func (e *ToolError) Error() string {
	if e == nil { // in an error that is not nil
		return "the tool failed"
	}
	if e.Err != nil {
		return e.Err.Error()
	}
	for _, c := range e.Content {
		if c.OfText != nil && c.OfText.Text != "" {
			return c.OfText.Text
		}
	}
	return "the tool failed"
}

// Unwrap returns the private cause, or nil.
func (e *ToolError) Unwrap() error {
	if e == nil {
		return nil
	}
	return e.Err
}

// Abort returns an error that ends the run when a [Handler] or a [Middleware]
// returns it: calls that run are cancelled, those that have not begun do not
// begin, and the loop ends with err, which [errors.Is] and [errors.As] find in
// what it returns. The history stays valid: should the run go on, the model reads
// that the tool ended the run, and the call is not run again. Within [Turn.Results], the
// loop body gets the error, and decides: the run goes on if it does. A call that
// Params.EagerTools has started ends the run whatever becomes of its reply, unless the
// body takes over.
func Abort(err error) error { return &dispatch.AbortError{Err: err} }

// checkpointError says that what has changed in a run could not be kept.
type checkpointError struct{ err error }

func (e *checkpointError) Error() string {
	return fmt.Sprintf("toolrunner: the checkpoint failed, and the run does not go on without it: %v", e.err)
}

func (e *checkpointError) Unwrap() error { return e.err }

// catch, when it is deferred, turns a panic of the caller's code into an error.
func catch(err *error) {
	if value := recover(); value != nil {
		*err = &history.PanicError{Value: value, Stack: debug.Stack()}
	}
}

// probe panics if a method of the caller's error does, here where that is caught:
// others look at the error where nothing could be done about it.
func probe(err error) {
	if err == nil {
		return
	}
	_ = err.Error()
	_ = errors.Is(err, errProbe)
	_ = errors.As(err, new(*probeError))
}

var errProbe error = &probeError{}

type probeError struct{}

func (*probeError) Error() string { return "an error that no other one is" }

// contextError returns the error of an ended context with its cause, or nil.
func contextError(ctx context.Context) error {
	err := ctx.Err()
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); !errors.Is(err, cause) {
		return fmt.Errorf("toolrunner: %w: %w", err, cause)
	}
	return fmt.Errorf("toolrunner: %w", err)
}

// Outcome is how a run stands or has ended.
type Outcome uint8

const (
	// OutcomeRunning means that the run has not ended: it has not begun, or the loop body
	// runs.
	OutcomeRunning Outcome = iota
	// OutcomeCompleted means that the model ended its turn.
	OutcomeCompleted
	// OutcomeMaxIterations means that the run has reached Params.MaxIterations. The tools
	// of its last turn have run and their results are in the history. Raise the limit to
	// let the run go on, or append a message of the user to begin the next run.
	OutcomeMaxIterations
	// OutcomeLimitReached means that the run has reached one of Params.Limits. The rest is
	// as for OutcomeMaxIterations.
	OutcomeLimitReached
	// OutcomeTruncated means that max_tokens or the context window cut the last reply off.
	// None of its calls ran.
	OutcomeTruncated
	// OutcomeRefused means that the model refused. None of the reply's calls ran.
	OutcomeRefused
	// OutcomeStopped means that the loop body broke off before the run had ended.
	// The next All, AllStreaming, Next or RunToCompletion runs the calls of the last turn
	// first.
	OutcomeStopped
	// OutcomeSuspended means that calls wait for a decision. The other calls of the turn
	// have run. See [Runner.Pending] and [Runner.Decide].
	OutcomeSuspended
	// OutcomeFailed means that the run ended with an error. The next loop repeats the
	// failed step, and runs no call again that has run.
	OutcomeFailed
)

// String returns the outcome in lower case, such as "max iterations".
func (o Outcome) String() string {
	switch o {
	case OutcomeRunning:
		return "running"
	case OutcomeCompleted:
		return "completed"
	case OutcomeMaxIterations:
		return "max iterations"
	case OutcomeLimitReached:
		return "limit reached"
	case OutcomeTruncated:
		return "truncated"
	case OutcomeRefused:
		return "refused"
	case OutcomeStopped:
		return "stopped"
	case OutcomeSuspended:
		return "suspended"
	case OutcomeFailed:
		return "failed"
	}
	return "unknown"
}

// err is what RunToCompletion returns for a run that ended in o.
func (o Outcome) err() error {
	switch o {
	case OutcomeMaxIterations:
		return ErrMaxIterations
	case OutcomeLimitReached:
		return ErrLimitReached
	case OutcomeTruncated:
		return ErrTruncated
	case OutcomeRefused:
		return ErrRefused
	default:
		return nil
	}
}
