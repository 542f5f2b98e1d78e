package machine

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner/internal/history"
)

// exchange begins a step that sends, checks the request, and ends it in one of the
// ways that there are.
func (d *drive) exchange(s Step) error {
	d.m.Begin(s)
	if err := d.checkUnderWay(s.Kind); err != nil {
		return err
	}
	if err := checkRequest(d.m); err != nil {
		return err
	}
	if err := d.checkPrefix(); err != nil {
		return err
	}
	if err := d.checkNobodyWaits(); err != nil {
		return err
	}
	for d.script.below(4) == 3 {
		if err := d.follow(); err != nil {
			return err
		}
	}
	if s.Kind == Send && d.script.below(4) == 3 {
		if err := d.streamCalls(); err != nil {
			return err
		}
	}
	if err := d.checkUnderWay(s.Kind); err != nil {
		return err
	}
	if err := d.finish(s); err != nil {
		return err
	}
	return d.checkEnded()
}

// finish ends an exchange.
func (d *drive) finish(s Step) error {
	switch way := d.script.below(8); {
	case way == 7:
		d.note("fail")
		d.m.Failed()
		return nil
	case way == 6 && s.Kind == Send:
		if err := d.takeOver(); err != nil || d.m.exchange.kind == End {
			return err
		}
	case way == 6:
		for _, err := range []error{d.m.Retry(false), d.m.Replace(nil, false), d.m.SetMessages(nil, false)} {
			if !errors.Is(err, ErrCompacting) {
				return fmt.Errorf("a takeover while the history is compacted: %w, want ErrCompacting", err)
			}
		}
	}
	if s.Kind == Send {
		d.script.pending = slices.Clone(d.m.s.history.Waiting())
		return d.receive(d.script.replyBody())
	}
	return d.receiveSummary(s)
}

// checkUnderWay checks that what Begin began has not ended.
func (d *drive) checkUnderWay(kind StepKind) error {
	if got := d.m.exchange.kind; got != kind || d.m.Finished() {
		return fmt.Errorf("exchange %d is under way (finished: %v), want %d", got, d.m.Finished(), kind)
	}
	return nil
}

// checkEnded checks that no exchange is under way, and that ending it once more
// changes nothing.
func (d *drive) checkEnded() error {
	if kind := d.m.exchange.kind; kind != End || len(d.m.streaming) > 0 {
		return fmt.Errorf("exchange %d has not ended, and %d calls stream", kind, len(d.m.streaming))
	}
	before := d.state()
	if d.m.Failed(); d.state() != before {
		return fmt.Errorf("a failure after the end changed the machine from\n%s\nto\n%s", before, d.state())
	}
	return nil
}

func (d *drive) receive(body []byte) error {
	d.note("receive %s", body)
	r, err := history.ReadReply(body, d.m.Place())
	if refused := (*history.ReplyError)(nil); errors.As(err, &refused) {
		d.note("%v", err)
		d.m.Failed()
		return nil
	} else if err != nil {
		return err
	}
	for k := range d.settled { // the API makes ids once; those of this script are free again after a takeover
		if !slices.ContainsFunc(d.known(), func(c *Call) bool { return key(c.use) == k && c.state > waiting }) {
			delete(d.settled, k)
		}
	}
	discarded := slices.Clone(d.m.s.discarded)
	before := d.m.Iteration()
	d.m.Received(r, nil)
	for _, call := range discarded {
		if !d.m.Owns(call) {
			delete(d.settled, key(call.use))
		}
	}
	if d.m.Iteration() != before+1 {
		return fmt.Errorf("reply %d has iteration %d", before+1, d.m.Iteration())
	}
	if raw, _ := d.m.LastReply(); string(raw) != string(r.Raw) {
		return fmt.Errorf("the last reply is %s, want %s", raw, r.Raw)
	}
	for _, call := range d.m.TurnCalls(before + 1) {
		if !d.m.IsOpen(call) {
			return fmt.Errorf("call %q is one of the turn, and not open", call.use.ID)
		}
	}
	d.body = true
	return nil
}

