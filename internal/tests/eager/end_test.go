package eager_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// E161, E162, E164, E143: wherever the stream breaks, what runs is cancelled before
// the loop ends, nothing is recorded, and the calls of the next reply are new ones.
func TestEagerCallsEndWithAStreamThatBreaks(t *testing.T) {
	whole := runtest.Blocks("a wait", "b wait", "text").StopReason("tool_use")
	breaks := map[string]func(n int) toolrunnertest.Reply{
		"ends":  whole.EndAfter,
		"fails": func(n int) toolrunnertest.Reply { return whole.ErrorEvent(n, "overloaded_error", "Overloaded") },
		"is cut": func(n int) toolrunnertest.Reply {
			stream := runtest.StreamOf(t, whole)
			return whole.CutAt(len(strings.Join(strings.SplitAfter(stream, "\n\n")[:n], "")))
		},
	}
	for name, broken := range breaks {
		for n := 1; n < runtest.EventCount(t, whole); n++ { // of which one is the ping
			reply := broken(n)
			runtest.Bubble(t, fmt.Sprintf("%s after %d", name, n), func(t *testing.T) {
				var log runtest.Journal
				c := runtest.New(t, reply, whole, toolrunnertest.Text("done"))
				c.Runner = c.NewRunner(t, runtest.EagerParams(), log.Waits("wait", time.Minute))
				begin := time.Now()
				err := c.Stream(t.Context(), nil)
				if err == nil || time.Since(begin) > 0 {
					t.Errorf("AllStreaming() error = %v after %v, want one at once", err, time.Since(begin))
				}
				for _, id := range []string{"a", "b"} {
					if log.Has(id) && !log.Has(id+" cancelled") {
						t.Errorf("call %s still runs after the loop", id)
					}
				}
				c.WantHistory(t, "user 'hi'")
				log.Clear()
				c.MustStream(t, nil)
				log.WantSorted(t, "a", "a ended", "b", "b ended")
				if !bytes.Equal(c.Request(t, 0).Body, c.Request(t, 1).Body) {
					t.Errorf("the second request = %s, want the first again", c.Request(t, 1).Body)
				}
			})
		}
	}
}

// Wherever the body leaves, what runs is cancelled before it has left. A reply that
// is complete stays, and with it what has finished; another loop goes on.
func TestEagerCallsEndWhenTheBodyLeaves(t *testing.T) {
	reply := runtest.Blocks("a look", "b wait", "text").StopReason("tool_use")
	leave := map[string]func(c *runtest.Conversation, read func(turn *toolrunner.Turn)){
		"break": func(c *runtest.Conversation, read func(turn *toolrunner.Turn)) {
			for turn := range c.AllStreaming(context.Background()) {
				read(turn)
				break
			}
		},
		"panic": func(c *runtest.Conversation, read func(turn *toolrunner.Turn)) {
			defer func() { _ = recover() }()
			for turn := range c.AllStreaming(context.Background()) {
				read(turn)
				panic("body")
			}
		},
	}
	events := runtest.EventCount(t, reply)
	for name, leave := range leave {
		for n := 1; n <= events; n++ {
			runtest.Bubble(t, fmt.Sprintf("%s after %d", name, n), func(t *testing.T) {
				var log runtest.Journal
				script := []toolrunnertest.Reply{reply, reply, toolrunnertest.Text("done")}
				complete := n >= events-1 // message_delta has come
				if complete {
					script = script[1:]
				}
				c := runtest.New(t, script...)
				c.Runner = c.NewRunner(t, runtest.EagerParams(), log.Reads("look"), log.Waits("wait", time.Minute))
				begin := time.Now()
				leave(c, func(turn *toolrunner.Turn) { new(runtest.Journal).Watch(turn, n) })
				if took := time.Since(begin); took > 0 || log.Has("b") && !log.Has("b cancelled") {
					t.Errorf("leaving took %v, and what happened is %q", took, log.Entries)
				}
				c.WantOutcome(t, toolrunner.OutcomeStopped)
				held := []string{"user 'hi'"}
				if complete {
					held = append(held, "assistant call(a) call(b) 'so'")
				}
				c.WantHistory(t, held...)
				ran := log.Has("a")
				log.Clear()
				c.MustStream(t, nil)
				if want := !ran || !complete; log.Has("a") != want {
					t.Errorf("a runs again: %v, want %v", log.Has("a"), want)
				}
				runtest.WantSuccess(t, c.Request(t, -1), "a", "read a")
				runtest.WantSuccess(t, c.Request(t, -1), "b", "read b")
			})
		}
	}
}

