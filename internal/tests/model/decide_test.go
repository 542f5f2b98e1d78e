package model

import (
	"encoding/json"
	"errors"

	"github.com/toolrunner/toolrunner"
)

// decideOn decides from elsewhere: "decide 0 allow json".
func (w *world) decideOn(at *moment, words []string) {
	if public := w.openCall(at, word(words, 1)); public != nil {
		w.decide(public, word(words, 2), word(words, 3) == "json")
	}
}

// decide decides on a call. With json, the call has been shown to somebody else.
func (w *world) decide(public *toolrunner.Call, decision string, asJSON bool) {
	d := decisionOf(decision, number(public.Input))
	if asJSON {
		var shown toolrunner.Call
		data, err := json.Marshal(public)
		if err == nil {
			err = json.Unmarshal(data, &shown)
		}
		if err != nil {
			w.flunk("decide/json", "%v", err)
			return
		}
		if shown.IdempotencyKey() != public.IdempotencyKey() {
			w.flunk("decide/key", "a call has another key once it has been JSON")
		}
		d = d.For(&shown)
	}
	err := w.runner.Decide(public.ID, d)
	w.locked(func() {
		w.note("decide on %s: %v", public.ID, err)
		c := w.modelOf(public)
		if err == nil {
			c.decide(decision)
		} else if c.decision == "suspend" && c.hand == "" && !c.dropped && !w.excused {
			w.fail("decide/refused", "%v", err)
		}
	})
}

func isSuspended(err error) bool {
	var suspended *toolrunner.SuspendedError
	return errors.As(err, &suspended)
}

// decideNow is what an approver says.
func decideNow(_ *world, at *moment, words []string) { at.decision = words[0] }