// receiveSummary gives the machine the reply to a compaction, with a summary or without.
func (d *drive) receiveSummary(s Step) error {
	blocks := `{"type":"text","text":"all of it"}`
	reason := "end_turn"
	if s.Kind == Compact {
		blocks = `{"type":"compaction","content":"all of it"}`
		reason = "compaction"
	}
	want := d.script.below(3) > 0
	if !want {
		blocks = oneOf(d.script.entropy, `{"type":"text","text":" "}`, `{"type":"compaction","content":null}`)
	}
	r := readReply(d.tb, d.m, blocks, reason)
	known := d.known()
	got := false
	if s.Kind == Compact {
		got = d.m.Compacted(r)
		d.note("compacted %s: %v", blocks, got)
		if err := d.m.Retry(false); !errors.Is(err, ErrCompacting) {
			return fmt.Errorf("a takeover while the body has a compaction: %w, want ErrCompacting", err)
		}
		d.m.Enter(now)
	} else {
		err := d.m.Summarized(r)
		d.note("summarized %s: %v", blocks, err)
		if got = err == nil; err != nil && !errors.Is(err, ErrNoSummary) {
			return err
		}
	}
	if got != want {
		return fmt.Errorf("%s has a summary: %v, want %v", blocks, got, want)
	}
	if got {
		d.replaced(known)
		for _, m := range d.m.Messages()[1:] { // what the model has not answered stays
			if m.Role != history.RoleSystem {
				return fmt.Errorf("a summary leaves a message of the %s, want itself alone: %s", m.Role, m.Raw)
			}
		}
	}
	return nil
}

// known returns the calls that the machine knows something about.
func (d *drive) known() []*Call { return slices.Concat(d.m.s.open, d.m.streaming, d.m.s.discarded) }

// streamCalls has calls of the reply under way run before it is complete. They have
// returned, or were abandoned, when it is.
func (d *drive) streamCalls() error {
	for range 1 + d.script.below(2) {
		raw := d.script.callBlock(d.script.callID(), "")
		b, err := history.ParseBlock([]byte(raw))
		if err != nil {
			return err
		}
		call := d.m.Expect(&b)
		d.note("stream %s: %v", raw, call != nil)
		if call == nil {
			continue
		}
		if again := d.m.Expect(&b); again != nil || !d.m.Owns(call) || d.m.IsOpen(call) {
			return fmt.Errorf("call %q streams, and is expected again, not owned, or open", call.use.ID)
		}
		repeats := call.use.Name == "pure"
		if !d.m.Start(call, repeats) || !d.m.IsRunning(call) || !d.m.HasStarted(call.use.ID) {
			return fmt.Errorf("call %q streams, and cannot start", call.use.ID)
		}
		if d.m.Start(call, repeats) {
			return fmt.Errorf("call %q starts twice", call.use.ID)
		}
		d.m.Returned(call)
		if d.script.below(2) == 0 {
			d.m.SetResult(call, d.script.result(call.use), nil)
		}
	}
	return nil
}

// takeOver replaces the last reply, or all messages.
func (d *drive) takeOver() error {
	before, known := d.state(), d.known()
	iteration, way := d.m.Iteration(), d.script.below(4)
	sending := d.m.exchange.kind == Send
	if !d.body && !sending {
		way = 2 + way%2 // there is no reply to drop
	}
	var messages []anthropic.BetaMessageParam
	var err error
	switch way {
	case 0:
		err = d.m.Retry(false)
	case 3: // what the caller was shown
		messages = d.shown()
	default:
		messages = slices.DeleteFunc(d.script.followUp(d.m.Open()), func(m anthropic.BetaMessageParam) bool {
			return strings.Contains(encodeAll([]anthropic.BetaMessageParam{m}), `"role":"system"`) // where it goes is up to the caller
		})
	}
	if way != 0 {
		var drafts []history.Draft
		drafts, err = history.EncodeAll(messages, nil, false)
		switch {
		case err != nil:
		case way == 1:
			err = d.m.Replace(drafts, false)
		default:
			err = d.m.SetMessages(drafts, false)
		}
	}
	d.note("take over %d %s: %v", way, encodeAll(messages), err)
	if err != nil {
		return d.refused(before, err)
	}
	d.replaced(known)
	if want := iteration; sending {
		want++
		if d.m.Iteration() != want {
			return fmt.Errorf("the lost reply is not counted: %d, want %d", d.m.Iteration(), want)
		}
	}
	if len(d.m.streaming) > 0 || d.m.exchange.kind != End {
		return errors.New("the takeover leaves an exchange under way")
	}
	return nil
}
