package toolrunner

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner/internal/machine"
)

// Approver decides on a call before it runs, as Params.Approve. The runner asks for the
// calls of a turn one at a time, in the model's order, before any of them starts. It does
// not ask for calls that cannot run: those of unknown tools or with invalid input. The
// call has the input that its handler would receive; the approver may retain it. To decide
// by the input, decode it with [Call.Decode].
//
// An Approver runs on the goroutine of the runner, with the run's context. It may use the
// Runner, also to take over. An error ends the run before any call of the turn starts;
// decisions that were made stand, and the next loop asks for the other calls.
type Approver func(ctx context.Context, call *Call) (Decision, error)

// Decision is what is to become of a call: one of [Allow], [AllowInput], [Deny] and
// [Suspend], which is the zero value. It holds for one call only.
type Decision struct {
	kind   machine.DecisionKind
	input  []byte           // of AllowInput
	reason string           // of Deny
	rule   bool             // of Deny: no person has decided
	made   *machine.MadeFor // nil: for whatever the call is
}

// inside returns the decision as the machine has it.
func (d Decision) inside() machine.Decision {
	inside := machine.Decision{Kind: d.kind, Input: d.input, For: d.made}
	if d.kind == machine.Deny {
		inside.Reason = d.denialText()
	}
	return inside
}

// Allow runs the call as the model made it.
func Allow() Decision { return Decision{kind: machine.Allow} }

// AllowInput runs the call with another input, a JSON object that is copied and checked
// like the model's. The history keeps what the model wrote; the result tells the model
// that the input was changed, and to what. The model's own input means [Allow].
func AllowInput(input json.RawMessage) Decision {
	return Decision{kind: machine.AllowInput, input: bytes.Clone(input)}
}

// Deny rejects the call: its handler does not run, and the model receives a failed result
// that says that the user declined, with the reason if there is one. Other calls of the
// turn are not affected.
func Deny(reason string) Decision { return Decision{kind: machine.Deny, reason: reason} }

// Forbid rejects the call like [Deny], for a rule or because nobody can be asked: the
// model receives a failed result that says that the call is not allowed, and the
// reason if there is one, and nothing about a user.
func Forbid(reason string) Decision { return Decision{kind: machine.Deny, reason: reason, rule: true} }

// Suspend leaves the call for later: the other calls of the turn run, and then the
// run ends with a *[SuspendedError] until [Runner.Decide] has decided on it.
func Suspend() Decision { return Decision{} }

// For binds the decision to the tool and the input of call, so that
// [Runner.Decide] refuses it for a call that has the same id and differs in one of
// them. It is for decisions that travel: the call is what was shown to who decided.
// It may have gone through encoding/json, which changes space and escapes of the
// input, and nothing else.
func (d Decision) For(call *Call) Decision {
	d.made = &machine.MadeFor{Name: call.Name, Input: bytes.Clone(call.written())}
	return d
}

// String returns what was decided: "allow", "allow input", "deny" or "suspend".
func (d Decision) String() string { return d.kind.String() }

// denialText tells the model that a call was denied, and why.
func (d Decision) denialText() string {
	text := "Error: the user declined this call, and it was not run."
	if d.rule {
		text = "Error: this call is not allowed, and it was not run."
	}
	reason := strings.TrimSpace(d.reason)
	if reason == "" {
		return text
	}
	return text + " The reason: " + boundText(reason)
}

// annotated returns the result of a call as the model reads it: if its input was
// changed, that comes first.
func annotated(d machine.Decision, r *Result) *Result {
	if d.Kind != machine.AllowInput {
		return r
	}
	told := *r
	told.Content = append([]anthropic.BetaToolResultBlockParamContentUnion{textContent(machine.ChangedInputText(d.Input))}, r.Content...)
	if r.IsError && len(r.Content) == 0 {
		told.Content = append(told.Content, textContent(emptyErrorText))
	}
	return &told
}

// SuspendedError reports that a run has come to calls which wait for a decision.
// Other calls of their turn have run. [Runner.Decide] decides on one; the run then
// goes on. [Runner.All], [Runner.AllStreaming], [Runner.Next],
// [Runner.RunToCompletion] and [Turn.Results] return it.
type SuspendedError struct {
	Calls []*Call // in the order of the model; copies, which the caller may retain
}

// Error names the calls.
func (e *SuspendedError) Error() string {
	names := make([]string, len(e.Calls))
	for i, call := range e.Calls {
		names[i] = call.ID + " of " + call.Name
	}
	return "toolrunner: the run waits for decisions on calls: " + strings.Join(names, ", ") + "; make them with Runner.Decide and go on"
}

// DecisionError reports a decision that cannot be made. [Runner.Decide] returns it,
// and has changed nothing.
type DecisionError struct {
	CallID   string
	Decision Decision
	Reason   string // why it cannot, and what differs
}

// Error says which decision cannot be made, and why.
func (e *DecisionError) Error() string {
	return fmt.Sprintf("toolrunner: the decision %q on the call %q cannot be made: %s", e.Decision, e.CallID, e.Reason)
}

// AskFor asks the approver for calls of the tools named, and allows every other
// call.
func AskFor(approver Approver, names ...string) Approver {
	names = slices.Clone(names)
	return func(ctx context.Context, call *Call) (Decision, error) {
		if !slices.Contains(names, call.Name) {
			return Allow(), nil
		}
		return approver(ctx, call)
	}
}

// AskUnlessReadOnly allows calls of tools that are ReadOnly, and asks the approver
// for every other call. A tool that is not a [Tool] is never ReadOnly.
func AskUnlessReadOnly(approver Approver) Approver {
	return func(ctx context.Context, call *Call) (Decision, error) {
		if call.ReadOnly {
			return Allow(), nil
		}
		return approver(ctx, call)
	}
}

// Question is a call that waits for the answer of another goroutine; see
// [AskChannel].
type Question struct {
	Call   *Call
	answer chan Decision
}

// Answer decides on the call. The first answer counts, also from several
// goroutines; it never blocks.
func (q *Question) Answer(d Decision) {
	select {
	case q.answer <- d:
	default:
	}
}

// AskChannel asks through a channel: each question goes into questions, and the run
// waits until it is taken and answered, or until its context ends.
func AskChannel(questions chan<- *Question) Approver {
	return func(ctx context.Context, call *Call) (Decision, error) {
		q := &Question{Call: call, answer: make(chan Decision, 1)}
		select {
		case questions <- q:
		case <-ctx.Done():
			return Decision{}, context.Cause(ctx)
		}
		select {
		case d := <-q.answer:
			return d, nil
		case <-ctx.Done():
			return Decision{}, context.Cause(ctx)
		}
	}
}
