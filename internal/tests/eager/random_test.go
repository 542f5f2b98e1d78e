package eager_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// Promises 1, 2 and 4, over random runs: replies stream at any pace, break anywhere
// and stop for anything, while the body reads, defers, waits, takes over, appends,
// leaves and cancels. Whatever comes: no call completes twice, the bound holds,
// exclusive calls are alone, every request is one that the API accepts, none goes
// out beside a call, and nothing runs once the loop has ended.
func TestRandomEagerRunsKeepThePromises(t *testing.T) {
	for _, seed := range runtest.Seeds(t, 150) {
		runtest.Bubble(t, fmt.Sprint(seed), func(t *testing.T) {
			g := &randomRun{T: t, rng: rand.New(rand.NewPCG(seed, 5)), starts: map[string]int{}, ends: map[string]int{}}
			g.play()
			if t.Failed() {
				t.Logf("what happened: %q", g.log)
			}
		})
	}
}

// randomRun is a random run.
type randomRun struct {
	*testing.T

	rng   *rand.Rand // of the goroutine of the run
	limit int
	calls int

	mu      sync.Mutex
	running int
	alone   bool
	inBody  bool
	starts  map[string]int
	ends    map[string]int
	log     []string
}

func (g *randomRun) note(format string, args ...any) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.log = append(g.log, fmt.Sprintf(format, args...))
}

func (g *randomRun) play() {
	g.limit = 1 + g.rng.IntN(4)
	c := runtest.New(g.T)
	c.Server.Otherwise(toolrunnertest.Text("done"))
	c.Server.Ignore("reply-unused") // the run may end before
	for range 1 + g.rng.IntN(5) {
		reply := g.reply()
		c.Server.Add(toolrunnertest.Func(func(*toolrunnertest.Request) toolrunnertest.Reply {
			g.quiet("when a request comes")
			return reply
		}))
	}
	params := runtest.EagerParams()
	params.MaxConcurrency, params.MaxIterations = g.limit, 12
	alone := runtest.ReadOnly("alone", g.handler("alone"))
	alone.Exclusive = true
	c.Runner = c.NewRunner(g.T, params, runtest.ReadOnly("look", g.handler("look")), runtest.ReadOnly("abort", g.handler("abort")), alone, runtest.Raw("change", g.handler("change")))
	for range 8 {
		err := g.loop(c)
		g.quiet("when the loop has ended")
		g.note("ended %v %v", c.Outcome(), err)
		if err == nil && c.Outcome() != toolrunner.OutcomeStopped {
			break
		}
	}
}

// quiet checks that no handler runs.
func (g *randomRun) quiet(when string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.running > 0 {
		g.Errorf("%d calls run %s", g.running, when)
	}
}

// reply is a random reply whose calls no other reply makes.
func (g *randomRun) reply() toolrunnertest.Reply {
	var list []string
	for range g.rng.IntN(6) {
		g.calls++
		tool := []string{"look", "look", "look", "change", "alone", "missing", "abort", "text", "fallback"}[g.rng.IntN(9)]
		switch tool {
		case "text", "fallback":
			list = append(list, tool)
		case "abort":
			if g.rng.IntN(3) > 0 {
				tool = "look"
			}
			fallthrough
		default:
			list = append(list, fmt.Sprintf(`c%d %s {"n":%d}`, g.calls, tool, g.calls))
		}
	}
	reply := runtest.Blocks(append(list, "text")...)
	if reason := g.rng.IntN(8); reason < 3 { // a pause comes without calls of ours, as the rules of the server have it
		reply = reply.StopReason([]string{"max_tokens", "refusal", "end_turn"}[reason])
	} else if len(list) > 0 {
		reply = reply.StopReason("tool_use")
	}
	if g.rng.IntN(2) == 0 {
		reply = reply.Trickle(time.Duration(g.rng.IntN(4)) * 10 * time.Millisecond)
	}
	switch g.rng.IntN(8) {
	case 0:
		reply = reply.EndAfter(1 + g.rng.IntN(30))
	case 1:
		reply = reply.ErrorEvent(1+g.rng.IntN(30), "overloaded_error", "Overloaded")
	}
	return reply
}