// E157, E162, E108, E118: after a takeover the calls of the reply are cancelled,
// before the next request goes out, unless the new history makes the same ones.
func TestTakeoverWhileEagerCallsRun(t *testing.T) {
	calls := runtest.Verbatim(`{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"look","input":{}},{"type":"tool_use","id":"b","name":"wait","input":{}}]}`)
	tests := []struct {
		name string
		take func(c *runtest.Conversation, turn *toolrunner.Turn) error
		log  []string
		next bool // the next reply makes the calls again
	}{
		{"Retry", func(_ *runtest.Conversation, turn *toolrunner.Turn) error { return turn.Retry() }, []string{"a", "b", "b cancelled", "a", "b", "b ended"}, true},
		{"Replace", func(_ *runtest.Conversation, turn *toolrunner.Turn) error { return turn.Replace(runtest.User("no")) }, []string{"a", "b", "b cancelled"}, false},
		{"Replace with the calls", func(_ *runtest.Conversation, turn *toolrunner.Turn) error { return turn.Replace(calls) }, []string{"a", "b", "b ended"}, false},
		{"SetMessages", func(c *runtest.Conversation, _ *toolrunner.Turn) error { return c.SetMessages(runtest.User("no")) }, []string{"a", "b", "b cancelled"}, false},
		{"SetMessages with the calls", func(c *runtest.Conversation, _ *toolrunner.Turn) error {
			return c.SetMessages(runtest.User("no"), calls)
		}, []string{"a", "b", "b ended"}, false},
		{"Replace with one of the calls", func(_ *runtest.Conversation, turn *toolrunner.Turn) error {
			return turn.Replace(runtest.Verbatim(strings.Replace(runtest.OpenCallA, `{"n":9007199254740993}`, `{}`, 1)))
		}, []string{"a", "b", "b cancelled", "a"}, false}, // by that name it is another tool's
	}
	reply := runtest.Blocks("a look", "b wait", "text").StopReason("tool_use")
	for _, test := range tests {
		for _, n := range []int{11, runtest.EventCount(t, reply)} {
			runtest.Bubble(t, fmt.Sprintf("%s after %d", test.name, n), func(t *testing.T) {
				var log runtest.Journal
				script := []toolrunnertest.Reply{reply, toolrunnertest.Text("done")}
				if test.next {
					script = []toolrunnertest.Reply{reply, reply, toolrunnertest.Text("done")}
				}
				c := runtest.New(t, script...)
				c.Runner = c.NewRunner(t, runtest.EagerParams(), log.Reads("look"), log.Waits("wait", time.Minute), log.Tool("work"))
				first := true
				c.MustStream(t, func(turn *toolrunner.Turn) {
					if !first {
						return
					}
					first = false
					new(runtest.Journal).Watch(turn, n)
					synctest.Wait()
					if err := test.take(c, turn); err != nil {
						t.Errorf("the takeover failed: %v", err)
					}
				})
				log.WantSorted(t, slices.Sorted(slices.Values(test.log))...)
				if c.Server.Remaining() > 0 {
					t.Error("the run ended early")
				}
			})
		}
	}
}

// A body may take over where the stream has broken, with what has finished.
func TestTakeoverOfABrokenStreamKeepsResultsOfTheSameCalls(t *testing.T) {
	runtest.Bubble(t, "Replace", func(t *testing.T) {
		var log runtest.Journal
		c := runtest.New(t, runtest.Blocks("a wait", "text").EndAfter(7), toolrunnertest.Text("done"))
		c.Runner = c.NewRunner(t, runtest.EagerParams(), log.Waits("wait", time.Second))
		c.MustStream(t, func(turn *toolrunner.Turn) {
			log.Watch(turn, -1)
			if log.Has("error") {
				log.Clear()
				if err := turn.Replace(runtest.Calling("a", "wait")); err != nil {
					t.Error(err)
				}
			}
		})
		if log.Has("a") || log.Has("a cancelled") {
			t.Errorf("what happened after the break = %q, want that a goes on", log.Entries)
		}
		runtest.WantSuccess(t, c.Request(t, -1), "a", "read a")
	})
}

