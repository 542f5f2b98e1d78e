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

	"github.com/toolrunner/toolrunner/internal/history"
	"github.com/toolrunner/toolrunner/internal/machine"
	"github.com/toolrunner/toolrunner/internal/request"
	"github.com/toolrunner/toolrunner/internal/stream"
)

// Requests are sent and their replies received here.

// send sends the history and returns the turn that it begins.
func (r *Runner) send(ctx context.Context, s machine.Step, streaming bool) (turn *Turn, err error) {
	t := r.newTurn(ctx, s)
	if streaming && s.Kind == machine.Send && r.Params.EagerTools {
		r.eager = r.newEager(ctx)
	}
	defer r.end(t, &err)
	r.begin(s)
	err = r.request(ctx, t, s, streaming)
	if err != nil && t.err == nil {
		err = t.fail(err)
	}
	if err != nil {
		return nil, err
	}
	r.turn = t
	return t, nil
}

// newTurn returns the turn that a step begins.
func (r *Runner) newTurn(ctx context.Context, s machine.Step) *Turn {
	t := &Turn{runner: r, noBody: r.noBody, kind: s.Kind, began: time.Now()}
	if !t.noBody {
		t.BetaMessage = &anthropic.BetaMessage{}
	}
	t.record = func(raw []byte) error { return r.record(ctx, t, raw) }
	t.fail = func(err error) error {
		r.requestFailed(t.request == nil || t.request.Departed())
		err = replyError(ctx, r.tooLarge(t.request, err))
		r.log.Failure(ctx, t.iteration, err)
		r.traceRequest(ctx, t, nil, err)
		return err
	}
	return t
}

// begin takes note that the request of a step goes out.
func (r *Runner) begin(s machine.Step) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.machine.Begin(s)
}

// end, when it is deferred, ends what begin began if there is an error or a panic.
func (r *Runner) end(t *Turn, err *error) {
	value := recover()
	if value != nil || *err != nil {
		r.requestFailed(t.request.Departed())
	}
	if value != nil {
		panic(value)
	}
}

// requestFailed takes note that the request under way, if there is one, will have no
// reply. Code of the caller may have kept it from going out at all.
func (r *Runner) requestFailed(departed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if departed {
		r.machine.Failed()
	} else {
		r.machine.Unsent()
	}
}

// record takes the complete reply of a turn.
func (r *Runner) record(ctx context.Context, t *Turn, raw []byte) error {
	if t.kind == machine.Summarize {
		t.summary = raw
		return nil
	}
	reply, summary, err := r.receive(t, raw)
	if err != nil {
		return err
	}
	r.log.Reply(ctx, t.iteration, reply, time.Since(t.began), t.request.Response()) //nolint:bodyclose // who has read the reply has closed it
	r.traceRequest(ctx, t, reply, nil)
	switch {
	case t.kind == machine.Send:
		r.log.NotRun(ctx, t.iteration, reply)
		r.parse(history.RuleFor(anthropic.BetaStopReason(reply.StopReason)))
	case !summary:
		r.log.NoSummary(ctx, machine.ErrNoSummary)
	default:
		r.trace.Event(ctx, "compaction")
	}
	return nil
}

// prepare puts the next request together.
func (r *Runner) prepare(ctx context.Context, s machine.Step, turn *Turn, streaming bool) (*request.Request, error) {
	in := r.Params.input(s)
	in.Definitions, in.System = r.tools, &r.system
	head, err := in.Head()
	if err != nil {
		return nil, err
	}
	threads := s.Kind != machine.Summarize && r.hasThreads(ctx)
	r.mu.Lock()
	r.machine.SetOthers(head.Given())
	if threads {
		in.Thread = r.thread(head)
	}
	dropped := r.machine.BoundBreakpoints(in.Thread.Kept, maxBreakpoints-head.Breakpoints(&in.Params))
	in.Messages, in.Container = r.machine.Messages(), r.machine.Container(time.Now())
	if forced := r.machine.Forced(); forced != nil {
		in.DropToolChoice = forced == r.Params.forced() && !r.Params.KeepToolChoice
	}
	turn.iteration = r.machine.Iteration()
	sent := len(in.Messages)
	if s.Kind == machine.Summarize {
		in.Messages = r.machine.WithPrompt(r.Params.AutoCompact.Client.prompt())
	}
	r.mu.Unlock()
	if s.Kind == machine.Send {
		turn.iteration++
	}
	req, err := request.New(in, head)
	if err != nil {
		return nil, err
	}
	turn.request, turn.forced, req.MaxResponse = req, r.Params.forced(), r.Params.Limits.replyBytes()
	if dropped > 0 {
		r.log.Dropped(ctx, dropped)
	}
	r.watch(ctx, req, turn, s.Kind, streaming, in.Messages[min(r.logged, len(in.Messages)):])
	r.logged = sent
	return req, nil
}

