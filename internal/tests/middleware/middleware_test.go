// Package middleware_test tests Middleware, and those that come with the package.
package middleware_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// trail notes what happens, in order.
type trail struct {
	mu    sync.Mutex
	notes []string
}

func (l *trail) note(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.notes = append(l.notes, fmt.Sprintf(format, args...))
}

func (l *trail) want(t *testing.T, want ...string) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.Equal(l.notes, want) {
		t.Errorf("notes = %q\nwant    %q", l.notes, want)
	}
}

// around notes each call on its way in, and its result on its way out.
func (l *trail) around(name string) toolrunner.Middleware {
	return func(next toolrunner.Handler) toolrunner.Handler {
		return func(ctx context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
			l.note("%s gets %s %s", name, call.Name, call.Input)
			result, err := next(ctx, call)
			text := ""
			if result != nil && len(result.Content) > 0 {
				text = result.Content[0].OfText.Text
			}
			l.note("%s sees %q, %v", name, text, err)
			return result, err
		}
	}
}

// S28, S29: the first middleware is outermost; each may change the call, answer it
// by itself, or change what comes back. Calls that are answered before are not
// seen.
func TestMiddlewareGoesAroundHandlersInOrder(t *testing.T) {
	var seen trail
	type city struct {
		City string `json:"city"`
	}
	weather := toolrunner.NewTool("weather", "", func(_ context.Context, in city) (string, error) {
		seen.note("handler gets %s", in.City)
		if in.City == "Atlantis" {
			return "", runtest.ErrBroken
		}
		return "sunny in " + in.City, nil
	})
	rewrite := func(next toolrunner.Handler) toolrunner.Handler {
		return func(ctx context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
			if from, _ := toolrunner.CallFrom(ctx); from != call {
				t.Errorf("CallFrom() = %v, want the call %v", from, call)
			}
			switch string(call.Input) {
			case `{"city":"skip"}`:
				return toolrunner.TextResult("skipped"), nil
			case `{"city":"Rom"}`:
				changed := *call
				changed.Input = []byte(`{"city":"Rome"}`)
				return next(ctx, &changed)
			}
			return next(ctx, call)
		}
	}
	d := runtest.StartUnchecked(t, toolrunner.Params{MaxConcurrency: 1, Middleware: []toolrunner.Middleware{seen.around("outer"), rewrite, seen.around("inner")}}, runtest.Tools(weather),
		toolrunnertest.Message(
			toolrunnertest.Call("a", "weather", `{"city":"Rom"}`), toolrunnertest.Call("b", "weather", `{"city":"skip"}`),
			toolrunnertest.Call("c", "weather", `{"city":"Atlantis"}`), toolrunnertest.Call("d", "weather", `{"city":1}`), toolrunnertest.Call("e", "missing", `{}`),
		), toolrunnertest.Text("done"))
	d.MustPlay(t, func(*toolrunner.Turn) {})
	seen.want(t,
		`outer gets weather {"city":"Rom"}`, `inner gets weather {"city":"Rome"}`, `handler gets Rome`, `inner sees "sunny in Rome", <nil>`, `outer sees "sunny in Rome", <nil>`,
		`outer gets weather {"city":"skip"}`, `outer sees "skipped", <nil>`,
		`outer gets weather {"city":"Atlantis"}`, `inner gets weather {"city":"Atlantis"}`, `handler gets Atlantis`, `inner sees "", broken`, `outer sees "", broken`,
	)
	d.WantRequest(t, 1, "user 'hi'", "assistant call(a) call(b) call(c) call(d) call(e)", "user result(a) result(b) error(c) error(d) error(e)")
	d.WantFaithful(t) // what a middleware made of the call is not what the model said
}

// Changed Params.Middleware counts from the next calls on.
func TestMiddlewareIsReadForEachTurn(t *testing.T) {
	var seen trail
	var ran runtest.Tally
	d := runtest.StartUnchecked(t, toolrunner.Params{}, runtest.Tools(ran.Tool("work")), runtest.Calls("work", "a"), runtest.Calls("work", "b"), toolrunnertest.Text("done"))
	d.MustPlay(t, func(turn *toolrunner.Turn) {
		if turn.Iteration() == 2 {
			d.Params.Middleware = []toolrunner.Middleware{seen.around("late")}
		}
	})
	seen.want(t, "late gets work {}", `late sees "ran 2", <nil>`)
}

