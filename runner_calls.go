package toolrunner

import (
	"context"
	"time"

	"github.com/toolrunner/toolrunner/internal/dispatch"
	"github.com/toolrunner/toolrunner/internal/history"
	"github.com/toolrunner/toolrunner/internal/machine"
	"github.com/toolrunner/toolrunner/internal/schema"
)

// Calls are prepared and run here, and their results reported.

// callJob is what the runner knows a job by.
type callJob struct {
	open   *machine.Call
	public *Call // as the handler gets it
}

func jobOf(j *dispatch.Job) *callJob { return j.Key.(*callJob) }

// job returns what runs a call.
func (r *Runner) job(open *machine.Call) *dispatch.Job {
	public := r.unseen(open)
	return &dispatch.Job{Key: &callJob{open, public}}
}

// runCalls runs the calls that may be run, and answers those that cannot.
func (r *Runner) runCalls(ctx context.Context, calls []*machine.Call) error {
	r.mu.Lock()
	r.machine.ComeToCalls()
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
	if err := r.Params.current(); err != nil { // whom it asked may have changed them
		return prefixed(err)
	}
	jobs := make([]*dispatch.Job, 0, len(calls))
	for _, call := range calls {
		if !r.isRunning(call) { // it began while the reply streamed
			jobs = append(jobs, r.job(call))
		}
	}
	return r.takeDispatcher(ctx).Run(ctx, jobs)
}

func (r *Runner) isRunning(call *machine.Call) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.machine.IsRunning(call)
}

// results runs what is left to run of the calls of a turn, and exposes their results.
// There are none after a takeover.
func (r *Runner) results(ctx context.Context, t *Turn) error {
	if err := r.Params.current(); err != nil {
		return prefixed(err)
	}
	for {
		r.mu.Lock()
		waiting := r.machine.Waiting()
		r.mu.Unlock()
		if err := r.runCalls(ctx, waiting); err != nil || len(t.open) == 0 {
			return err
		}
		if done, err := r.expose(t); done {
			return err
		}
	}
}

// expose gives the loop body the results of a turn. It reports false if some calls
// were decided on since the others ran, and are to run.
func (r *Runner) expose(t *Turn) (done bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.machine.Waiting()) > 0 {
		return false, nil
	}
	if suspended := r.machine.Suspended(); len(suspended) > 0 {
		return true, &SuspendedError{r.publicAll(suspended)}
	}
	t.results = make([]*Result, len(t.open))
	t.exposed = make([]exposed, len(t.open))
	for i, call := range t.open {
		block, cause := r.machine.Result(call)
		result := readResult(block)
		if result.Err = cause; result.IsError && cause == nil {
			result.Err = resultError(result)
		}
		before, _ := result.encode(call.Use())
		t.results[i], t.exposed[i] = result, exposed{result, before}
	}
	return true, nil
}

// exposed is a result that the loop body may change.
type exposed struct {
	result *Result
	before []byte // as it was encoded when it was exposed
}

// amend takes over what the loop body has made of the results of a turn.
func (r *Runner) amend(t *Turn) {
	blocks := make([][]byte, len(t.exposed))
	for i, was := range t.exposed { // encoding may run the caller's code
		now := t.results[i]
		if now == nil {
			now = was.result
		}
		blocks[i], _ = now.encode(t.open[i].Use())
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range t.exposed {
		if string(blocks[i]) != string(t.exposed[i].before) {
			r.machine.Amend(t.open[i], r.resolved(t.open[i], blocks[i]))
			t.exposed[i].before = blocks[i]
		}
	}
}

// hooks returns what decides on jobs, and takes their results.
func (r *Runner) hooks(ctx context.Context) dispatch.Hooks {
	return dispatch.Hooks{
		Prepare: func(j *dispatch.Job) (dispatch.Plan, bool) { return r.prepareCall(ctx, jobOf(j).open, jobOf(j).public) },
		Start: func(j *dispatch.Job, p dispatch.Plan) (bool, error) {
			call := jobOf(j)
			eager, ok := r.start(call, p)
			if !ok {
				return false, nil
			}
			if err := r.saveStart(ctx, call.open, p); err != nil {
				return false, err
			}
			r.log.Started(ctx, call.open, eager)
			return true, nil
		},
		Finish: func(c dispatch.Completion) (err error) {
			call := jobOf(c.Job).open
			result, _ := c.Result.(*Result)
			var block []byte
			if result != nil {
				block, result = r.encodeResult(call, annotated(call.Decision(), result))
			}
			defer func() { err = r.finish(ctx, call, block, result) }() // also if a logger panics
			r.recordFinished(ctx, call, result, c)
			return nil
		},
	}
}

// start reports whether a call still waits for its tool, which then runs with the
// input that public has, and whether it starts while its reply streams.
func (r *Runner) start(call *callJob, p dispatch.Plan) (eager, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, decided := call.open.Input(); decided != call.public.decided {
		return false, false
	}
	return !r.machine.Calling(), r.machine.Start(call.open, p.Repeats)
}

// saveStart has the checkpoint keep that a call starts which must not run twice. If
// that fails, it has not started.
func (r *Runner) saveStart(ctx context.Context, call *machine.Call, p dispatch.Plan) error {
	if p.Repeats {
		return nil
	}
	err := r.save(ctx)
	if err != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.machine.TakeBack(call)
	}
	return err
}

