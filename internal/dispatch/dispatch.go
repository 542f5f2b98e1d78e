// Package dispatch runs calls: a bounded number at once, in order, cancelled with
// their context, and abandoned if they ignore that. It starts all goroutines of the
// module, and whatever a call does, a completion comes back.
package dispatch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Grace is how long a call may take to return after its context has ended. One that
// takes longer is abandoned: its goroutine may go on, but its result is discarded.
const Grace = 100 * time.Millisecond

// Job is a call that is to be run. Its fields belong to a Dispatcher, but for Key.
type Job struct {
	Key any // what its driver knows it by

	begin     time.Time
	cancel    context.CancelCauseFunc // of one that runs
	cause     error                   // what it was cancelled for
	deadline  time.Time               // when it is abandoned; zero: it was not cancelled
	abandoned bool
	early     bool // it began before Run, under the context that is watched
	unwanted  bool // nobody waits for its result
}

// stop cancels a job that runs. It has some time to return.
func (j *Job) stop(cause error) {
	if j.deadline.IsZero() {
		j.cause, j.deadline = cmp.Or(cause, context.Canceled), time.Now().Add(Grace)
	}
	j.cancel(cause)
}

// Plan is how a call is run.
type Plan struct {
	// Call calls the handler, on a goroutine of its own. A nil result says that it
	// was interrupted: whether it took effect is unknown. An error that is an
	// *[AbortError] ends the run. If Call ends its goroutine, the result is what
	// Goexit returns.
	Call      func(context.Context) (result any, err error)
	Goexit    func() (result any, err error)
	Exclusive bool // no other call runs beside it
	Repeats   bool // it may run again if its result is lost
}

// Completion is what became of a job.
type Completion struct {
	Job    *Job
	Result any // nil: the call was interrupted
	Err    error
	Took   time.Duration
}

// Hooks are what a Dispatcher calls back, on the goroutine that it belongs to.
type Hooks struct {
	// Prepare says how a call is run. It is called when there is room for the call,
	// perhaps more than once, and reports false if the call is not to be run.
	Prepare func(*Job) (Plan, bool)
	// Start is called right before the call is, which is not made if Start reports
	// false.
	Start func(*Job, Plan) (bool, error)
	// Finish is called with what became of a job.
	Finish func(Completion) error
}

// Dispatcher runs jobs, at most a number at once, in the order in which they come. It
// belongs to one goroutine, on which it calls back.
type Dispatcher struct {
	hooks   Hooks
	limit   int
	waiting []*Job
	running []*Job
	alone   bool  // the job that runs is exclusive
	aborted error // by a call: no further job starts
	lost    error // what interrupted a job that is waited for
	failed  error // of a hook: no further job starts
	began   bool  // Run has been called

	ended   func() error // why the context has ended that jobs began under before Run; nil: it has not
	unwatch func() bool

	wake        chan struct{} // something has ended
	mu          sync.Mutex
	completions []Completion // guarded by mu, so that late calls never block
}

// New returns a dispatcher that runs at most limit jobs at once.
func New(limit int, hooks Hooks) *Dispatcher {
	return &Dispatcher{
		hooks: hooks, limit: limit, wake: make(chan struct{}, 1),
		ended: func() error { return nil }, unwatch: func() bool { return true },
	}
}

// Limit returns how many jobs run at once.
func (d *Dispatcher) Limit() int { return d.limit }

// SetLimit sets how many jobs run at once.
func (d *Dispatcher) SetLimit(limit int) { d.limit = limit }

// Watch names the context under which jobs begin before Run, which may be called with
// another one.
func (d *Dispatcher) Watch(ctx context.Context) {
	d.ended = func() error { return context.Cause(ctx) }
	d.unwatch = context.AfterFunc(ctx, d.poke)
}

// Add has a job wait until Fill or Run starts it.
func (d *Dispatcher) Add(job *Job) { d.waiting = append(d.waiting, job) }

// poke has the dispatcher look at its jobs. It never blocks.
func (d *Dispatcher) poke() {
	select {
	case d.wake <- struct{}{}:
	default: // it is awake
	}
}

// Run runs jobs beside those that run already, and returns when all have finished or
// were abandoned. When ctx ends or a call aborts, no further job is started, and the
// error says why.
func (d *Dispatcher) Run(ctx context.Context, jobs []*Job) error {
	defer d.unwatch()
	defer d.cancelAll(nil) // of a hook that panics
	d.waiting, d.began = jobs, true
	done := ctx.Done()
	for {
		d.Fill(ctx)
		if len(d.running) == 0 {
			break
		}
		select {
		case <-d.wake:
		case <-d.nextDeadline():
		case <-done:
			d.cancelAll(context.Cause(ctx))
			done = nil
		}
		d.Collect()
	}
	return cmp.Or(d.aborted, contextError(ctx), d.lost, d.failed)
}

// contextError returns why a context has ended, or nil.
func contextError(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return &EndedError{ctx.Err(), context.Cause(ctx)}
}

