package model

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/toolrunner/toolrunner"
)

// loop runs a loop over the runner, and checks how it ends.
func (w *world) loop(_ *moment, words []string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	w.cancel = cancel
	w.locked(func() { w.excused, w.compacting = false, false })
	broke, err := w.drive(ctx, words[0])
	w.cancel = nil
	w.locked(func() {
		w.note("%s ends: %v, broke off: %v", words[0], err, broke)
		if w.running > 0 {
			w.fail("end/running", "the loop has ended, and a handler runs")
		}
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			w.fail("end/hang", "the loop has taken an hour")
		}
		if err != nil && !w.excused && !isSuspended(err) && !ended(err) {
			w.fail("end/error", "nothing explains the error: %v", err)
		}
		if w.twin != nil && w.twin.next != nil && err == nil && !broke {
			w.fail("twin/sends", "resumed from its snapshot it would send a request, and it sends none")
		}
		w.twin = nil
		if broke || err != nil {
			w.history.loose = true // the reply under way may be there or not
		}
	})
	if !broke && !w.over() {
		w.endErr(err, words[0] == "complete")
	}
}

// drive runs the loop. A panic of the program is as good as breaking off.
func (w *world) drive(ctx context.Context, kind string) (broke bool, err error) {
	broke = true
	defer w.recovered(kind)
	w.open = false
	switch kind {
	case "complete":
		_, err = w.runner.RunToCompletion(ctx)
	case "next":
		var turn *toolrunner.Turn
		if turn, err = w.runner.Next(ctx); errors.Is(err, toolrunner.ErrDone) {
			err = nil
		} else if err == nil {
			compacting := w.compacting
			w.body(ctx, turn)
			w.compacting, w.held = compacting, nil // until the next step, the turn goes on
			return true, nil
		}
	default:
		turns := w.runner.All(ctx)
		if kind == "stream" {
			turns = w.runner.AllStreaming(ctx)
		}
		for turn, failure := range turns {
			if err = failure; err != nil {
				break
			}
			goOn := w.body(ctx, turn)
			if w.open = false; !goOn {
				return true, nil
			}
		}
	}
	return false, err
}

// body is the loop body. It reports whether the loop is to go on.
func (w *world) body(ctx context.Context, turn *toolrunner.Turn) bool {
	w.turns++
	at := &moment{site: "body " + strconv.Itoa(w.turns), ctx: ctx, turn: turn}
	w.locked(func() { w.note("%s", at.site) })
	for do := w.step(at.site); do != ""; do = w.step(at.site) {
		if w.exec(at, do); at.stop {
			break
		}
	}
	w.locked(func() { w.compacting = false })
	return !at.stop && !w.over()
}

// read reads events of the stream: "read 3", or all of them.
func (w *world) read(at *moment, words []string) {
	left, err := strconv.Atoi(word(words, 1))
	if err != nil {
		left = 1 << 20
	}
	for _, err := range at.turn.Events() {
		if left--; err != nil || left <= 0 {
			return
		}
	}
}
