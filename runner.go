package toolrunner

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"sync"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"
)

// Runner is a conversation in which the model's calls are answered. It goes on
// for as long as it is asked to: after a run has ended, AppendMessages and
// another loop over All begin the next one.
//
// A Runner serves one goroutine at a time; loop bodies may call any of its
// methods. AppendMessages, Messages, Decide, Pending, Snapshot, AddTools,
// AddToolParams, RemoveTools and RemoveToolsByNames may be called from any goroutine,
// handlers included.
//
// While the caller has control, the history is one that the API accepts once the
// next request goes out: calls that a run leaves unanswered are answered first.
type Runner struct {
	// Params may be changed between requests, by the goroutine of the runner.
	Params Params

	messages *anthropic.BetaMessageService
	log      recorder
	logged   int          // messages of the history that were in a record
	system   systemPrompt // as it was sent last

	checkpoint  Checkpoint
	snapshotKey []byte
	saved       *saved // what the checkpoint has; nil: nothing of this runner
	resumed     int64  // the sequence of the snapshot that it was resumed from

	mu     sync.Mutex // guards the loop, whose steps never call user code
	loop   *loop
	eager  *eager // nil unless calls may run while a reply streams
	turn   *Turn  // the last one that was handed out
	last   *lastReply
	unseen bool // no loop body sees the turns
	ended  Outcome
	limit  string // that was reached, if one was
	output error  // what parsing the final reply failed with
}

// New returns a runner for a conversation that begins with params.Messages. It
// sends nothing. If the messages end in calls, the run begins by answering them.
//
// It returns an error for params that make no sense, a tool that is nil, has no
// legal name or a name that another has, and a *[HistoryError] for messages that
// the API would refuse. What it is given stays the caller's: it is copied.
func New(messages *anthropic.BetaMessageService, tools []anthropic.BetaTool, params Params) (*Runner, error) {
	r, set, err := newRunner(messages, tools, params)
	if err != nil {
		return nil, err
	}
	if r.loop, err = newLoop(set, params.Messages); err != nil {
		return nil, publicError(err)
	}
	return r, nil
}

// newRunner returns a runner that has no loop yet, and its tools.
func newRunner(messages *anthropic.BetaMessageService, tools []anthropic.BetaTool, params Params) (*Runner, *toolset, error) {
	if messages == nil {
		return nil, nil, errors.New("toolrunner: the message service is nil; pass &client.Beta.Messages")
	}
	if err := params.validate(); err != nil {
		return nil, nil, fmt.Errorf("toolrunner: %w", err)
	}
	set, err := newToolset(tools)
	if err != nil {
		return nil, nil, fmt.Errorf("toolrunner: %w", err)
	}
	log := params.Logger
	if log == nil {
		log = environmentLogger()
	}
	params.Messages = nil
	return &Runner{
		Params: params, messages: messages, log: newRecorder(log),
		checkpoint: params.Checkpoint, snapshotKey: bytes.Clone(params.SnapshotKey),
	}, set, nil
}

// All runs the loop: each turn is handed to the body once its reply is complete;
// when the body is over, the turn's tools run, and the next request goes out.
// The last pair of a run that fails has the error and no turn. After the last
// turn, [Runner.Outcome] says how the run ended.
//
// Breaking off ends the loop before the tools of that turn run; another loop
// begins by running them. After an error another loop takes the failed step
// again. It runs no call again that has run.
func (r *Runner) All(ctx context.Context) iter.Seq2[*Turn, error] { return r.turns(ctx, false) }

// AllStreaming is All with replies that stream: each turn is handed to the body
// as soon as its reply begins, and [Turn.Events] has the events as they arrive.
// What the body does not read is read when it is over.
//
// Breaking off in the middle of a reply closes its stream. Nothing of that reply
// is kept, and another loop sends the request again.
func (r *Runner) AllStreaming(ctx context.Context) iter.Seq2[*Turn, error] { return r.turns(ctx, true) }

