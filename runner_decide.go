package toolrunner

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/toolrunner/toolrunner/internal/machine"
)

// Pending returns the calls that wait for a decision, in the order of the model: an
// approver has suspended them, or Decide has. The returned calls are copies, which
// the caller may modify and retain. Any goroutine may call it.
func (r *Runner) Pending() []*Call {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.publicAll(r.machine.Suspended())
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
	call := r.machine.Find(callID)
	open := r.machine.Open()
	r.mu.Unlock()
	if call == nil {
		return decisionError(callID, d, "no call with that id is open; open are: %s", namesOf(open))
	}
	return r.decide(context.Background(), call, d)
}

// decide decides on a call that was open a moment ago.
func (r *Runner) decide(ctx context.Context, call *machine.Call, d Decision) error {
	d, err := r.checked(call, d)
	if err != nil {
		return decisionError(call.Use().ID, d, "%v", err)
	}
	r.mu.Lock()
	if !r.machine.IsOpen(call) {
		r.mu.Unlock()
		return decisionError(call.Use().ID, d, "the turn that made the call was taken over")
	}
	err = r.machine.Decide(call, d.inside())
	r.mu.Unlock()
	if err != nil {
		return decisionError(call.Use().ID, d, "%v", err)
	}
	r.log.Decided(ctx, call, d, d.reason)
	return nil
}

// decideDiscarded decides on a call that a takeover has discarded, should it come back.
func (r *Runner) decideDiscarded(call *machine.Call, d Decision) error {
	d, err := r.checked(call, d)
	if err == nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		err = r.machine.DecideDiscarded(call, d.inside())
	}
	if err != nil {
		return decisionError(call.Use().ID, d, "%v", err)
	}
	return nil
}

// checked returns the decision, as [Allow] if its input is the model's own, or why the
// tool would not take the input. Checking takes time, so the lock is not held.
func (r *Runner) checked(call *machine.Call, d Decision) (Decision, error) {
	if d.kind != machine.AllowInput {
		return d, nil
	}
	r.mu.Lock()
	tool, validate := r.toolOf(call), r.validate
	r.mu.Unlock()
	input, _, err := fitted(tool, d.input, validate)
	if err != nil {
		return d, err
	}
	if own, _, err := fitted(tool, call.Use().Written(), validate); err == nil && machine.SameInput(input, own) {
		d.kind = machine.Allow
	}
	return d, nil
}

func decisionError(callID string, d Decision, format string, args ...any) error {
	return &DecisionError{CallID: callID, Decision: d, Reason: fmt.Sprintf(format, args...)}
}

// noDecision is the error of an approver that came to none.
func noDecision(call *machine.Call, err error) error {
	use := call.Use()
	return fmt.Errorf("toolrunner: no decision on the call %q of %s: %w", use.ID, use.Name, err)
}

// namesOf lists calls for a reader.
func namesOf(calls []*machine.Call) string {
	if len(calls) == 0 {
		return "none"
	}
	var names []byte
	for i, call := range calls {
		if i > 0 {
			names = append(names, ", "...)
		}
		use := call.Use()
		names = fmt.Appendf(names, "%q of %s", use.ID, use.Name)
	}
	return string(names)
}

// unseen returns a call without what it is to run with, for [Call.show] to complete
// when somebody is to see it.
func (r *Runner) unseen(call *machine.Call) *Call {
	use := call.Use()
	return &Call{
		ID: use.ID, Name: use.Name, Iteration: call.Iteration(), ConversationID: r.machine.ID(),
		reply: call.ReplyIndex(), original: use.Written(), block: &lateBlock{raw: use.Raw},
	}
}

// public returns a call as callers see it. The lock is held.
func (r *Runner) public(call *machine.Call) *Call {
	public := r.unseen(call)
	public.Input, public.decided = call.Input()
	public.show()
	if tool := r.toolOf(call); tool != nil {
		public.ReadOnly, public.definition = tool.readOnly, tool.definition
	}
	return public
}

func (r *Runner) publicAll(calls []*machine.Call) []*Call {
	all := make([]*Call, len(calls))
	for i, call := range calls {
		all[i] = r.public(call)
	}
	return all
}

// ask has each call that can run decided on before any of them does.
func (r *Runner) ask(ctx context.Context, calls []*machine.Call) error {
	for _, call := range calls {
		approver := r.Params.Approve // which may change it
		if approver == nil {
			return nil
		}
		public := r.unseen(call)
		if _, ok := r.prepareCall(ctx, call, public); !ok || public.decided {
			continue
		}
		public.show()
		public.read, public.definition = nil, r.definitionOf(call) // an approver may keep the call for days
		if err := contextError(ctx); err != nil {
			return err
		}
		if err := r.askOne(ctx, approver, call, public); err != nil {
			return err
		}
	}
	return nil
}

// definitionOf returns the definition of a call's tool, or nil.
func (r *Runner) definitionOf(call *machine.Call) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	if tool := r.toolOf(call); tool != nil {
		return tool.definition
	}
	return nil
}

// askOne has an approver decide on a call.
func (r *Runner) askOne(ctx context.Context, approver Approver, call *machine.Call, public *Call) error {
	public.refusal = func(input []byte) error {
		r.mu.Lock()
		tool, validate := r.toolOf(call), r.validate
		r.mu.Unlock()
		_, _, err := fitted(tool, input, validate)
		return err
	}
	asked := time.Now()
	d, err := approve(ctx, approver, public)
	if err == nil && r.trace.IsTraced() {
		r.traceCall(ctx, "decision", call, attribute.String("toolrunner.decision", d.String()), attribute.Float64("toolrunner.wait", time.Since(asked).Seconds()))
	}
	if ended := contextError(ctx); ended != nil {
		return ended
	}
	if err != nil {
		return noDecision(call, err)
	}
	r.mu.Lock()
	same := r.machine.Same(call)                                         // the approver may have taken over
	open := same != nil && r.machine.Runnable(same) && !same.IsDecided() // otherwise somebody was faster
	r.mu.Unlock()
	if same == nil {
		return r.decideDiscarded(call, d)
	}
	if !open {
		return nil
	}
	return r.decide(ctx, same, d)
}

// approve calls an approver and turns a panic into an error: without an answer nothing
// runs.
func approve(ctx context.Context, approver Approver, call *Call) (d Decision, err error) {
	defer catch(&err)
	d, err = approver(ctx, call)
	probe(err)
	return d, err
}
