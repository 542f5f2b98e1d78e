package machine

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/toolrunner/toolrunner/internal/history"
	"github.com/toolrunner/toolrunner/internal/wire"
)

// Versions of the format, which docs/snapshot.md describes: the one that is written,
// and the oldest that is read.
const (
	recordVersion = 2
	oldestVersion = 1
)

// Record is a state of a run, or what has changed since another one.
type Record struct {
	Version     int               `json:"toolrunner"`
	ID          string            `json:"run"` // of the conversation
	Sequence    int64             `json:"sequence"`
	After       int64             `json:"after,omitempty"`        // the sequence of the record before
	Keep        *int              `json:"keep,omitempty"`         // how many messages of it stay; nil: it is a whole state
	KeepQueue   int               `json:"keep_queue,omitempty"`   // how many follow-ups of it stay
	KeepCalls   bool              `json:"keep_calls,omitempty"`   // the open calls are the same, but for those in Calls
	KeepDropped bool              `json:"keep_dropped,omitempty"` // Dropped is as before
	Messages    []json.RawMessage `json:"messages,omitempty"`     // that follow those kept
	Queue       []json.RawMessage `json:"queue,omitempty"`        // follow-ups that wait
	Calls       []savedCall       `json:"calls,omitempty"`        // that are open; of one that has not changed, only the id
	Dropped     []savedCall       `json:"dropped,omitempty"`      // of a reply that was taken over
	State       savedState        `json:"state"`
	Tools       *savedTools       `json:"tools,omitempty"` // nil: as before
	Reply       json.RawMessage   `json:"reply,omitempty"` // nil: as before
	Sum         string            `json:"sum,omitempty"`   // of a record that is not sealed
	MAC         string            `json:"mac,omitempty"`

	place map[string]int // of Calls, by id, once one of them was looked up
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
	Input     json.RawMessage `json:"input,omitempty"`   // that was allowed in place of the model's
	Result    json.RawMessage `json:"result,omitempty"`  // the tool_result
	Failure   json.RawMessage `json:"failure,omitempty"` // the tool_result, should the call come back
	Use       json.RawMessage `json:"use,omitempty"`     // the tool_use, where the history does not hold it
}

// savedState is what a machine knows beside its messages and calls.
type savedState struct {
	Stop      *savedStop      `json:"stop,omitempty"` // of the last reply; nil: the messages are the caller's
	Sent      savedSent       `json:"sent"`
	News      bool            `json:"news,omitempty"`
	Ended     bool            `json:"ended,omitempty"`
	Limited   bool            `json:"limited,omitempty"`
	Forced    bool            `json:"forced,omitempty"` // the forced tool choice has done its work
	Iteration int             `json:"iteration"`
	Container string          `json:"container,omitempty"`
	Until     string          `json:"container_until,omitempty"`
	Trace     string          `json:"trace,omitempty"` // the span of the last run
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
	Added   []savedTool       `json:"added,omitempty"`   // later, or in the place of one that was sent
	Removed []string          `json:"removed,omitempty"` // of both
	Changes []json.RawMessage `json:"changes,omitempty"` // that the model has not been told
}

type savedTool struct {
	Name       string          `json:"name"`
	SHA256     string          `json:"sha256"`               // of the definition
	Definition json.RawMessage `json:"definition,omitempty"` // as sent, of one that another has replaced
}

// Saved is what was in a record, to tell what has changed since.
type Saved struct {
	sequence  int64
	changes   int
	messages  []history.Message
	queue     []history.Message
	open      calls
	discarded calls
	tools     int // the version
	reply     []byte
}

// calls are calls with the versions that they had.
type calls struct {
	list     []*Call
	versions []int
}

func callsOf(list []*Call) calls {
	c := calls{list: list, versions: make([]int, len(list))}
	for i, call := range list {
		c.versions[i] = call.version
	}
	return c
}

// changed reports whether a call has changed since.
func (c *calls) changed(i int) bool { return c.versions[i] != c.list[i].version }

// Changed reports whether the state has changed since a record of it.
func (m *Machine) Changed(since *Saved) bool { return since == nil || since.changes != m.changes }

// Record returns the state. If base is not nil, it holds what has changed since. What
// it returns shares bytes with the machine that are never changed, so that it can be
// encoded later.
func (m *Machine) Record(base *Saved, now time.Time) (*Record, *Saved) {
	s := &m.s
	next := &Saved{
		sequence: s.sequence, changes: m.changes, messages: s.history.Messages, queue: slices.Clone(s.queue.Messages),
		open: callsOf(s.open), discarded: callsOf(s.discarded), tools: m.tools.version, reply: s.reply,
	}
	r := &Record{Version: recordVersion, ID: m.id, Sequence: s.sequence, State: m.savedState(now)}
	messages, queue := s.history.Messages, s.queue.Messages
	if base != nil {
		keep := commonPrefix(base.messages, messages)
		r.After, r.Keep, messages = base.sequence, &keep, messages[keep:]
		r.KeepQueue = commonPrefix(base.queue, queue)
		queue = queue[r.KeepQueue:]
		r.KeepCalls = len(s.open) > 0 && slices.Equal(base.open.list, s.open)
		r.KeepDropped = len(s.discarded) > 0 && slices.Equal(base.discarded.list, s.discarded) && slices.Equal(base.discarded.versions, next.discarded.versions)
	}
	r.Messages, r.Queue = rawMessages(messages), rawMessages(queue)
	for i, call := range s.open {
		if !r.KeepCalls || base.open.changed(i) {
			r.Calls = append(r.Calls, call.saved())
		}
	}
	if !r.KeepDropped {
		for _, call := range s.discarded {
			c := call.saved()
			c.Use = call.use.Raw
			r.Dropped = append(r.Dropped, c)
		}
	}
	if base == nil || base.tools != m.tools.version {
		r.Tools = m.tools.saved()
	}
	if base == nil || !sameMemory(base.reply, s.reply) {
		r.Reply = s.reply
	}
	return r, next
}

