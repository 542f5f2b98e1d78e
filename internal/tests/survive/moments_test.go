package survive_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// recording is a run that is photographed at each moment.
type recording struct {
	*toolrunner.Runner

	t      *testing.T
	cancel context.CancelFunc
	once   map[string]bool // what the body has done
	after  bool            // photographs count from now on
	edited bool            // the body has changed results
	fail   bool            // the next request does

	mu     sync.Mutex // guards what follows
	srv    *toolrunnertest.Server
	photos []moment
	deltas []byte
	ran    []string // ids of calls whose tools ran
}

// moment is the state of a run at a moment.
type moment struct {
	when     string
	snapshot []byte
	requests int // that had arrived by then
}

// first reports whether it is called for the first time with this name.
func (e *recording) first(name string) bool {
	before := e.once[name]
	e.once[name] = true
	return !before
}

func (e *recording) must(err error) {
	e.t.Helper()
	if err != nil {
		e.t.Fatal(err)
	}
}

// capture takes a photo.
func (e *recording) capture(format string, args ...any) {
	snapshot, err := e.Snapshot()
	if err != nil {
		e.t.Errorf("Snapshot() error = %v", err)
	}
	e.add(moment{fmt.Sprintf(format, args...), snapshot, len(e.srv.Requests())})
}

func (e *recording) add(p moment) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.after {
		e.photos = append(e.photos, p)
	}
}

// watch photographs each call before and after it runs.
func (e *recording) watch(next toolrunner.Handler) toolrunner.Handler {
	return func(ctx context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
		e.mu.Lock()
		e.ran = append(e.ran, call.ID)
		e.mu.Unlock()
		e.capture("before %s ran", call.ID)
		result, err := next(ctx, call)
		e.capture("after %s ran", call.ID)
		return result, err
	}
}

func (e *recording) keep(_ context.Context, delta toolrunner.Delta) error {
	e.deltas = append(e.deltas, delta.Data...)
	if len(e.deltas)%2 == 0 { // both are as good, and each takes time
		e.capture("at delta %d", delta.Sequence)
	} else {
		e.add(moment{fmt.Sprintf("deltas up to %d", delta.Sequence), bytes.Clone(e.deltas), len(e.srv.Requests())})
	}
	return nil
}

// scenario is a conversation whose model replies by what it reads, so that it can be
// taken up anywhere.
type scenario struct {
	name   string
	params toolrunner.Params
	tools  []anthropic.BetaTool
	later  []anthropic.BetaTool // that the body adds
	model  func(q *toolrunnertest.Request) toolrunnertest.Reply
	body   func(e *recording, turn *toolrunner.Turn) // photographs count once it has set e.after
	allow  []toolrunnertest.Rule                     // rules of the API that the story breaks
}

// begin returns an episode, resumed if there is a snapshot.
func (s *scenario) begin(t *testing.T, snapshot []byte) *recording {
	t.Helper()
	e := &recording{t: t, once: make(map[string]bool), after: s.body == nil}
	e.srv = toolrunnertest.NewServer(t, runtest.Repeated(toolrunnertest.Func(func(q *toolrunnertest.Request) toolrunnertest.Reply {
		e.capture("while request %d is under way", len(e.srv.Requests()))
		if e.fail {
			e.fail = false
			return toolrunnertest.Status(529, "overloaded_error", "Overloaded")
		}
		return s.model(q).Chunk(5)
	}), 12)...)
	e.srv.Ignore(append(s.allow, "reply-unused")...)
	client := e.srv.Client()
	params := s.params
	params.Middleware = append([]toolrunner.Middleware{e.watch}, params.Middleware...)
	params.Checkpoint = e.keep
	if params.MaxConcurrency == 0 {
		params.MaxConcurrency = 1
	}
	var err error
	tools := s.tools
	if snapshot != nil {
		tools = slices.Concat(s.later, tools) // the order does not matter
	}
	if e.Runner, err = runtest.StartOrResume(&client, tools, params, snapshot); err != nil {
		t.Fatalf("%v\n%s", err, snapshot)
	}
	return e
}

