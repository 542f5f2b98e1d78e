package toolrunner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"sync"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
)

// Runner is a conversation in which the model's calls are answered. It goes on
// for as long as it is asked to: after a run has ended, AppendMessages and
// another loop over All begin the next one.
//
// A Runner serves one goroutine at a time; loop bodies may call any of its
// methods. AppendMessages, Messages, AddTools, AddToolParams, RemoveTools and
// RemoveToolsByNames may be called from any goroutine, handlers included.
//
// While the caller has control, the history is one that the API accepts once the
// next request goes out: calls that a run leaves unanswered are answered first.
type Runner struct {
	// Params may be changed between requests, by the goroutine of the runner.
	Params Params

	messages *anthropic.BetaMessageService

	mu     sync.Mutex // guards the loop, whose steps never call user code
	loop   *loop
	turn   *Turn // the last one that was handed out
	last   *anthropic.BetaMessage
	ended  Outcome
	choice any // the forced tool choice that has done its work
}

// New returns a runner for a conversation that begins with params.Messages. It
// sends nothing. If the messages end in calls, the run begins by answering them.
//
// It returns an error for params that make no sense, a tool that is nil, has no
// legal name or a name that another has, and a *[HistoryError] for messages that
// the API would refuse. What it is given stays the caller's: it is copied.
func New(messages *anthropic.BetaMessageService, tools []anthropic.BetaTool, params Params) (*Runner, error) {
	if messages == nil {
		return nil, errors.New("toolrunner: the message service is nil; pass &client.Beta.Messages")
	}
	if err := params.validate(); err != nil {
		return nil, fmt.Errorf("toolrunner: %w", err)
	}
	set, err := newToolset(tools)
	if err != nil {
		return nil, fmt.Errorf("toolrunner: %w", err)
	}
	loop, err := newLoop(set, params.Messages)
	if err != nil {
		return nil, err
	}
	params.Messages = nil
	return &Runner{Params: params, messages: messages, loop: loop}, nil
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
			if !r.body(turn, yield) {
				return
			}
		}
	}
}

