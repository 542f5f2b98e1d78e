package toolrunner

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"

	"github.com/toolrunner/toolrunner/internal/history"
)

// Bytes that may come from anybody reach this file; a loop whose history the API
// accepts leaves it, or an error.

func snapshotError(err error, format string, args ...any) error {
	return &SnapshotError{Reason: fmt.Sprintf(format, args...), Err: err}
}

// readRecords reads a whole state and the records that follow it, and returns the
// state that they make.
func readRecords(data, key []byte) (*record, error) {
	var state *record
	_, err := scanRecords(data, func(raw []byte) error {
		next, err := readRecord(raw, key, state)
		if err == nil {
			state, err = next.after(state)
		}
		return err
	})
	if err == nil && state == nil {
		err = snapshotError(nil, "it is empty, or was cut off")
	}
	return state, err
}

// scanRecords visits records one after the other. The last one may be cut off, as by
// a crash in the middle of writing it, and is left out. It returns where the last
// whole one ends.
func scanRecords(data []byte, visit func(raw []byte) error) (end int, err error) {
	data = bytes.TrimRight(data, "\x00") // which some file systems leave after a crash
	for n := 1; ; n++ {
		decoder := json.NewDecoder(bytes.NewReader(data[end:]))
		var raw json.RawMessage
		err := decoder.Decode(&raw)
		if rest := bytes.TrimSpace(data[end:]); isTorn(err) && isBegun(rest) {
			return end, nil
		}
		if err == nil {
			err = visit(raw)
		}
		if err != nil {
			return 0, snapshotError(err, "record %d, at byte %d", n, end)
		}
		end += int(decoder.InputOffset())
		if end < len(data) && data[end] == '\n' {
			end++
		}
	}
}

// isTorn reports whether a record ends too early.
func isTorn(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }

// isBegun reports whether data may be the beginning of a record.
func isBegun(data []byte) bool {
	const head = `{"toolrunner":`
	n := min(len(data), len(head))
	return string(data[:n]) == head[:n]
}

// readRecord reads one record, which was sealed after the one before if there is a
// key.
func readRecord(raw, key []byte, before *record) (*record, error) {
	seal := ""
	if before != nil {
		seal = before.MAC
	}
	if _, err := readHead(raw); err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields() // what this package does not know may matter
	var r record
	if err := decoder.Decode(&r); err != nil {
		return nil, err
	}
	if r.Keep == nil {
		seal = ""
	}
	if err := r.checkSeal(raw, key, seal); err != nil {
		return nil, err
	}
	return &r, nil
}

// recordHead is what any version of a record has.
type recordHead struct {
	Version  *int   `json:"toolrunner"`
	Run      string `json:"run"`
	Sequence int64  `json:"sequence"`
}

// readHead reads the head of a record of this version.
func readHead(raw []byte) (recordHead, error) {
	var head recordHead
	err := json.Unmarshal(raw, &head) // fills in what it can
	if head.Version == nil {
		return head, errors.New("it has no member \"toolrunner\" with the version of the format, so it is not a snapshot")
	}
	if *head.Version != snapshotVersion {
		return head, fmt.Errorf("it has version %d of the format, and this package reads version %d; use the version of the package that has written it, or a later one", *head.Version, snapshotVersion)
	}
	return head, err
}

// after returns the whole state that r makes after before.
func (r *record) after(before *record) (*record, error) {
	if before != nil {
		switch {
		case r.Run != before.Run:
			return nil, fmt.Errorf("it is of the run %q, and the one before of %q", r.Run, before.Run)
		case r.After != before.Sequence || r.Sequence <= r.After:
			return nil, fmt.Errorf("it has sequence %d after %d, and the one before has %d: two processes may have written them", r.Sequence, r.After, before.Sequence)
		}
	}
	if r.Keep == nil {
		return r, nil
	}
	if before == nil {
		return nil, errors.New("it holds only what has changed since another record, which is not there")
	}
	if *r.Keep < 0 || *r.Keep > len(before.Messages) {
		return nil, fmt.Errorf("it keeps %d of %d messages", *r.Keep, len(before.Messages))
	}
	state := *r
	state.Keep = nil
	state.Messages = append(before.Messages[:*r.Keep], r.Messages...) // nobody reads before any more
	known := make(map[string]savedCall, len(before.Calls))
	for _, call := range before.Calls {
		known[call.ID] = call
	}
	for i, call := range state.Calls {
		if call.State != "" {
			continue
		}
		was, ok := known[call.ID]
		if !ok {
			return nil, fmt.Errorf("the call %q is to be as before, and was not there", call.ID)
		}
		state.Calls[i] = was
	}
	if state.Tools == nil {
		state.Tools = before.Tools
	}
	if state.Reply == nil {
		state.Reply = before.Reply
	}
	return &state, nil
}

