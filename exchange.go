package toolrunner

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"

	"github.com/toolrunner/toolrunner/internal/stream"
)

// A step that sends reaches this file; a turn with its reply leaves it.

// send sends the history and returns the turn that it begins.
func (r *Runner) send(ctx context.Context, s step, streaming bool) (*Turn, error) {
	turn := &Turn{runner: r, unseen: r.unseen}
	if !turn.unseen {
		turn.BetaMessage = &anthropic.BetaMessage{}
	}
	begin := time.Now()
	turn.record = func(t *Turn, raw []byte) error {
		reply, err := r.receive(t, raw)
		if err == nil {
			r.log.reply(ctx, t.iteration, reply, time.Since(begin), t.request.response)
			if !t.compacts {
				r.parse(ruleFor(anthropic.BetaStopReason(reply.stopReason)))
			} else if !reply.isSummary() {
				r.log.noSummary(ctx, errNoSummary)
			}
		}
		return err
	}
	turn.lose = func(err error) error {
		r.lost()
		err = replyError(ctx, err)
		r.log.failure(ctx, turn.iteration, err)
		return err
	}
	if streaming && s.kind == stepSend && r.Params.EagerTools {
		r.eager = r.newEager(ctx)
	}
	err := r.request(ctx, turn, s, streaming)
	if err != nil && turn.err == nil {
		err = turn.lose(err)
	}
	if err != nil {
		return nil, err
	}
	r.turn = turn
	return turn, nil
}

// prepare puts the next request together.
func (r *Runner) prepare(ctx context.Context, s step, turn *Turn, streaming bool) (*request, error) {
	dropped := r.dropBreakpoints()
	r.mu.Lock()
	state := requestState{
		system: &r.system, tools: r.loop.tools.first, messages: r.loop.history.messages, container: r.loop.container, step: s,
		dropChoice: r.loop.choice != nil && r.loop.choice == r.Params.forced() && !r.Params.KeepToolChoice,
	}
	turn.iteration = r.loop.iteration
	r.mu.Unlock()
	history := len(state.messages)
	if s.kind == stepSend {
		turn.iteration++
	}
	if s.kind == stepSummarize {
		state.messages = append(slices.Clip(state.messages), r.Params.AutoCompact.Client.prompt())
	}
	req, err := newRequest(&r.Params, state)
	if err != nil {
		return nil, err
	}
	turn.request, turn.compacts, turn.forced = req, s.kind == stepCompact, r.Params.forced()
	if dropped > 0 {
		r.log.dropped(ctx, dropped)
	}
	req.attempt = func(before *http.Response) { r.log.attempt(ctx, turn.iteration, req.attempts, before) }
	r.log.hide(ctx, req)
	fresh := state.messages[min(r.logged, len(state.messages)):]
	req.begin = func() { r.log.request(ctx, turn.iteration, req, streaming, fresh) }
	r.logged = history
	return req, nil
}

// dropBreakpoints takes the oldest cache_control out of the history that are too
// many beside those of the parameters, and returns how many.
func (r *Runner) dropBreakpoints() int {
	_ = r.system.set(r.Params.System) // newRequest has the error
	r.mu.Lock()
	defer r.mu.Unlock()
	h := &r.loop.history
	if h.breakpoints() == 0 {
		return 0
	}
	fixed := r.system.breakpoints + r.Params.breakpoints(r.loop.tools.first)
	dropped := h.dropBreakpoints(fixed + h.breakpoints() - maxBreakpoints)
	if dropped > 0 {
		r.loop.sequence++
	}
	return dropped
}

// request sends the history, and reads the reply, or the beginning of a stream.
func (r *Runner) request(ctx context.Context, turn *Turn, s step, streaming bool) error {
	req, err := r.prepare(ctx, s, turn, streaming)
	if err != nil {
		return err
	}
	service := r.service(req)
	if streaming {
		return r.requestStream(ctx, service, req, turn)
	}
	raw, err := r.requestPlain(ctx, service, req)
	switch {
	case err == nil:
		return turn.record(turn, raw)
	case req.attempts == 0 && r.isTooLong(service, req): // for the SDK to wait for it in one piece
		if err = r.requestStream(ctx, service, req, turn); err == nil {
			err = turn.finish()
		}
	}
	return err
}

// isTooLong reports whether the SDK refuses to send a request without streaming, as
// its reply may be that long.
func (r *Runner) isTooLong(service *anthropic.BetaMessageService, req *request) bool {
	options := slices.Concat(service.Options, r.Params.RequestOptions)
	_, err := anthropic.CalculateNonStreamingTimeout(int(req.params.MaxTokens), req.params.Model, options)
	return err != nil
}

// service returns the caller's service, for one request.
func (r *Runner) service(req *request) *anthropic.BetaMessageService {
	service := *r.messages
	service.Options = slices.Concat([]option.RequestOption{req.option()}, service.Options)
	return &service
}

