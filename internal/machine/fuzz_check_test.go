package machine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner/internal/history"
	"github.com/toolrunner/toolrunner/internal/wire"
)

// check checks what must hold whenever the caller has control.
func (d *drive) check() error {
	for i, was := range d.kept {
		if is := d.m.Messages()[i].Raw; !bytes.Equal(is, was) {
			return fmt.Errorf("message %d of the history changed from %s to %s", i, was, is)
		}
	}
	d.kept = nil
	for _, m := range settled(d.m.Messages()) {
		d.kept = append(d.kept, bytes.Clone(m.Raw))
	}
	if err := d.checkRecords(); err != nil {
		return err
	}
	before := d.state()
	view := d.m.View()
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
		return fmt.Errorf("View changed the machine from\n%s\nto\n%s", before, after)
	}
	return d.checkContinuation(shown)
}

// checkContinuation checks that a conversation that begins with messages can go on.
func (d *drive) checkContinuation(messages []anthropic.BetaMessageParam) error {
	drafts, err := history.EncodeAll(messages, nil, false)
	if err != nil {
		return err
	}
	m, err := New("other", testTools(d.tb), drafts)
	if err != nil {
		return fmt.Errorf("the history cannot be continued: %w\n%s", err, encodeAll(messages))
	}
	if len(drafts) == 0 {
		return nil
	}
	s := next(m, StepLimits{})
	if s.Kind == Run {
		for _, call := range s.Calls {
			if why := d.settled[key(call.use)]; why != "" && d.m.Find(call.use.ID) != nil {
				return fmt.Errorf("a continued conversation runs call %q again: it %s", call.use.ID, why)
			}
			if first := d.m.Find(call.use.ID); first != nil && (first.state == suspended || first.decision.Kind == AllowInput) {
				return fmt.Errorf("a continued conversation runs call %q, which nobody has allowed as it is", call.use.ID)
			}
			answer(m, call, "x")
		}
		s = next(m, StepLimits{})
	}
	if s.Kind != Send {
		return fmt.Errorf("a continued conversation takes step %d", s.Kind)
	}
	m.Begin(s)
	if err := checkRequest(m); err != nil {
		return fmt.Errorf("continued: %w", err)
	}
	return nil
}

// checkNobodyWaits checks that what goes out answers no call in place of who is to
// decide on it.
func (d *drive) checkNobodyWaits() error {
	for call := range d.waiting {
		if call.state == suspended && d.m.Owns(call) {
			return fmt.Errorf("a request goes out while call %q waits for a decision", call.use.ID)
		}
	}
	return nil
}

// record returns the state, or what has changed since base, encoded.
func (d *drive) record(base *Saved) ([]byte, error) {
	r, _ := d.m.Record(base, now)
	data, _, err := r.Encode(nil, "")
	return data, err
}

// checkRecords checks that the state survives being saved: as a whole, and as the
// deltas since the beginning; and that the sequence tells states apart.
func (d *drive) checkRecords() error {
	whole, err := d.record(nil)
	if err != nil {
		return err
	}
	sequence := d.m.s.sequence
	switch {
	case sequence < d.sequence:
		return fmt.Errorf("the sequence went from %d to %d", d.sequence, sequence)
	case sequence == d.sequence && !bytes.Equal(whole, d.whole):
		return fmt.Errorf("the sequence stays %d, and the state changed from\n%s\nto\n%s", sequence, d.whole, whole)
	}
	d.sequence, d.whole = sequence, whole
	if d.m.Changed(d.saved) {
		delta, saved := d.m.Record(d.saved, now)
		data, _, err := delta.Encode(nil, "")
		if err != nil {
			return err
		}
		d.deltas, d.saved = append(d.deltas, data...), saved
	}
	for name, data := range map[string][]byte{"snapshot": whole, "deltas": d.deltas} {
		read, err := ReadRecords(data, nil)
		if err != nil {
			return fmt.Errorf("the %s cannot be read: %w\n%s", name, err, data)
		}
		read.After, read.Sum = 0, ""
		if again, _, err := read.Encode(nil, ""); err != nil || !bytes.Equal(again, whole) {
			return fmt.Errorf("the %s are read as\n%s (%w)\nwant\n%s", name, again, err, whole)
		}
		if err := d.checkRestored(read, whole); err != nil {
			return fmt.Errorf("%s: %w\n%s", name, err, data)
		}
	}
	return nil
}

// checkRestored checks that a machine which is restored has the same state, and the
// same step next.
func (d *drive) checkRestored(r *Record, whole []byte) error {
	other, _, err := r.Restore(sameTools(d.m.tools), nil, false)
	if err != nil {
		return err
	}
	again, _ := other.Record(nil, now)
	again.Sequence-- // resuming counts as a step
	if data, _, err := again.Encode(nil, ""); err != nil || !bytes.Equal(data, whole) {
		return fmt.Errorf("it is restored as\n%s (%w)\nand was\n%s", data, err, whole)
	}
	one, err := d.next()
	if err != nil {
		return err
	}
	two := other.Next(d.limits)
	if !slices.Equal(idsOf(one.Calls), idsOf(two.Calls)) {
		return fmt.Errorf("the calls of the next step are %q, and restored %q", idsOf(one.Calls), idsOf(two.Calls))
	}
	one.Calls, two.Calls = nil, nil
	if !reflect.DeepEqual(one, two) {
		return fmt.Errorf("the next step is %+v, and restored %+v", one, two)
	}
	return nil
}