// handler takes a time that the call's number says, and checks who runs beside it.
func (g *randomRun) handler(tool string) toolrunner.Handler {
	return func(ctx context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
		g.begin(tool, call)
		defer func() {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.running--
			g.alone = false
		}()
		var n int
		_, _ = fmt.Sscanf(call.ID, "c%d", &n)
		select {
		case <-time.After(time.Duration(n%5) * 15 * time.Millisecond):
		case <-ctx.Done():
			g.note("%s cancelled: %v", call.ID, context.Cause(ctx))
			return nil, ctx.Err()
		}
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.ends[call.ID]++; g.ends[call.ID] > 1 {
			g.Errorf("call %s has completed twice", call.ID)
		}
		if tool == "abort" {
			return nil, toolrunner.Abort(runtest.ErrEnough)
		}
		return toolrunner.TextResult("result of " + call.ID), nil
	}
}

func (g *randomRun) begin(tool string, call *toolrunner.Call) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.log = append(g.log, call.ID+" "+tool)
	if g.running++; g.running > g.limit {
		g.Errorf("%d calls run, want at most %d", g.running, g.limit)
	}
	if g.alone || tool == "alone" && g.running > 1 {
		g.Errorf("call %s runs beside an exclusive one", call.ID)
	}
	g.alone = tool == "alone"
	if g.starts[call.ID]++; tool == "change" && g.starts[call.ID] > 1 {
		g.Errorf("call %s, which is not read only, has started twice", call.ID)
	}
	if (tool == "change" || tool == "alone") && g.inBody {
		g.Errorf("call %s of %s started while the body had control", call.ID, tool)
	}
}

// loop goes through the loop once, and returns what it ended with.
func (g *randomRun) loop(c *runtest.Conversation) error {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	for turn, err := range c.AllStreaming(ctx) {
		if err != nil {
			return err
		}
		if g.rng.IntN(10) == 0 {
			time.AfterFunc(time.Duration(g.rng.IntN(300))*time.Millisecond, func() { cancel(runtest.ErrEnough) })
		}
		g.setBody(true)
		leave := g.body(c, turn)
		g.setBody(false)
		if leave {
			return nil
		}
	}
	return nil
}

func (g *randomRun) setBody(in bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inBody = in
}

// body reads some events and does something, and reports whether to leave.
func (g *randomRun) body(c *runtest.Conversation, turn *toolrunner.Turn) (leave bool) {
	if n := g.rng.IntN(40); n > 0 {
		for e, err := range turn.Events() {
			if err == nil && e.Type == "content_block_start" && g.rng.IntN(6) == 0 {
				g.deferCall(turn, e)
			}
			if n--; n == 0 || err != nil {
				break
			}
		}
	}
	var err error
	action := g.rng.IntN(14)
	g.note("action %d", action)
	switch action {
	case 0:
		err = turn.Retry()
	case 1:
		err = turn.Replace(runtest.User("instead"))
	case 2:
		if p := turn.ToParam(); p.OfAssistant != nil && len(p.OfAssistant.Content) > 0 {
			err = turn.Replace(p)
		}
	case 3:
		err = c.SetMessages(runtest.User("from the start"))
	case 4:
		g.setBody(false)
		_, _ = turn.Results(context.Background())
	case 5:
		g.setBody(false)
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(g.rng.IntN(60))*time.Millisecond)
		defer cancel()
		_, _ = turn.Results(ctx)
	case 6:
		err = c.AppendMessages(runtest.User("one more thing"))
	case 7:
		return true
	case 8:
		_ = c.Messages()
	case 9:
		runtest.Pause(time.Duration(g.rng.IntN(100)) * time.Millisecond)
	}
	if err != nil {
		g.Errorf("action %d failed: %v", action, err)
	}
	return false
}

// deferCall defers the call that an event begins, which cannot have started.
func (g *randomRun) deferCall(turn *toolrunner.Turn, e toolrunner.Event) {
	union, err := e.Union()
	if err != nil {
		g.Error(err)
		return
	}
	block := union.AsContentBlockStart().ContentBlock
	if block.Type != "tool_use" {
		return
	}
	if err := turn.Defer(block.ID); err != nil {
		g.Errorf("Defer(%s) error = %v", block.ID, err)
	}
}
