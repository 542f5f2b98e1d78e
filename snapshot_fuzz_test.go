package toolrunner

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// checkSnapshot checks that the state of the loop survives being saved: as a whole,
// and as the deltas since the beginning; and that the sequence tells states apart.
func (d *drive) checkSnapshot() error {
	now := time.Time{}
	rec, _ := d.loop.record(nil, now)
	whole, err := rec.encode()
	if err != nil {
		return err
	}
	if d.sequence == d.loop.sequence && !bytes.Equal(whole, d.whole) {
		return fmt.Errorf("the sequence stays %d, and the state changed from\n%s\nto\n%s", d.sequence, d.whole, whole)
	}
	d.sequence, d.whole = d.loop.sequence, whole
	if d.saved == nil || d.saved.sequence != d.loop.sequence {
		delta, next := d.loop.record(d.saved, now)
		data, err := delta.encode()
		if err != nil {
			return err
		}
		d.deltas, d.saved = append(append(d.deltas, data...), '\n'), next
	}
	for name, data := range map[string][]byte{"snapshot": whole, "deltas": d.deltas} {
		again, err := d.reload(data)
		if err != nil {
			return fmt.Errorf("the %s cannot be read: %w\n%s", name, err, data)
		}
		if name == "snapshot" && !bytes.Equal(again, whole) {
			return fmt.Errorf("the %s is read as\n%s\nand was\n%s", name, again, data)
		}
	}
	return nil
}

// reload returns the state that data is read as, saved again.
func (d *drive) reload(data []byte) ([]byte, error) {
	loop, err := d.reloaded(data)
	if err != nil {
		return nil, err
	}
	again, _ := loop.record(nil, time.Time{})
	return again.encode()
}

func (d *drive) reloaded(data []byte) (*loop, error) {
	rec, err := readRecords(data, nil)
	if err != nil {
		return nil, err
	}
	loop, _, err := rec.restore(sameTools(d.loop.tools))
	if err == nil && rec.State.Forced {
		loop.choice = true
	}
	return loop, err
}

// fork goes on with the loop, and with another one that is reloaded, and checks that
// the same happens to both.
func (d *drive) fork() error {
	d.note("fork")
	d.forked = true
	other := &drive{
		script: &script{entropy: &entropy{d.script.rest}, serverCalls: d.script.serverCalls, leaves: d.script.leaves, pending: d.script.pending},
		limit:  d.limit, log: slices.Clone(d.log), kept: slices.Clone(d.kept), sent: slices.Clone(d.sent),
		calls: make(map[string]*openCall), settled: maps.Clone(d.settled), waiting: make(map[*openCall]bool), forked: true,
	}
	var err error
	if other.loop, err = d.reloaded(d.deltas); err != nil {
		return err
	}
	for _, call := range slices.Concat(other.loop.open, other.loop.dropped) {
		if call.state == callSuspended {
			other.waiting[call] = true
		}
	}
	if err := d.goOn(); err != nil {
		return err
	}
	if err := other.goOn(); err != nil {
		return fmt.Errorf("reloaded: %w\n%s", err, strings.Join(other.log, "\n"))
	}
	if one, two := d.state(), other.state(); one != two || !slices.Equal(d.log, other.log) {
		return fmt.Errorf("the state is\n%s\nand of the loop that was reloaded\n%s\nto which this happened:\n%s", one, two, strings.Join(other.log, "\n"))
	}
	return nil
}

// goOn goes through the rest of the script.
func (d *drive) goOn() error {
	for !d.script.empty() {
		if err := d.event(); err != nil {
			return err
		}
		if err := d.check(); err != nil {
			return err
		}
		if !d.forked && d.script.below(12) == 11 {
			return d.fork()
		}
	}
	return d.end()
}

// sameTools returns the tools of s as they are given to another process.
func sameTools(s *toolset) *toolset {
	all := slices.Clone(s.first)
	for _, name := range slices.Sorted(maps.Keys(s.byName)) {
		if !slices.ContainsFunc(all, func(r *registered) bool { return r.name == name }) {
			all = append(all, s.byName[name])
		}
	}
	given := &toolset{first: all, byName: make(map[string]*registered)}
	for _, r := range all {
		given.byName[r.name] = r
	}
	maps.Copy(given.byName, s.byName)
	return given
}