// Abort: the reply is read to its end, and then the run ends as if the call had
// begun after it.
func TestEagerCallThatAborts(t *testing.T) {
	abort := runtest.ReadOnly("abort", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
		return nil, toolrunner.Abort(runtest.ErrEnough)
	})
	for _, reason := range []string{"tool_use", "max_tokens", "pause_turn", "end_turn"} {
		runtest.Bubble(t, reason, func(t *testing.T) {
			var log runtest.Journal
			c := runtest.New(t, runtest.Blocks("a wait", "b abort", "c wait", "d change", "text").StopReason(reason))
			c.Runner = c.NewRunner(t, runtest.EagerParams(), abort, log.Waits("wait", time.Minute), log.Tool("change"))
			err := c.Stream(t.Context(), func(turn *toolrunner.Turn) { new(runtest.Journal).Watch(turn, -1) })
			runtest.WantCause(t, err, runtest.ErrEnough)
			c.WantOutcome(t, toolrunner.OutcomeFailed)
			log.Want(t, "a", "a cancelled")
			if reason != "tool_use" {
				return
			}
			c.Server.Add(toolrunnertest.Text("done"))
			c.MustStream(t, nil)
			runtest.WantFailure(t, c.Request(t, -1), "b", "Error: the tool ended the run.")
			runtest.WantSuccess(t, c.Request(t, -1), "a", "read a")
			runtest.WantSuccess(t, c.Request(t, -1), "d", "ran")
		})
	}
	runtest.Bubble(t, "Results", func(t *testing.T) {
		c := runtest.New(t, runtest.Blocks("a abort", "text").StopReason("tool_use"), toolrunnertest.Text("done"))
		c.Runner = c.NewRunner(t, runtest.EagerParams(), abort)
		c.MustStream(t, func(turn *toolrunner.Turn) {
			if turn.Iteration() == 1 {
				_, err := turn.Results(t.Context())
				runtest.WantCause(t, err, runtest.ErrEnough)
			}
		})
	})
	runtest.Bubble(t, "Retry", func(t *testing.T) {
		c := runtest.New(t, runtest.Blocks("a abort", "text").StopReason("tool_use"), toolrunnertest.Text("done"))
		c.Runner = c.NewRunner(t, runtest.EagerParams(), abort)
		c.MustStream(t, func(turn *toolrunner.Turn) {
			if turn.Iteration() == 1 {
				new(runtest.Journal).Watch(turn, -1)
				if err := turn.Retry(); err != nil {
					t.Error(err)
				}
			}
		})
	})
}

// E17, E21: calls before a fallback count no more, and are cancelled.
func TestEagerCallsBeforeAFallbackAreCancelled(t *testing.T) {
	runtest.Bubble(t, "seam", func(t *testing.T) {
		var log runtest.Journal
		c := runtest.Start(t, runtest.EagerParams(), runtest.Tools(log.Waits("wait", time.Minute)), runtest.Blocks("a wait", "b wait", "fallback", "c wait", "text").StopReason("tool_use"), toolrunnertest.Text("done"))
		c.MustStream(t, func(turn *toolrunner.Turn) {
			if turn.Iteration() == 1 {
				log.Watch(turn, -1)
			}
		})
		log.Want(t, "message start", "start 0", "stop 0", "start 1", "a", "stop 1", "start 2", "a cancelled", "stop 2", "start 3", "stop 3", "start 4", "stop 4",
			"message delta", "message stop", "c", "c ended")
		c.WantShape(t, "user 'hi'", "assistant call(a) call(b) fallback call(c) 'so'", "user result(c)")
	})
}

// Two blocks of one id that differ end the turn with a *ReplyError, as ever; the
// first may have started.
func TestDifferingCallsOfOneIDFailTheReply(t *testing.T) {
	runtest.Bubble(t, "differ", func(t *testing.T) {
		var log runtest.Journal
		c := runtest.New(t, runtest.Blocks("a wait", `a wait {"n":1}`, "b wait", "text").StopReason("tool_use"))
		c.Runner = c.NewRunner(t, runtest.EagerParams(), log.Waits("wait", time.Minute))
		runtest.WantAs[*toolrunner.ReplyError](t, c.Stream(t.Context(), func(turn *toolrunner.Turn) { new(runtest.Journal).Watch(turn, -1) }))
		log.Want(t, "a", "a cancelled")
	})
}

// E164: an id of an earlier turn makes a new call, which waits for its new id.
func TestCallWithAnIDThatIsTakenWaits(t *testing.T) {
	runtest.Bubble(t, "taken", func(t *testing.T) {
		var log runtest.Journal
		reply := runtest.Blocks("a look", "text").StopReason("tool_use")
		c := runtest.New(t, reply, reply, toolrunnertest.Text("done"))
		c.Runner = c.NewRunner(t, runtest.EagerParams(), log.Reads("look"))
		c.MustStream(t, func(turn *toolrunner.Turn) {
			new(runtest.Journal).Watch(turn, -1)
			log.Add("read %d", turn.Iteration())
		})
		log.Want(t, "a", "read 1", "read 2", "a_2", "read 3")
	})
}

