package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
)

// violation is what must hold and does not.
type violation struct {
	kind   string // "request/system-followed"; names do not change, as the table pending has them
	detail string
	log    []string // what happened
}

// world is a runner, its server and its tools, driven by a program, and the model that
// says what must hold.
type world struct {
	sites  map[string][]string // what is left of the program
	runner *toolrunner.Runner
	client anthropic.Client
	params toolrunner.Params
	cancel context.CancelFunc // ends the loop that runs

	eager bool // Params.EagerTools
	asks  bool // there is an approver
	late  bool // the tool of that name was added
	turns int  // that bodies were given
	saves int  // calls of the checkpoint
	held  []*toolrunner.Result
	open  bool // a body has changed results, which count once it is over

	mu         sync.Mutex
	log        []string
	violation  *violation
	counter    int
	history    history
	calls      calls
	tools      map[string]bool // that the model is to see, and that run
	running    int             // handlers
	excused    bool            // something happened that makes the loop fail
	paused     bool            // the last reply is to be gone on with
	pauses     bool            // some reply was
	cut        bool            // the last reply was cut off or refused: its last call never runs
	blind      bool            // a compaction of the API stands for changes of tools
	compacting bool            // the turn of the body is that of a compaction
	calm       bool            // the program is over; all that is left is to come to an end
	restless   bool            // a twin may differ: limits, compactions, changes of tools
	twin       *twin
	kept       *kept
	memory     memory
}

// play runs a program, and returns what did not hold.
func play(t *testing.T, p program) (found *violation) {
	t.Helper()
	synctest.Test(t, func(*testing.T) {
		w := newWorld(p)
		before := runtime.NumGoroutine()
		w.run()
		synctest.Wait()
		if runtime.NumGoroutine() > before {
			w.checkGoroutines()
		}
		if found = w.violation; found != nil {
			found.log = w.log
		}
	})
	return found
}

// checkGoroutines checks that the library has left no goroutine behind.
func (w *world) checkGoroutines() {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	for goroutine := range strings.SplitSeq(string(stacks), "\n\n") {
		if strings.Contains(goroutine, "toolrunner.(") && !strings.Contains(goroutine, "model.play") {
			w.flunk("end/goroutine", "%s", goroutine)
		}
	}
}

func newWorld(p program) *world {
	w := &world{sites: p.sites(), tools: map[string]bool{}}
	w.client = clientOf(w.serve)
	w.params = newParams()
	w.params.Messages = []anthropic.BetaMessageParam{userSays("u0")}
	w.history = history{base: []item{{"u0", "user"}}, moved: true}
	return w
}

// run runs the program, and brings the run to its end.
func (w *world) run() {
	defer w.recovered("main")
	for do := w.step("setup"); do != ""; do = w.step("setup") {
		w.exec(&moment{site: "setup"}, do)
	}
	var err error
	if w.runner, err = toolrunner.New(&w.client.Beta.Messages, w.toolset(w.handle), w.params); err != nil {
		w.flunk("new/refused", "%v", err)
		return
	}
	for do := w.step("main"); do != ""; do = w.step("main") {
		w.exec(&moment{site: "main"}, do)
	}
	w.comeToEnd()
}

// comeToEnd runs until the model has nothing left to say, and everything that was
// added has reached it.
func (w *world) comeToEnd() {
	w.mu.Lock()
	w.calm, w.restless, w.twin = true, true, nil
	w.mu.Unlock()
	w.runner.Params.MaxIterations, w.runner.Params.Limits = 0, toolrunner.Limits{}
	for range 12 {
		for _, call := range w.runner.Pending() {
			w.decide(call, "allow", false)
		}
		w.loop(&moment{site: "main"}, []string{"all"})
		if w.over() {
			return
		}
		completed := w.runner.Outcome() == toolrunner.OutcomeCompleted
		if completed && len(w.history.tail) == 0 {
			return
		}
		w.add(&moment{site: "main"}, []string{"user"})
	}
	if !w.over() {
		w.flunk("end/never", "the run does not complete: %v, left: %v", w.runner.Outcome(), w.history.tail)
	}
}

// moment is where a step of the program happens.
type moment struct {
	site   string
	ctx    context.Context //nolint:containedctx // of the handler or the loop
	turn   *toolrunner.Turn
	call   *toolrunner.Call
	stop   bool // the body breaks off
	result func() (*toolrunner.Result, error)

	decision string
	err      error
}

// errPanic is what the program panics with.
var errPanic = errors.New("panic of the program")

// recovered takes a panic for a violation unless the program made it.
func (w *world) recovered(where string) {
	switch p := recover(); p {
	case nil:
	case errPanic:
		w.locked(func() { w.note("%s panics", where) })
		if where == "next" {
			w.held = nil // until the next step, the turn goes on
		}
	default:
		stack := make([]byte, 4096)
		w.flunk("panic", "%s: %v\n%s", where, p, stack[:runtime.Stack(stack, false)])
	}
}

// step takes the next step of a site.
func (w *world) step(site string) (do string) {
	w.locked(func() {
		if w.violation == nil {
			do = w.next(site)
		}
	})
	return do
}

