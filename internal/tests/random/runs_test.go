// Package random_test tests the promises over random runs in which everything comes
// together.
package random_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// Promises 1, 2 and 4 where everything comes together: approval, eager calls,
// checkpoints that fail, processes that die and are resumed from what was kept,
// cancels, takeovers, errors of the API. Whatever comes: a call without leave to run
// again starts once, what was decided is what happens, what has run is what the model
// reads, each request is one that the API accepts, none goes out beside a call, what
// is kept is the state of the run, and once nothing fails any more the run completes.
func TestRandomRunsKeepThePromises(t *testing.T) {
	for _, seed := range runtest.Seeds(t, 40) {
		runtest.Bubble(t, fmt.Sprint(seed), func(t *testing.T) {
			s := &randomRun{
				T: t, rng: rand.New(rand.NewPCG(seed, 11)), Conversation: runtest.New(t),
				started: map[string]int{}, returned: map[string]int{}, edited: map[string]int{},
			}
			s.play()
			if t.Failed() {
				t.Logf("what happened: %q", s.log)
			}
		})
	}
}

var (
	errStore = errors.New("the store is away")
	errDeath = errors.New("the process has died")
)

// randomRun is a random run, over the processes that it lives in.
type randomRun struct {
	*testing.T
	*runtest.Conversation

	rng      *rand.Rand // of the goroutine of the run
	approves bool
	calm     bool
	dead     bool // the process has died; nothing is kept any more
	failed   bool // the store has, in this loop
	kept     []byte
	torn     []byte // of a delta that was being written when the process died
	after    int64  // the sequence of what is kept
	first    bool   // the process has kept nothing yet

	mu       sync.Mutex
	process  int
	calls    int
	running  int
	started  map[string]int // how often, by call
	returned map[string]int // the process in which it did, from 1
	edited   map[string]int // the same, for results that a body has changed
	log      []string
}

func (s *randomRun) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, fmt.Sprintf(format, args...))
}

func (s *randomRun) oneIn(n int) bool { return !s.calm && s.rng.IntN(n) == 0 }

func (s *randomRun) play() {
	replies := 3 + s.rng.IntN(6)
	s.approves = s.rng.IntN(2) == 0
	rng := rand.New(rand.NewPCG(s.rng.Uint64(), 0)) // of the server
	s.Server.Otherwise(toolrunnertest.Func(func(q *toolrunnertest.Request) toolrunnertest.Reply {
		s.check(q)
		if replies--; replies < 0 {
			return toolrunnertest.Text("done")
		}
		return s.reply(rng)
	}))
	s.begin()
	for range 40 {
		s.failed = false
		err := s.loop()
		s.quiet("when the loop has ended")
		s.note("ended: %v, %v", s.Outcome(), err)
		if s.calm = s.calm || replies < 0; s.calm && err == nil && s.Outcome() == toolrunner.OutcomeCompleted {
			return
		}
		s.between()
	}
	s.Errorf("the run has not completed: %v", s.Outcome())
}

// begin starts a process.
func (s *randomRun) begin() {
	s.mu.Lock()
	s.process++
	s.mu.Unlock()
	s.dead, s.first = false, true
	s.note("process %d", s.process)
	var err error
	if s.kept == nil {
		s.Runner, err = toolrunner.New(&s.Client.Beta.Messages, s.tools(), s.params(runtest.User("hi")))
	} else {
		s.Runner, err = toolrunner.Resume(&s.Client.Beta.Messages, s.tools(), s.params(), append(bytes.Clone(s.kept), s.torn...))
	}
	if err != nil {
		s.Fatalf("process %d: %v\n%s", s.process, err, s.kept)
	}
	s.torn = nil
}

func (s *randomRun) tools() []anthropic.BetaTool {
	again, alone := runtest.Raw("again", s.handle), runtest.Raw("alone", s.handle)
	again.Idempotent, alone.Exclusive = true, true
	return runtest.Tools(runtest.ReadOnly("look", s.handle), runtest.Raw("change", s.handle), again, alone)
}