// finish takes what a call that ran came back with, or nil if it was interrupted, and
// has the checkpoint keep it if its reply is complete.
func (r *Runner) finish(ctx context.Context, call *machine.Call, block []byte, result *Result) error {
	r.mu.Lock()
	if result != nil {
		r.machine.SetResult(call, block, result.Err)
	}
	r.machine.Returned(call)
	calling := r.machine.Calling()
	r.mu.Unlock()
	if result == nil || !calling {
		return nil
	}
	ctx, cancel := lasting(ctx)
	defer cancel()
	return r.save(ctx)
}

func (r *Runner) setResult(call *machine.Call, result *Result) {
	block, sent := r.encodeResult(call, result)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.machine.SetResult(call, block, sent.Err)
}

// prepareCall looks up what runs a call. It reports false if there is nothing to run:
// the call has its result then, or is not open any more.
func (r *Runner) prepareCall(ctx context.Context, call *machine.Call, public *Call) (dispatch.Plan, bool) {
	found := r.lookup(call, public)
	tool := found.tool
	switch {
	case !found.runnable: // a follow-up has answered it, or a decision; or a takeover has discarded it
		return dispatch.Plan{}, false
	case !found.calling && !r.goesEarly(call, tool):
		return dispatch.Plan{}, false
	case tool == nil:
		r.log.NotFound(ctx, call, found.available)
		r.traceCall(ctx, "tool_not_found", call)
		r.setResult(call, ErrorResult(history.NotFound(call.Use())))
		return dispatch.Plan{}, false
	}
	input, read, err := fitted(tool, public.Input, r.Params.Validate)
	if err != nil {
		r.log.Refused(ctx, call, err)
		r.traceCall(ctx, "invalid_input", call)
		r.setResult(call, failedResult(nil, err))
		return dispatch.Plan{}, false
	}
	public.Input, public.read = input, read
	public.ReadOnly, public.repeatable, public.unchecked = tool.readOnly, tool.repeatable, r.Params.Validate == ValidateOff
	if !tool.discreet || len(r.Params.Middleware) > 0 {
		public.show()
	}
	handler, timeout, run := wrap(tool.handler, r.Params.Middleware), tool.timeout, r.trace
	return dispatch.Plan{
		Call: func(ctx context.Context) (any, error) {
			ctx, traced := startCallTrace(ctx, run, call, tool, input, !found.calling)
			result, err := perform(ctx, public, handler, timeout)
			endCallTrace(ctx, traced, call.Use(), result, err)
			return result, err
		},
		Goexit:    func() (any, error) { return failedResult(nil, dispatch.ErrGoexit), dispatch.ErrGoexit },
		Exclusive: tool.exclusive, Repeats: tool.repeatable,
	}, true
}

// found is what a look-up says about a call.
type found struct {
	tool      *registered
	available []string // names of tools, if tool is nil
	runnable  bool     // the call may start
	calling   bool     // its turn has come to its calls
}

// lookup looks a call up, and gives public the input to run with.
func (r *Runner) lookup(call *machine.Call, public *Call) found {
	r.mu.Lock()
	defer r.mu.Unlock()
	public.Input, public.decided = call.Input()
	f := found{tool: r.toolOf(call), runnable: r.machine.Runnable(call), calling: r.machine.Calling()}
	if f.tool == nil {
		f.available = r.machine.ToolNames()
	}
	return f
}

// toolOf returns the tool that answers a call, or nil. The lock is held.
func (r *Runner) toolOf(call *machine.Call) *registered {
	use := call.Use()
	if use.Toolset != "" {
		return nil
	}
	return implOf(r.machine.Lookup(use.Name))
}

// fitted returns input as the handler of a tool gets it, as it was parsed if it was, or
// why the handler does not get it.
func fitted(tool *registered, input []byte, validate Validation) ([]byte, *schema.Document, error) {
	if tool == nil || tool.schema == nil || validate == ValidateOff {
		return input, nil, nil
	}
	if validate == ValidateLenient {
		input = tool.schema.Unwrap(input)
	}
	read, err := tool.schema.Read(input)
	return input, read, err
}

// perform calls a handler. The result is nil if it was interrupted.
func perform(run context.Context, call *Call, handler Handler, timeout time.Duration) (result any, err error) {
	defer func() {
		if value := recover(); value != nil { // of an error whose methods panic
			cause := &history.PanicError{Value: value}
			result = failedResult(nil, cause)
			if _, aborts := err.(*dispatch.AbortError); aborts { //nolint:errorlint // looking further panics
				err = &dispatch.AbortError{Err: cause}
			} else {
				err = cause
			}
		}
	}()
	ctx := context.WithValue(run, callKey{}, call)
	var own *Result
	if timeout > 0 {
		own, err = within(ctx, timeout, handler, call)
	} else {
		own, err = invoke(ctx, handler, call)
	}
	probe(err)
	if own != nil {
		probe(own.Err)
	}
	switch {
	case err == nil && own == nil:
		return &Result{}, nil
	case err == nil:
		return own, nil
	case dispatch.SaysEnded(run, err):
		return nil, err
	}
	return failedResult(own, err), err
}
