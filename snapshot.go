package toolrunner

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/toolrunner/toolrunner/internal/history"
	"github.com/toolrunner/toolrunner/internal/wire"
)

// The state of a loop reaches this file, and leaves it as bytes. docs/snapshot.md
// describes them.

// snapshotVersion is the version of the format that is written, and read.
const snapshotVersion = 1

// record is a state of a run, or what has changed since the one before.
type record struct {
	Version  int               `json:"toolrunner"`
	Run      string            `json:"run"`
	Sequence int64             `json:"sequence"`
	After    int64             `json:"after,omitempty"`    // the sequence of the record before
	Keep     *int              `json:"keep,omitempty"`     // how many messages of it stay; nil: it is a whole state
	Messages []json.RawMessage `json:"messages,omitempty"` // that follow them
	Queue    []json.RawMessage `json:"queue,omitempty"`    // follow-ups that wait
	Calls    []savedCall       `json:"calls,omitempty"`    // that are open; of one that has not changed, only the id
	Dropped  []savedCall       `json:"dropped,omitempty"`  // of a reply that was taken over
	State    savedState        `json:"state"`
	Tools    *savedTools       `json:"tools,omitempty"` // nil: as before
	Reply    json.RawMessage   `json:"reply,omitempty"` // nil: as before
	MAC      string            `json:"mac,omitempty"`
}

// savedCall is a call without a result in the history.
type savedCall struct {
	ID        string          `json:"id"`
	State     string          `json:"state,omitempty"`
	Iteration int             `json:"iteration,omitempty"`
	Reply     int             `json:"reply,omitempty"`
	Repeat    bool            `json:"repeat,omitempty"`
	Decision  string          `json:"decision,omitempty"`
	Unrun     string          `json:"unrun,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`  // that was allowed in place of the model's
	Result    json.RawMessage `json:"result,omitempty"` // the tool_result
	Use       json.RawMessage `json:"use,omitempty"`    // the tool_use, where the history does not hold it
}

// savedState is what a loop knows beside its messages and calls.
type savedState struct {
	Stop      *savedStop      `json:"stop,omitempty"` // of the last reply; nil: the messages are the caller's
	Sent      savedSent       `json:"sent"`
	News      bool            `json:"news,omitempty"`
	Ended     bool            `json:"ended,omitempty"`
	Forced    bool            `json:"forced,omitempty"` // the forced tool choice has done its work
	Iteration int             `json:"iteration"`
	Container string          `json:"container,omitempty"`
	Usage     savedUsage      `json:"usage"`
	Spent     savedSpending   `json:"spent"`
	Compact   savedCompaction `json:"compaction"`
}

type savedStop struct {
	Reason string `json:"reason"`
	Code   bool   `json:"code,omitempty"`
}

type savedSent struct {
	Messages int        `json:"messages"`
	Calls    int        `json:"calls,omitempty"`
	Stop     *savedStop `json:"stop,omitempty"`
}

type savedUsage struct {
	Replies       int   `json:"replies"`
	Input         int64 `json:"input_tokens"`
	Output        int64 `json:"output_tokens"`
	CacheCreation int64 `json:"cache_creation_input_tokens"`
	CacheRead     int64 `json:"cache_read_input_tokens"`
}

type savedSpending struct {
	Usage   savedUsage     `json:"usage"`
	Calls   map[string]int `json:"calls,omitempty"`
	Failing int            `json:"failing,omitempty"`
	Elapsed time.Duration  `json:"elapsed_ns"`
}

type savedCompaction struct {
	Scheduled json.RawMessage `json:"scheduled,omitempty"`
	Context   int64           `json:"context,omitempty"`
	Floor     int64           `json:"floor,omitempty"`
	Fresh     bool            `json:"fresh,omitempty"`
}

type savedTools struct {
	First   []savedTool       `json:"first,omitempty"`   // sent as tools
	Added   []savedTool       `json:"added,omitempty"`   // later
	Removed []string          `json:"removed,omitempty"` // of both
	Changes []json.RawMessage `json:"changes,omitempty"` // that the model has not been told
}