// play goes through the run, again if the body broke off or something failed.
func (s *scenario) play(e *recording, streaming bool) {
	for range 4 {
		ctx, cancel := context.WithCancel(e.t.Context())
		e.cancel = cancel
		turns := e.All(ctx)
		if streaming {
			turns = e.AllStreaming(ctx)
		}
		for turn, err := range turns {
			if err != nil {
				break
			}
			if streaming {
				for range turn.Events() {
					e.capture("in the stream of turn %d", turn.Iteration())
				}
			}
			if s.body != nil {
				s.body(e, turn)
			}
			if !e.edited { // what a body makes of results counts once it is over
				e.capture("in the body of turn %d", turn.Iteration())
			}
			e.edited = false
			if ctx.Err() == nil && e.once["break"] {
				delete(e.once, "break")
				break
			}
		}
		cancel()
		e.capture("at rest")
		if e.Outcome() == toolrunner.OutcomeCompleted {
			return
		}
	}
	e.t.Fatalf("the run does not come to its end: %v", e.Outcome())
}

// summary is what must be the same however often a run was interrupted.
func (e *recording) summary() map[string]any {
	last, err := json.Marshal(e.LastMessage())
	e.must(err)
	return map[string]any{
		"messages": string(runtest.HistoryOf(e.t, e.Runner).Body), "last": string(last), "usage": e.Usage(),
		"iterations": e.IterationCount(), "outcome": e.Outcome().String(),
	}
}

// answeredIn returns the calls of a run that have their result.
func answeredIn(t *testing.T, r *toolrunner.Runner) map[string]bool {
	t.Helper()
	snapshot, err := r.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	var state struct {
		Calls    []struct{ ID, State string }
		Messages []struct {
			Content json.RawMessage
		}
	}
	if err := json.Unmarshal(snapshot, &state); err != nil {
		t.Fatal(err)
	}
	answered := make(map[string]bool)
	for _, call := range state.Calls {
		answered[call.ID] = call.State == "answered"
	}
	for _, m := range state.Messages {
		for _, b := range runtest.WireBlocks(m.Content) {
			if b.Type == "tool_result" {
				answered[b.ToolUseID] = true
			}
		}
	}
	return answered
}

// takeUpAnywhere plays the story, and then takes it up at each moment.
func (s *scenario) takeUpAnywhere(t *testing.T, streaming bool) {
	whole := s.begin(t, nil)
	s.play(whole, streaming)
	want, requests := whole.summary(), whole.srv.Requests()
	if len(whole.photos) == 0 {
		t.Fatal("nothing was photographed")
	}
	quiet := *s
	quiet.body = nil // it has done what it does
	for _, p := range whole.photos {
		e := quiet.begin(t, p.snapshot)
		answered := answeredIn(t, e.Runner)
		quiet.play(e, streaming)
		if diff := cmp.Diff(want, e.summary()); diff != "" {
			t.Errorf("taken up %s: (-want +got):\n%s\n%s", p.when, diff, p.snapshot)
		}
		got := e.srv.Requests()
		if len(got) > len(requests)-p.requests+1 {
			t.Errorf("taken up %s: %d requests follow, want %d or one more", p.when, len(got), len(requests)-p.requests)
		}
		for i, q := range got {
			if at := len(requests) - len(got) + i; at < 0 || !bytes.Equal(q.Body, requests[at].Body) {
				t.Errorf("taken up %s: request %d is\n%s\nand was\n%s", p.when, i, q.Body, requests[max(at, 0)].Body)
			}
		}
		for i, id := range e.ran {
			if answered[id] || slices.Contains(e.ran[:i], id) {
				t.Errorf("taken up %s: the call %s ran again", p.when, id)
			}
		}
		if t.Failed() {
			return
		}
	}
}
