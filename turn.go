package toolrunner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner/internal/history"
	"github.com/toolrunner/toolrunner/internal/machine"
	"github.com/toolrunner/toolrunner/internal/request"
	"github.com/toolrunner/toolrunner/internal/stream"
)

// Turn is a request and its reply. It is not safe for concurrent use. After the loop body,
// Text, Calls, ToParam and the embedded message still work; the other methods return
// [ErrTurnOver].
//
// The embedded message is decoded for the caller: changing it changes neither the history
// nor which calls run. Under [Runner.AllStreaming] it has what message_start had until the
// reply is complete. Text, Calls and ToParam read the rest of the reply first, unless they
// are called within a loop over Events. Results always does.
type Turn struct {
	*anthropic.BetaMessage

	runner    *Runner
	kind      machine.StepKind // what the request asked for
	request   *request.Request
	forced    any // the tool choice that forced a call when the request went out
	iteration int
	began     time.Time
	record    func(raw []byte) error // takes the complete reply
	fail      func(error) error      // takes note that there will be none, and returns the error as the caller reads it
	reply     *history.Reply         // nil until the reply is complete
	summary   []byte                 // the reply to the runner's own request for one
	open      []*machine.Call        // that the runner answers
	calls     []*Call                // the same, once somebody has asked for them
	results   []*Result              // that the body has, and may change
	exposed   []exposed              // the same, as they were
	stream    *stream.Reader         // nil if the reply came at once
	first     *stream.Event          // read before the body began
	err       error                  // what reading the reply failed with
	reading   bool                   // a loop over Events has control
	seen      bool                   // a loop over Events has the blocks of a reply that was not streamed
	over      bool
	noBody    bool // no loop body sees the turn
}

// Iteration returns the number of the turn in its run, from 1. A turn that compacts
// does not count: it has the number of the turn before it, or 0.
func (t *Turn) Iteration() int { return t.iteration }

// Text returns the text of the reply: that of its text blocks, joined. Within a
// loop over Events it is the text so far.
func (t *Turn) Text() string {
	t.read()
	if t.reply == nil && t.stream != nil {
		return t.stream.Text()
	}
	return Text(t.BetaMessage)
}

// Calls returns the calls of client tools that the runner answers, in the order of
// the model. There are none unless the reply stopped for them: those of a reply
// that was cut off or refused are never run. The returned calls are copies, which
// the caller may modify and retain.
func (t *Turn) Calls() []*Call {
	t.read()
	if t.calls == nil && len(t.open) > 0 {
		t.runner.mu.Lock()
		defer t.runner.mu.Unlock()
		t.calls = t.runner.publicAll(t.open)
	}
	return t.calls
}

// ToParam returns the reply as a message to send: its blocks are raw JSON, just as
// they came, so look into Content instead to read them. Only what the API would
// not take back is left out or changed, as in the history. The input of a call that was
// cut off, or is no JSON object, becomes {"INVALID_JSON": "..."}: no runner runs a call
// with such an input. Before the reply is complete, and when its stream failed, it
// is without content.
func (t *Turn) ToParam() anthropic.BetaMessageParam {
	t.read()
	p := &anthropic.BetaAssistantMessageParam{Content: []anthropic.BetaContentBlockParamUnion{}}
	if t.reply != nil {
		m := t.reply.Elsewhere(history.RuleFor(anthropic.BetaStopReason(t.reply.StopReason)))
		p.Content = m.RawBlocks()
	}
	return anthropic.BetaMessageParam{OfAssistant: p}
}

