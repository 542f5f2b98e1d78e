package toolrunner

import (
	"context"
	"fmt"

	"github.com/toolrunner/toolrunner/internal/schema"
)

// Calls that are about to run reach this file; those that a person, or a rule, has
// let through leave it.

// Pending returns the calls that wait for a decision, in the order of the model: an
// approver has suspended them, or Decide has. They are the caller's to keep.
func (r *Runner) Pending() []*Call {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.publicAll(r.loop.suspended())
}

// Decide decides on a call of the open turn that has not started: one that is
// pending, or one of a loop body's turn, ahead of Params.Approve. The first decision
// on a call counts; [Suspend] is none, and makes the call wait. The run goes on with
// the next loop. Any goroutine may call it.
//
// The decision holds for the call as the model made it, its tool and its exact
// input, and for nothing else. Decide returns a *[DecisionError] for an id that no
// such call has, for a call that was decided on or has started, for a decision that
// was made for another tool or input ([Decision.For]), and for an input of
// [AllowInput] that the tool would not take; nothing has then changed.
func (r *Runner) Decide(callID string, d Decision) error {
	r.mu.Lock()
	err := r.decide(callID, d)
	call := r.loop.openCall(callID)
	r.mu.Unlock()
	if err == nil {
		r.log.decided(context.Background(), call, d)
	}
	return err
}

// decide is called with the lock held.
func (r *Runner) decide(callID string, d Decision) error {
	fail := func(format string, args ...any) error {
		return &DecisionError{CallID: callID, Decision: d, Reason: fmt.Sprintf(format, args...)}
	}
	call := r.loop.openCall(callID)
	if call == nil {
		return fail("no call with that id is open; open are: %s", namesOf(r.loop.open))
	}
	if d.kind == allowInput {
		tool := r.toolOf(call)
		input, _, err := r.fitted(tool, d.input)
		if err != nil {
			return fail("%v", err)
		}
		if own, _, err := r.fitted(tool, call.use.written()); err == nil && sameInput(input, own) {
			d.kind = allow
		}
	}
	if err := r.loop.decide(call, d); err != nil {
		return fail("%v", err)
	}
	return nil
}

// namesOf lists calls for a reader.
func namesOf(calls []*openCall) string {
	if len(calls) == 0 {
		return "none"
	}
	var names []byte
	for i, call := range calls {
		if i > 0 {
			names = append(names, ", "...)
		}
		names = fmt.Appendf(names, "%q of %s", call.use.id, call.use.name)
	}
	return string(names)
}

// public returns a call as callers see it. The lock is held.
func (r *Runner) public(call *openCall) *Call {
	public := call.public()
	public.RunID = r.loop.run
	if tool := r.toolOf(call); tool != nil {
		public.ReadOnly, public.definition = tool.readOnly, tool.definition
	}
	return public
}

func (r *Runner) publicAll(calls []*openCall) []*Call {
	all := make([]*Call, len(calls))
	for i, call := range calls {
		all[i] = r.public(call)
	}
	return all
}

// fitted returns input as the handler of a tool gets it, as it was parsed if it
// was, or why the handler does not get it.
func (r *Runner) fitted(tool *registered, input []byte) ([]byte, *schema.Document, error) {
	if tool == nil || tool.schema == nil || r.Params.Validate == ValidateOff {
		return input, nil, nil
	}
	if r.Params.Validate == ValidateLenient {
		input = tool.schema.Unwrap(input)
	}
	read, err := tool.schema.Read(input)
	return input, read, err
}

// toolOf returns the tool that answers a call, or nil. The lock is held.
func (r *Runner) toolOf(call *openCall) *registered {
	if call.use.toolset != "" {
		return nil
	}
	return r.loop.lookup(call.use.name)
}

// ask has each call that can run decided on before any of them does.
func (r *Runner) ask(ctx context.Context, calls []*openCall) error {
	for _, call := range calls {
		approver := r.Params.Approve // which may change it
		if approver == nil {
			return nil
		}
		r.mu.Lock()
		public := r.public(call)
		r.mu.Unlock()
		if public.decided {
			continue
		}
		if _, ok := r.prepareCall(ctx, call, public); !ok {
			continue
		}
		public.read = nil // an approver may keep the call for days
		if err := contextError(ctx); err != nil {
			return err
		}
		if err := r.askOne(ctx, approver, call, public); err != nil {
			return err
		}
	}
	return nil
}

// askOne has an approver decide on a call.
func (r *Runner) askOne(ctx context.Context, approver Approver, call *openCall, public *Call) error {
	public.refusal = func(input []byte) error {
		r.mu.Lock()
		defer r.mu.Unlock()
		_, _, err := r.fitted(r.toolOf(call), input)
		return err
	}
	d, err := approve(ctx, approver, public)
	if ended := contextError(ctx); ended != nil {
		return ended
	}
	if err != nil {
		return fmt.Errorf("toolrunner: no decision on the call %q of %s: %w", call.use.id, call.use.name, err)
	}
	r.mu.Lock()
	open := call.state == callWaiting && !call.decided // otherwise somebody was faster
	if open {
		err = r.decide(call.use.id, d)
	}
	r.mu.Unlock()
	if open && err == nil {
		r.log.decided(ctx, call, d)
	}
	return err
}

// approve calls an approver and turns a panic into an error: without an answer
// nothing runs.
func approve(ctx context.Context, approver Approver, call *Call) (d Decision, err error) {
	defer catch(&err)
	return approver(ctx, call)
}