// While eager calls run, the body sees the turn open.
func TestHistoryStaysOpenWhileEagerCallsRun(t *testing.T) {
	runtest.Bubble(t, "messages", func(t *testing.T) {
		var log runtest.Journal
		c := runtest.Start(t, runtest.EagerParams(), runtest.Tools(log.Reads("look"), log.Waits("wait", time.Minute)), runtest.Blocks("a look", "b wait", "text").StopReason("tool_use"), toolrunnertest.Text("done"))
		c.MustStream(t, func(turn *toolrunner.Turn) {
			if turn.Iteration() > 1 {
				return
			}
			for range turn.Events() {
				synctest.Wait()
				c.WantHistory(t, "user 'hi'")
			}
			c.WantHistory(t, "user 'hi'", "assistant call(a) call(b) 'so'")
			err := c.AppendMessages(runtest.Answering("b", "mine"))
			if runtest.WantAs[*toolrunner.HistoryError](t, err); !log.Has("b") {
				t.Errorf("AppendMessages() error = %v, but b has not started", err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if _, err := turn.Results(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Results() error = %v, want that its context has ended", err)
			}
			c.WantHistory(t, "user 'hi'", "assistant call(a) call(b) 'so'", "user result(a) error(b)")
			if results, err := turn.Results(t.Context()); err != nil || len(results) != 2 {
				t.Errorf("Results() = %v, %v; want two", results, err)
			}
			c.WantHistory(t, "user 'hi'", "assistant call(a) call(b) 'so'", "user result(a) result(b)")
		})
		log.Want(t, "a", "b", "b cancelled", "b", "b ended")
	})
}

// B020, E66, E174: an eager handler is guarded like any other.
func TestEagerHandlersThatMisbehave(t *testing.T) {
	runtest.Bubble(t, "handlers", func(t *testing.T) {
		var seen runtest.Journal
		slow := runtest.ReadOnly("slow", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
			runtest.Pause(time.Hour)
			return toolrunner.TextResult("late"), nil
		})
		slow.Timeout = time.Second
		params := runtest.EagerParams()
		params.Middleware = []toolrunner.Middleware{toolrunner.Limit(1), func(next toolrunner.Handler) toolrunner.Handler {
			return func(ctx context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
				from, _ := toolrunner.CallFrom(ctx)
				seen.Add("%s %s %d", from.ID, call.Name, call.Iteration)
				return next(ctx, call)
			}
		}}
		c := runtest.Start(t, params, runtest.Tools(slow,
			runtest.ReadOnly("panics", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) { panic("secret") }),
			runtest.ReadOnly("fails", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) { return nil, runtest.ErrBroken }),
		), runtest.Blocks("a panics", "b fails", "c slow", "text").StopReason("tool_use"), toolrunnertest.Text("done"))
		c.MustStream(t, nil)
		seen.WantSorted(t, "a panics 1", "b fails 1", "c slow 1")
		runtest.WantFailure(t, c.Request(t, -1), "a", "Error: the tool failed unexpectedly.")
		runtest.WantFailure(t, c.Request(t, -1), "b", "Error: broken")
		runtest.WantFailure(t, c.Request(t, -1), "c", "Error: the call timed out after 1s, and did not stop: whether it took effect is unknown")
		runtest.Pause(2 * time.Hour)
	})
}

// Calls of 300 ms beside a slow reply: the next request goes out when the slower of
// reply and tools is done, not after both.
func TestTurnEndsWithTheSlowerOfReplyAndTools(t *testing.T) {
	long := runtest.Blocks("a wait", "b wait", "c wait", "text").StopReason("tool_use")
	tests := []struct {
		name        string
		pause       time.Duration // between events, of which there are nineteen
		concurrency int
		eager, late time.Duration // with EagerTools, and without
	}{
		{"a slow reply", 100 * time.Millisecond, 0, 1800 * time.Millisecond, 2100 * time.Millisecond},
		{"slow tools", 10 * time.Millisecond, 0, 440 * time.Millisecond, 480 * time.Millisecond},
		{"one by one, a slow reply", 100 * time.Millisecond, 1, 1800 * time.Millisecond, 2700 * time.Millisecond},
		{"one by one, slow tools", 20 * time.Millisecond, 1, 1020 * time.Millisecond, 1260 * time.Millisecond},
	}
	for _, test := range tests {
		for _, eager := range []bool{true, false} {
			runtest.Bubble(t, fmt.Sprintf("%s, eager %v", test.name, eager), func(t *testing.T) {
				var log runtest.Journal
				params := runtest.EagerParams()
				params.EagerTools, params.MaxConcurrency = eager, test.concurrency
				c := runtest.Start(t, params, runtest.Tools(log.Waits("wait", 300*time.Millisecond)), long.Trickle(test.pause), toolrunnertest.Text("done"))
				begin := time.Now()
				c.MustStream(t, nil)
				want := test.late
				if eager {
					want = test.eager
				}
				if took := time.Since(begin); took != want {
					t.Errorf("the turn took %v, want %v", took, want)
				}
			})
		}
	}
}