// Events returns the events of the reply's stream as they arrive. It is single use:
// what one loop has read, no other sees. Breaking off does not end the run: the
// runner reads the rest of the reply before tools run. If the stream fails, the
// last pair has the error, and the run ends with the same one unless the body takes
// over.
//
// There are no events for a reply that was not asked for as a stream, as under
// [Runner.All]. If the server does not stream a reply that was, each of its blocks is a
// content_block_start that holds all of it. After the loop body, the only pair holds
// [ErrTurnOver].
func (t *Turn) Events() iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		if t.over {
			yield(Event{}, ErrTurnOver)
			return
		}
		defer func(before bool) { t.reading = before }(t.reading)
		t.reading = true
		for i, block := range t.unstreamed() {
			if !yield(wholeEvent(i, block), nil) {
				return
			}
		}
		for {
			_, err := t.next()
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(Event{}, err)
				return
			}
			if !yield(lastEvent(t.stream), nil) {
				return
			}
		}
	}
}

// unstreamed returns the blocks of a reply that the server did not stream though it was
// asked to, the first time.
func (t *Turn) unstreamed() []history.Block {
	if t.stream == nil || t.reply == nil || t.seen || !t.stream.IsWhole() {
		return nil
	}
	t.seen = true
	blocks, _ := t.reply.Message.Blocks() // they were read before
	return blocks
}

// next returns the next event. The one error after which the reply is there is
// io.EOF.
func (t *Turn) next() (*stream.Event, error) {
	if e := t.first; e != nil {
		t.first = nil
		return e, nil
	}
	if t.stream == nil || t.err != nil {
		return nil, cmp.Or(t.err, io.EOF)
	}
	if !t.stream.Ended() {
		t.runner.eager.handled(t.stream)
	}
	e, err := t.stream.Next()
	if err == nil && e.Type == stream.MessageStart {
		t.runner.answered()
	}
	if err == nil || t.reply != nil {
		return e, err
	}
	if errors.Is(err, io.EOF) {
		var raw []byte
		if raw, err = t.stream.Message(); err == nil {
			err = t.record(raw)
		}
	}
	if err != nil {
		t.err = t.fail(streamError(err))
		return nil, t.err
	}
	return nil, io.EOF
}

// read reads the rest of the reply, unless a loop over Events does.
func (t *Turn) read() {
	if !t.reading {
		_ = t.finish() // the run ends with the error
	}
}