// restore returns the loop of a whole state, and the tools that were others when it
// was saved.
func (r *record) restore(tools *toolset) (*loop, []string, error) {
	l := &loop{tools: tools, run: r.Run, sequence: r.Sequence, reply: r.Reply, rule: r.State.Stop.rule()}
	l.queue.Base = &l.history
	if r.Run == "" || r.Sequence <= 0 {
		return nil, nil, snapshotError(nil, "its run is %q and its sequence %d", r.Run, r.Sequence)
	}
	if err := r.State.check(len(r.Messages)); err != nil {
		return nil, nil, err
	}
	if err := l.restoreMessages(r); err != nil {
		return nil, nil, err
	}
	changed, err := tools.restore(r.Tools, l.history.Changes)
	if err != nil {
		return nil, nil, err
	}
	s := &r.State
	l.news, l.ended, l.iteration, l.container = s.News, s.Ended, s.Iteration, s.Container
	l.usage = s.Usage.restore()
	l.spent = spending{usage: s.Spent.Usage.restore(), calls: maps.Clone(s.Spent.Calls), failing: s.Spent.Failing, elapsed: s.Spent.Elapsed}
	l.compact = compaction{context: s.Compact.Context, floor: s.Compact.Floor, fresh: s.Compact.Fresh}
	if s.Compact.Scheduled != nil {
		config := param.Override[anthropic.BetaCompactionConfigUnionParam](s.Compact.Scheduled)
		l.compact.scheduled = &config
	}
	return l, changed, l.restoreCalls(r)
}

// restoreMessages reads the history, and what was in it when the last request went
// out.
func (l *loop) restoreMessages(r *record) error {
	for i, raw := range r.Messages {
		if i == r.State.Sent.Messages {
			l.sent.history = l.history
		}
		if err := l.history.Restore(raw); err != nil {
			return snapshotError(err, "messages[%d]", i)
		}
	}
	if r.State.Sent.Messages == len(r.Messages) {
		l.sent.history = l.history
	}
	l.sent.open, l.sent.rule = r.State.Sent.Calls, r.State.Sent.Stop.rule()
	for i, raw := range r.Queue {
		if err := l.queue.Restore(raw); err != nil {
			return snapshotError(err, "queue[%d]", i)
		}
	}
	return nil
}

// restoreCalls reads the open calls, which are those that the history leaves open.
func (l *loop) restoreCalls(r *record) error {
	if len(r.Calls) != len(l.history.Open) {
		return snapshotError(nil, "it has %d open calls, and the history %d", len(r.Calls), len(l.history.Open))
	}
	for i := range r.Calls {
		use := l.history.Open[i]
		if r.Calls[i].ID != use.ID {
			return snapshotError(nil, "calls[%d] is %q, and in the history %q", i, r.Calls[i].ID, use.ID)
		}
		call, err := r.Calls[i].restore(use)
		if err != nil {
			return snapshotError(err, "the call %q", use.ID)
		}
		tool := l.tools.byName[use.Name]
		waits := call.state == callSuspended || call.state == callWaiting
		if waits && tool == nil && use.Toolset == "" && r.Tools.has(use.Name) {
			return snapshotError(nil, "the call %q waits for the tool %q, which is not among the tools; pass it to Resume", use.ID, use.Name)
		}
		l.open = append(l.open, call)
	}
	for i := range r.Dropped {
		b, err := history.ParseBlock(r.Dropped[i].Use)
		if err == nil {
			err = history.CheckUses([]history.Block{b})
		}
		var call *openCall
		if err == nil {
			call, err = r.Dropped[i].restore(b.Use())
		}
		if err != nil {
			return snapshotError(err, "dropped[%d]", i)
		}
		l.dropped = append(l.dropped, call)
	}
	return nil
}

