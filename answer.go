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
	results := make([]*Result, len(calls))
	for i, call := range calls {
		results[i] = r.loop.hand(call.ID)
	}
	return results, nil
}

// runCalls runs the calls that can be run, and answers those that cannot.
func (r *Runner) runCalls(ctx context.Context, calls []*openCall) error {
	jobs := r.jobs(ctx, calls)
	return dispatch(ctx, jobs, cmp.Or(r.Params.MaxConcurrency, defaultConcurrency))
}

// jobs answers the calls that cannot be run and returns the others.
func (r *Runner) jobs(ctx context.Context, calls []*openCall) []job {
	jobs := make([]job, 0, len(calls))
	for _, call := range calls {
		public := call.public()
		tool, available := r.lookup(call)
		if tool == nil {
			r.log.notFound(ctx, public, available)
			r.answer(call, notFound(call.use))
			continue
		}
		if tool.check != nil && r.Params.Validate == ValidateInput {
			if err := tool.check(public.Input); err != nil {
				r.log.refused(ctx, public, err)
				r.answer(call, failedResult(nil, err))
				continue
			}
		}
		public.readOnly = tool.readOnly
		jobs = append(jobs, job{
			call: public, handler: wrap(tool.handler, r.Params.Middleware), timeout: tool.timeout, exclusive: tool.exclusive,
			started: func() {
				r.log.started(ctx, public)
				r.mu.Lock()
				defer r.mu.Unlock()
				r.loop.started(call, tool.readOnly)
			},
			finished: func(c completion) {
				r.log.finished(ctx, public, c)
				if c.result != nil {
					r.answer(call, c.result)
				}
			},
		})
	}
	return jobs
}

// lookup returns the tool of a call, or the names of those that there are.
func (r *Runner) lookup(call *openCall) (*registered, []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if tool := r.loop.lookup(call.use.name); tool != nil && call.use.toolset == "" {
		return tool, nil
	}
	return nil, r.loop.tools.names(r.loop.history.changes, r.loop.queue.changes)
}

func (r *Runner) answer(call *openCall, result *Result) {
	block := result.encode(call.use)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.loop.answer(call, block, result.Err)
}