func (s *randomRun) params(messages ...anthropic.BetaMessageParam) toolrunner.Params {
	params := runtest.Given(messages...)
	params.Checkpoint, params.EagerTools, params.MaxConcurrency = s.keep, s.rng.IntN(3) > 0, 1+s.rng.IntN(3)
	if s.approves {
		params.Approve = func(_ context.Context, call *toolrunner.Call) (toolrunner.Decision, error) {
			s.note("asked about %s", call.ID)
			switch numberOf(call.ID) % 3 {
			case 0:
				return toolrunner.Suspend(), nil
			case 1:
				if s.oneIn(8) {
					return toolrunner.Allow(), runtest.ErrEnough
				}
			}
			return decision(call.ID), nil
		}
	}
	return params
}

func numberOf(id string) (n int) {
	_, _ = fmt.Sscanf(id, "c%d", &n)
	return n
}

// decision is what is decided on a call in the end.
func decision(id string) toolrunner.Decision {
	switch n := numberOf(id); n % 5 {
	case 0:
		return toolrunner.Deny("no")
	case 1:
		return toolrunner.AllowInput(json.RawMessage(changed(id)))
	default:
		return toolrunner.Allow()
	}
}

func changed(id string) string { return fmt.Sprintf(`{"n":%d,"changed":true}`, numberOf(id)) }

// reply is a random reply whose calls no other reply makes.
func (s *randomRun) reply(rng *rand.Rand) toolrunnertest.Reply {
	var list []string
	for range rng.IntN(5) {
		s.mu.Lock()
		s.calls++
		n := s.calls
		s.mu.Unlock()
		switch tool := []string{"look", "look", "change", "change", "again", "alone", "missing", "text", "fallback"}[rng.IntN(9)]; tool {
		case "text", "fallback":
			list = append(list, tool)
		default:
			list = append(list, fmt.Sprintf(`c%d %s {"n":%d}`, n, tool, n))
			if rng.IntN(12) == 0 {
				list = append(list, list[len(list)-1])
			}
		}
	}
	reply := runtest.Blocks(append(list, "text")...)
	if len(list) > 0 && rng.IntN(7) > 0 {
		reply = reply.StopReason("tool_use")
	} else {
		reply = reply.StopReason([]string{"max_tokens", "refusal", "end_turn", "pause_turn"}[rng.IntN(3)])
	}
	if rng.IntN(2) == 0 {
		reply = reply.Trickle(time.Duration(rng.IntN(4)) * 10 * time.Millisecond)
	}
	switch rng.IntN(12) {
	case 0:
		reply = reply.EndAfter(1 + rng.IntN(30))
	case 1:
		reply = toolrunnertest.Status(400, "invalid_request_error", "no")
	}
	return reply
}

// check checks a request, beside what the server checks.
func (s *randomRun) check(q *toolrunnertest.Request) {
	s.quiet("when a request comes")
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, process := range s.returned {
		if q.ToolResult(id) == nil || process != s.process {
			continue
		}
		want := "result of " + id
		if s.edited[id] == s.process {
			want = "edited " + id
		}
		text := q.ToolResultText(id)
		if !strings.Contains(text, want) || s.approves && numberOf(id)%5 == 1 && want[0] == 'r' && !strings.Contains(text, changed(id)) {
			s.Errorf("the result of %s is %q, want %q", id, text, want)
		}
	}
}

// quiet checks that no handler runs.
func (s *randomRun) quiet(when string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running > 0 {
		s.Errorf("%d calls run %s", s.running, when)
	}
}

// handle answers a call after a time that its number says.
func (s *randomRun) handle(ctx context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
	id, plain := call.ID, call.Name == "change" || call.Name == "alone"
	s.mu.Lock()
	r, process := s.Runner, s.process
	s.log = append(s.log, id+" "+call.Name)
	s.running++
	if s.started[id]++; plain && s.started[id] > 1 {
		s.Errorf("call %s of %s has started twice", id, call.Name)
	}
	if s.approves && numberOf(id)%5 == 0 {
		s.Errorf("call %s has started, and was denied", id)
	}
	if got := string(call.Input); s.approves && numberOf(id)%5 == 1 && got != changed(id) {
		s.Errorf("call %s has the input %s, want %s", id, got, changed(id))
	}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.running--
	}()
	if numberOf(id)%4 == 0 {
		if _, err := r.Snapshot(); err != nil {
			s.Errorf("Snapshot() error = %v", err)
		}
	}
	select {
	case <-time.After(time.Duration(numberOf(id)%5) * 15 * time.Millisecond):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if plain {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.returned[id] = process
	}
	return toolrunner.TextResult("result of " + id), nil
}

