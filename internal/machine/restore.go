package machine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"strings"
	"time"

	"github.com/toolrunner/toolrunner/internal/history"
	"github.com/toolrunner/toolrunner/internal/wire"
)

// SnapshotError reports records that a run cannot be resumed from.
type SnapshotError struct {
	Reason string
	Err    error // why; may be nil
}

// Error says what is wrong.
func (e *SnapshotError) Error() string {
	if e.Err != nil {
		return e.Reason + ": " + e.Err.Error()
	}
	return e.Reason
}

// Unwrap returns why it is wrong, or nil.
func (e *SnapshotError) Unwrap() error { return e.Err }

func snapshotError(err error, format string, args ...any) error {
	return &SnapshotError{Reason: fmt.Sprintf(format, args...), Err: err}
}

// ReadRecords reads a whole state and the records that follow it, and returns the
// state that they make.
func ReadRecords(data, key []byte) (*Record, error) {
	var state *Record
	_, err := ScanRecords(data, func(raw []byte) error {
		next, err := readRecord(raw, key, state)
		if err == nil {
			state, err = next.after(state)
		}
		return err
	})
	if err == nil && state == nil {
		err = snapshotError(nil, "it is empty")
	}
	return state, err
}

// ScanRecords visits records one after the other. The last of several may be cut off, as
// by a crash in the middle of writing it, and is left out. It returns where the last whole
// one ends, which is 0 if there is nothing but space.
func ScanRecords(data []byte, visit func(raw []byte) error) (end int, err error) {
	written := bytes.TrimRight(data, "\x00") // which some file systems leave after a crash
	if end = wire.SkipSpace(written, 0); end == len(written) {
		if len(written) < len(data) {
			return 0, snapshotError(nil, "it holds nothing but NUL bytes")
		}
		return 0, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(written))
	for n := 1; ; n++ {
		var raw lengthOf
		err := decoder.Decode(&raw)
		if errors.Is(err, io.EOF) && n > 1 {
			return end, nil
		}
		start := int(decoder.InputOffset()) - int(raw)
		switch {
		case err != nil && n > 1 && isTorn(err) && isTornRecord(written[end:]):
			return end, nil
		case isTorn(err):
			err = errCutOff
		case err == nil && start != end:
			err = errors.New("there is something between it and the record before")
		case err == nil:
			err = visit(written[start : start+int(raw)])
		}
		if err != nil {
			return 0, snapshotError(err, "record %d, at byte %d", n, end)
		}
		if end = start + int(raw); end < len(written) && written[end] == '\n' {
			end++
		}
	}
}

var errCutOff = errors.New("it was cut off")

// lengthOf is how many bytes the JSON of a value has.
type lengthOf int

// UnmarshalJSON sets the length.
func (l *lengthOf) UnmarshalJSON(raw []byte) error {
	*l = lengthOf(len(raw))
	return nil
}

// isTorn reports whether a record ends too early.
func isTorn(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }

// isTornRecord reports whether data may be the beginning of a record, and not one that was
// written to its end and damaged later.
func isTornRecord(data []byte) bool {
	const head = `{"toolrunner":`
	n := min(len(data), len(head))
	if string(data[:n]) != head[:n] {
		return false
	}
	line := data[bytes.LastIndexByte(bytes.TrimRight(data, "\n"), '\n')+1:]
	for _, end := range []string{sumMember, macMember} {
		if digits, ok := bytes.CutPrefix(line, []byte(strings.TrimPrefix(end, ",\n"))); ok {
			rest := bytes.TrimLeft(digits, "0123456789abcdef")
			return len(rest) == 0 || string(rest) == `"`
		}
	}
	return true
}

// Head is what a record begins with.
type Head struct {
	Version  *int   `json:"toolrunner"`
	ID       string `json:"run"`
	Sequence int64  `json:"sequence"`
}

