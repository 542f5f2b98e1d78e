package model

import (
	"context"
	"maps"
	"slices"
	"strconv"

	"github.com/toolrunner/toolrunner"
)

// reload goes on in another process, with a snapshot.
func (w *world) reload(_ *moment, _ []string) {
	if w.open { // what the body has changed would be lost
		return
	}
	snapshot, err := w.runner.Snapshot()
	var r *toolrunner.Runner
	if err == nil {
		r, err = w.resume(snapshot)
	}
	if err != nil {
		w.flunk("resume/refused", "%v", err)
		return
	}
	w.runner, w.memory = r, memory{on: w.memory.on, threads: w.memory.threads, news: true}
}

// kept is the model when the checkpoint had everything.
type kept struct {
	data    []byte
	history history
	calls   calls
	tools   map[string]bool
}

// keep is the checkpoint.
func (w *world) keep(_ context.Context, delta toolrunner.Delta) error {
	w.saves++
	at := &moment{site: "checkpoint " + strconv.Itoa(w.saves)}
	if do := w.step(at.site); do != "" {
		w.exec(at, do)
	}
	if at.err != nil {
		return at.err
	}
	w.locked(func() {
		var before []byte
		if w.kept != nil && !delta.Full {
			before = w.kept.data
		}
		tools := map[string]bool{}
		maps.Copy(tools, w.tools)
		w.kept = &kept{slices.Concat(before, delta.Data), w.history.clone(), w.calls.clone(), tools}
	})
	return nil
}

// crash goes on in another process, with what the checkpoint has.
func (w *world) crash(_ *moment, _ []string) {
	k := w.kept
	if k == nil || w.open {
		return
	}
	_, w.late = k.tools["late"] // what was added later is forgotten
	r, err := w.resume(k.data)
	if err != nil {
		w.flunk("crash/refused", "%v", err)
		return
	}
	w.runner = r
	w.locked(func() {
		w.memory = memory{on: w.memory.on, threads: w.memory.threads, news: true}
		w.history, w.tools, w.restless, w.excused = k.history.clone(), k.tools, true, true
		w.history.loose = true // a takeover or a follow-up may be younger than what is kept
		for _, then := range k.calls {
			c := w.calls.get(then.n)
			c.decision, c.hand, c.given, c.dropped = then.decision, then.hand, then.given, then.dropped
			c.blurred = true // its result may have been lost
		}
	})
}
