package toolrunner

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolrunner/toolrunner/internal/history"
)

// The calls of a turn reach this file, and their results leave it. It is the
// only one that starts goroutines, and whatever a handler does, a result or an
// error comes back.

// job is a call that is to be run.
type job struct {
	call *Call // as the handler gets it
	key  any   // what its manager knows it by

	begin    time.Time
	cancel   context.CancelCauseFunc // of one that runs
	cause    error                   // what it was cancelled for
	late     time.Time               // when it is left behind; zero: it was not cancelled
	left     bool                    // it was left behind
	early    bool                    // it began before run, under the context that is watched
	unwanted bool                    // nobody waits for its result
}

// end cancels a job that runs. It has some time to return.
func (j *job) end(cause error) {
	if j.late.IsZero() {
		j.cause, j.late = cmp.Or(cause, context.Canceled), time.Now().Add(grace)
	}
	j.cancel(cause)
}

// manager decides on jobs, on the goroutine of the dispatcher.
type manager struct {
	// prepare says how a call is to be run. It is called when there is room for
	// it, perhaps more than once, and reports false if it is not to be run here.
	prepare  func(*job) (plan, bool)
	started  func(*job, plan) (bool, error) // called before the handler is, which is not if it reports false
	finished func(completion) error         // called with what became of a job
}

// plan is how a call is to be run.
type plan struct {
	handler   Handler       // of the tool, in its middleware
	timeout   time.Duration // 0: none
	exclusive bool          // no other call runs beside it
	repeat    bool          // it may run again if its result is lost
}

// completion is what became of a job.
type completion struct {
	job    *job
	result *Result // nil: the call was interrupted, and whether it took effect is unknown
	err    error   // what the handler returned
	took   time.Duration
}

// grace is how long a handler may take to return after its context has ended.
// One that takes longer is left behind.
const grace = 100 * time.Millisecond

// dispatcher runs jobs, at most limit at once, in the order in which they come.
// It belongs to one goroutine, on which it calls back.
type dispatcher struct {
	manager
	limit   int
	waiting []*job
	running []*job
	alone   bool  // the job that runs is exclusive
	aborted error // by a handler: no further job starts
	lost    error // what interrupted a job that is waited for
	failed  error // of a callback: no further job starts
	began   bool  // run has been called

	over    func() error // why the context has ended that jobs began under before run; nil: it has not
	unwatch func() bool

	wake  chan struct{} // something has ended
	mu    sync.Mutex
	ended []completion // guarded by mu, so that late handlers never block
}

func newDispatcher(limit int, m manager) *dispatcher {
	return &dispatcher{
		manager: m, limit: limit, wake: make(chan struct{}, 1),
		over: func() error { return nil }, unwatch: func() bool { return true },
	}
}

// watch tells the dispatcher of the context under which jobs begin before run,
// which may be called with another one.
func (d *dispatcher) watch(ctx context.Context) {
	d.over = func() error { return context.Cause(ctx) }
	d.unwatch = context.AfterFunc(ctx, d.poke)
}

// poke has the dispatcher look at its jobs. It never blocks.
func (d *dispatcher) poke() {
	select {
	case d.wake <- struct{}{}:
	default: // it is awake
	}
}

// run runs jobs beside those that run already, and returns when all have
// finished or were left behind. When ctx ends or a handler aborts, no further job
// is started, and the error says why.
func (d *dispatcher) run(ctx context.Context, jobs []*job) error {
	defer d.unwatch()
	defer d.cancel(nil) // of a callback that panics
	d.waiting, d.began = jobs, true
	over := ctx.Done()
	for {
		d.fill(ctx)
		if len(d.running) == 0 {
			break
		}
		select {
		case <-d.wake:
		case <-d.late():
		case <-over:
			d.cancel(context.Cause(ctx))
			over = nil
		}
		d.collect()
	}
	return cmp.Or(d.aborted, contextError(ctx), d.lost, d.failed)
}

// fill starts the jobs that there is room for.
func (d *dispatcher) fill(ctx context.Context) {
	for len(d.waiting) > 0 && len(d.running) < d.limit && cmp.Or(d.aborted, d.failed, ctx.Err()) == nil {
		j := d.waiting[0]
		p, ok := d.prepare(j)
		if ok && len(d.running) > 0 && (d.alone || p.exclusive) {
			return
		}
		d.waiting = d.waiting[1:]
		if !ok {
			continue
		}
		if ok, d.failed = d.started(j, p); ok {
			d.launch(ctx, j, p)
		}
	}
}

// collect reports what has ended, and leaves behind what is late.
func (d *dispatcher) collect() {
	for c, ok := d.next(); ok; c, ok = d.next() {
		if !c.job.left {
			d.report(c)
		}
	}
	if cause := d.over(); cause != nil {
		for _, j := range d.running {
			if j.early {
				j.end(cause)
			}
		}
	}
	now := time.Now()
	for _, j := range slices.Clone(d.running) {
		if j.left = !j.late.IsZero() && !now.Before(j.late); j.left {
			d.report(completion{job: j, err: &leftError{j.cause}, took: now.Sub(j.begin)})
		}
	}
}

// next returns a completion that was not reported. It is taken by itself: a callback
// that panics at one leaves the others.
func (d *dispatcher) next() (completion, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.ended) == 0 {
		return completion{}, false
	}
	c := d.ended[0]
	d.ended = d.ended[1:]
	return c, true
}

