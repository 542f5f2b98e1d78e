package toolrunner

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner/internal/history"
	"github.com/toolrunner/toolrunner/internal/wire"
)

// check checks what must hold whenever the caller has control.
func (d *drive) check() error {
	for i, was := range d.kept {
		if is := d.loop.history.Messages[i].Raw; !bytes.Equal(is, was) {
			return fmt.Errorf("message %d of the history changed from %s to %s", i, was, is)
		}
	}
	for _, m := range d.loop.history.Messages[len(d.kept):] {
		d.kept = append(d.kept, bytes.Clone(m.Raw))
	}
	if err := d.checkSnapshot(); err != nil {
		return err
	}
	before := d.state()
	view := d.loop.view()
	shown := history.Params(view)
	for i, m := range view {
		if again, err := history.EncodeParam(shown[i]); err != nil || !wire.Same(again, m.Raw) {
			return fmt.Errorf("message %s is shown as %s (%w)", m.Raw, again, err)
		}
		if again, err := json.Marshal(shown[i]); err != nil || !wire.Same(again, m.Raw) {
			return fmt.Errorf("message %s is encoded by the SDK as %s (%w)", m.Raw, again, err)
		}
	}
	if after := d.state(); after != before {
		return fmt.Errorf("looking at the messages changed the loop from\n%s\nto\n%s", before, after)
	}
	return d.checkContinuation(shown)
}

// checkContinuation checks that a conversation that begins with messages can go on.
func (d *drive) checkContinuation(messages []anthropic.BetaMessageParam) error {
	l, err := newLoop(fuzzTools(), messages)
	if err != nil {
		return fmt.Errorf("the history cannot be continued: %w\n%s", err, encodeAll(messages))
	}
	if d.loop.held() && len(d.loop.open) > 0 {
		return nil // that the turn was paused cannot be seen from outside
	}
	s := l.step(limits{})
	if s.kind == stepRun {
		for _, call := range s.calls {
			if why := d.settled[call.use.ID]; why != "" {
				return fmt.Errorf("a continued conversation runs call %q again: it %s", call.use.ID, why)
			}
			if first := d.loop.openCall(call.use.ID); first != nil && (first.state == callSuspended || first.decision.kind == allowInput) {
				return fmt.Errorf("a continued conversation runs call %q, which nobody has allowed as it is", call.use.ID)
			}
			l.answer(call, TextResult("").encode(call.use), nil)
		}
		s = l.step(limits{})
	}
	if s.kind != stepSend {
		return fmt.Errorf("a continued conversation takes step %d", s.kind)
	}
	if err := d.checkRequest(l); err != nil {
		return fmt.Errorf("continued: %w", err)
	}
	return nil
}

// checkDecided checks that a call which is handed out may be, with its input.
func (d *drive) checkDecided(call *openCall) error {
	want := call.use.Written()
	switch {
	case d.waiting[call]:
		return fmt.Errorf("call %q is handed out while it waits for a decision", call.use.ID)
	case call.decided && call.decision.kind == allowInput:
		want = call.decision.input
	}
	if got := call.public().Input; string(got) != string(want) {
		return fmt.Errorf("call %q is handed out with the input %s, want %s", call.use.ID, got, want)
	}
	return nil
}

// checkNobodyWaits checks that what goes out answers no call in place of who is to
// decide on it.
func (d *drive) checkNobodyWaits() error {
	for call := range d.waiting {
		if call.state == callSuspended {
			return fmt.Errorf("a request goes out while call %q waits for a decision", call.use.ID)
		}
	}
	return nil
}
