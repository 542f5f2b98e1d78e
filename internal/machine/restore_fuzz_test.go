package machine

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/toolrunner/toolrunner/internal/history"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// FuzzRestore reads what may come from anybody. What it takes is a run that goes on,
// runs no call that has a result, and sends what the API accepts.
func FuzzRestore(f *testing.F) {
	for seed := range 12 {
		d := newDrive(f, randomBytes(byte(seed), 20+seed))
		if err := d.run(); err != nil {
			f.Fatal(err)
		}
		f.Add(d.whole)
		f.Add(d.deltas)
		r, _ := d.m.Record(nil, now)
		sealed, _, err := r.Encode([]byte("0123456789abcdef"), "")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(sealed)
		r.Version = oldestVersion // has no checksum, so that what is changed is read
		old, err := r.encode()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(old)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := restored(t, data)
		if refused := (*SnapshotError)(nil); err != nil && !errors.As(err, &refused) {
			t.Fatalf("error = %v, want a *SnapshotError", err)
		}
		if err != nil {
			return
		}
		r, _ := m.Record(nil, now)
		whole, _, err := r.Encode(nil, "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := restored(t, whole); err != nil {
			t.Fatalf("what was read cannot be read again: %v\n%s", err, whole)
		}
		goOnWith(t, m, whole)
	})
}

func restored(t *testing.T, data []byte) (*Machine, error) {
	t.Helper()
	r, err := ReadRecords(data, nil)
	if err != nil {
		return nil, err
	}
	m, _, err := r.Restore(testTools(t), nil, false)
	return m, err
}

// goOnWith takes a few steps of a machine that was read.
func goOnWith(t *testing.T, m *Machine, whole []byte) {
	t.Helper()
	for range 6 {
		answered := answeredIDs(t, m)
		s := next(m, StepLimits{})
		switch s.Kind {
		case End:
			return
		case Run:
			for _, call := range s.Calls {
				if input, _ := call.Input(); answered[call.use.ID] || !json.Valid(input) {
					t.Fatalf("the call %q is run with %s\n%s", call.use.ID, input, whole)
				}
				answer(m, call, "x")
			}
		case Send:
			m.Begin(s)
			checkSendable(t, m, whole)
			take(t, m, `{"type":"text","text":"done"}`, "end_turn")
		default:
			m.Begin(s)
			m.Failed()
		}
	}
}

// answeredIDs returns the ids of the calls that have results in the history.
func answeredIDs(t *testing.T, m *Machine) map[string]bool {
	t.Helper()
	ids := make(map[string]bool)
	for _, message := range m.Messages() {
		if message.Role != history.RoleUser {
			continue
		}
		blocks, err := message.Blocks()
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range blocks {
			ids[b.ToolUseID] = true
		}
	}
	return ids
}

// checkSendable checks the rules that the history keeps: those on the shape of
// blocks are the caller's, also without a snapshot.
func checkSendable(t *testing.T, m *Machine, whole []byte) {
	t.Helper()
	if m.s.history.Last() == nil {
		return // nothing was asked yet
	}
	body := requestBody(m, m.Messages())
	for _, b := range toolrunnertest.Breaches(toolrunnertest.CheckRequest(withoutAbandoned(body))) {
		switch b.Rule {
		case toolrunnertest.RuleToolResultMissing:
		case toolrunnertest.RuleIDDuplicate, toolrunnertest.RuleIDFormat, toolrunnertest.RuleToolInput, toolrunnertest.RuleToolResultUnknown,
			toolrunnertest.RuleToolResultDuplicate, toolrunnertest.RuleToolResultOrder, toolrunnertest.RuleToolResultError,
			toolrunnertest.RuleUserEmpty, toolrunnertest.RuleTextEmpty, toolrunnertest.RuleTextWhitespace, toolrunnertest.RuleBody,
			toolrunnertest.RuleMessagesEmpty:
		default:
			continue
		}
		t.Errorf("the request is invalid: %v\n%s\n%s", b, body, whole)
	}
}
