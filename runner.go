package toolrunner

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner/internal/history"
	"github.com/toolrunner/toolrunner/internal/machine"
	"github.com/toolrunner/toolrunner/internal/records"
	"github.com/toolrunner/toolrunner/internal/request"
	"github.com/toolrunner/toolrunner/internal/telemetry"
)

// Runner is a conversation in which the runner answers the model's calls. A conversation
// has any number of runs: after a run has ended, call AppendMessages and loop over All
// again to begin the next one.
//
// A Runner is not safe for concurrent use, except for AppendMessages, Messages, Decide,
// Pending, Snapshot, Usage, AddTools, AddToolParams, RemoveTools and RemoveToolsByNames,
// which handlers and other goroutines may call. Loop bodies may call every method, and
// may hold another loop over the same Runner. Two loops at once are an error.
//
// While the loop body runs, the history may hold calls without results. The runner adds
// a result for each before the next request, so that the API accepts every request.
type Runner struct {
	// Params may be changed between requests, by the goroutine of the runner.
	Params Params

	messages *anthropic.BetaMessageService
	log      records.Recorder
	logged   int                  // messages of the history that were in a record
	system   request.System       // as it was sent last
	tools    []request.Definition // go out with each request
	threads  threadSupport        // of the client

	checkpoint  Checkpoint
	snapshotKey func() []byte  // a function, so that no printing shows it
	saved       *machine.Saved // what the checkpoint has; nil: nothing of this runner
	seal        string         // of the last record that it has
	unsigned    bool           // Params.KeepUnsignedThinking as New or Resume got it
	resumed     int64          // the sequence of the snapshot that it was resumed from

	trace   *telemetry.Run  // nil: no loop is under way, or nobody looks at it
	abandon runtime.Cleanup // ends it
	eager   *eager          // nil unless calls may run while a reply streams
	turn    *Turn           // the last one that was handed out
	last    *lastReply
	noBody  bool // no loop body sees the turns
	outcome Outcome
	err     error // why the last loop did not complete
	output  error // what parsing the final reply failed with

	mu       sync.Mutex // guards what follows; no code of the caller runs under it
	machine  *machine.Machine
	validate Validation                     // as of the last step, for other goroutines
	given    []anthropic.BetaToolUnionParam // Params.Tools, as of the last step
	loops    int                            // loops that are under way, one in the body of the other
	stepping bool                           // a step is under way
}

// New returns a runner for a conversation that begins with params.Messages. It sends
// nothing. If the messages end in calls, the run begins by answering them.
//
// New encodes params.Messages; later changes to them have no effect. Slices such as
// params.Tools are shared. A *[Tool] must not be modified after New.
//
// New returns an error for params that make no sense and for a tool that is nil, has an
// illegal name, or has the name of another tool. It returns a *[HistoryError] for messages
// that the API would refuse.
func New(messages *anthropic.BetaMessageService, tools []anthropic.BetaTool, params Params) (*Runner, error) {
	r, set, err := newRunner(messages, tools, params)
	if err != nil {
		return nil, err
	}
	drafts, err := history.EncodeAll(params.Messages, nil, r.unsigned)
	if err != nil {
		return nil, publicError(err)
	}
	err = history.CheckReferences(drafts, func(name string) bool { return set.Defines(name) || request.Names(r.given, name) })
	if err != nil {
		return nil, publicError(err)
	}
	if r.machine, err = machine.New(cmp.Or(params.ConversationID, rand.Text()), set, drafts); err != nil {
		return nil, publicError(err)
	}
	r.log = r.log.Of(r.machine.ID())
	r.tools = definitionsOf(r.machine.FirstTools())
	return r, nil
}

// newRunner returns a runner that has no loop yet, and its tools.
func newRunner(messages *anthropic.BetaMessageService, tools []anthropic.BetaTool, params Params) (*Runner, *machine.Tools, error) {
	if messages == nil {
		return nil, nil, errors.New("toolrunner: the message service is nil; pass &client.Beta.Messages")
	}
	if err := params.validate(); err != nil {
		return nil, nil, fmt.Errorf("toolrunner: %w", err)
	}
	registered, err := registerAll(tools)
	if err != nil {
		return nil, nil, prefixed(err)
	}
	set, err := machine.NewTools(registered, request.NamesOf(params.Tools))
	if err != nil {
		return nil, nil, prefixed(err)
	}
	log := params.Logger
	if log == nil {
		log = records.FromEnvironment()
	}
	params.Messages = nil
	key := bytes.Clone(params.SnapshotKey)
	return &Runner{
		Params: params, messages: messages, log: records.New(log, briefError),
		checkpoint: params.Checkpoint, snapshotKey: func() []byte { return key }, validate: params.Validate,
		unsigned: params.KeepUnsignedThinking, given: params.Tools,
	}, set, nil
}