// finish reads the rest of the reply and returns what it failed with.
func (t *Turn) finish() error {
	for !t.over {
		if _, err := t.next(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
	return nil
}

// Results runs the calls of the turn, each once, and returns their results in the order
// of Calls, those of calls that ran earlier included. The caller may modify the slice
// and the results: when the loop body returns, or takes over, the runner sends the
// elements as they are then. A nil element stands for the original result. Another call
// in the same body returns the same slice. It is empty for a reply without calls, and
// after a takeover. Err of a failed result is the private cause, or what its text says.
//
// If ctx ends, the runner retains the results of the calls that have finished, and
// the error says why ctx ended. If calls wait for a decision, the others have run
// and the error is a *[SuspendedError]; after [Runner.Decide], call Results again
// to run the rest. It returns [ErrTurnOver] after the loop body, and an error if
// Params make no sense.
func (t *Turn) Results(ctx context.Context) ([]*Result, error) {
	if t.over {
		return nil, ErrTurnOver
	}
	if err := t.finish(); err != nil {
		return nil, err
	}
	if t.results != nil {
		return t.results, nil
	}
	if len(t.open) == 0 {
		return nil, nil
	}
	err := t.runner.results(ctx, t)
	return t.results, err
}

// Defer prevents Params.EagerTools from starting a call while its reply streams. The call
// runs after the body returns, or in Results. A call starts when the body asks for another
// event after the one that shows that the model has moved on: the start of the next block,
// or the end of the reply. Until then Defer is in time. Without eager calls it has no
// effect.
//
// Defer returns [ErrTurnOver] after the loop body, and an error for a call that the reply
// does not make so far, or that has started.
func (t *Turn) Defer(callID string) error {
	if t.over {
		return ErrTurnOver
	}
	if !t.makes(callID) {
		return fmt.Errorf("toolrunner: cannot defer call %q: the reply has no such call so far", callID)
	}
	if !t.runner.holdBack(callID) {
		return fmt.Errorf("toolrunner: cannot defer call %q: it has started", callID)
	}
	return nil
}

// makes reports whether the reply, as far as it is there, makes the call of an id.
func (t *Turn) makes(callID string) bool {
	if errors.Is(t.err, io.EOF) { // it was taken over
		return false
	}
	if t.stream != nil && t.stream.HasCall(callID) {
		return true
	}
	return t.reply != nil && slices.ContainsFunc(t.reply.Message.Calls, func(use history.Use) bool { return use.ID == callID })
}

// Retry takes over: it discards the reply and sends the same history again, with Params as
// they are then and with follow-ups of the body. No tool runs for the reply, whatever its
// stop reason. A reply that still streams is closed; a failed stream does not end the run.
// The turn counts for Params.MaxIterations.
//
// Retry returns [ErrTurnOver] after the loop body, and an error for the reply to a
// compaction.
func (t *Turn) Retry() error {
	if t.over {
		return ErrTurnOver
	}
	return t.takeOver((*machine.Machine).Retry)
}

// Replace takes over: it puts messages in place of the reply and its results, and the loop
// goes on, whatever the stop reason. If messages end in calls, the runner answers those
// first; a call of the reply that has run keeps its result. A reply that still streams is
// closed. The turn counts for Params.MaxIterations. Follow-ups of the body come after
// messages.
//
// Replace returns [ErrTurnOver] after the loop body, a *[HistoryError] for messages that
// the API would refuse, and an error if there are none or for the reply to a compaction.
// Nothing has then changed.
func (t *Turn) Replace(messages ...anthropic.BetaMessageParam) error {
	if t.over {
		return ErrTurnOver
	}
	drafts, err := history.EncodeAll(messages, nil, t.runner.unsigned)
	if err != nil {
		return publicError(err)
	}
	return t.takeOver(func(m *machine.Machine, lost bool) error {
		if err := history.CheckReferences(drafts, t.runner.defines); err != nil {
			return err
		}
		return m.Replace(drafts, lost)
	})
}

// takeOver changes the history. What the body has made of results counts, should their
// calls come back.
func (t *Turn) takeOver(change func(m *machine.Machine, lost bool) error) (err error) {
	r := t.runner
	defer r.traceTakeover(&err)
	r.amend(t)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := change(r.machine, t.isLost()); err != nil {
		return publicError(err)
	}
	t.drop()
	return nil
}

// isLost reports whether the stream of the turn has failed. Such a turn counts when it
// is taken over: otherwise nothing would bound its retries.
func (t *Turn) isLost() bool { return t.reply == nil && t.err != nil && !errors.Is(t.err, io.EOF) }

// drop leaves nothing of the turn to be read, or to be run. The lock is held.
func (t *Turn) drop() {
	if t.stream != nil {
		t.stream.Abandon()
	}
	t.first, t.err, t.open, t.calls, t.results, t.exposed = nil, io.EOF, nil, nil, nil, nil
	t.runner.eager.takenOver()
}

// stop ends the turn where the loop body broke off. A reply that is complete
// stays; of one that is not, nothing does.
func (t *Turn) stop() {
	if s := t.stream; s != nil && t.reply == nil && t.err == nil {
		if s.Complete() {
			s.Finish()
			_, _ = t.next()
		} else {
			s.Abandon()
			t.runner.requestFailed(true)
			t.err = ErrTurnOver
		}
	}
	t.over = true
}

// Format writes a summary: what a turn refers to may be secret.
func (t *Turn) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "toolrunner.Turn{Iteration: %d, ID: %q, StopReason: %q, ...}", t.iteration, t.ID, t.StopReason)
}

// Text returns the text of a message: that of its text blocks, joined. It is
// empty for a reply without any, and for nil.
func Text(message *anthropic.BetaMessage) string {
	if message == nil {
		return ""
	}
	var text strings.Builder
	for i := range message.Content {
		if message.Content[i].Type == history.TypeText {
			text.WriteString(message.Content[i].Text)
		}
	}
	return text.String()
}