// B087, E174: a handler that ignores its context is left behind after a grace,
// whether the time is the tool's or the middleware's; the others go on.
func TestTimeoutLeavesHandlersThatIgnoreIt(t *testing.T) {
	for name, viaTool := range map[string]bool{"Tool.Timeout": true, "middleware": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				deaf := runtest.Raw("deaf", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
					<-release
					return toolrunner.TextResult("too late"), nil
				})
				polite := runtest.Raw("polite", func(ctx context.Context, _ *toolrunner.Call) (*toolrunner.Result, error) {
					<-ctx.Done()
					return toolrunner.TextResult("half"), ctx.Err()
				})
				partial := runtest.Raw("partial", func(ctx context.Context, _ *toolrunner.Call) (*toolrunner.Result, error) {
					<-ctx.Done()
					return toolrunner.TextResult("what there is"), nil
				})
				var params toolrunner.Params
				if viaTool {
					deaf.Timeout, polite.Timeout, partial.Timeout = time.Second, time.Second, time.Second
				} else {
					params.Middleware = []toolrunner.Middleware{toolrunner.Timeout(time.Second)}
				}
				d := runtest.StartUnchecked(t, params, runtest.Tools(deaf, polite, partial),
					toolrunnertest.Message(toolrunnertest.Call("a", "deaf", `{}`), toolrunnertest.Call("b", "polite", `{}`), toolrunnertest.Call("c", "partial", `{}`)), toolrunnertest.Text("done"))
				begin := time.Now()
				d.MustPlay(t, func(*toolrunner.Turn) {})
				if took := time.Since(begin); took > 1200*time.Millisecond {
					t.Errorf("the run took %v, want a second and a short grace", took)
				}
				close(release)
				synctest.Wait()
				d.WantResult(t, "a", `{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"Error: the call timed out after 1s, and did not stop: whether it took effect is unknown"}],"is_error":true}`)
				d.WantResult(t, "b", `{"type":"tool_result","tool_use_id":"b","content":[{"type":"text","text":"half"},{"type":"text","text":"Error: the call timed out after 1s"}],"is_error":true}`)
				d.WantResult(t, "c", `{"type":"tool_result","tool_use_id":"c","content":[{"type":"text","text":"what there is"}]}`)
			})
		})
	}
}

// Limit bounds the calls of the tools that it names, over all runners, and lets
// the others pass.
func TestLimitBoundsCallsByNameAcrossRunners(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		running, most := map[string]int{}, map[string]int{}
		work := func(_ context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
			mu.Lock()
			running[call.Name]++
			most[call.Name] = max(most[call.Name], running[call.Name])
			mu.Unlock()
			<-time.After(time.Second)
			mu.Lock()
			running[call.Name]--
			mu.Unlock()
			return nil, nil
		}
		names := []string{"db"}
		limit := toolrunner.Limit(2, names...)
		names[0] = "free" // the slice is the caller's
		var runs sync.WaitGroup
		for range 2 {
			reply := toolrunnertest.Message(toolrunnertest.Call("a", "db", `{}`), toolrunnertest.Call("b", "db", `{}`), toolrunnertest.Call("c", "db", `{}`), toolrunnertest.Call("d", "free", `{}`), toolrunnertest.Call("e", "free", `{}`))
			d := runtest.StartUnchecked(t, toolrunner.Params{Middleware: []toolrunner.Middleware{limit}}, runtest.Tools(runtest.Raw("db", work), runtest.Raw("free", work)), reply, toolrunnertest.Text("done"))
			runs.Go(func() {
				if err := d.Play(t.Context(), func(*toolrunner.Turn) {}); err != nil {
					t.Errorf("the run ended with %v", err)
				}
			})
		}
		runs.Wait()
		if most["db"] != 2 || most["free"] != 4 {
			t.Errorf("at most %d calls of db and %d of free ran at once, want 2 and 4", most["db"], most["free"])
		}
	})
}

// MW6: an agent that is a tool, under the limit that its own tools are under, does not
// wait for itself, however deep; its calls stay bounded.
func TestLimitLendsThePlaceOfACallToTheCallsWithinIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limit := []toolrunner.Middleware{toolrunner.Limit(1)}
		running, most := 0, 0
		var mu sync.Mutex
		leaf := runtest.Raw("leaf", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
			mu.Lock()
			running++
			most = max(most, running)
			mu.Unlock()
			<-time.After(time.Second)
			mu.Lock()
			running--
			mu.Unlock()
			return nil, nil
		})
		agent := func(inner *toolrunner.Tool) *toolrunner.Tool {
			return runtest.Raw("agent", func(ctx context.Context, _ *toolrunner.Call) (*toolrunner.Result, error) {
				d := runtest.StartUnchecked(t, toolrunner.Params{Middleware: limit}, runtest.Tools(inner), runtest.Calls(inner.Name(), "a", "b", "c"), toolrunnertest.Text("done"))
				return nil, d.Play(ctx, func(*toolrunner.Turn) {})
			})
		}
		outer := agent(agent(leaf))
		d := runtest.StartUnchecked(t, toolrunner.Params{Middleware: limit}, runtest.Tools(outer), runtest.Calls("agent", "a", "b"), toolrunnertest.Text("done"))
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if err := d.Play(ctx, func(*toolrunner.Turn) {}); err != nil {
			t.Errorf("the run ended with %v", err)
		}
		if most != 1 {
			t.Errorf("%d calls ran at once, want 1", most)
		}
	})
}