func idsOf(calls []*Call) []string {
	ids := []string{}
	for _, call := range calls {
		ids = append(ids, call.use.ID)
	}
	return ids
}

// fork goes on with the machine, and with another one that is restored, and checks
// that the same happens to both.
func (d *drive) fork() error {
	d.note("fork")
	d.forked = true
	other := &drive{
		tb:     d.tb,
		script: &script{entropy: &entropy{d.script.rest}, serverCalls: d.script.serverCalls},
		limits: d.limits, log: slices.Clone(d.log), kept: slices.Clone(d.kept), sent: slices.Clone(d.sent),
		calls: make(map[string]*Call), settled: maps.Clone(d.settled), waiting: make(map[*Call]bool), body: d.body, forked: true,
	}
	r, err := ReadRecords(d.deltas, nil)
	if err != nil {
		return err
	}
	if other.m, _, err = r.Restore(sameTools(d.m.tools), nil, false); err != nil {
		return err
	}
	for _, call := range other.known() {
		if call.state == suspended {
			other.waiting[call] = true
		}
	}
	if err := d.goOn(); err != nil {
		return err
	}
	if err := other.goOn(); err != nil {
		return fmt.Errorf("restored: %w\n%s", err, strings.Join(other.log, "\n"))
	}
	other.m.s.sequence-- // resuming counts as a step
	if one, two := d.state(), other.state(); one != two || !slices.Equal(d.log, other.log) {
		return fmt.Errorf("the state is\n%s\nand of the machine that was restored\n%s\nto which this happened:\n%s", one, two, strings.Join(other.log, "\n"))
	}
	return nil
}

// sameTools returns the tools as they are given to another process.
func sameTools(t *Tools) *Tools {
	all := slices.Clone(t.first)
	for _, name := range slices.Sorted(maps.Keys(t.byName)) {
		if !slices.ContainsFunc(all, func(tool *Tool) bool { return tool.Name == name }) {
			all = append(all, t.byName[name])
		}
	}
	given := &Tools{first: all, byName: make(map[string]*Tool)}
	for _, tool := range all {
		given.byName[tool.Name] = tool
	}
	maps.Copy(given.byName, t.byName)
	return given
}

// decideOnOne makes a decision on one of the calls, which counts if it is the first
// one on a call that has not started.
func (d *drive) decideOnOne(calls []*Call) error {
	if len(calls) == 0 {
		return nil
	}
	call := calls[d.script.below(len(calls))]
	made := func(input []byte) *MadeFor { return &MadeFor{call.use.Name, input} }
	decision := oneOf(d.script.entropy, Decision{}, Decision{Kind: Allow}, Decision{Kind: Deny, Reason: "no"},
		Decision{Kind: AllowInput, Input: []byte(`{"n":1}`)}, Decision{For: made(call.use.Written())},
		Decision{Kind: Allow, For: made([]byte(`{"of":"another call"}`))}, Decision{Kind: AllowInput, Input: []byte(`[]`)})
	fits := decision.Check(call.use) == nil
	open := (call.state == waiting || call.state == suspended || d.m.runnable(call)) && !call.decided
	before := d.state()
	err := d.m.Decide(call, decision)
	d.note("decide %v on %s: %v", decision.Kind, call.use.ID, err)
	if (err == nil) != (fits && open) {
		return fmt.Errorf("the decision %v on call %q: %w, want it to count: %v", decision.Kind, call.use.ID, err, fits && open)
	}
	if after := d.state(); err != nil && after != before {
		return fmt.Errorf("a refused decision changed the machine from\n%s\nto\n%s", before, after)
	}
	if err == nil {
		d.decided(call, decision)
	}
	return nil
}

// decided takes note of what must hold from now on.
func (d *drive) decided(call *Call, decision Decision) {
	delete(d.waiting, call)
	switch decision.Kind {
	case Suspend:
		d.waiting[call] = true
	case Deny:
		d.settled[key(call.use)] = "was denied"
	case Allow, AllowInput:
	}
}

// decideOnAll decides on the calls that a run has ended for.
func (d *drive) decideOnAll(calls []*Call) error {
	if len(calls) == 0 {
		return errors.New("the run is suspended for no call")
	}
	for i, call := range calls {
		if !d.waiting[call] || call.state != suspended {
			return fmt.Errorf("the run is suspended for call %q, which does not wait", call.use.ID)
		}
		decision := []Decision{{Kind: Allow}, {Kind: Deny}, {Kind: AllowInput, Input: []byte(`{}`)}}[i%3]
		if err := d.m.Decide(call, decision); err != nil {
			return err
		}
		d.note("decide %v on %s at last", decision.Kind, call.use.ID)
		d.decided(call, decision)
	}
	return nil
}
