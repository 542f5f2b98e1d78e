package toolrunner

import (
	"errors"
	"fmt"
)

// decideOnOne makes a decision on one of the calls, which counts if it is the first
// one on a call that has not started.
func (d *drive) decideOnOne(calls []*openCall) error {
	if len(calls) == 0 {
		return nil
	}
	call := calls[d.script.below(len(calls))]
	decision := oneOf(d.script.entropy, Suspend(), Allow(), Deny("no"), AllowInput([]byte(`{"n":1}`)), Suspend().For(call.public()),
		Allow().For(&Call{Name: call.use.Name, Input: []byte(`{"of":"another call"}`)}), AllowInput([]byte(`[]`)))
	fits := decision.check(call.use) == nil
	open := (call.state == callWaiting || call.state == callSuspended) && !call.decided
	before := d.state()
	err := d.loop.decide(call, decision)
	d.note("decide %v on %s: %v", decision, call.use.ID, err)
	if (err == nil) != (fits && open) {
		return fmt.Errorf("the decision %v on call %q: %w, want it to count: %v", decision, call.use.ID, err, fits && open)
	}
	if after := d.state(); err != nil && after != before {
		return fmt.Errorf("a refused decision changed the loop from\n%s\nto\n%s", before, after)
	}
	if err == nil {
		d.decided(call, decision)
	}
	return nil
}

// decided takes note of what must hold from now on.
func (d *drive) decided(call *openCall, decision Decision) {
	delete(d.waiting, call)
	switch decision.kind {
	case suspend:
		d.waiting[call] = true
	case deny:
		d.settled[call.use.ID] = "was denied"
	case allow, allowInput:
	}
}

// decideOnAll decides on the calls that a run has ended for.
func (d *drive) decideOnAll(calls []*openCall) error {
	if len(calls) == 0 {
		return errors.New("the run is suspended for no call")
	}
	for i, call := range calls {
		if !d.waiting[call] || call.state != callSuspended {
			return fmt.Errorf("the run is suspended for call %q, which does not wait", call.use.ID)
		}
		decision := []Decision{Allow(), Deny(""), AllowInput([]byte(`{}`))}[i%3]
		if err := d.loop.decide(call, decision); err != nil {
			return err
		}
		d.note("decide %v on %s at last", decision, call.use.ID)
		d.decided(call, decision)
	}
	return nil
}