// keep is the checkpoint.
func (s *randomRun) keep(ctx context.Context, delta toolrunner.Delta) error {
	switch {
	case s.dead:
		return errDeath
	case ctx.Err() != nil:
		return ctx.Err()
	case s.oneIn(15):
		s.failed = true
		s.note("store fails")
		if s.oneIn(3) {
			panic(errStore)
		}
		return errStore
	}
	after := s.after
	if s.kept == nil {
		after = 0
	}
	if delta.After != after || delta.Sequence <= after || delta.Full != s.first {
		s.Errorf("delta %d after %d, full %v; kept is %d", delta.Sequence, delta.After, delta.Full, after)
	}
	if s.dead = s.oneIn(15); s.dead {
		s.note("dies")
		if s.oneIn(2) {
			s.torn = delta.Data[:s.rng.IntN(len(delta.Data)-1)] // without its line feed it would be whole
			return errDeath
		}
	}
	if delta.Full {
		s.kept = nil
	}
	s.kept, s.after, s.first = append(s.kept, delta.Data...), delta.Sequence, false
	if s.dead {
		return errDeath
	}
	if s.rng.IntN(6) == 0 {
		s.compare("while it is kept")
	}
	return nil
}

// compare checks that what is kept is the state of the run.
func (s *randomRun) compare(when string) {
	live, err := s.Snapshot()
	if err != nil {
		s.Fatalf("Snapshot() error = %v", err)
	}
	r, err := toolrunner.Resume(&s.Client.Beta.Messages, s.tools(), runtest.Given(), s.kept)
	if err != nil {
		s.Fatalf("Resume() error = %v", err)
	}
	kept, err := r.Snapshot()
	if err != nil {
		s.Fatalf("Snapshot() error = %v", err)
	}
	a, b := s.comparable(live), s.comparable(kept)
	if seq := a["sequence"]; when != "" && seq != float64(s.after) {
		s.note("sequence %v, kept %d", seq, s.after)
		return // another goroutine was faster
	}
	delete(a, "sequence")
	delete(b, "sequence")
	delete(a, "sum")
	delete(b, "sum")
	if diff := cmp.Diff(a, b); diff != "" {
		s.Errorf("what is kept %s (-live +kept):\n%s", when, diff)
	}
}

// comparable returns a snapshot without what the time says.
func (s *randomRun) comparable(snapshot []byte) map[string]any {
	var v map[string]any
	if err := json.Unmarshal(snapshot, &v); err != nil {
		s.Fatal(err)
	}
	delete(v["state"].(map[string]any)["spent"].(map[string]any), "elapsed_ns")
	return v
}

// between is what happens while nobody loops over the run.
func (s *randomRun) between() {
	if s.dead {
		s.begin()
	} else if !s.failed {
		s.compare("")
	}
	for _, call := range s.Pending() {
		if s.oneIn(3) {
			continue
		}
		if err := s.Decide(call.ID, decision(call.ID).For(call)); err != nil {
			s.Error(err)
		}
	}
	var err error
	switch {
	case s.oneIn(6):
		s.note("set messages")
		err = s.SetMessages(s.Messages()...)
	case s.oneIn(6), s.Outcome() != toolrunner.OutcomeFailed && s.Outcome() != toolrunner.OutcomeSuspended && s.Outcome() != toolrunner.OutcomeStopped:
		err = s.AppendMessages(runtest.User("go on"))
	case s.oneIn(8):
		s.dead = true
		s.begin()
	}
	if err != nil {
		s.Error(err)
	}
	s.Params.MaxIterations = 0
	if s.oneIn(3) {
		s.Params.MaxIterations = 1 + s.rng.IntN(6)
	}
}
