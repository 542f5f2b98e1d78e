package machine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/toolrunner/toolrunner/internal/history"
	"github.com/toolrunner/toolrunner/internal/wire"
)

// Decision is what is to become of a call.
type Decision struct {
	Kind   DecisionKind
	Input  []byte   // of AllowInput
	Reason string   // the text of a denied call's result
	For    *MadeFor // the call that it was made for; nil: any
}

// DecisionKind is one of the four decisions.
type DecisionKind uint8

// The decisions. The zero value is none: the call waits.
const (
	Suspend DecisionKind = iota
	Allow
	AllowInput
	Deny
)

// String returns the decision as a record and an error have it.
func (k DecisionKind) String() string {
	return [...]string{"suspend", "allow", "allow input", "deny"}[k&3]
}

// MadeFor is the tool and the input that a decision was made on.
type MadeFor struct {
	Name  string
	Input []byte
}

// Decide makes d count for a call, the first decision that does. It says why d
// cannot be made.
func (m *Machine) Decide(call *Call, d Decision) error {
	switch {
	case call.state == answered:
		return errors.New("it has its result already")
	case call.state == started && !m.runnable(call):
		return errors.New("it has started")
	case call.state == unrun:
		return errors.New("it will not be run")
	case call.decided:
		return fmt.Errorf("it was decided already: %v", call.decision.Kind)
	}
	if err := d.Check(call.use); err != nil {
		return err
	}
	m.update(func(*state) {
		call.decided, call.decision = d.Kind != Suspend, d
		switch d.Kind {
		case Suspend:
			call.state = suspended
		case Deny:
			call.state, call.block = answered, history.ResultBlock(call.use, d.Reason, true)
		case Allow, AllowInput:
			call.state = waiting
		}
	}, call)
	return nil
}

// DecideDiscarded makes d count for a call that a takeover has discarded, should it come
// back. It says why d cannot be made.
func (m *Machine) DecideDiscarded(call *Call, d Decision) error {
	if call.decided || call.state != waiting {
		return nil // somebody was faster
	}
	if err := m.Decide(call, d); err != nil {
		return err
	}
	m.update(func(s *state) {
		if !slices.Contains(s.discarded, call) {
			s.discarded = append(s.discarded, call)
		}
	})
	return nil
}

// Check says why the decision cannot be made on a call of use.
func (d *Decision) Check(use history.Use) error {
	if d.For != nil {
		if d.For.Name != use.Name {
			return fmt.Errorf("it was made on a call of the tool %q, and this is one of %q", d.For.Name, use.Name)
		}
		made, has := plainInput(d.For.Input), plainInput(use.Written())
		if from := difference(made, has); !bytes.Equal(made, has) {
			return fmt.Errorf("it was made on another input, which differs from byte %d on: there it has %.200q, and this call has %.200q", from, made[from:], has[from:])
		}
	}
	if d.Kind == AllowInput {
		if err := wire.Members(d.Input, func(_, _ []byte) error { return nil }); err != nil {
			return fmt.Errorf("its input is not a JSON object: %w: %.200q", err, d.Input)
		}
		if err := history.CheckDepth(d.Input); err != nil {
			return fmt.Errorf("its input: %w", err)
		}
	}
	return nil
}

// plainInput returns input without what encoding/json may change on the way: space,
// and which characters of HTML are escaped.
func plainInput(input []byte) []byte {
	if plain, err := json.Marshal(json.RawMessage(input)); err == nil {
		return plain
	}
	return input
}

// SameInput reports whether two inputs are the same to every reader: they have the
// same keys in the same order, the same digits, and the same characters.
func SameInput(a, b []byte) bool { return bytes.Equal(plainInput(a), plainInput(b)) }

// difference returns where a and b are different.
func difference(a, b []byte) int {
	at := 0
	for at < len(a) && at < len(b) && a[at] == b[at] {
		at++
	}
	return at
}

// ChangedInputText tells the model that a call ran with another input.
func ChangedInputText(input []byte) string {
	return "[The user changed the input of this call before it ran. It ran with: " + string(input) + "]"
}
