package network_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
)

var errLeft = errors.New("the user has left")

// cancelPoint cancels a run at the n-th moment that is named to it.
type cancelPoint struct {
	mu     sync.Mutex
	left   int
	cancel context.CancelCauseFunc
	where  string
}

// moment reports whether it is the one.
func (c *cancelPoint) moment(where string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left--; c.left == 0 {
		c.where = where
		c.cancel(errLeft)
	}
	return c.left == 0
}

// handler answers the calls of the script; some honour a cancel, some ignore it,
// some panic on it.
func (c *cancelPoint) handler(tally *callCounts, release <-chan struct{}) toolrunner.Handler {
	return func(ctx context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
		tally.mu.Lock()
		tally.runs[call.ID]++
		tally.mu.Unlock()
		c.moment("in the handler of " + call.ID)
		if ctx.Err() != nil {
			switch call.ID {
			case "a":
				return nil, fmt.Errorf("gave up: %w", ctx.Err())
			case "b":
				<-release
				return nil, nil
			case "c":
				panic(context.Cause(ctx))
			}
		}
		c.moment("at the end of " + call.ID)
		return toolrunner.TextResult("result of " + call.ID), nil
	}
}

// A run that is cancelled at any moment ends with the cause, and goes on to its
// end, here or in a runner that takes over the messages; no call runs twice.
func TestACancelAtAnyMomentCostsNoCallTwice(t *testing.T) {
	for _, streaming := range []bool{false, true} {
		for _, moved := range []bool{false, true} {
			cancelled := true
			for n := 1; cancelled; n++ {
				t.Run(fmt.Sprintf("moment %d, streaming %v, moved %v", n, streaming, moved), func(t *testing.T) {
					cancelled = cancelledRun(t, n, streaming, moved)
				})
			}
		}
	}
}

func cancelledRun(t *testing.T, n int, streaming, moved bool) (cancelled bool) {
	api := newPeerAPI(t, threeTurns()...)
	api.checker.strange = moved // messages that moved are encoded anew
	api.checker.takeover = moved
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	c := &cancelPoint{left: n, cancel: cancel}
	for i := range 4 {
		api.failAt(i, func(_ http.ResponseWriter, r *http.Request, _ []byte, _ bool) bool {
			if !c.moment(fmt.Sprintf("in request %d", i)) {
				return false
			}
			<-r.Context().Done()
			return true
		})
	}
	release := make(chan struct{})
	defer close(release)
	tally := &callCounts{runs: make(map[string]int)}
	tools := rawTools(c.handler(tally, release))
	runner := startRunner(t, api, tools, nil)
	turns := runner.All
	if streaming {
		turns = runner.AllStreaming
	}
	var last error
	for turn, err := range turns(ctx) {
		if last = err; err != nil {
			break
		}
		c.moment("in a body")
		events := 0
		for range turn.Events() {
			if events++; events%10 == 3 {
				c.moment("at an event")
			}
		}
		if turn.Iteration() == 2 {
			_, _ = turn.Results(ctx)
		}
		c.moment("at the end of a body")
	}
	if c.where == "" {
		return false
	}
	if last != nil && (!errors.Is(last, errLeft) || !errors.Is(last, context.Canceled)) {
		t.Errorf("cancelled %s: the run ended with %v, want the cause", c.where, last)
	}
	if moved && runner.Outcome() != toolrunner.OutcomeCompleted {
		runner = startRunner(t, api, tools, func(p *toolrunner.Params) { p.Messages = runner.Messages() })
	}
	finish(t, runner, streaming)
	for id, runs := range tally.runs {
		if runs > 1 {
			t.Errorf("cancelled %s: the call %q ran %d times", c.where, id, runs)
		}
	}
	if history := historyJSON(t, runner); !strings.Contains(history, "done 🙂") {
		t.Errorf("cancelled %s: the history is %s", c.where, history)
	}
	return true
}

// After all of it, nothing is left running. Connections are real here, so what
// ends with them can only be waited for.
func TestNoGoroutineOutlivesItsRun(t *testing.T) {
	before := runtime.NumGoroutine()
	t.Run("runs", func(t *testing.T) {
		for n := 1; n < 12; n++ {
			cancelledRun(t, n, n%2 == 0, false)
		}
		api := newPeerAPI(t, threeTurns()...)
		runner := startRunner(t, api, []anthropic.BetaTool{(&callCounts{}).tool("work")}, nil)
		for turn := range runner.AllStreaming(t.Context()) {
			for range turn.Events() {
				break
			}
			break
		}
	})
	http.DefaultClient.CloseIdleConnections()
	deadline := time.After(5 * time.Second)
	for runtime.NumGoroutine() > before {
		select {
		case <-deadline:
			stacks := make([]byte, 1<<20)
			t.Fatalf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
		default:
			runtime.Gosched()
		}
	}
}