// ReadHead reads the head of a record of this version.
func ReadHead(raw []byte) (Head, error) {
	var head Head
	err := json.Unmarshal(raw, &head) // fills in what it can
	if head.Version == nil {
		return head, errors.New("it has no member \"toolrunner\" with the version of the format, so it is not a snapshot")
	}
	if *head.Version < oldestVersion || *head.Version > recordVersion {
		return head, fmt.Errorf("it has version %d of the format, and this package reads versions %d to %d; use the version of the package that has written it, or a later one", *head.Version, oldestVersion, recordVersion)
	}
	return head, err
}

// readRecord reads one record, which was sealed after the one before if there is a
// key.
func readRecord(raw, key []byte, before *Record) (*Record, error) {
	if _, err := ReadHead(raw); err != nil {
		return nil, err
	}
	var r Record
	if err := checkExact(raw, reflect.TypeFor[Record]()); err != nil { // what this package does not know may matter
		return nil, err
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return nil, err
	}
	seal := ""
	if before != nil && r.Keep != nil {
		seal = before.MAC
	}
	if err := r.checkSeal(raw, key, seal); err != nil {
		return nil, err
	}
	return &r, nil
}

// after returns the whole state that r makes after before.
func (r *Record) after(before *Record) (*Record, error) {
	if before != nil {
		switch {
		case r.ID != before.ID:
			return nil, fmt.Errorf("it is of the conversation %q, and the one before of %q", r.ID, before.ID)
		case r.After != before.Sequence || r.Sequence <= r.After && r.Sequence < maxCount:
			return nil, fmt.Errorf("it has sequence %d after %d, and the one before has %d: two processes may have written them", r.Sequence, r.After, before.Sequence)
		}
	}
	if r.Keep == nil {
		if r.KeepQueue != 0 || r.KeepCalls || r.KeepDropped {
			return nil, errors.New("it is a whole state, and keeps parts of another")
		}
		return r, nil
	}
	if before == nil {
		return nil, errors.New("it holds only what has changed since another record, which is not there")
	}
	if *r.Keep < 0 || *r.Keep > len(before.Messages) {
		return nil, fmt.Errorf("it keeps %d of %d messages", *r.Keep, len(before.Messages))
	}
	if r.KeepQueue < 0 || r.KeepQueue > len(before.Queue) {
		return nil, fmt.Errorf("it keeps %d of %d follow-ups", r.KeepQueue, len(before.Queue))
	}
	state := *r
	state.Messages = append(before.Messages[:*r.Keep], r.Messages...) // nobody reads before any more
	state.Queue = append(before.Queue[:r.KeepQueue], r.Queue...)
	if err := state.callsAfter(before); err != nil {
		return nil, err
	}
	if r.KeepDropped {
		state.Dropped = before.Dropped
	}
	if state.Tools == nil {
		state.Tools = before.Tools
	}
	if state.Reply == nil {
		state.Reply = before.Reply
	}
	state.Keep, state.KeepQueue, state.KeepCalls, state.KeepDropped = nil, 0, false, false
	return &state, nil
}

// Forced reports whether a forced tool choice had done its work.
func (r *Record) Forced() bool { return r.State.Forced }

// Restore returns the machine of a whole state, and the names of the tools that the
// model knows otherwise. forced stands for the forced tool choice, if that has done
// its work.
func (r *Record) Restore(tools *Tools, forced any, unsigned bool) (*Machine, []string, error) {
	m := &Machine{id: r.ID, tools: tools, calling: true}
	s, saved := &m.s, &r.State
	s.queue.Base = &s.history
	s.sequence, s.reply, s.rule = r.Sequence, r.Reply, saved.Stop.rule()
	if r.ID == "" || r.Sequence <= 0 || r.Sequence > maxCount {
		return nil, nil, snapshotError(nil, "its conversation is %q and its sequence %d", r.ID, r.Sequence)
	}
	if err := saved.check(len(r.Messages)); err != nil {
		return nil, nil, err
	}
	if err := s.restoreMessages(r, unsigned); err != nil {
		return nil, nil, err
	}
	changed, err := tools.restore(r.Tools, s.history.Changes)
	if err != nil {
		return nil, nil, err
	}
	s.needsReply, s.iteration = saved.News, saved.Iteration
	s.container, s.containerUntil, s.trace = saved.Container, saved.Until, saved.Trace
	switch {
	case saved.Ended:
		s.standing = finalized
	case saved.Limited:
		s.standing = limited
	}
	if saved.Forced {
		s.forced = forced
	}
	s.usage = saved.Usage.restore()
	s.spent = spending{usage: saved.Spent.Usage.restore(), calls: maps.Clone(saved.Spent.Calls), failing: saved.Spent.Failing, elapsed: saved.Spent.Elapsed}
	s.compaction = compaction{saved.Compact.Scheduled, saved.Compact.Context, saved.Compact.Floor, saved.Compact.Fresh}
	if err := m.restoreCalls(r); err != nil {
		return nil, nil, err
	}
	s.restoreRollback()
	s.sequence = min(s.sequence, maxCount-1) + 1 // resuming counts as a step
	return m, changed, nil
}