// Fill starts the jobs that there is room for.
func (d *Dispatcher) Fill(ctx context.Context) {
	for len(d.waiting) > 0 && len(d.running) < d.limit && cmp.Or(d.aborted, d.failed, ctx.Err()) == nil {
		job := d.waiting[0]
		plan, ok := d.hooks.Prepare(job)
		if ok && len(d.running) > 0 && (d.alone || plan.Exclusive) {
			return
		}
		d.waiting = d.waiting[1:]
		if !ok {
			continue
		}
		if ok, d.failed = d.hooks.Start(job, plan); ok {
			d.launch(ctx, job, plan)
		}
	}
}

// Collect reports the jobs that have finished, and abandons those that are late.
func (d *Dispatcher) Collect() {
	for c, ok := d.nextCompletion(); ok; c, ok = d.nextCompletion() {
		if !c.Job.abandoned {
			d.report(c)
		}
	}
	if cause := d.ended(); cause != nil {
		for _, job := range d.running {
			if job.early {
				job.stop(cause)
			}
		}
	}
	now := time.Now()
	for _, job := range slices.Clone(d.running) {
		if job.abandoned = !job.deadline.IsZero() && !now.Before(job.deadline); job.abandoned {
			d.report(Completion{Job: job, Err: &AbandonedError{job.cause}, Took: now.Sub(job.begin)})
		}
	}
}

// nextCompletion returns a completion that was not reported. It is taken by itself: a
// hook that panics at one leaves the others.
func (d *Dispatcher) nextCompletion() (Completion, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.completions) == 0 {
		return Completion{}, false
	}
	c := d.completions[0]
	d.completions = d.completions[1:]
	return c, true
}

// report takes a job out of those that run.
func (d *Dispatcher) report(c Completion) {
	d.running = slices.DeleteFunc(d.running, func(j *Job) bool { return j == c.Job })
	c.Job.cancel(nil)
	if !c.Job.unwanted {
		d.recordFailure(c)
	}
	d.failed = cmp.Or(d.failed, d.hooks.Finish(c))
}

// nextDeadline returns a channel that is ready when a job is to be abandoned.
func (d *Dispatcher) nextDeadline() <-chan time.Time {
	var first time.Time
	for _, job := range d.running {
		if !job.deadline.IsZero() && (first.IsZero() || job.deadline.Before(first)) {
			first = job.deadline
		}
	}
	if first.IsZero() {
		return nil
	}
	return time.After(time.Until(first))
}

// recordFailure records a call that ends the run, or whose outcome is unknown.
func (d *Dispatcher) recordFailure(c Completion) {
	abort := (*AbortError)(nil)
	switch {
	case d.aborted != nil:
	case errors.As(c.Err, &abort):
		d.aborted = abort
		d.cancelAll(abort)
	case c.Result == nil:
		d.lost = fmt.Errorf("toolrunner: %w", c.Err)
	}
}

// cancelAll cancels the jobs that run.
func (d *Dispatcher) cancelAll(cause error) {
	for _, job := range d.running {
		job.stop(cause)
	}
}

// Discard cancels the jobs that run and whose results nobody waits for. What they do
// then does not count.
func (d *Dispatcher) Discard(unwanted func(*Job) bool) {
	for _, job := range d.running {
		if unwanted(job) {
			job.unwanted = true
			job.stop(ErrUnwanted)
		}
	}
}

// Forgive forgets that a call wanted to end the run, or was interrupted.
func (d *Dispatcher) Forgive() { d.aborted, d.lost = nil, nil }

// Aborted returns the error of a call that ends the run, or nil.
func (d *Dispatcher) Aborted() error {
	d.Collect()
	return d.aborted
}

// Close discards all jobs, and returns when each has finished or was abandoned.
func (d *Dispatcher) Close() {
	defer d.unwatch()
	d.waiting = nil
	d.Discard(func(*Job) bool { return true })
	for len(d.running) > 0 {
		select {
		case <-d.wake:
		case <-d.nextDeadline():
		}
		d.Collect()
	}
}

// launch makes a call on a goroutine of its own.
func (d *Dispatcher) launch(ctx context.Context, job *Job, plan Plan) {
	run, cancel := context.WithCancelCause(ctx)
	job.begin, job.cancel, job.early = time.Now(), cancel, !d.began
	d.running = append(d.running, job)
	d.alone = plan.Exclusive
	go func() {
		c := Completion{Job: job}
		returned := false
		defer func() {
			if !returned {
				c.Result, c.Err = plan.Goexit()
			}
			c.Took = time.Since(job.begin)
			d.complete(c)
		}()
		c.Result, c.Err = plan.Call(run)
		returned = true
	}()
}

// complete keeps the completion of a call that has returned.
func (d *Dispatcher) complete(c Completion) {
	d.mu.Lock()
	d.completions = append(d.completions, c)
	d.mu.Unlock()
	d.poke()
}