// watch has a request record what becomes of it.
func (r *Runner) watch(ctx context.Context, req *request.Request, turn *Turn, kind machine.StepKind, streaming bool, fresh []history.Message) {
	req.OnRetry = func(before *http.Response) {
		r.log.Attempt(ctx, turn.iteration, req.Attempts(), before)
		r.traceRetry(ctx, turn.iteration, req.Attempts(), before)
	}
	r.log.Hide(ctx, req)
	req.OnRejected = func(response *http.Response) { r.log.Rejected(ctx, turn.iteration, req.Attempts(), response) }
	traced := r.traceResponses(ctx, req)
	req.OnBegin = func(sent *http.Request) {
		r.log.Request(ctx, turn.iteration, req, streaming, fresh)
		traced(sent, turn.iteration, kind)
	}
}

// maxBreakpoints is how many cache_control the API takes in a request.
const maxBreakpoints = 4

// request sends the history, and reads the reply, or the beginning of a stream.
func (r *Runner) request(ctx context.Context, turn *Turn, s machine.Step, streaming bool) error {
	for {
		req, err := r.prepare(ctx, s, turn, streaming)
		if err != nil {
			return err
		}
		err = r.exchange(ctx, req, turn, streaming)
		if err == nil || !r.recovers(ctx, turn, err) {
			return err
		}
	}
}

// exchange sends a request, and reads the reply, or the beginning of a stream.
func (r *Runner) exchange(ctx context.Context, req *request.Request, turn *Turn, streaming bool) error {
	if streaming {
		return r.requestStream(ctx, req, turn)
	}
	raw, err := r.requestPlain(ctx, req)
	switch {
	case err == nil:
		return turn.record(raw)
	case req.Attempts() == 0 && r.isTooLong(req): // for the SDK to wait for it in one piece
		if err = r.requestStream(ctx, req, turn); err == nil {
			err = turn.finish()
		}
	}
	return err
}

// tooLarge returns the error of a response that was cut off for its size, or err.
func (r *Runner) tooLarge(req *request.Request, err error) error {
	if req == nil || !req.TooLarge() {
		return err
	}
	return &ReplyError{Reason: fmt.Sprintf("it has more than %d bytes; if it is to be that long, raise Limits.ReplyBytes", req.MaxResponse)}
}

// isTooLong reports whether the SDK refuses to send a request without streaming, as
// its reply may be that long.
func (r *Runner) isTooLong(req *request.Request) bool {
	options := slices.Concat(r.service(req).Options, r.Params.RequestOptions)
	_, err := anthropic.CalculateNonStreamingTimeout(int(req.Params.MaxTokens), req.Params.Model, options)
	return err != nil
}

// service returns the caller's service, for one request.
func (r *Runner) service(req *request.Request) *anthropic.BetaMessageService {
	service := *r.messages
	service.Options = slices.Concat([]option.RequestOption{req.Option()}, service.Options, r.traceOptions())
	return &service
}

// summarize asks for a summary of the history and puts it in its place. If there is
// none, the history stays.
func (r *Runner) summarize(ctx context.Context, s machine.Step) (err error) {
	turn := r.newTurn(ctx, s)
	defer r.end(turn, &err)
	r.begin(s)
	err = r.request(ctx, turn, s, false)
	if err == nil {
		err = r.takeSummary(ctx, turn)
	}
	if err != nil && turn.err == nil {
		err = turn.fail(err)
	}
	return err
}