// restoreMessages reads the history, and what was in it when the last request went
// out.
func (s *state) restoreMessages(r *Record, unsigned bool) error {
	for i, raw := range r.Messages {
		if i == r.State.Sent.Messages {
			s.rollback.history = s.history
		}
		if err := s.history.Restore(raw, unsigned); err != nil {
			return snapshotError(err, "messages[%d]", i)
		}
	}
	if r.State.Sent.Messages == len(r.Messages) {
		s.rollback.history = s.history
	}
	s.rollback.rule = r.State.Sent.Stop.rule()
	s.rule = endedBy(s.rule, &s.history, r.State.News)
	for i, raw := range r.Queue {
		if err := s.queue.Restore(raw, unsigned); err != nil {
			return snapshotError(err, "queue[%d]", i)
		}
	}
	return nil
}

// rule returns what follows the stop reason that was saved.
func (s *savedStop) rule() history.Rule {
	if s == nil {
		return history.Rule{Unrun: history.UnrunGiven}
	}
	rule := ruleFor(s.Reason)
	rule.Code = s.Code
	return rule
}

// check says what cannot be, in a state with so many messages.
func (s *savedState) check(messages int) error {
	for name, n := range map[string]int64{
		"iteration": int64(s.Iteration), "sent.messages": int64(s.Sent.Messages), "sent.calls": int64(s.Sent.Calls),
		"usage.replies": int64(s.Usage.Replies), "usage.input_tokens": s.Usage.Input, "usage.output_tokens": s.Usage.Output,
		"usage.cache_creation_input_tokens": s.Usage.CacheCreation, "usage.cache_read_input_tokens": s.Usage.CacheRead,
		"spent.usage.input_tokens": s.Spent.Usage.Input, "spent.usage.output_tokens": s.Spent.Usage.Output,
		"spent.usage.cache_creation_input_tokens": s.Spent.Usage.CacheCreation,
		"spent.usage.cache_read_input_tokens":     s.Spent.Usage.CacheRead, "spent.usage.replies": int64(s.Spent.Usage.Replies),
		"spent.failing": int64(s.Spent.Failing), "spent.elapsed_ns": int64(s.Spent.Elapsed / time.Microsecond),
		"compaction.context": s.Compact.Context, "compaction.floor": s.Compact.Floor,
	} {
		if n < 0 || n > maxCount {
			return snapshotError(nil, "state.%s is %d", name, n)
		}
	}
	for name, n := range s.Spent.Calls {
		if n < 0 || n > maxCount {
			return snapshotError(nil, "state.spent.calls[%q] is %d", name, n)
		}
	}
	if len(s.Trace) > maxTrace {
		return snapshotError(nil, "state.trace has %d bytes", len(s.Trace))
	}
	if s.Sent.Messages > messages {
		return snapshotError(nil, "state.sent.messages is %d, and there are %d", s.Sent.Messages, messages)
	}
	return nil
}

// maxTrace bounds what SetTrace is given: ids of a span have less.
const maxTrace = 64

func (u savedUsage) restore() Usage {
	return Usage{u.Replies, u.Input, u.Output, u.CacheCreation, u.CacheRead}
}