// commonPrefix returns how many messages are the same at the start of both.
func commonPrefix(a, b []history.Message) int {
	for i := range min(len(a), len(b)) {
		if !sameMemory(a[i].Raw, b[i].Raw) {
			return i
		}
	}
	return min(len(a), len(b))
}

// sameMemory reports whether a and b are the same bytes: those of the history are
// never changed.
func sameMemory(a, b []byte) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

func rawMessages(messages []history.Message) []json.RawMessage {
	var raws []json.RawMessage
	for i := range messages {
		raws = append(raws, messages[i].Raw)
	}
	return raws
}

func (c *Call) saved() savedCall {
	s := savedCall{ID: c.use.ID, State: callStates[c.state], Iteration: c.iteration, Reply: c.replyIndex, Failure: c.failure}
	if c.decided {
		s.Decision = c.decision.Kind.String()
	}
	if c.decision.Kind == AllowInput {
		s.Input = c.decision.Input
	}
	switch c.state {
	case unrun:
		s.Unrun = c.unrun
	case started:
		s.Repeat = c.repeats
	case answered:
		s.Result = c.block
		if sameMemory(c.failure, c.block) {
			s.Failure = nil
		}
	case suspended, waiting:
	}
	return s
}

func (m *Machine) savedState(now time.Time) savedState {
	s := &m.s
	saved := savedState{
		Stop: savedRule(&s.rule), News: s.needsReply, Ended: s.standing == finalized, Limited: s.standing == limited, Forced: s.forced != nil,
		Sent:      savedSent{min(len(s.rollback.history.Messages), len(s.history.Messages)), min(len(s.rollback.open), len(s.open)), savedRule(&s.rollback.rule)},
		Iteration: s.iteration, Container: s.container, Until: s.containerUntil, Trace: s.trace, Usage: s.usage.saved(),
		Spent:   savedSpending{s.spent.usage.saved(), maps.Clone(s.spent.calls), s.spent.failing, s.spent.time(now)},
		Compact: savedCompaction{Scheduled: s.compaction.scheduled, Context: s.compaction.context, Floor: s.compaction.floor, Fresh: s.compaction.fresh},
	}
	if saved.Compact.Scheduled == nil {
		saved.Compact.Scheduled = m.exchange.config
	}
	return saved
}

// savedRule returns nil for messages that are the caller's.
func savedRule(r *history.Rule) *savedStop {
	if r.Outcome == history.OutcomeRunning {
		return nil
	}
	return &savedStop{r.Reason, r.Code}
}

// saved returns the tools as they are saved: those that are sent as tools, and those
// of now where they differ.
func (t *Tools) saved() *savedTools {
	saved := &savedTools{}
	for _, p := range t.pending {
		saved.Changes = append(saved.Changes, p.raw)
	}
	sent := make(map[*Tool]bool)
	for _, tool := range t.first {
		sent[tool] = true
		s := tool.saved()
		if now := t.byName[tool.Name]; now != nil && now != tool {
			s.Definition = tool.Definition
		}
		saved.First = append(saved.First, s)
	}
	saved.Removed = slices.Sorted(maps.Keys(t.gone))
	for _, name := range slices.Sorted(maps.Keys(t.byName)) {
		if tool := t.byName[name]; !sent[tool] {
			saved.Added = append(saved.Added, tool.saved())
		}
	}
	return saved
}

func (t *Tool) saved() savedTool {
	return savedTool{Name: t.Name, SHA256: fmt.Sprintf("%x", sha256.Sum256(t.Definition))}
}

func (u *Usage) saved() savedUsage {
	return savedUsage{u.Replies, u.InputTokens, u.OutputTokens, u.CacheCreationInputTokens, u.CacheReadInputTokens}
}

// encode returns the record as JSON, in which what is raw keeps its bytes.
func (r *Record) encode() ([]byte, error) {
	w := &recordWriter{}
	w.value("toolrunner", r.Version)
	w.value("run", r.ID)
	w.value("sequence", r.Sequence)
	if r.After != 0 {
		w.value("after", r.After)
	}
	if r.Keep != nil {
		w.value("keep", *r.Keep)
	}
	if r.KeepQueue > 0 {
		w.value("keep_queue", r.KeepQueue)
	}
	if r.KeepCalls {
		w.value("keep_calls", true)
	}
	if r.KeepDropped {
		w.value("keep_dropped", true)
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
	head.Input, head.Result, head.Failure, head.Use = nil, nil, nil, nil
	w := &recordWriter{}
	w.out, w.err = json.Marshal(head) // strings, numbers and booleans: it cannot fail
	w.out = w.out[:len(w.out)-1]
	for _, m := range []wire.Member{
		{Key: "input", Value: c.Input},
		{Key: "result", Value: c.Result},
		{Key: "failure", Value: c.Failure},
		{Key: "use", Value: c.Use},
	} {
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
