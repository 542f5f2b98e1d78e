package toolrunner

import (
	"cmp"
	"context"
)

// A step that runs calls reaches this file; the loop gets their results.

// results runs what is left to run of calls, and hands out their results.
func (r *Runner) results(ctx context.Context, calls []*Call) ([]*Result, error) {
	r.mu.Lock()
	waiting := r.loop.waiting()
	r.mu.Unlock()
	if len(calls) == 0 {
		return nil, nil
	}
	if err := r.runCalls(ctx, waiting); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if suspended := r.loop.suspended(); len(suspended) > 0 {
		return nil, &SuspendedError{r.publicAll(suspended)}
	}
	results := make([]*Result, len(calls))
	for i, call := range calls {
		r.loop.hand(call.ID, &results[i])
	}
	return results, nil
}

// runCalls runs the calls that may be run, and answers those that cannot.
func (r *Runner) runCalls(ctx context.Context, calls []*openCall) error {
	if err := r.save(ctx); err != nil { // the reply, if the body had it first
		return err
	}
	if err := r.ask(ctx, calls); err != nil {
		return err
	}
	if err := r.save(ctx); err != nil { // the decisions
		return err
	}
	var failed error // of a checkpoint
	jobs := make([]job, len(calls))
	r.mu.Lock()
	publics := r.publicAll(calls)
	r.mu.Unlock()
	for i, call := range calls {
		public := publics[i]
		logged := *public // the handler may change its own
		jobs[i] = job{
			call:    public,
			prepare: func() (plan, bool) { return r.prepareCall(ctx, call, public) },
			started: func(p plan) bool {
				if failed != nil || !r.start(call, p) {
					return false
				}
				if failed = r.saveStart(ctx, call, p); failed != nil {
					return false
				}
				r.log.started(ctx, &logged)
				return true
			},
			finished: func(c completion) {
				r.log.finished(ctx, &logged, c)
				if c.result != nil {
					r.answer(call, call.decision.annotated(c.result))
					failed = cmp.Or(failed, r.save(context.WithoutCancel(ctx)))
				}
			},
		}
	}
	return cmp.Or(dispatch(ctx, jobs, cmp.Or(r.Params.MaxConcurrency, defaultConcurrency)), failed)
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
	case tool == nil:
		r.log.notFound(ctx, public, available)
		r.answer(call, notFound(call.use))
		return plan{}, false
	case tool.schema != nil && r.Params.Validate != ValidateOff:
		if r.Params.Validate == ValidateLenient {
			public.Input = tool.schema.Unwrap(public.Input)
		}
		if err := tool.schema.Check(public.Input); err != nil {
			r.log.refused(ctx, public, err)
			r.answer(call, failedResult(nil, err))
			return plan{}, false
		}
	}
	public.ReadOnly, public.unchecked = tool.readOnly, r.Params.Validate == ValidateOff
	return plan{wrap(tool.handler, r.Params.Middleware), tool.timeout, tool.exclusive, tool.repeatable}, true
}

// lookup returns the tool of a call, or the names of those that there are, and
// whether the call still waits for one. It gives public the input to run with.
func (r *Runner) lookup(call *openCall, public *Call) (tool *registered, available []string, waiting bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	public.Input = call.input()
	if tool = r.toolOf(call); tool == nil {
		available = r.loop.tools.names(r.loop.history.changes, r.loop.queue.changes)
	}
	return tool, available, call.state == callWaiting
}

// start reports whether a call still waits for its tool, which then is to run.
func (r *Runner) start(call *openCall, p plan) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.loop.started(call, p.repeat)
}

func (r *Runner) answer(call *openCall, result *Result) {
	block := result.encode(call.use)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.loop.answer(call, block, result.Err)
}