type savedTool struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"` // of the definition
}

// saved is what was in the last record, to tell what has changed since.
type saved struct {
	sequence int64
	messages []history.Message
	calls    map[*openCall]int // the versions
	tools    int               // the version
	reply    []byte
	mac      string
}

// record returns the state of the loop; base, if not nil, is where a reader is.
func (l *loop) record(base *saved, now time.Time) (*record, *saved) {
	next := &saved{
		sequence: l.sequence, messages: l.history.Messages, calls: make(map[*openCall]int),
		tools: l.tools.version, reply: l.reply,
	}
	rec := &record{Version: snapshotVersion, Run: l.run, Sequence: l.sequence, State: l.state(now)}
	fresh := l.history.Messages
	if base != nil {
		keep := commonPrefix(base.messages, fresh)
		rec.After, rec.Keep, fresh = base.sequence, &keep, fresh[keep:]
	}
	rec.Messages = rawsOfMessages(fresh)
	rec.Queue = rawsOfMessages(l.queue.Messages)
	for _, call := range l.open {
		version, known := 0, false
		if base != nil {
			version, known = base.calls[call]
		}
		if known && version == call.version && call.handed == nil {
			rec.Calls = append(rec.Calls, savedCall{ID: call.use.ID})
		} else {
			rec.Calls = append(rec.Calls, call.save())
		}
		next.calls[call] = call.version
	}
	for _, call := range l.dropped {
		c := call.save()
		c.Use = call.use.Raw
		rec.Dropped = append(rec.Dropped, c)
	}
	if base == nil || base.tools != l.tools.version {
		rec.Tools = l.tools.save()
	}
	if base == nil || !sameBytes(base.reply, l.reply) {
		rec.Reply = l.reply
	}
	return rec, next
}

// commonPrefix returns how many messages are the same at the start of both.
func commonPrefix(a, b []history.Message) int {
	for i := range min(len(a), len(b)) {
		if !sameBytes(a[i].Raw, b[i].Raw) {
			return i
		}
	}
	return min(len(a), len(b))
}

// sameBytes reports whether a and b are the same memory: bytes of the history are
// never changed.
func sameBytes(a, b []byte) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

func rawsOfMessages(messages []history.Message) []json.RawMessage {
	var raws []json.RawMessage
	for i := range messages {
		raws = append(raws, messages[i].Raw)
	}
	return raws
}

// save returns the call as it is saved.
func (c *openCall) save() savedCall {
	s := savedCall{ID: c.use.ID, State: c.state.String(), Iteration: c.iteration, Reply: c.reply}
	if c.decided {
		s.Decision = c.decision.String()
	}
	if c.decision.kind == allowInput {
		s.Input = c.decision.input
	}
	switch c.state {
	case callUnrun:
		s.Unrun = c.unrun
	case callStarted:
		s.Repeat = c.repeat
	case callAnswered:
		s.Result = c.sent()
	case callSuspended, callWaiting:
	}
	return s
}

func (l *loop) state(now time.Time) savedState {
	s := savedState{
		Stop: saveRule(&l.rule), News: l.news, Ended: l.ended, Forced: l.choice != nil,
		Sent:      savedSent{min(len(l.sent.history.Messages), len(l.history.Messages)), l.sent.open, saveRule(&l.sent.rule)},
		Iteration: l.iteration, Container: l.container, Usage: l.usage.save(),
		Spent:   savedSpending{l.spent.usage.save(), l.spent.calls, l.spent.failing, l.spent.time(now)},
		Compact: savedCompaction{Context: l.compact.context, Floor: l.compact.floor, Fresh: l.compact.fresh},
	}
	if config := cmp.Or(l.compact.scheduled, l.compact.sending); config != nil {
		if raw, err := history.EncodeJSON(config); err == nil { // one that has no JSON form would fail as a request as well
			s.Compact.Scheduled = raw
		}
	}
	return s
}