// summarize asks for a summary of the history and puts it in its place. If there
// is none, the history stays.
func (r *Runner) summarize(ctx context.Context, s step) error {
	turn := &Turn{}
	begin := time.Now()
	fail := func(err error) error {
		r.lost()
		err = replyError(ctx, err)
		r.log.failure(ctx, turn.iteration, err)
		return err
	}
	req, err := r.prepare(ctx, s, turn, false)
	if err != nil {
		return fail(err)
	}
	raw, err := r.requestPlain(ctx, r.service(req), req)
	if err != nil {
		return fail(err)
	}
	r.mu.Lock()
	reply, err := r.read(req, raw)
	if err == nil {
		err = r.loop.summarized(reply)
	}
	r.mu.Unlock()
	if reply != nil {
		r.log.reply(ctx, turn.iteration, reply, time.Since(begin), req.response)
	}
	if errors.Is(err, errNoSummary) {
		r.log.noSummary(ctx, err)
		return nil
	}
	if err != nil {
		return fail(err)
	}
	r.logged = 0
	return nil
}

// read reads the reply to a request. It may be an error that came as a success.
func (r *Runner) read(req *request, raw []byte) (*reply, error) {
	reply, err := readReply(raw, r.loop.taken)
	if err != nil && stream.IsAPIError(raw) {
		return nil, stream.APIError(req.response, raw)
	}
	return reply, err
}

// requestPlain sends the request and returns the reply.
func (r *Runner) requestPlain(ctx context.Context, service *anthropic.BetaMessageService, req *request) ([]byte, error) {
	var raw []byte
	options := append(slices.Clip(r.Params.RequestOptions), option.WithResponseBodyInto(&raw))
	if _, err := service.New(ctx, req.params, options...); err != nil {
		return nil, req.describe(err)
	}
	return raw, nil
}

// requestStream sends the request and reads the stream up to its first event.
func (r *Runner) requestStream(ctx context.Context, service *anthropic.BetaMessageService, req *request, turn *Turn) error {
	var response *http.Response
	options := append(slices.Clip(r.Params.RequestOptions), option.WithResponseBodyInto(&response))
	if err := service.NewStreaming(ctx, req.params, options...).Err(); err != nil {
		return req.describe(err)
	}
	turn.stream = stream.NewReader(response)
	first, err := turn.next()
	if err != nil {
		if turn.reply != nil { // the server did not stream
			return nil
		}
		return err
	}
	turn.first = first
	if first.Type == stream.MessageStart && !turn.unseen {
		return turn.UnmarshalJSON(first.Message)
	}
	return nil
}

// lastReply is a reply that is decoded when somebody looks at it.
type lastReply struct {
	raw     []byte
	once    sync.Once // handlers may look at it
	message *anthropic.BetaMessage
}

// get returns the message. What has the form of a reply can be decoded: members
// of a type that the SDK does not expect are left out.
func (l *lastReply) get() *anthropic.BetaMessage {
	l.once.Do(func() {
		if l.message == nil {
			l.message = new(anthropic.BetaMessage)
		}
		*l.message = anthropic.BetaMessage{} // it may hold the beginning of a stream
		_ = l.message.UnmarshalJSON(l.raw)
	})
	return l.message
}

// receive takes a complete reply into the history and completes its turn.
func (r *Runner) receive(turn *Turn, raw []byte) (*reply, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	reply, err := r.read(turn.request, raw)
	if err != nil {
		return nil, err
	}
	last := &lastReply{message: turn.BetaMessage, raw: reply.raw}
	if !turn.unseen {
		last.get()
	}
	turn.reply = reply
	if turn.compacts {
		if r.loop.compacted(reply) {
			r.last, r.logged = last, 0
		}
		return reply, nil
	}
	r.loop.receive(reply)
	for _, call := range r.loop.open {
		if call.state != callUnrun && call.iteration == turn.iteration {
			turn.open = append(turn.open, call)
		}
	}
	if len(turn.open) > 0 {
		r.loop.choice = turn.forced
	}
	r.eager.prune()
	r.last = last
	return reply, nil
}

// parse parses the last reply, if its rule is to complete the run, into what its
// schema points to. That may be code of the caller, so no lock is held.
func (r *Runner) parse(rule stopRule) {
	r.output = nil
	if rule.after == endRun && rule.outcome == OutcomeCompleted {
		r.output = r.Params.parseOutput(r.last.get())
	}
}

// takeOutputError returns what parsing the final reply of a run that ended in o
// failed with, once.
func (r *Runner) takeOutputError(o Outcome) error {
	err := r.output
	r.output = nil
	if err == nil || o != OutcomeCompleted {
		return nil
	}
	return fmt.Errorf("toolrunner: %w", err)
}

// lost takes note that the request under way will have no reply.
func (r *Runner) lost() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.loop.fail()
}

// pause takes note that nobody loops over the run.
func (r *Runner) pause() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.loop.spent.pause(time.Now())
}

// left takes note that the loop body has broken off.
func (r *Runner) left() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.loop.leave(time.Now())
}

// replyError returns err as the caller reads it.
func replyError(ctx context.Context, err error) error {
	if ended := contextError(ctx); ended != nil {
		return ended
	}
	var reply *ReplyError
	var incomplete *IncompleteStreamError
	if errors.As(err, &reply) || errors.As(err, &incomplete) || errors.Is(err, ErrTurnOver) {
		return err
	}
	return fmt.Errorf("toolrunner: %w", err)
}
