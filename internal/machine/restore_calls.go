package machine

import (
	"errors"
	"fmt"
	"slices"

	"github.com/toolrunner/toolrunner/internal/history"
)

// callsAfter sets the open calls to those of the state that r makes after before, of
// which it may change what it holds: nobody reads it any more.
func (r *Record) callsAfter(before *Record) error {
	changed := r.Calls
	if r.KeepCalls {
		r.Calls, r.place = before.Calls, before.place
	}
	for i := range changed {
		call := &changed[i]
		if !r.KeepCalls && call.State != "" {
			continue
		}
		at, ok := before.callAt(call.ID)
		switch {
		case !ok:
			return fmt.Errorf("the call %q is to be as before, and was not there", call.ID)
		case r.KeepCalls:
			r.Calls[at], r.place = *call, before.place
		default:
			*call = before.Calls[at]
		}
	}
	return nil
}

// callAt returns the place of an open call.
func (r *Record) callAt(id string) (at int, ok bool) {
	if r.place == nil {
		r.place = make(map[string]int, len(r.Calls))
		for i := range r.Calls {
			r.place[r.Calls[i].ID] = i
		}
	}
	at, ok = r.place[id]
	return at, ok
}

// restoreCalls reads the open calls, which are those that the history leaves open.
func (m *Machine) restoreCalls(r *Record) error {
	s := &m.s
	if len(r.Calls) != len(s.history.Open) {
		return snapshotError(nil, "it has %d open calls, and the history %d", len(r.Calls), len(s.history.Open))
	}
	for i := range r.Calls {
		use := s.history.Open[i]
		if r.Calls[i].ID != use.ID {
			return snapshotError(nil, "calls[%d] is %q, and in the history %q", i, r.Calls[i].ID, use.ID)
		}
		call, err := r.Calls[i].restore(use)
		if err != nil {
			return snapshotError(err, "the call %q", use.ID)
		}
		waits := call.state == suspended || call.state == waiting
		if waits && m.tools.byName[use.Name] == nil && use.Toolset == "" && r.Tools.has(use.Name) {
			return snapshotError(nil, "the call %q waits for the tool %q, which is not among the tools; pass it to Resume", use.ID, use.Name)
		}
		s.open = append(s.open, call)
	}
	for i := range r.Dropped {
		b, err := history.ParseBlock(r.Dropped[i].Use)
		if err == nil {
			err = history.CheckUses([]history.Block{b})
		}
		var call *Call
		if err == nil {
			call, err = r.Dropped[i].restore(b.Use())
		}
		if err != nil {
			return snapshotError(err, "dropped[%d]", i)
		}
		s.discarded = append(s.discarded, call)
	}
	return nil
}

// restoreRollback finds the calls that were open when the last request went out. Those
// that have results by now were not to be run.
func (s *state) restoreRollback() {
	for _, use := range s.rollback.history.Open {
		at := slices.IndexFunc(s.open, func(c *Call) bool { return c.isFor(use) })
		if at < 0 {
			s.rollback.open = append(s.rollback.open, &Call{use: use, state: unrun, unrun: s.rollback.rule.Unrun})
			continue
		}
		s.rollback.open = append(s.rollback.open, s.open[at])
	}
}

// restore returns the call use in the state that was saved.
func (c *savedCall) restore(use history.Use) (*Call, error) {
	state := slices.Index(callStates[:], c.State)
	if state < 0 || c.Iteration < 0 || c.Iteration > maxSteps || c.Reply < 0 || c.Reply > maxSteps {
		return nil, fmt.Errorf("its state is %q, its iteration %d, its reply %d", c.State, c.Iteration, c.Reply)
	}
	call := &Call{
		use: use, iteration: c.Iteration, replyIndex: c.Reply, state: callState(state), repeats: c.Repeat, unrun: c.Unrun,
		failure: c.Failure,
	}
	if c.Decision != "" {
		if err := c.decide(call); err != nil {
			return nil, err
		}
	}
	if call.state == unrun && c.Unrun == "" {
		return nil, errors.New("it is not run, and nothing says why")
	}
	if call.state == answered {
		if err := checkResult(c.Result, use); err != nil {
			return nil, err
		}
		call.block = c.Result
	}
	if c.Failure != nil {
		if err := checkResult(c.Failure, use); err != nil {
			return nil, err
		}
	}
	if result, broken := history.Unreadable(use); broken && (call.state == waiting || call.state == suspended) {
		call.state, call.failure, call.block = answered, result, result
	}
	return call, nil
}

// checkResult says what is wrong with the saved result of a call.
func checkResult(raw []byte, use history.Use) error {
	b, err := history.ParseBlock(raw)
	if err != nil || b.Kind != history.TypeToolResult || b.ToolUseID != use.ID || b.IsEmptyError() {
		return fmt.Errorf("its result is no tool_result for it that the API accepts: %.200s", raw)
	}
	if err := history.CheckResult(raw); err != nil {
		return fmt.Errorf("its result is none that the API accepts: %w", err)
	}
	return nil
}

// decide gives the call the decision that was saved, which must fit what the call has
// come to.
func (c *savedCall) decide(call *Call) error {
	var d Decision
	switch c.Decision {
	case Allow.String():
		d.Kind = Allow
	case AllowInput.String():
		d.Kind, d.Input = AllowInput, c.Input
	case Deny.String():
		d.Kind = Deny
	default:
		return fmt.Errorf("its decision is %q", c.Decision)
	}
	if call.state == suspended || (call.state == waiting || call.state == started) && d.Kind == Deny {
		return fmt.Errorf("its state is %q and its decision %q, which exclude each other", c.State, c.Decision)
	}
	call.decided, call.decision = true, d
	return d.Check(call.use)
}