// saveRule returns nil for messages that are the caller's.
func saveRule(r *history.Rule) *savedStop {
	if r.Outcome == history.OutcomeRunning {
		return nil
	}
	return &savedStop{r.Reason, r.Code}
}

// save returns the tools as they are saved.
func (s *toolset) save() *savedTools {
	saved := &savedTools{Changes: rawBlocks(s.changes)}
	first := make(map[string]bool)
	for _, tool := range s.first {
		first[tool.name] = true
		saved.First = append(saved.First, tool.save())
	}
	saved.Removed = slices.Sorted(maps.Keys(s.gone))
	for _, name := range slices.Sorted(maps.Keys(s.byName)) {
		if !first[name] {
			saved.Added = append(saved.Added, s.byName[name].save())
		}
	}
	return saved
}

// has reports whether a tool of that name could be called.
func (s *savedTools) has(name string) bool {
	named := func(t savedTool) bool { return t.Name == name }
	return slices.ContainsFunc(s.Added, named) || slices.ContainsFunc(s.First, named) && !slices.Contains(s.Removed, name)
}

func (r *registered) save() savedTool {
	return savedTool{r.name, fmt.Sprintf("%x", sha256.Sum256(r.definition))}
}

func rawBlocks(blocks [][]byte) []json.RawMessage {
	var raws []json.RawMessage
	for _, b := range blocks {
		raws = append(raws, b)
	}
	return raws
}

func (u *Usage) save() savedUsage {
	return savedUsage{u.Replies, u.InputTokens, u.OutputTokens, u.CacheCreationInputTokens, u.CacheReadInputTokens}
}

// encode returns the record as JSON, in which what is raw keeps its bytes.
func (r *record) encode() ([]byte, error) {
	w := &recordWriter{}
	w.value("toolrunner", r.Version)
	w.value("run", r.Run)
	w.value("sequence", r.Sequence)
	if r.After != 0 {
		w.value("after", r.After)
	}
	if r.Keep != nil {
		w.value("keep", *r.Keep)
	}
	w.value("state", r.State)
	if r.Tools != nil {
		w.value("tools", r.Tools)
	}
	w.list("calls", len(r.Calls), func(i int) []byte { return r.Calls[i].encode() })
	w.list("dropped", len(r.Dropped), func(i int) []byte { return r.Dropped[i].encode() })
	w.list("messages", len(r.Messages), func(i int) []byte { return r.Messages[i] })
	w.list("queue", len(r.Queue), func(i int) []byte { return r.Queue[i] })
	if r.Reply != nil {
		w.member("reply", r.Reply)
	}
	return append(w.out, '}'), w.err
}

// encode returns the call as JSON.
func (c *savedCall) encode() []byte {
	head := *c
	head.Input, head.Result, head.Use = nil, nil, nil
	w := &recordWriter{}
	w.out, w.err = json.Marshal(head) // strings, numbers and booleans: it cannot fail
	w.out = w.out[:len(w.out)-1]
	for _, m := range []wire.Member{{Key: "input", Value: c.Input}, {Key: "result", Value: c.Result}, {Key: "use", Value: c.Use}} {
		if m.Value != nil {
			w.member(m.Key, m.Value)
		}
	}
	return append(w.out, '}')
}

// recordWriter writes the members of an object, each on a line.
type recordWriter struct {
	out []byte
	err error
}

func (w *recordWriter) member(name string, raw []byte) {
	if w.out == nil {
		w.out = append(w.out, '{')
	} else {
		w.out = append(w.out, ',', '\n')
	}
	w.out = append(append(wire.AppendString(w.out, name), ':'), raw...)
}

func (w *recordWriter) value(name string, v any) {
	raw, err := json.Marshal(v)
	if err != nil && w.err == nil {
		w.err = err
	}
	w.member(name, raw)
}

func (w *recordWriter) list(name string, n int, element func(int) []byte) {
	if n == 0 {
		return
	}
	raw := []byte("[")
	for i := range n {
		if i > 0 {
			raw = append(raw, ',')
		}
		raw = append(append(raw, '\n'), element(i)...)
	}
	w.member(name, append(raw, ']'))
}