// All runs the loop. The body receives each turn once its reply is complete. When the
// body returns, the turn's tools run and the next request goes out. If the run fails or
// is suspended, the last pair has the error and no turn. For every other end the loop
// simply ends: check [Runner.Err] after it, or [Runner.Outcome].
//
// If the body breaks, the turn's tools do not run. The next All, AllStreaming, Next or
// RunToCompletion runs them before it sends a request. After an error, the next loop
// repeats the failed step. No call that has run runs again.
func (r *Runner) All(ctx context.Context) iter.Seq2[*Turn, error] { return r.turns(ctx, false) }

// AllStreaming is All with replies that stream: the body receives each turn as soon as its
// reply begins, and [Turn.Events] yields the events as they arrive. The runner reads the
// rest of the stream when the body returns.
//
// If the body breaks in the middle of a reply, the runner closes the stream and discards
// that reply; the next loop sends the request again.
func (r *Runner) AllStreaming(ctx context.Context) iter.Seq2[*Turn, error] { return r.turns(ctx, true) }

func (r *Runner) turns(ctx context.Context, streaming bool) iter.Seq2[*Turn, error] {
	return func(yield func(*Turn, error) bool) {
		level := r.enterLoop()
		defer r.leaveLoop()
		for {
			turn, err := r.advance(ctx, streaming, level)
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

// body gives the loop body control, and stops the turn if it does not return, or does
// not want to go on.
func (r *Runner) body(ctx context.Context, turn *Turn, yield func(*Turn, error) bool) (goOn bool) {
	defer func() {
		if !goOn {
			r.breakOff(ctx, turn)
		}
	}()
	return yield(turn, nil)
}

// breakOff ends a loop whose body does not want to go on.
func (r *Runner) breakOff(ctx context.Context, turn *Turn) {
	turn.stop()
	r.closeEager()
	r.turn = nil
	r.amend(turn)
	r.mu.Lock()
	r.machine.Leave(time.Now())
	r.mu.Unlock()
	r.outcome, r.err = r.standing(OutcomeStopped), nil
	r.err = endError(r.outcome, "")
	r.saveEnd(ctx)
	r.endTrace(ctx, end{outcome: r.outcome}, nil)
}

// Next takes one step: it finishes the turn that it returned last, and returns
// the next one once its reply is complete. It returns [ErrDone] when the run has
// ended. The turn is valid until the next call.
func (r *Runner) Next(ctx context.Context) (*Turn, error) { return r.advance(ctx, false, 0) }

// RunToCompletion runs the loop without a body and returns the last message. If
// the run did not complete, the error says why, as [Runner.Err] does: [ErrMaxIterations],
// [ErrLimitReached], [ErrTruncated], [ErrRefused], a *[SuspendedError], or what the
// run failed with. The message is then the last one that came, or nil. [Text] returns
// its text.
func (r *Runner) RunToCompletion(ctx context.Context) (*anthropic.BetaMessage, error) {
	level := r.enterLoop()
	defer r.leaveLoop()
	defer func(before bool) { r.noBody = before }(r.noBody)
	r.noBody = true
	for {
		if _, err := r.advance(ctx, false, level); err != nil {
			if errors.Is(err, ErrDone) {
				err = r.err
			}
			if err == nil && r.last == nil {
				err = errors.New("toolrunner: the run ended without a message")
			}
			return r.LastMessage(), err
		}
	}
}

// Err returns why the last loop over the run did not complete: [ErrTruncated],
// [ErrRefused], [ErrMaxIterations], [ErrLimitReached] in an error that names the limit,
// a *[SuspendedError], or what the run failed with. It returns nil if the run
// completed, still runs, or if the loop body broke off before the run had ended.
//
// A loop over [Runner.All] ends without an error where the run was cut off, refused or
// reached a limit: check Err after it.
func (r *Runner) Err() error { return r.err }

// ConversationID returns the id of the conversation: that of Params.ConversationID, or
// a random one. It stays the same when the run is resumed, also in another process.
func (r *Runner) ConversationID() string { return r.machine.ID() }

// Format writes a summary: what a runner holds may be secret.
func (r *Runner) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "toolrunner.Runner{%v}", r.Params)
}

// LogValue returns the summary that Format writes, for records.
func (r *Runner) LogValue() slog.Value { return slog.StringValue(fmt.Sprint(r)) }
