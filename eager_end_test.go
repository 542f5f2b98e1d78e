package toolrunner_test

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
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// E161, E162, E164, E143: wherever the stream breaks, what runs is cancelled before
// the loop ends, nothing is recorded, and the calls of the next reply are new ones.
func TestEagerCallsEndWithAStreamThatBreaks(t *testing.T) {
	whole := blocks("a wait", "b wait", "text").StopReason("tool_use")
	breaks := map[string]func(n int) toolrunnertest.Reply{
		"ends":  whole.EndAfter,
		"fails": func(n int) toolrunnertest.Reply { return whole.ErrorEvent(n, "overloaded_error", "Overloaded") },
		"is cut": func(n int) toolrunnertest.Reply {
			stream := streamOf(t, whole)
			return whole.CutAt(len(strings.Join(strings.SplitAfter(stream, "\n\n")[:n], "")))
		},
	}
	for name, broken := range breaks {
		for n := 1; n < eventCount(t, whole); n++ { // of which one is the ping
			reply := broken(n)
			bubble(t, fmt.Sprintf("%s after %d", name, n), func(t *testing.T) {
				var log journal
				c := newConversation(t, reply, whole, toolrunnertest.Text("done"))
				c.Runner = c.runner(t, hasty(), log.waits("wait", time.Minute))
				begin := time.Now()
				err := c.stream(t.Context(), nil)
				if err == nil || time.Since(begin) > 0 {
					t.Errorf("AllStreaming() error = %v after %v, want one at once", err, time.Since(begin))
				}
				for _, id := range []string{"a", "b"} {
					if log.has(id) && !log.has(id+" cancelled") {
						t.Errorf("call %s still runs after the loop", id)
					}
				}
				c.wantHistory(t, "user 'hi'")
				log.clear()
				c.mustStream(t, nil)
				log.wantSorted(t, "a", "a ended", "b", "b ended")
				if !bytes.Equal(c.request(t, 0).Body, c.request(t, 1).Body) {
					t.Errorf("the second request = %s, want the first again", c.request(t, 1).Body)
				}
			})
		}
	}
}

// Wherever the body leaves, what runs is cancelled before it has left. A reply that
// is complete stays, and with it what has finished; another loop goes on.
func TestEagerCallsEndWhenTheBodyLeaves(t *testing.T) {
	reply := blocks("a look", "b wait", "text").StopReason("tool_use")
	leave := map[string]func(c *conversation, read func(turn *toolrunner.Turn)){
		"break": func(c *conversation, read func(turn *toolrunner.Turn)) {
			for turn := range c.AllStreaming(context.Background()) {
				read(turn)
				break
			}
		},
		"panic": func(c *conversation, read func(turn *toolrunner.Turn)) {
			defer func() { _ = recover() }()
			for turn := range c.AllStreaming(context.Background()) {
				read(turn)
				panic("body")
			}
		},
	}
	events := eventCount(t, reply)
	for name, leave := range leave {
		for n := 1; n <= events; n++ {
			bubble(t, fmt.Sprintf("%s after %d", name, n), func(t *testing.T) {
				var log journal
				script := []toolrunnertest.Reply{reply, reply, toolrunnertest.Text("done")}
				complete := n >= events-1 // message_delta has come
				if complete {
					script = script[1:]
				}
				c := newConversation(t, script...)
				c.Runner = c.runner(t, hasty(), log.reads("look"), log.waits("wait", time.Minute))
				begin := time.Now()
				leave(c, func(turn *toolrunner.Turn) { new(journal).watch(turn, n) })
				if took := time.Since(begin); took > 0 || log.has("b") && !log.has("b cancelled") {
					t.Errorf("leaving took %v, and what happened is %q", took, log.entries)
				}
				c.wantOutcome(t, toolrunner.OutcomeStopped)
				held := []string{"user 'hi'"}
				if complete {
					held = append(held, "assistant call(a) call(b) 'so'")
				}
				c.wantHistory(t, held...)
				ran := log.has("a")
				log.clear()
				c.mustStream(t, nil)
				if want := !ran || !complete; log.has("a") != want {
					t.Errorf("a runs again: %v, want %v", log.has("a"), want)
				}
				wantSuccess(t, c.request(t, -1), "a", "read a")
				wantSuccess(t, c.request(t, -1), "b", "read b")
			})
		}
	}
}