// body gives the loop body control, and stops the turn if it does not return, or
// does not want to go on.
func (r *Runner) body(turn *Turn, yield func(*Turn, error) bool) (goOn bool) {
	defer func() {
		if !goOn {
			turn.stop()
			r.turn = nil
			r.ended = r.standing(OutcomeStopped)
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
// the last one that came, or nil.
func (r *Runner) RunToCompletion(ctx context.Context) (*anthropic.BetaMessage, error) {
	for {
		if _, err := r.advance(ctx, false); err != nil {
			if errors.Is(err, ErrDone) {
				err = r.ended.err()
			}
			if err == nil && r.last == nil {
				err = errors.New("toolrunner: the run ended without a message")
			}
			return r.last, err
		}
	}
}

// advance finishes the last turn and takes steps until the next one begins.
func (r *Runner) advance(ctx context.Context, streaming bool) (*Turn, error) {
	turn, err := r.steps(ctx, streaming)
	switch {
	case err == nil:
		r.ended = OutcomeRunning
	case !errors.Is(err, ErrDone):
		r.ended = OutcomeFailed
	}
	return turn, err
}

func (r *Runner) steps(ctx context.Context, streaming bool) (*Turn, error) {
	if turn := r.turn; turn != nil {
		r.turn = nil
		err := turn.finish()
		turn.over = true
		if err != nil {
			return nil, err
		}
	}
	for {
		r.mu.Lock()
		s := r.loop.step(r.Params.MaxIterations)
		r.mu.Unlock()
		if s.kind == stepEnd {
			r.ended = s.outcome
			return nil, ErrDone
		}
		if err := contextError(ctx); err != nil {
			r.lost()
			return nil, err
		}
		if s.kind == stepSend {
			return r.send(ctx, streaming)
		}
		if err := r.runCalls(ctx, s.calls); err != nil {
			return nil, err
		}
	}
}

// send sends the history and returns the turn that it begins.
func (r *Runner) send(ctx context.Context, streaming bool) (*Turn, error) {
	turn := &Turn{BetaMessage: &anthropic.BetaMessage{}}
	turn.record = func(t *Turn, raw []byte) error { return r.record(ctx, t, raw) }
	turn.lose = func(err error) error { r.lost(); return replyError(ctx, err) }
	err := r.request(ctx, turn, streaming)
	if err != nil {
		return nil, turn.lose(err)
	}
	r.turn = turn
	return turn, nil
}

// request sends the history, and reads the reply, or the beginning of a stream.
func (r *Runner) request(ctx context.Context, turn *Turn, streaming bool) error {
	r.mu.Lock()
	state := requestState{
		tools: r.loop.tools.first, messages: r.loop.history.messages, container: r.loop.container,
		dropChoice: r.choice != nil && r.choice == r.Params.forced() && !r.Params.KeepToolChoice,
	}
	turn.iteration = r.loop.iteration + 1
	r.mu.Unlock()
	req, err := newRequest(&r.Params, state)
	if err != nil {
		return err
	}
	service := *r.messages
	service.Options = slices.Concat([]option.RequestOption{req.option()}, service.Options)
	if streaming {
		return r.requestStream(ctx, &service, req, turn)
	}
	options := slices.Concat(service.Options, r.Params.RequestOptions)
	if _, err := anthropic.CalculateNonStreamingTimeout(int(req.params.MaxTokens), req.params.Model, options); err != nil {
		// The SDK refuses to wait for so long a reply in one piece.
		if err := r.requestStream(ctx, &service, req, turn); err != nil {
			return err
		}
		return turn.finish()
	}
	var raw []byte
	options = append(slices.Clip(r.Params.RequestOptions), option.WithResponseBodyInto(&raw))
	if _, err := service.New(ctx, req.params, options...); err != nil {
		return req.describe(err)
	}
	if isFailure(raw) {
		return apiError(req.response, raw)
	}
	return r.record(ctx, turn, raw)
}

// requestStream sends the request and reads the stream up to its first event.
func (r *Runner) requestStream(ctx context.Context, service *anthropic.BetaMessageService, req *request, turn *Turn) error {
	var response *http.Response
	options := append(slices.Clip(r.Params.RequestOptions), option.WithResponseBodyInto(&response))
	if err := service.NewStreaming(ctx, req.params, options...).Err(); err != nil {
		return req.describe(err)
	}
	turn.stream = openStream(response)
	first, err := turn.next()
	if err != nil {
		if turn.reply != nil { // the server did not stream
			return nil
		}
		return err
	}
	turn.first = first
	if first.kind == eventMessageStart {
		return turn.UnmarshalJSON(first.message)
	}
	return nil
}

// record takes a complete reply into the history and completes its turn.
func (r *Runner) record(ctx context.Context, turn *Turn, raw []byte) error {
	reply, err := r.receive(turn, raw)
	if err != nil {
		return err
	}
	logNotes(ctx, r.Params.logger(), reply.notes)
	return nil
}

func (r *Runner) receive(turn *Turn, raw []byte) (*reply, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	reply, err := readReply(raw, r.loop.taken)
	if err != nil {
		return nil, err
	}
	var message anthropic.BetaMessage
	if err := message.UnmarshalJSON(reply.raw); err != nil {
		return nil, &ReplyError{Reason: "it cannot be decoded", Body: raw, Err: err}
	}
	r.loop.receive(reply)
	*turn.BetaMessage = message
	turn.reply = reply
	for _, call := range r.loop.open {
		if call.state != callUnrun && call.iteration == turn.iteration {
			turn.calls = append(turn.calls, call.public())
		}
	}
	if len(turn.calls) > 0 {
		r.choice = r.Params.forced()
	}
	r.last = turn.BetaMessage
	return reply, nil
}

// runCalls runs the calls that can be run, and answers those that cannot.
func (r *Runner) runCalls(ctx context.Context, calls []*openCall) error {
	jobs := r.jobs(ctx, calls)
	return dispatch(ctx, jobs, cmp.Or(r.Params.MaxConcurrency, defaultConcurrency))
}

func (r *Runner) jobs(ctx context.Context, calls []*openCall) []job {
	r.mu.Lock()
	defer r.mu.Unlock()
	jobs := make([]job, 0, len(calls))
	for _, call := range calls {
		tool := r.loop.lookup(call.use.name)
		if tool == nil || call.use.toolset != "" {
			r.loop.answer(call, notFound(call.use).encode(call.use))
			continue
		}
		j := job{call: call.public(), tool: tool}
		if tool.check != nil && r.Params.Validate == ValidateInput {
			if err := tool.check(j.call.Input); err != nil {
				r.loop.answer(call, failedResult(nil, err).encode(call.use))
				continue
			}
		}
		j.started = func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.loop.started(call, tool.readOnly)
		}
		j.finished = func(c completion) {
			logCompletion(ctx, r.Params.logger(), j.call, c)
			if c.result == nil {
				return
			}
			block := c.result.encode(call.use)
			r.mu.Lock()
			defer r.mu.Unlock()
			r.loop.answer(call, block)
		}
		jobs = append(jobs, j)
	}
	return jobs
}

// lost takes note that the request under way will have no reply.
func (r *Runner) lost() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.loop.fail()
}

// replyError returns err as the caller reads it.
func replyError(ctx context.Context, err error) error {
	if ended := contextError(ctx); ended != nil {
		return ended
	}
	var reply *ReplyError
	var stream *IncompleteStreamError
	if errors.As(err, &reply) || errors.As(err, &stream) || errors.Is(err, ErrTurnOver) {
		return err
	}
	return fmt.Errorf("toolrunner: %w", err)
}
