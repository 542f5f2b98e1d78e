package machine

import (
	"bytes"
	"slices"

	"github.com/toolrunner/toolrunner/internal/history"
)

// A message thread is a conversation that the API keeps, so that a request holds only what
// is new. The machine knows what the API has of the history, as the replies to its own
// requests have told; no snapshot holds it, as the API forgets it within minutes.

// Form is how a request gives the API the history.
type Form uint8

// The forms of requests.
const (
	None     Form = iota // the driver uses no threads; see Machine.Via
	Plain                // the whole history
	Create               // the whole history, which the API keeps
	Continue             // what came after the reply that the API has kept the history of
)

// Codes of errors by which the API says that it cannot use a thread. Source: the comments
// of the SDK's ErrorCode constants.
const (
	threadNotFound            = "thread_not_found"
	threadAlreadyContinued    = "thread_already_continued"
	threadContinueInFlight    = "thread_continue_in_flight"
	threadFingerprintMismatch = "thread_fingerprint_mismatch"
	threadUnsupported         = "thread_unsupported_request"
)

// thread is what the API has of the history.
type thread struct {
	previous string            // id of the reply that a request can continue; empty: none
	kept     []history.Message // what the API was given, with that reply
	head     any               // what else the API keeps, as the driver has it
	replayed bool              // the thread was begun anew as the API had forgotten it, and not continued since
	off      bool              // the API takes no thread of this conversation
}

// Thread says how the next request can give the API the history.
type Thread struct {
	Off      bool   // as a whole; the API takes no thread
	Previous string // id of the reply that it can continue; empty: none
	Kept     int    // how many messages the API was given, with the last reply to them
	Head     any    // what the request of the thread was given to Via
}

// Thread returns how the next request can give the API the history. A request that
// compacts never continues a thread: the thread is that of the turns.
func (m *Machine) Thread() Thread {
	t := &m.thread
	now := Thread{Off: t.off, Kept: t.covers(m.s.history.Messages)}
	if now.Kept > 0 && m.exchange.kind == Send {
		now.Previous, now.Head = t.previous, t.head
	}
	return now
}

// Via takes note of the form in which the request under way goes out. The head is what else
// the API keeps in a thread. A driver that does not use threads does not call it.
func (m *Machine) Via(form Form, head any) {
	m.exchange.form, m.exchange.head = form, head
}

// Answered takes note that the API has begun to answer the request under way: what that
// continued cannot be continued again.
func (m *Machine) Answered() {
	if m.exchange.form == Continue {
		m.thread.previous = ""
	}
}

// Recover takes note that the request under way was refused with a code of the API. It
// reports whether the request can go out at once in another form, which [Machine.Thread]
// tells.
func (m *Machine) Recover(code string) bool {
	t, form := &m.thread, m.exchange.form
	switch {
	case form < Create:
		return false
	case code == threadUnsupported:
		t.off = true
	case form == Create:
		return false
	case code == threadNotFound:
		t.replayed, t.off = true, t.replayed
	case code == threadAlreadyContinued, code == threadContinueInFlight, code == threadFingerprintMismatch:
		t.replayed = false
	default:
		return false
	}
	t.previous = ""
	return true
}

// DropKept takes all cache_control out of the messages that the API was given: each turn
// may have set one, and a request takes few.
func (m *Machine) DropKept() {
	kept := m.thread.covers(m.s.history.Messages)
	if n := history.Breakpoints(m.s.history.Messages[:kept]); n > 0 {
		m.update(func(s *state) { s.history.DropBreakpoints(0, n) })
		m.thread.kept = m.s.history.Messages[:kept:kept]
	}
}

// received takes note of the reply to a request of e, which is in h.
func (t *thread) received(r *history.Reply, e *exchange, h *history.History) {
	t.previous = ""
	if e.form == None {
		t.kept = nil
		return
	}
	t.kept = slices.Clip(h.Messages)
	if e.form == Continue {
		t.replayed = false
	}
	if e.form >= Create && isKept(r) {
		t.previous, t.head = r.ID, e.head
	}
}

// isKept reports whether the API keeps a reply, as the history has it. It does not keep a
// refusal, nor the reply of another model than the one that was asked.
func isKept(r *history.Reply) bool {
	return len(r.Notes) == 0 && !r.Blank && r.StopReason != "refusal" && !byFallback(r.Usage)
}

// byFallback reports whether another model than the one that was asked wrote the reply with
// a usage object.
func byFallback(usage []byte) bool {
	fallback := false
	eachIteration(usage, func(kind string, _ []byte) { fallback = fallback || kind == "fallback_message" })
	return fallback
}

// covers returns how many messages of a history the API was given: all of kept, or none if
// the history does not begin with them.
func (t *thread) covers(messages []history.Message) int {
	n := len(t.kept)
	switch {
	case n == 0 || n > len(messages):
		return 0
	case &t.kept[0] == &messages[0]: // it has only grown
		return n
	}
	for i := range t.kept {
		if !sameBytes(t.kept[i].Raw, messages[i].Raw) {
			return 0
		}
	}
	t.kept = messages[:n:n]
	return n
}

// sameBytes is bytes.Equal, at once for what is the same memory.
func sameBytes(a, b []byte) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0] || bytes.Equal(a, b))
}