// E167, promise 5: cancelling ends the loop at once; a handler that ignores its
// context is left behind after a grace, and what it returns is dropped.
func TestEagerCallsEndWhenTheRunIsCancelled(t *testing.T) {
	reply := blocks("a stubborn", "b wait", "text").StopReason("tool_use")
	events := eventCount(t, reply)
	reply = reply.Trickle(time.Second)
	for n := range events + 2 {
		bubble(t, fmt.Sprintf("after %d", n), func(t *testing.T) {
			var log journal
			stubborn := readOnly("stubborn", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
				pause(time.Minute)
				return toolrunner.TextResult("late"), nil
			})
			after := time.Duration(n)*time.Second + time.Millisecond
			c := newConversation(t, reply)
			c.Runner = c.runner(t, hasty(), stubborn, log.waits("wait", time.Hour))
			begin := time.Now()
			err := c.stream(cancelling(t, after), nil)
			wantCause(t, err, errEnough)
			if late := time.Since(begin) - after; late != 0 && late != 100*time.Millisecond {
				t.Errorf("the loop ended %v after it was cancelled, want at once or after the grace", late)
			}
			if log.has("b") && !log.has("b cancelled") {
				t.Error("call b still runs after the loop")
			}
			c.wantOutcome(t, toolrunner.OutcomeFailed)
			pause(2 * time.Minute) // what was left behind returns
			if strings.Contains(fmt.Sprint(shape(encoded(t, c.Messages()))), "result(a)") {
				t.Error("the late result is in the history")
			}
		})
	}
}

// E157, E162, E108, E118: after a takeover the calls of the reply are cancelled,
// before the next request goes out, unless the new history makes the same ones.
func TestTakeoverWhileEagerCallsRun(t *testing.T) {
	calls := verbatim(`{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"look","input":{}},{"type":"tool_use","id":"b","name":"wait","input":{}}]}`)
	tests := []struct {
		name string
		take func(c *conversation, turn *toolrunner.Turn) error
		log  []string
		next bool // the next reply makes the calls again
	}{
		{"Retry", func(_ *conversation, turn *toolrunner.Turn) error { return turn.Retry() }, []string{"a", "b", "b cancelled", "a", "b", "b ended"}, true},
		{"Replace", func(_ *conversation, turn *toolrunner.Turn) error { return turn.Replace(user("no")) }, []string{"a", "b", "b cancelled"}, false},
		{"Replace with the calls", func(_ *conversation, turn *toolrunner.Turn) error { return turn.Replace(calls) }, []string{"a", "b", "b ended"}, false},
		{"SetMessages", func(c *conversation, _ *toolrunner.Turn) error { return c.SetMessages(user("no")) }, []string{"a", "b", "b cancelled"}, false},
		{"SetMessages with the calls", func(c *conversation, _ *toolrunner.Turn) error { return c.SetMessages(user("no"), calls) }, []string{"a", "b", "b ended"}, false},
		{"Replace with one of the calls", func(_ *conversation, turn *toolrunner.Turn) error {
			return turn.Replace(verbatim(strings.Replace(callA, `{"n":9007199254740993}`, `{}`, 1)))
		}, []string{"a", "b", "b cancelled", "a"}, false}, // by that name it is another tool's
	}
	reply := blocks("a look", "b wait", "text").StopReason("tool_use")
	for _, test := range tests {
		for _, n := range []int{11, eventCount(t, reply)} {
			bubble(t, fmt.Sprintf("%s after %d", test.name, n), func(t *testing.T) {
				var log journal
				script := []toolrunnertest.Reply{reply, toolrunnertest.Text("done")}
				if test.next {
					script = []toolrunnertest.Reply{reply, reply, toolrunnertest.Text("done")}
				}
				c := newConversation(t, script...)
				c.Runner = c.runner(t, hasty(), log.reads("look"), log.waits("wait", time.Minute), log.tool("work"))
				first := true
				c.mustStream(t, func(turn *toolrunner.Turn) {
					if !first {
						return
					}
					first = false
					new(journal).watch(turn, n)
					synctest.Wait()
					if err := test.take(c, turn); err != nil {
						t.Errorf("the takeover failed: %v", err)
					}
				})
				log.wantSorted(t, slices.Sorted(slices.Values(test.log))...)
				if c.srv.Remaining() > 0 {
					t.Error("the run ended early")
				}
			})
		}
	}
}

// A body may take over where the stream has broken, with what has finished.
func TestTakeoverOfABrokenStreamKeepsResultsOfTheSameCalls(t *testing.T) {
	bubble(t, "Replace", func(t *testing.T) {
		var log journal
		c := newConversation(t, blocks("a wait", "text").EndAfter(7), toolrunnertest.Text("done"))
		c.Runner = c.runner(t, hasty(), log.waits("wait", time.Second))
		c.mustStream(t, func(turn *toolrunner.Turn) {
			log.watch(turn, -1)
			if log.has("error") {
				log.clear()
				if err := turn.Replace(calling("a", "wait")); err != nil {
					t.Error(err)
				}
			}
		})
		if log.has("a") || log.has("a cancelled") {
			t.Errorf("what happened after the break = %q, want that a goes on", log.entries)
		}
		wantSuccess(t, c.request(t, -1), "a", "read a")
	})
}