// takeSummary puts the summary in a reply in the place of the history.
func (r *Runner) takeSummary(ctx context.Context, turn *Turn) error {
	r.mu.Lock()
	reply, err := r.read(turn.request, turn.summary)
	if err == nil {
		err = r.machine.Summarized(reply)
	}
	r.mu.Unlock()
	if reply != nil {
		r.traceRequest(ctx, turn, reply, nil)
		r.log.Reply(ctx, turn.iteration, reply, time.Since(turn.began), turn.request.Response()) //nolint:bodyclose // who has read the reply has closed it
	}
	switch {
	case errors.Is(err, machine.ErrNoSummary):
		r.log.NoSummary(ctx, err)
		return nil
	case err == nil:
		r.logged = 0
		r.trace.Event(ctx, "compaction")
	}
	return err
}

// read reads the reply to a request. It may be an error that came as a success. The
// lock is held.
func (r *Runner) read(req *request.Request, raw []byte) (*history.Reply, error) {
	place := r.machine.Place()
	place.Unsigned = r.unsigned
	reply, err := history.ReadReply(raw, place)
	if err != nil && stream.IsAPIError(raw) {
		return nil, stream.APIError(req.Response(), raw) //nolint:bodyclose // who has read the reply has closed it
	}
	return reply, publicError(err)
}

// requestPlain sends the request and returns the reply.
func (r *Runner) requestPlain(ctx context.Context, req *request.Request) ([]byte, error) {
	var raw []byte
	options := append(slices.Clip(r.Params.RequestOptions), option.WithResponseBodyInto(&raw), req.Departure())
	if _, err := r.service(req).New(ctx, req.Params, options...); err != nil {
		return nil, req.Describe(err)
	}
	return raw, r.tooLarge(req, nil)
}

// requestStream sends the request and reads the stream up to its first event.
func (r *Runner) requestStream(ctx context.Context, req *request.Request, turn *Turn) error {
	var response *http.Response
	options := append(slices.Clip(r.Params.RequestOptions), option.WithResponseBodyInto(&response), req.Departure())
	if err := r.service(req).NewStreaming(ctx, req.Params, options...).Err(); err != nil {
		return req.Describe(err)
	}
	turn.stream = stream.NewReader(response)
	first, err := turn.next()
	if err != nil {
		if turn.reply != nil || turn.summary != nil { // the server did not stream
			return nil
		}
		return err
	}
	turn.first = first
	if first.Type == stream.MessageStart && !turn.noBody {
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

// get returns the message. What has the form of a reply can be decoded: members of a
// type that the SDK does not expect are left out.
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

// receive takes a complete reply into the history and completes its turn. It reports
// whether the reply to a compaction has a summary.
func (r *Runner) receive(turn *Turn, raw []byte) (reply *history.Reply, summary bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.machine.Answered()
	reply, err = r.read(turn.request, raw)
	if err != nil {
		return nil, false, err
	}
	last := &lastReply{message: turn.BetaMessage, raw: reply.Raw}
	if !turn.noBody {
		last.get()
	}
	turn.reply = reply
	if turn.kind == machine.Compact {
		if summary = r.machine.Compacted(reply); summary {
			r.last, r.logged = last, 0
		}
		return reply, summary, nil
	}
	if isOver(reply.Until) { // by a clock that is wrong, or in a recording
		reply.Until = ""
	}
	r.machine.Received(reply, turn.forced)
	turn.open = r.machine.TurnCalls(turn.iteration)
	r.eager.prune()
	r.last = last
	return reply, false, nil
}

// isOver reports whether a time has come that the API has named.
func isOver(text string) bool {
	until, err := time.Parse(time.RFC3339, text)
	return err == nil && !time.Now().Before(until)
}

// parse parses the last reply, if its rule is to complete the run, into what its
// schema points to. That may be code of the caller, so no lock is held.
func (r *Runner) parse(rule history.Rule) {
	r.output = nil
	if rule.After == history.EndRun && rule.Outcome == history.OutcomeCompleted {
		r.output = r.Params.parseOutput(r.last.get())
	}
}

// takeOutputError returns what parsing the final reply of a run that ended in o failed
// with, once.
func (r *Runner) takeOutputError(o Outcome) error {
	err := r.output
	r.output = nil
	if err == nil || o != OutcomeCompleted {
		return nil
	}
	return fmt.Errorf("toolrunner: %w", err)
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
