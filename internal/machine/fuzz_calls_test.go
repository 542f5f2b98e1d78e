package machine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/toolrunner/toolrunner/internal/history"
)

// key tells calls apart: by what the model asked for.
func key(use history.Use) string { return use.ID + " " + use.Name + " " + string(use.Input) }

// runCalls does with the calls what handlers and cancels may do.
func (d *drive) runCalls(calls []*Call) error {
	if len(calls) == 0 {
		return errors.New("there is nothing to run")
	}
	d.m.ComeToCalls()
	for _, call := range calls {
		if err := d.checkHandedOut(call); err != nil {
			return err
		}
	}
	for _, call := range calls {
		switch d.script.below(7) {
		case 6: // the state before the call could not be saved
			if d.m.Start(call, true) {
				d.note("take back %s", call.use.ID)
				d.m.TakeBack(call)
			}
			return nil
		case 5: // cancelled before it began
			d.note("hold %s", call.use.ID)
			return nil
		case 1:
			d.note("lose %s", call.use.ID)
			d.start(call, call.use.Name == "pure")
			continue
		case 2:
			d.start(call, false)
			if err := d.follow(); err != nil {
				return err
			}
		case 3:
			d.start(call, true)
			d.changeTools()
		case 4: // by an approver, or by another goroutine
			if err := d.decideOnOne(calls); err != nil {
				return err
			}
		}
		if call.state == suspended || call.state == answered {
			continue
		}
		d.start(call, false)
		if err := d.setResult(call); err != nil {
			return err
		}
	}
	return nil
}

// start starts a call, if it may start.
func (d *drive) start(call *Call, repeats bool) {
	if d.m.Start(call, repeats) && !repeats {
		d.settled[key(call.use)] = "has started and is not read-only"
	}
}

// setResult gives a call its result: the first one counts, unless the body amends it.
func (d *drive) setResult(call *Call) error {
	d.note("answer %s", call.use.ID)
	first := d.script.result(call.use)
	d.m.SetResult(call, first, nil)
	d.m.SetResult(call, []byte(`{}`), errors.New("late"))
	d.settled[key(call.use)] = "was answered"
	if got, cause := d.m.Result(call); !bytes.Equal(got, first) || cause != nil {
		return fmt.Errorf("the result of call %q is %s (%w), want the first one, %s", call.use.ID, got, cause, first)
	}
	if d.script.below(5) == 4 {
		block := history.ResultBlock(call.use, "amended", false)
		d.note("amend %s", call.use.ID)
		if d.m.Amend(call, block); !bytes.Equal(call.block, block) {
			return fmt.Errorf("the result of call %q was amended and is %s", call.use.ID, call.block)
		}
	}
	return nil
}

// checkHandedOut checks that a call may be handed out, with its input.
func (d *drive) checkHandedOut(call *Call) error {
	id := call.use.ID
	if why := d.settled[key(call.use)]; why != "" {
		return fmt.Errorf("call %q is handed out again: it %s", id, why)
	}
	if first := d.calls[key(call.use)]; first != nil && first != call {
		return fmt.Errorf("two calls have the id %q", id)
	}
	d.calls[key(call.use)] = call
	if !d.m.Owns(call) || !d.m.IsOpen(call) || d.m.Find(id) != call {
		return fmt.Errorf("call %q is handed out, and is none of the machine's", id)
	}
	if d.waiting[call] {
		return fmt.Errorf("call %q is handed out while it waits for a decision", id)
	}
	want := call.use.Written()
	if call.decided && call.decision.Kind == AllowInput {
		want = call.decision.Input
	}
	if got, _ := call.Input(); !bytes.Equal(got, want) || !json.Valid(got) || got[0] != '{' {
		return fmt.Errorf("call %q is handed out with the input %s, want %s", id, got, want)
	}
	return nil
}