// A call that waits for its place ends with its context.
func TestLimitWaitsNoLongerThanItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ran runtest.Tally
		slow := runtest.Raw("slow", func(ctx context.Context, _ *toolrunner.Call) (*toolrunner.Result, error) {
			ran.Add(1)
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-time.After(time.Hour):
				return toolrunner.TextResult("ok"), nil
			}
		})
		quick := runtest.Raw("quick", slow.Handler)
		quick.Timeout = time.Minute
		d := runtest.StartUnchecked(t, toolrunner.Params{Middleware: []toolrunner.Middleware{toolrunner.Limit(1)}}, runtest.Tools(slow, quick),
			toolrunnertest.Message(toolrunnertest.Call("a", "slow", `{}`), toolrunnertest.Call("b", "quick", `{}`), toolrunnertest.Call("c", "slow", `{}`)), toolrunnertest.Text("done"))
		ctx, cancel := context.WithTimeout(t.Context(), 90*time.Minute)
		defer cancel()
		if err := d.Play(ctx, func(*toolrunner.Turn) {}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the run ended with %v, want its deadline", err)
		}
		before := ran.Load()
		d.MustPlay(t, func(*toolrunner.Turn) {})
		ran.Want(t, before)
		for _, call := range []string{"a", "b", "c"} {
			if got := d.Request(t, -1).ToolResult(call); got == nil {
				t.Errorf("the call %s has no result", call)
			}
		}
	})
}

// A limit that lets nothing run is a fault of the program.
func TestLimitOfNothingPanics(t *testing.T) {
	defer func() {
		if got := fmt.Sprint(recover()); !strings.Contains(got, "toolrunner: Limit(0)") {
			t.Errorf("Limit(0) panicked with %q, want a text that names it", got)
		}
	}()
	toolrunner.Limit(0)
}

type flaky struct{ temporary bool }

func (flaky) Error() string { return "flaky" }

func (f flaky) Temporary() bool { return f.temporary }

// Retry tries read only and idempotent tools again after temporary errors, and waits twice as
// long each time.
func TestRetryIsForTemporaryErrorsOfToolsThatMayRunAgain(t *testing.T) {
	reads := toolrunner.Tool{ReadOnly: true}
	tests := []struct {
		name   string
		tool   toolrunner.Tool // its promises
		errs   []error         // of the attempts, then there is none
		want   []string
		failed bool
	}{
		{"no error", reads, nil, []string{"0s"}, false},
		{"temporary once", reads, []error{toolrunner.Temporary(runtest.ErrBroken)}, []string{"0s", "1s"}, false},
		{"wrapped", reads, []error{fmt.Errorf("get: %w", toolrunner.Temporary(runtest.ErrBroken)), flaky{true}}, []string{"0s", "1s", "3s"}, false},
		{"always", reads, []error{flaky{true}, flaky{true}, flaky{true}, flaky{true}}, []string{"0s", "1s", "3s", "7s"}, true},
		{"not temporary", reads, []error{runtest.ErrBroken}, []string{"0s"}, true},
		{"not any more", reads, []error{flaky{true}, flaky{false}}, []string{"0s", "1s"}, true},
		{"idempotent", toolrunner.Tool{Idempotent: true}, []error{flaky{true}}, []string{"0s", "1s"}, false},
		{"neither", toolrunner.Tool{}, []error{flaky{true}}, []string{"0s"}, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var seen trail
				begin, attempt := time.Now(), 0
				work := runtest.Raw("work", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
					seen.note("%v", time.Since(begin))
					if attempt++; attempt <= len(test.errs) {
						return nil, test.errs[attempt-1]
					}
					return toolrunner.TextResult("ok"), nil
				})
				work.ReadOnly, work.Idempotent = test.tool.ReadOnly, test.tool.Idempotent
				d := runtest.StartUnchecked(t, toolrunner.Params{Middleware: []toolrunner.Middleware{toolrunner.Retry(4, time.Second)}}, runtest.Tools(work), runtest.Calls("work", "a"), toolrunnertest.Text("done"))
				d.MustPlay(t, func(turn *toolrunner.Turn) {
					if results, err := turn.Results(t.Context()); turn.Iteration() == 1 && (err != nil || results[0].IsError != test.failed) {
						t.Errorf("Results() = %v, %v; want failed %v", results, err, test.failed)
					}
				})
				seen.want(t, test.want...)
			})
		})
	}
}

// Retry neither waits nor tries again once the context has ended, though the
// error of a deadline calls itself temporary.
func TestRetryEndsWithItsContext(t *testing.T) {
	for name, wait := range map[string]time.Duration{"while it waits": time.Hour, "without a wait": 0} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				for range 20 { // with no wait, a choice between two that are ready is random
					var ran runtest.Tally
					work := runtest.Raw("work", func(ctx context.Context, _ *toolrunner.Call) (*toolrunner.Result, error) {
						ran.Add(1)
						if wait == 0 {
							<-ctx.Done()
						}
						return nil, context.DeadlineExceeded
					})
					work.ReadOnly, work.Timeout = true, time.Minute
					d := runtest.StartUnchecked(t, toolrunner.Params{Middleware: []toolrunner.Middleware{toolrunner.Retry(5, wait)}}, runtest.Tools(work), runtest.Calls("work", "a"), toolrunnertest.Text("done"))
					d.MustPlay(t, func(*toolrunner.Turn) {})
					ran.Want(t, 1)
					d.WantResult(t, "a", `{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"Error: the call timed out after 1m0s"}],"is_error":true}`)
				}
			})
		})
	}
}
