package toolrunner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner/internal/machine"
	"github.com/toolrunner/toolrunner/internal/request"
)

// Snapshot returns the state of the run: its messages, the calls of the open turn
// with their results and decisions, and what counts for its limits. [Resume] takes
// it, in any process; Params, tools and handlers are not in it. It is JSON, described
// in docs/snapshot.md, and must be kept byte for byte: it ends with a seal if
// Params.SnapshotKey is set.
//
// The member "run" is the id of the conversation and the member "sequence" a number that grows
// with whatever happens to it, so that a store can tell an older snapshot from a
// newer one. A request that is under way is not in it, and will be sent again.
//
// It holds results as the handlers returned them: what a loop body makes of them
// ([Turn.Results]) counts when the body returns. Any goroutine may call it.
func (r *Runner) Snapshot() ([]byte, error) {
	r.mu.Lock()
	record, _ := r.machine.Record(nil, time.Now())
	r.mu.Unlock()
	data, _, err := record.Encode(r.snapshotKey(), "")
	if err != nil {
		return nil, fmt.Errorf("toolrunner: the state of the run cannot be encoded: %w", err)
	}
	return data, nil
}

// Resume returns a runner for a run that [Runner.Snapshot] has saved, or that a
// [Checkpoint] has saved: all its deltas in order, from any that is Full. It sends
// nothing. The run goes on from where it was with the next loop: calls that have
// their result are not run again, calls that wait for a decision still do, and the
// others are run. A call that was interrupted runs again if its tool is ReadOnly or
// Idempotent, and still is; otherwise the model reads that whether it took effect
// is unknown. A final reply is parsed into the struct of OutputConfig.Format again.
//
// Params and tools are those of this process and need not be the same:
// params.Messages must be empty, tools may be new, changed or gone, and definitions keep
// the order that they had, for the prompt cache. Tools that were added during the run
// belong among them: the model knows them, and nothing else runs their calls. Tools
// that were removed stay so. Resuming counts as a step: the sequence grows by one.
//
// Two runners that are resumed from one snapshot both go on from it, and both run
// its calls. A store that has the first delta or snapshot of each replace exactly
// the one it came from refuses the second.
//
// It returns the errors of New, and a *[SnapshotError] for a snapshot that is not
// whole, was tampered with, or needs a tool for a waiting call that is not there. Of
// several records, the last one may be cut off, as by a crash: it does not count then.
func Resume(messages *anthropic.BetaMessageService, tools []anthropic.BetaTool, params Params, snapshot []byte) (*Runner, error) {
	if len(params.Messages) > 0 {
		return nil, errors.New("toolrunner: Params.Messages is set; the messages of a resumed run are in its snapshot, so add to them with AppendMessages")
	}
	r, set, err := newRunner(messages, tools, params)
	if err != nil {
		return nil, err
	}
	record, err := machine.ReadRecords(snapshot, r.snapshotKey())
	if err != nil {
		return nil, publicError(err)
	}
	if id := params.ConversationID; id != "" && id != record.ID {
		return nil, &SnapshotError{Reason: fmt.Sprintf("it is of the conversation %q, and Params.ConversationID is %q", record.ID, id)}
	}
	restored, changed, err := record.Restore(set, params.forced(), r.unsigned)
	if err != nil {
		return nil, publicError(err)
	}
	if err := restored.CheckReferences(func(name string) bool { return request.Names(r.given, name) }); err != nil {
		return nil, publicError(err)
	}
	r.machine, r.resumed = restored, record.Sequence
	r.log = r.log.Of(restored.ID())
	r.tools = definitionsOf(restored.FirstTools())
	if reply, rule := restored.LastReply(); reply != nil {
		r.last = &lastReply{raw: reply, message: &anthropic.BetaMessage{}}
		r.parse(rule)
	}
	r.outcome = r.standing(OutcomeStopped)
	if suspended := restored.Suspended(); len(suspended) > 0 {
		r.outcome, r.err = OutcomeSuspended, &SuspendedError{r.publicAll(suspended)}
	}
	if len(changed) > 0 {
		r.log.ToolsChanged(context.Background(), changed)
	}
	return r, nil
}

// save has the checkpoint keep what has changed since it was called last.
func (r *Runner) save(ctx context.Context) error {
	if r.checkpoint == nil {
		return nil
	}
	r.mu.Lock()
	if !r.machine.Changed(r.saved) {
		r.mu.Unlock()
		return nil
	}
	record, next := r.machine.Record(r.saved, time.Now())
	r.mu.Unlock()
	if r.saved == nil {
		record.After = r.resumed
	}
	data, mac, err := record.Encode(r.snapshotKey(), r.seal)
	if err != nil {
		return fmt.Errorf("toolrunner: the state of the run cannot be encoded: %w", err)
	}
	delta := Delta{ConversationID: record.ID, Sequence: record.Sequence, After: record.After, Full: record.Keep == nil, Data: data}
	if err := r.keep(ctx, delta); err != nil {
		if ended := contextError(ctx); ended != nil { // saveEnd tries again
			return ended
		}
		return &checkpointError{err}
	}
	r.saved, r.seal = next, mac
	return nil
}

// keep calls the checkpoint and turns a panic into an error.
func (r *Runner) keep(ctx context.Context, delta Delta) (err error) {
	defer catch(&err)
	err = r.checkpoint(ctx, delta)
	probe(err)
	return err
}

// saveTime is how long a checkpoint may take once the run's context has ended, or the run.
const saveTime = 30 * time.Second

var errSaveTime = fmt.Errorf("toolrunner: the checkpoint took longer than %v after the end of the run", saveTime)

// lasting returns a context that goes on for some time after ctx has ended, so that what
// was done is kept.
func lasting(ctx context.Context) (context.Context, context.CancelFunc) {
	lasts, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(saveTime, func() { cancel(errSaveTime) }) })
	return lasts, func() { stop(); cancel(nil) }
}

// saveEnd is save at an end that has an error of its own, or none to return.
func (r *Runner) saveEnd(ctx context.Context) {
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), saveTime, errSaveTime)
	defer cancel()
	if err := r.save(ctx); err != nil {
		r.log.NotSaved(ctx, err)
	}
}