// exec makes a step happen.
func (w *world) exec(at *moment, do string) {
	words := strings.Fields(do)
	run := operations[words[0]]
	if run == nil {
		panic("there is no operation " + do)
	}
	if !strings.HasPrefix(at.site, "call") {
		synctest.Wait() // handlers have come to where they wait
	}
	w.locked(func() {
		w.note("%s: %s", at.site, do)
		if at.site != "main" || words[0] != "all" && words[0] != "stream" && words[0] != "next" && words[0] != "complete" {
			w.twin = nil
		}
	})
	run(w, at, words)
}

func (w *world) locked(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}

func (w *world) note(format string, args ...any) { w.log = append(w.log, fmt.Sprintf(format, args...)) }

// fail takes note of the first thing that does not hold. w is locked.
func (w *world) fail(kind, format string, args ...any) {
	if w.violation == nil {
		w.violation = &violation{kind: kind, detail: fmt.Sprintf(format, args...)}
		w.note("VIOLATION %s", kind)
	}
}

func (w *world) flunk(kind, format string, args ...any) {
	w.locked(func() { w.fail(kind, format, args...) })
}

func (w *world) over() (over bool) {
	w.locked(func() { over = w.violation != nil })
	return over
}

// token returns a text that no other has.
func (w *world) token(prefix string) string {
	w.counter++
	return fmt.Sprint(prefix, w.counter)
}

// handle is the handler of every tool.
func (w *world) handle(ctx context.Context, public *toolrunner.Call) (*toolrunner.Result, error) {
	w.mu.Lock()
	c := w.calls.get(number(public.Input))
	if c == nil {
		w.fail("call/invented", "a handler gets the input %s, which nobody wrote", public.Input)
		w.mu.Unlock()
		return nil, errOver
	}
	w.begin(c, public)
	w.mu.Unlock()
	defer w.returned(ctx, c)
	at := &moment{site: "call " + c.id, ctx: ctx, call: public}
	select { // one after the other
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(time.Duration(c.n) * time.Millisecond):
	}
	text := fmt.Sprintf("r%d.", c.n)
	at.result = func() (*toolrunner.Result, error) { return toolrunner.TextResult(text), nil }
	for do := w.step(at.site); do != ""; do = w.step(at.site) {
		w.exec(at, do)
	}
	result, err := at.result()
	w.locked(func() {
		c.texts, c.failed = []string{text}, err != nil || result != nil && result.IsError
		if err != nil || result == nil {
			c.texts = []string{""}
		}
	})
	return result, err
}

// begin checks that a call may start. w is locked.
func (w *world) begin(c *call, public *toolrunner.Call) {
	w.note("call %d (%s) starts", c.n, c.id)
	if reason := c.refusal(w.asks); reason != "" {
		kind, detail, _ := strings.Cut(reason, ": ")
		w.fail(kind, "call %d (%s %s) starts: %s", c.n, c.id, c.tool, detail)
	}
	if got := string(public.Input); got != c.wants() && c.decision != "unsure" {
		w.fail("call/input", "call %d gets %s, want %s", c.n, got, c.wants())
	}
	if !w.tools[c.tool] {
		w.fail("call/removed", "call %d starts, and %s was removed", c.n, c.tool)
	}
	c.started++
	c.blurred, c.texts = false, nil
	c.running = true
	w.running++
}

// returned takes note of the end of a handler.
func (w *world) returned(ctx context.Context, c *call) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c.running = false
	w.running--
	c.returned = c.texts != nil
	if ctx.Err() != nil || !c.returned {
		c.blurred = true
	}
	if p := recover(); p != nil { // the library turns it into a result
		c.texts, c.failed, c.returned = []string{""}, true, true
		panic(p)
	}
}

// ask is the approver.
func (w *world) ask(ctx context.Context, public *toolrunner.Call) (toolrunner.Decision, error) {
	var c *call
	w.locked(func() {
		if c = w.calls.get(number(public.Input)); c == nil {
			c = &call{} // of arguments that nobody wrote; its handler says so
		}
		w.note("asked about call %d (%s)", c.n, c.id)
	})
	at := &moment{site: "ask " + c.id, ctx: ctx, call: public, decision: "allow"}
	if do := w.step(at.site); do != "" {
		for part := range strings.SplitSeq(do, ";") {
			w.exec(at, strings.TrimSpace(part))
		}
	}
	if at.err != nil {
		return toolrunner.Suspend(), at.err
	}
	answer := decisionOf(at.decision, c.n)
	w.locked(func() {
		if ctx.Err() != nil { // it may count, or the approver may be asked again
			c.decision = "unsure"
		} else {
			c.decide(at.decision)
		}
	})
	return answer, nil
}

func decisionOf(name string, n int) toolrunner.Decision {
	switch name {
	case "deny":
		return toolrunner.Deny("no")
	case "suspend":
		return toolrunner.Suspend()
	case "change":
		return toolrunner.AllowInput(json.RawMessage(changed(n)))
	default:
		return toolrunner.Allow()
	}
}

func unmarshal(data []byte, v any) error { return json.Unmarshal(data, v) }