// report takes a job out of those that run.
func (d *dispatcher) report(c completion) {
	d.running = slices.DeleteFunc(d.running, func(j *job) bool { return j == c.job })
	c.job.cancel(nil)
	if !c.job.unwanted {
		d.judge(c)
	}
	d.failed = cmp.Or(d.failed, d.finished(c))
}

// late returns a channel that is ready when a job is to be left behind.
func (d *dispatcher) late() <-chan time.Time {
	var first time.Time
	for _, j := range d.running {
		if !j.late.IsZero() && (first.IsZero() || j.late.Before(first)) {
			first = j.late
		}
	}
	if first.IsZero() {
		return nil
	}
	return time.After(time.Until(first))
}

// judge takes note of a job whose end is more than a result.
func (d *dispatcher) judge(c completion) {
	a := (*abortError)(nil)
	switch {
	case d.aborted != nil:
	case errors.As(c.err, &a):
		d.aborted = a
		d.cancel(a)
	case c.result == nil:
		d.lost = fmt.Errorf("toolrunner: %w", c.err)
	}
}

// cancel ends the contexts of the jobs that run.
func (d *dispatcher) cancel(cause error) {
	for _, j := range d.running {
		j.end(cause)
	}
}

// drop cancels the jobs that run and whose results nobody waits for. What they do
// then does not count.
func (d *dispatcher) drop(unwanted func(*job) bool) {
	for _, j := range d.running {
		if unwanted(j) {
			j.unwanted = true
			j.end(errUnwanted)
		}
	}
}

func everyJob(*job) bool { return true }

// end drops all jobs, and returns when each has finished or was left behind.
func (d *dispatcher) end() {
	defer d.unwatch()
	d.waiting = nil
	d.drop(everyJob)
	for len(d.running) > 0 {
		select {
		case <-d.wake:
		case <-d.late():
		}
		d.collect()
	}
}

// launch runs a call on a goroutine of its own.
func (d *dispatcher) launch(ctx context.Context, j *job, p plan) {
	run, cancel := context.WithCancelCause(ctx)
	j.begin, j.cancel, j.early = time.Now(), cancel, !d.began
	d.running = append(d.running, j)
	d.alone = p.exclusive
	go func() {
		c := completion{job: j, err: errGoexit}
		defer func() {
			if c.err == errGoexit { //nolint:errorlint // it is no handler's error
				c.result = failedResult(nil, errGoexit)
			}
			c.took = time.Since(j.begin)
			d.complete(c)
		}()
		c.result, c.err = perform(run, j.call, p)
	}()
}

// complete takes note of a handler that has returned.
func (d *dispatcher) complete(c completion) {
	d.mu.Lock()
	d.ended = append(d.ended, c)
	d.mu.Unlock()
	d.poke()
}

// perform calls a handler. The result is nil if it was interrupted.
func perform(run context.Context, call *Call, p plan) (result *Result, err error) {
	defer func() {
		if value := recover(); value != nil { // of an error whose text panics
			err = &history.PanicError{Value: value}
			result = failedResult(nil, err)
		}
	}()
	ctx := context.WithValue(run, callKey{}, call)
	var r *Result
	if p.timeout > 0 {
		r, err = within(ctx, p.timeout, p.handler, call)
	} else {
		r, err = invoke(ctx, p.handler, call)
	}
	switch {
	case err == nil && r == nil:
		return &Result{}, nil
	case err == nil:
		return r, nil
	case isContextError(run, err):
		return nil, err
	}
	return failedResult(r, err), err
}

// invoke calls a handler and turns a panic into an error.
func invoke(ctx context.Context, handler Handler, call *Call) (result *Result, err error) {
	defer catch(&err)
	return handler(ctx, call)
}

// within calls a handler with a context that ends after a time. A handler that
// does not return soon after that is left behind: what it returns is dropped.
func within(ctx context.Context, after time.Duration, handler Handler, call *Call) (*Result, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, after, &timeoutError{after})
	defer cancel()
	type answer struct {
		result *Result
		err    error
	}
	answers := make(chan answer, 1)
	go func() {
		a := answer{err: errGoexit}
		defer func() { answers <- a }()
		a.result, a.err = invoke(ctx, handler, call)
	}()
	var a answer
	select {
	case a = <-answers:
	case <-ctx.Done():
		late := time.NewTimer(grace)
		defer late.Stop()
		select {
		case a = <-answers:
		case <-late.C:
			return nil, &leftError{context.Cause(ctx)}
		}
	}
	if a.err != nil && isContextError(ctx, a.err) {
		a.err = context.Cause(ctx)
	}
	return a.result, a.err
}

// lineReader reads lines for callers that cannot wait for longer than a context. A
// read that was left goes on, and the next caller has it.
type lineReader struct {
	in      *bufio.Reader
	pending chan readLine // nil if no read is under way
}

type readLine struct {
	text string
	err  error
}

// fresh drops a line that was meant for a caller who has left.
func (l *lineReader) fresh() {
	select {
	case <-l.pending:
		l.pending = nil
	default:
	}
}

// next returns the next line without its end.
func (l *lineReader) next(ctx context.Context) (string, error) {
	if l.pending == nil {
		pending := make(chan readLine, 1)
		l.pending = pending
		go func() {
			text, err := l.in.ReadString('\n')
			if err == io.EOF && text != "" {
				err = nil
			}
			pending <- readLine{strings.TrimRight(text, "\r\n"), err}
		}()
	}
	select {
	case line := <-l.pending:
		l.pending = nil
		return line.text, line.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}
