package toolrunner

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/toolrunner/toolrunner/toolrunnertest"

	"github.com/toolrunner/toolrunner/internal/history"
)

// FuzzResume reads what may come from anybody. What it takes is a run that goes on,
// runs no call that has a result, and sends what the API accepts.
func FuzzResume(f *testing.F) {
	for seed := range 12 {
		source := rand.NewChaCha8([32]byte{byte(seed)})
		input := make([]byte, 20+seed)
		_, _ = source.Read(input)
		d := newDrive(input)
		if err := d.run(); err != nil {
			f.Fatal(err)
		}
		sealed, _ := seal(d.whole, []byte("0123456789abcdef"), "")
		f.Add(d.whole)
		f.Add(d.deltas)
		f.Add(sealed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := restored(data)
		if refused := (*SnapshotError)(nil); err != nil && !errors.As(err, &refused) {
			t.Fatalf("error = %v, want a *SnapshotError", err)
		}
		if err != nil {
			return
		}
		rec, _ := l.record(nil, time.Time{})
		whole, err := rec.encode()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := restored(whole); err != nil {
			t.Fatalf("what was read cannot be read again: %v\n%s", err, whole)
		}
		goOnWith(t, l, whole)
	})
}

func restored(data []byte) (*loop, error) {
	rec, err := readRecords(data, nil)
	if err != nil {
		return nil, err
	}
	l, _, err := rec.restore(fuzzTools())
	return l, err
}

// goOnWith takes a few steps of a loop that was read.
func goOnWith(t *testing.T, l *loop, whole []byte) {
	t.Helper()
	for range 6 {
		answered := make(map[string]bool)
		for _, m := range l.history.Messages {
			if m.Role == history.RoleUser {
				blocks, err := m.Blocks()
				if err != nil {
					t.Fatal(err)
				}
				for _, b := range blocks {
					answered[b.ToolUseID] = true
				}
			}
		}
		s := l.step(limits{})
		switch s.kind {
		case stepEnd:
			return
		case stepRun:
			for _, call := range s.calls {
				if answered[call.use.ID] || !json.Valid(call.input()) {
					t.Fatalf("the call %q is run with %s\n%s", call.use.ID, call.input(), whole)
				}
				l.started(call, false)
				l.answer(call, TextResult("").encode(call.use), nil)
			}
		case stepSend:
			checkSendable(t, l, whole)
			r, err := history.ReadReply([]byte(`{"id":"m","type":"message","role":"assistant","content":[{"type":"text","text":"done"}],"stop_reason":"end_turn"}`), l.taken)
			if err != nil {
				t.Fatal(err)
			}
			l.receive(r)
		default:
			l.fail()
		}
	}
}

// checkSendable checks the rules that the history keeps: those on the shape of
// blocks are the caller's, also without a snapshot.
func checkSendable(t *testing.T, l *loop, whole []byte) {
	t.Helper()
	if l.history.Last() == nil {
		return // nothing was asked yet
	}
	body, err := requestBody(l)
	if err != nil {
		t.Fatalf("%v\n%s", err, whole)
	}
	for _, b := range toolrunnertest.Breaches(toolrunnertest.CheckRequest(withoutAbandoned(body))) {
		switch b.Rule {
		case "tool-result-missing":
			if l.rule.After == history.ResumeRun && l.history.Last().Role == history.RoleAssistant {
				continue // a paused reply goes back as it is (E8)
			}
		case "id-duplicate", "id-format", "tool-input", "tool-result-unknown", "tool-result-duplicate", "tool-result-order", "tool-result-error",
			"system-position", "user-empty", "text-empty", "text-whitespace", "trailing-whitespace", "body", "messages-empty":
		default:
			continue
		}
		t.Errorf("the request is invalid: %v\n%s\n%s", b, body, whole)
	}
}