// Abort: the reply is read to its end, and then the run ends as if the call had
// begun after it.
func TestEagerCallThatAborts(t *testing.T) {
	abort := readOnly("abort", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
		return nil, toolrunner.Abort(errEnough)
	})
	for _, reason := range []string{"tool_use", "max_tokens", "pause_turn", "end_turn"} {
		bubble(t, reason, func(t *testing.T) {
			var log journal
			c := newConversation(t, blocks("a wait", "b abort", "c wait", "d change", "text").StopReason(reason))
			c.Runner = c.runner(t, hasty(), abort, log.waits("wait", time.Minute), log.tool("change"))
			err := c.stream(t.Context(), func(turn *toolrunner.Turn) { new(journal).watch(turn, -1) })
			wantCause(t, err, errEnough)
			c.wantOutcome(t, toolrunner.OutcomeFailed)
			log.want(t, "a", "a cancelled")
			if reason != "tool_use" {
				return
			}
			c.srv.Add(toolrunnertest.Text("done"))
			c.mustStream(t, nil)
			wantFailure(t, c.request(t, -1), "b", "Error: the tool ended the run.")
			wantSuccess(t, c.request(t, -1), "a", "read a")
			wantSuccess(t, c.request(t, -1), "d", "ran")
		})
	}
	bubble(t, "Results", func(t *testing.T) {
		c := newConversation(t, blocks("a abort", "text").StopReason("tool_use"), toolrunnertest.Text("done"))
		c.Runner = c.runner(t, hasty(), abort)
		c.mustStream(t, func(turn *toolrunner.Turn) {
			if turn.Iteration() == 1 {
				_, err := turn.Results(t.Context())
				wantCause(t, err, errEnough)
			}
		})
	})
	bubble(t, "Retry", func(t *testing.T) {
		c := newConversation(t, blocks("a abort", "text").StopReason("tool_use"), toolrunnertest.Text("done"))
		c.Runner = c.runner(t, hasty(), abort)
		c.mustStream(t, func(turn *toolrunner.Turn) {
			if turn.Iteration() == 1 {
				new(journal).watch(turn, -1)
				if err := turn.Retry(); err != nil {
					t.Error(err)
				}
			}
		})
	})
}

// E17, E21: calls before a fallback count no more, and are cancelled.
func TestEagerCallsBeforeAFallbackAreCancelled(t *testing.T) {
	bubble(t, "seam", func(t *testing.T) {
		var log journal
		c := converse(t, hasty(), tools(log.waits("wait", time.Minute)), blocks("a wait", "b wait", "fallback", "c wait", "text").StopReason("tool_use"), toolrunnertest.Text("done"))
		c.mustStream(t, func(turn *toolrunner.Turn) {
			if turn.Iteration() == 1 {
				log.watch(turn, -1)
			}
		})
		log.want(t, "message start", "start 0", "stop 0", "start 1", "a", "stop 1", "start 2", "a cancelled", "stop 2", "start 3", "stop 3", "start 4", "stop 4",
			"message delta", "message stop", "c", "c ended")
		c.wantShape(t, "user 'hi'", "assistant call(a) call(b) fallback call(c) 'so'", "user result(c)")
	})
}

// Two blocks of one id that differ end the turn with a *ReplyError, as ever; the
// first may have started.
func TestDifferingCallsOfOneIDFailTheReply(t *testing.T) {
	bubble(t, "differ", func(t *testing.T) {
		var log journal
		c := newConversation(t, blocks("a wait", `a wait {"n":1}`, "b wait", "text").StopReason("tool_use"))
		c.Runner = c.runner(t, hasty(), log.waits("wait", time.Minute))
		wantAs[*toolrunner.ReplyError](t, c.stream(t.Context(), func(turn *toolrunner.Turn) { new(journal).watch(turn, -1) }))
		log.want(t, "a", "a cancelled")
	})
}

// E164: an id of an earlier turn makes a new call, which waits for its new id.
func TestCallWithAnIDThatIsTakenWaits(t *testing.T) {
	bubble(t, "taken", func(t *testing.T) {
		var log journal
		reply := blocks("a look", "text").StopReason("tool_use")
		c := newConversation(t, reply, reply, toolrunnertest.Text("done"))
		c.Runner = c.runner(t, hasty(), log.reads("look"))
		c.mustStream(t, func(turn *toolrunner.Turn) {
			new(journal).watch(turn, -1)
			log.add("read %d", turn.Iteration())
		})
		log.want(t, "a", "read 1", "read 2", "a_2", "read 3")
	})
}