// restore returns the call use in the state that was saved.
func (c *savedCall) restore(use history.Use) (*openCall, error) {
	state, ok := parseCallState(c.State)
	if !ok || c.Iteration < 0 || c.Reply < 0 {
		return nil, fmt.Errorf("its state is %q, its iteration %d, its reply %d", c.State, c.Iteration, c.Reply)
	}
	call := &openCall{use: use, iteration: c.Iteration, reply: c.Reply, state: state, repeat: c.Repeat, unrun: c.Unrun}
	if c.Decision != "" {
		d, err := c.decision(use)
		if err != nil {
			return nil, err
		}
		call.decided, call.decision = true, d
	}
	if call.state == callUnrun && c.Unrun == "" {
		return nil, errors.New("it is not run, and nothing says why")
	}
	if call.state == callAnswered {
		b, err := history.ParseBlock(c.Result)
		if err != nil || b.Kind != history.TypeToolResult || b.ToolUseID != use.ID || b.IsEmptyError() {
			return nil, fmt.Errorf("its result is no tool_result for it that the API accepts: %.200s", c.Result)
		}
		call.block = c.Result
	}
	return call, nil
}

func (c *savedCall) decision(use history.Use) (Decision, error) {
	for _, d := range []Decision{Allow(), AllowInput(c.Input), Deny("")} {
		if d.String() == c.Decision {
			return d, d.check(use)
		}
	}
	return Decision{}, fmt.Errorf("its decision is %q", c.Decision)
}

// rule returns what follows the stop reason that was saved.
func (s *savedStop) rule() history.Rule {
	if s == nil {
		return history.Rule{Unrun: history.UnrunGiven}
	}
	rule := history.RuleFor(anthropic.BetaStopReason(s.Reason))
	rule.Code = s.Code
	return rule
}

// check says what cannot be, in a state with so many messages.
func (s *savedState) check(messages int) error {
	for name, n := range map[string]int64{
		"iteration": int64(s.Iteration), "sent.messages": int64(s.Sent.Messages), "sent.calls": int64(s.Sent.Calls),
		"usage": s.Usage.least(), "spent.usage": s.Spent.Usage.least(),
		"spent.failing": int64(s.Spent.Failing), "spent.elapsed_ns": int64(s.Spent.Elapsed),
		"compaction.context": s.Compact.Context, "compaction.floor": s.Compact.Floor,
	} {
		if n < 0 {
			return snapshotError(nil, "state.%s is %d", name, n)
		}
	}
	for name, n := range s.Spent.Calls {
		if n < 0 {
			return snapshotError(nil, "state.spent.calls[%q] is %d", name, n)
		}
	}
	if s.Sent.Messages > messages {
		return snapshotError(nil, "state.sent.messages is %d, and there are %d", s.Sent.Messages, messages)
	}
	return nil
}

// least returns the smallest of the numbers.
func (u savedUsage) least() int64 {
	return min(int64(u.Replies), u.Input, u.Output, u.CacheCreation, u.CacheRead)
}

func (u savedUsage) restore() Usage {
	return Usage{u.Replies, u.Input, u.Output, u.CacheCreation, u.CacheRead}
}

// restore gives the tools, which are those of this process, the places that they
// had. told is what messages say about them. It returns the names of those that the
// model knows otherwise.
func (s *toolset) restore(saved *savedTools, told []history.Change) (changed []string, err error) {
	if saved == nil {
		return nil, snapshotError(nil, "it has no tools")
	}
	place := make(map[string]int)
	for i, tool := range saved.First {
		place[tool.Name] = i
	}
	for _, tool := range slices.Concat(saved.First, saved.Added) {
		if now := s.byName[tool.Name]; now == nil || now.save() != tool {
			changed = append(changed, tool.Name)
		}
	}
	for _, name := range saved.Removed {
		s.drop(name)
	}
	for i, raw := range saved.Changes {
		b, err := history.ParseBlock(raw)
		if err != nil || len(b.Changes) == 0 && b.Kind != history.TypeToolAddition && b.Kind != history.TypeToolRemoval {
			return nil, snapshotError(err, "tools.changes[%d] changes no tool", i)
		}
		s.changes, s.queued = append(s.changes, raw), append(s.queued, b.Changes...)
	}
	later := make(map[string]bool) // what messages define, or have defined, is not among the first
	maps.Copy(later, s.gone)
	for _, tool := range saved.Added {
		later[tool.Name] = true
	}
	for _, c := range slices.Concat(told, s.queued) {
		later[c.Name] = later[c.Name] || c.Add
	}
	s.first = slices.DeleteFunc(s.first, func(r *registered) bool { return later[r.name] && placeOf(place, r) == len(place) })
	slices.SortStableFunc(s.first, func(a, b *registered) int { return cmp.Compare(placeOf(place, a), placeOf(place, b)) })
	return changed, nil
}

// placeOf returns where a tool was sent; new ones come last.
func placeOf(place map[string]int, r *registered) int {
	if at, ok := place[r.name]; ok {
		return at
	}
	return len(place)
}
