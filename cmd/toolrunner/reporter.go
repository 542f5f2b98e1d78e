package main

import (
	"sync"
	"time"
)

// printer makes output of events.
type printer interface {
	print(e event) error
}

// reporter prints events of any goroutine, one after the other.
type reporter struct {
	mu      sync.Mutex // guards the rest
	printer printer
	err     error // of the first event that could not be printed
	over    bool  // run_ended was printed, and nothing comes after it
}

func (r *reporter) report(e event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return
	}
	_, r.over = e.(runEnded)
	if err := r.printer.print(e); r.err == nil {
		r.err = err
	}
}

// failed returns why an event could not be printed, or nil.
func (r *reporter) failed() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// alone prints an event and calls do, while nothing else is printed.
func (r *reporter) alone(e event, do func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.printer.print(e); r.err == nil {
		r.err = err
	}
	do()
}

// every has the printer know the time, until the function that it returns is called.
func (r *reporter) every(d time.Duration) (stop func()) {
	ticker := time.NewTicker(d)
	done := make(chan struct{})
	var ticking sync.WaitGroup
	ticking.Go(func() {
		for {
			select {
			case now := <-ticker.C:
				r.report(tick{now})
			case <-done:
				return
			}
		}
	})
	return func() {
		ticker.Stop()
		close(done)
		ticking.Wait()
	}
}