// While eager calls run, the body sees the turn open.
func TestHistoryStaysOpenWhileEagerCallsRun(t *testing.T) {
	bubble(t, "messages", func(t *testing.T) {
		var log journal
		c := converse(t, hasty(), tools(log.reads("look"), log.waits("wait", time.Minute)), blocks("a look", "b wait", "text").StopReason("tool_use"), toolrunnertest.Text("done"))
		c.mustStream(t, func(turn *toolrunner.Turn) {
			if turn.Iteration() > 1 {
				return
			}
			for range turn.Events() {
				synctest.Wait()
				c.wantHistory(t, "user 'hi'")
			}
			c.wantHistory(t, "user 'hi'", "assistant call(a) call(b) 'so'")
			err := c.AppendMessages(answering("b", "mine"))
			if wantAs[*toolrunner.HistoryError](t, err); !log.has("b") {
				t.Errorf("AppendMessages() error = %v, but b has not started", err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if _, err := turn.Results(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Results() error = %v, want that its context has ended", err)
			}
			c.wantHistory(t, "user 'hi'", "assistant call(a) call(b) 'so'", "user result(a) error(b)")
			if results, err := turn.Results(t.Context()); err != nil || len(results) != 2 {
				t.Errorf("Results() = %v, %v; want two", results, err)
			}
			c.wantHistory(t, "user 'hi'", "assistant call(a) call(b) 'so'", "user result(a) result(b)")
		})
		log.want(t, "a", "b", "b cancelled", "b", "b ended")
	})
}

// The context of the run may end while Results has one that goes on.
func TestResultsSaysThatTheRunWasCancelled(t *testing.T) {
	bubble(t, "cancel", func(t *testing.T) {
		var log journal
		c := newConversation(t, blocks("a wait", "text").StopReason("tool_use"))
		c.Runner = c.runner(t, hasty(), log.waits("wait", time.Hour))
		err := c.stream(cancelling(t, time.Minute), func(turn *toolrunner.Turn) {
			_, err := turn.Results(t.Context())
			wantCause(t, err, errEnough)
		})
		wantCause(t, err, errEnough)
		log.want(t, "a", "a cancelled")
	})
}

// B020, E66, E174: an eager handler is guarded like any other.
func TestEagerHandlersThatMisbehave(t *testing.T) {
	bubble(t, "handlers", func(t *testing.T) {
		var seen journal
		slow := readOnly("slow", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
			pause(time.Hour)
			return toolrunner.TextResult("late"), nil
		})
		slow.Timeout = time.Second
		params := hasty()
		params.Middleware = []toolrunner.Middleware{toolrunner.Limit(1), func(next toolrunner.Handler) toolrunner.Handler {
			return func(ctx context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
				from, _ := toolrunner.CallFrom(ctx)
				seen.add("%s %s %d", from.ID, call.Name, call.Iteration)
				return next(ctx, call)
			}
		}}
		c := converse(t, params, tools(slow,
			readOnly("panics", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) { panic("secret") }),
			readOnly("fails", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) { return nil, errBroken }),
		), blocks("a panics", "b fails", "c slow", "text").StopReason("tool_use"), toolrunnertest.Text("done"))
		c.mustStream(t, nil)
		seen.wantSorted(t, "a panics 1", "b fails 1", "c slow 1")
		wantFailure(t, c.request(t, -1), "a", "Error: the tool failed unexpectedly.")
		wantFailure(t, c.request(t, -1), "b", "Error: broken")
		wantFailure(t, c.request(t, -1), "c", "Error: the call timed out after 1s, and did not stop: whether it took effect is unknown")
		pause(2 * time.Hour)
	})
}

// Calls of 300 ms beside a slow reply: the next request goes out when the slower of
// reply and tools is done, not after both.
func TestTurnEndsWithTheSlowerOfReplyAndTools(t *testing.T) {
	long := blocks("a wait", "b wait", "c wait", "text").StopReason("tool_use")
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
			bubble(t, fmt.Sprintf("%s, eager %v", test.name, eager), func(t *testing.T) {
				var log journal
				params := hasty()
				params.EagerTools, params.MaxConcurrency = eager, test.concurrency
				c := converse(t, params, tools(log.waits("wait", 300*time.Millisecond)), long.Trickle(test.pause), toolrunnertest.Text("done"))
				begin := time.Now()
				c.mustStream(t, nil)
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