func (r *Runner) turns(ctx context.Context, streaming bool) iter.Seq2[*Turn, error] {
	return func(yield func(*Turn, error) bool) {
		for {
			turn, err := r.advance(ctx, streaming)
			if errors.Is(err, ErrDone) {
				return
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if !r.body(ctx, turn, yield) {
				return
			}
		}
	}
}

// body gives the loop body control, and stops the turn if it does not return, or
// does not want to go on.
func (r *Runner) body(ctx context.Context, turn *Turn, yield func(*Turn, error) bool) (goOn bool) {
	defer func() {
		if !goOn {
			turn.stop()
			r.endEager()
			r.turn = nil
			r.touchResults(turn)
			r.left()
			r.ended = r.standing(OutcomeStopped)
			r.saveEnd(ctx)
		}
	}()
	return yield(turn, nil)
}

// Next takes one step: it finishes the turn that it returned last, and returns
// the next one once its reply is complete. It returns [ErrDone] when the run has
// ended. The turn is valid until the next call.
func (r *Runner) Next(ctx context.Context) (*Turn, error) { return r.advance(ctx, false) }

// RunToCompletion runs the loop without a body and returns the last message. If
// the run did not complete, the error says why: [ErrMaxIterations],
// [ErrTruncated], [ErrRefused], or what the run failed with. The message is then
// the last one that came, or nil. [Text] returns its text.
func (r *Runner) RunToCompletion(ctx context.Context) (*anthropic.BetaMessage, error) {
	defer func(before bool) { r.unseen = before }(r.unseen)
	r.unseen = true
	for {
		if _, err := r.advance(ctx, false); err != nil {
			if errors.Is(err, ErrDone) {
				err = r.endError()
			}
			if err == nil && r.last == nil {
				err = errors.New("toolrunner: the run ended without a message")
			}
			return r.LastMessage(), err
		}
	}
}

// advance finishes the last turn and takes steps until the next one begins.
func (r *Runner) advance(ctx context.Context, streaming bool) (*Turn, error) {
	turn, ended, err := r.steps(ctx, streaming)
	r.ended = ended
	if ended == OutcomeFailed && errors.Is(err, ErrDone) { // of another runner, by way of the caller's code
		err = fmt.Errorf("toolrunner: the run failed: %v", err) //nolint:errorlint // this one has not ended so
	}
	if err != nil {
		r.pause()
		if failed := (*checkpointError)(nil); !errors.As(err, &failed) {
			r.saveEnd(ctx)
		}
		r.log.end(ctx, ended, r.IterationCount(), r.Usage())
	}
	return turn, err
}

// steps returns the next turn, or an error and how the run has ended.
func (r *Runner) steps(ctx context.Context, streaming bool) (turn *Turn, ended Outcome, err error) {
	defer func() {
		if turn == nil {
			r.endEager()
		}
	}()
	if err := r.finishTurn(); err != nil {
		return nil, OutcomeFailed, err
	}
	for {
		r.mu.Lock()
		s := r.loop.step(limits{r.Params.MaxIterations, r.Params.AutoCompact, r.Params.Limits, time.Now()})
		r.mu.Unlock()
		if s.skipped {
			r.log.skipped(ctx)
		}
		if err := r.save(ctx); err != nil {
			return nil, OutcomeFailed, err
		}
		if s.kind == stepEnd {
			ended, err := r.end(s)
			return nil, ended, err
		}
		if err := contextError(ctx); err != nil {
			r.lost()
			return nil, OutcomeFailed, err
		}
		turn, err := r.take(ctx, s, streaming)
		if err != nil {
			return nil, OutcomeFailed, err
		}
		if turn != nil {
			return turn, OutcomeRunning, nil
		}
	}
}

// finishTurn reads what is left of the last turn, and ends it.
func (r *Runner) finishTurn() error {
	turn := r.turn
	if turn == nil {
		return nil
	}
	r.turn = nil
	err := turn.finish()
	turn.over = true
	r.touchResults(turn)
	return cmp.Or(err, r.eager.err())
}

// take takes a step, and returns the turn that it begins, if it does.
func (r *Runner) take(ctx context.Context, s step, streaming bool) (*Turn, error) {
	if s.kind == stepRun {
		if err := r.Params.current(); err != nil {
			return nil, fmt.Errorf("toolrunner: %w", err)
		}
		return nil, r.runCalls(ctx, s.calls)
	}
	r.endEager() // no call of the turn before runs beside the next one
	if s.kind == stepSummarize {
		return nil, r.summarize(ctx, s)
	}
	turn, err := r.send(ctx, s, streaming)
	if err == nil && turn.reply != nil {
		err = r.save(ctx)
	}
	if err != nil {
		return nil, err
	}
	return turn, nil
}

// end returns how a run has ended, and its error.
func (r *Runner) end(s step) (Outcome, error) {
	if err := r.Params.current(); err != nil {
		return OutcomeFailed, fmt.Errorf("toolrunner: %w", err)
	}
	r.limit = s.limit
	if s.outcome == OutcomeSuspended {
		r.mu.Lock()
		defer r.mu.Unlock()
		return s.outcome, &SuspendedError{r.publicAll(s.calls)}
	}
	return s.outcome, cmp.Or(r.takeOutputError(s.outcome), ErrDone)
}

// endError returns the error of a run that has ended without one.
func (r *Runner) endError() error {
	err := r.ended.err()
	if r.ended == OutcomeLimitReached {
		return fmt.Errorf("%w: %s", err, r.limit)
	}
	return err
}

// Format writes a summary: what a runner holds may be secret.
func (r *Runner) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "toolrunner.Runner{%v}", r.Params)
}

// LogValue returns the summary that Format writes, for records.
func (r *Runner) LogValue() slog.Value { return slog.StringValue(fmt.Sprint(r)) }
