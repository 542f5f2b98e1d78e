package toolrunner

import (
	"context"

	"github.com/toolrunner/toolrunner/internal/history"
)

// A step that runs calls reaches this file; the loop gets their results.

// results runs what is left to run of calls, and hands out their results.
func (r *Runner) results(ctx context.Context, calls []*openCall) ([]*Result, error) {
	if len(calls) == 0 {
		return nil, nil
	}
	for {
		r.mu.Lock()
		waiting := r.loop.waiting()
		r.mu.Unlock()
		if err := r.runCalls(ctx, waiting); err != nil {
			return nil, err
		}
		if results, done, err := r.handOut(calls); done {
			return results, err
		}
	}
}

// handOut returns the results of calls. It reports false if some were decided on
// since the others ran, and are to run.
func (r *Runner) handOut(calls []*openCall) (results []*Result, done bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.loop.waiting()) > 0 {
		return nil, false, nil
	}
	if suspended := r.loop.suspended(); len(suspended) > 0 {
		return nil, true, &SuspendedError{r.publicAll(suspended)}
	}
	results = make([]*Result, len(calls))
	for i, call := range calls {
		r.loop.hand(call.use.ID, &results[i])
	}
	return results, true, nil
}

// runCalls runs the calls that may be run, and answers those that cannot.
func (r *Runner) runCalls(ctx context.Context, calls []*openCall) error {
	r.mu.Lock()
	r.loop.comeToCalls()
	r.mu.Unlock()
	if err := r.save(ctx); err != nil { // the reply, if the body had it first
		return err
	}
	if err := r.ask(ctx, calls); err != nil {
		return err
	}
	if err := r.save(ctx); err != nil { // the decisions
		return err
	}
	jobs := make([]*job, 0, len(calls))
	for _, call := range calls {
		if !call.running { // it began while the reply streamed
			jobs = append(jobs, r.job(call))
		}
	}
	return r.takeCalls(ctx).run(ctx, jobs)
}

// job returns what runs a call.
func (r *Runner) job(call *openCall) *job {
	r.mu.Lock()
	defer r.mu.Unlock()
	public := call.unseen()
	public.RunID = r.loop.run
	return &job{call: public, key: call}
}

// openOf returns the call that a job runs.
func openOf(j *job) *openCall { return j.key.(*openCall) }

// manager returns what decides on jobs, and takes their results.
func (r *Runner) manager(ctx context.Context) manager {
	return manager{
		prepare: func(j *job) (plan, bool) { return r.prepareCall(ctx, openOf(j), j.call) },
		started: func(j *job, p plan) (bool, error) {
			call := openOf(j)
			if !r.start(call, j.call, p) {
				return false, nil
			}
			if err := r.saveStart(ctx, call, p); err != nil {
				return false, err
			}
			r.log.started(ctx, call)
			return true, nil
		},
		finished: func(c completion) (err error) {
			call := openOf(c.job)
			defer func() { err = r.finish(ctx, call, c.result) }() // also if a logger panics
			r.log.finished(ctx, call, c)
			return nil
		},
	}
}

// saveStart has the checkpoint keep that a call starts which must not run twice. If
// that fails, it has not started.
func (r *Runner) saveStart(ctx context.Context, call *openCall, p plan) error {
	if p.repeat {
		return nil
	}
	err := r.save(ctx)
	if err != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.loop.unstarted(call)
	}
	return err
}

// prepareCall looks up what runs a call. It reports false if there is nothing to
// run: the call has its result then.
func (r *Runner) prepareCall(ctx context.Context, call *openCall, public *Call) (plan, bool) {
	tool, available, waiting := r.lookup(call, public)
	switch {
	case !waiting: // a follow-up has answered it, or a decision has
		return plan{}, false
	case call.early && !r.goesEarly(call, tool):
		return plan{}, false
	case tool == nil:
		r.log.notFound(ctx, call, available)
		r.answer(call, ErrorResult(history.NotFound(call.use)))
		return plan{}, false
	}
	input, read, err := r.fitted(tool, public.Input)
	if err != nil {
		r.log.refused(ctx, call, err)
		r.answer(call, failedResult(nil, err))
		return plan{}, false
	}
	public.Input, public.read = input, read
	public.ReadOnly, public.repeatable, public.unchecked = tool.readOnly, tool.repeatable, r.Params.Validate == ValidateOff
	if !tool.discreet || len(r.Params.Middleware) > 0 {
		public.show()
	}
	return plan{wrap(tool.handler, r.Params.Middleware), tool.timeout, tool.exclusive, tool.repeatable}, true
}

// lookup returns the tool of a call, or the names of those that there are, and
// whether the call still waits for one. It gives public the input to run with.
func (r *Runner) lookup(call *openCall, public *Call) (tool *registered, available []string, waiting bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	public.Input, public.decided = call.input(), call.decided
	if tool = r.toolOf(call); tool == nil {
		available = r.loop.tools.names(r.loop.history.Changes, r.loop.queue.Changes)
	}
	return tool, available, call.state == callWaiting
}

// start reports whether a call still waits for its tool, which then is to run with
// the input that public has.
func (r *Runner) start(call *openCall, public *Call, p plan) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return call.decided == public.decided && r.loop.started(call, p.repeat)
}

// finish takes what a call that ran came back with, or nil if it was interrupted,
// and has the checkpoint keep it if its reply is complete.
func (r *Runner) finish(ctx context.Context, call *openCall, result *Result) error {
	if result != nil {
		r.answer(call, call.decision.annotated(result))
	}
	r.mu.Lock()
	r.loop.returned(call)
	r.mu.Unlock()
	if result == nil || call.early {
		return nil
	}
	return r.save(context.WithoutCancel(ctx))
}

func (r *Runner) answer(call *openCall, result *Result) {
	block := result.encode(call.use)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.loop.answer(call, block, result.Err)
}
