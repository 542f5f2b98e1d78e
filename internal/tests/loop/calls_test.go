package loop_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// E17-E20: calls before the last fallback block belong to an attempt that is over.
func TestOnlyCallsAfterTheLastFallbackRun(t *testing.T) {
	call := func(id string) toolrunnertest.Block { return toolrunnertest.Call(id, "work", `{}`) }
	fallback := toolrunnertest.RawBlock(`{"type":"fallback","from":{"model":"a"},"to":{"model":"b"}}`)
	tests := []struct {
		name   string
		blocks []toolrunnertest.Block
		ran    []string
	}{
		{"one seam", []toolrunnertest.Block{call("old"), fallback, call("new")}, []string{"new"}},
		{"the last of two seams", []toolrunnertest.Block{call("a"), fallback, call("b"), fallback, call("c")}, []string{"c"}},
		{"all before the seam", []toolrunnertest.Block{call("old"), fallback, toolrunnertest.Say("so")}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var ran runtest.Journal
			script := []toolrunnertest.Reply{toolrunnertest.Message(test.blocks...)}
			if len(test.ran) > 0 {
				script = append(script, toolrunnertest.Text("done"))
			}
			c := runtest.Start(t, runtest.Asking("hi"), runtest.Tools(ran.Tool("work")), script...)
			turns := c.Run(t)
			ran.Want(t, test.ran...)
			if got := len(turns[0].Calls()); got != len(test.ran) {
				t.Errorf("the turn has %d calls, want %d", got, len(test.ran))
			}
			if len(test.ran) > 0 {
				if got, want := runtest.Shape(c.Request(t, -1).Messages())[2], "user result("+test.ran[0]+")"; got != want {
					t.Errorf("the results are %q, want %q", got, want)
				}
			}
		})
	}
}

// E23, E24, B068: an unknown name fails its own call only.
func TestUnknownToolsFailTheirOwnCallOnly(t *testing.T) {
	c := runtest.Start(t, runtest.Asking("hi"), runtest.Tools(runtest.Says("work", "ran")), toolrunnertest.Message(
		toolrunnertest.Call("a", "worg", `{}`), toolrunnertest.Call("b", "work", `{}`), toolrunnertest.Call("c", "Work", `{}`),
	), toolrunnertest.Text("done"))
	c.Run(t)
	c.WantShape(t, "user 'hi'", "assistant call(a) call(b) call(c)", "user error(a) result(b) error(c)")
	runtest.WantFailure(t, c.Request(t, -1), "a", "Error: Tool 'worg' not found")
	runtest.WantSuccess(t, c.Request(t, -1), "b", "ran")
	runtest.WantFailure(t, c.Request(t, -1), "c", "Error: Tool 'Work' not found")
}

// E63, E72, E173, G14, B072: calls run at once, at most MaxConcurrency of them,
// and their results are in the order of the model whatever the order of ending.
func TestCallsRunAtOnceUpToTheLimitAndStayInOrder(t *testing.T) {
	tests := []struct {
		name  string
		limit int
		most  int
		took  time.Duration // for 200 calls of which each takes a second
	}{
		{"the default", 0, 8, 25 * time.Second},
		{"one by one", 1, 1, 200 * time.Second},
		{"three", 3, 3, 67 * time.Second},
		{"all", 500, 200, time.Second},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ids := make([]string, 200)
				for i := range ids {
					ids[i] = fmt.Sprintf("toolu_%d", i)
				}
				gauge := make(chan struct{}, 1000)
				most := make(chan int, 1000)
				work := runtest.Raw("work", func(_ context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
					gauge <- struct{}{}
					most <- len(gauge)
					runtest.Pause(time.Second)
					<-gauge
					return toolrunner.TextResult("result of " + call.ID), nil
				})
				params := runtest.Asking("hi")
				params.MaxConcurrency = test.limit
				c := runtest.Start(t, params, runtest.Tools(work), runtest.Calls("work", ids...), toolrunnertest.Text("done"))
				begin := time.Now()
				c.Run(t)
				if took := time.Since(begin); took != test.took {
					t.Errorf("the run took %v, want %v", took, test.took)
				}
				close(most)
				highest := 0
				for n := range most {
					highest = max(highest, n)
				}
				if highest != test.most {
					t.Errorf("at most %d calls ran at once, want %d", highest, test.most)
				}
				want := "user result(" + strings.Join(ids, ") result(") + ")"
				if got := runtest.Shape(c.Request(t, -1).Messages())[2]; got != want {
					t.Errorf("results = %s\nwant %s", got, want)
				}
				for _, id := range []string{ids[0], ids[100], ids[199]} {
					runtest.WantSuccess(t, c.Request(t, -1), id, "result of "+id)
				}
			})
		})
	}
}

// E63: order does not depend on which call ends first.
func TestResultsAreInTheOrderOfTheModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ended runtest.Journal
		slow := map[string]time.Duration{"a": 3 * time.Second, "b": time.Second, "c": 2 * time.Second}
		work := runtest.Raw("work", func(_ context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
			runtest.Pause(slow[call.ID])
			ended.Add("%s", call.ID)
			return toolrunner.TextResult(call.ID), nil
		})
		c := runtest.Start(t, runtest.Asking("hi"), runtest.Tools(work), runtest.Calls("work", "a", "b", "c"), toolrunnertest.Text("done"))
		c.Run(t)
		ended.Want(t, "b", "c", "a")
		c.WantShape(t, "user 'hi'", "assistant call(a) call(b) call(c)", "user result(a) result(b) result(c)")
	})
}

// An exclusive tool runs alone: after the calls before it, before those after it.
func TestExclusiveCallsRunAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log runtest.Journal
		handler := func(_ context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
			log.Add("%s+", call.ID)
			runtest.Pause(time.Second)
			log.Add("%s-", call.ID)
			return nil, nil //nolint:nilnil // a success with nothing to say
		}
		alone := runtest.Raw("alone", handler)
		alone.Exclusive = true
		call := toolrunnertest.Call
		c := runtest.Start(t, runtest.Asking("hi"), runtest.Tools(runtest.Raw("work", handler), alone), toolrunnertest.Message(
			call("a", "work", `{}`), call("b", "alone", `{}`), call("c", "alone", `{}`), call("d", "work", `{}`),
		), toolrunnertest.Text("done"))
		c.Run(t)
		log.Want(t, "a+", "a-", "b+", "b-", "c+", "c-", "d+", "d-")
	})
}

type typedNil struct{}

func (*typedNil) Error() string { return "a typed nil" }

type badError struct{}

func (badError) Error() string { panic("no text") }

// E71, G12, B020, promise 6: whatever a handler does, its call has a result, the
// others are not disturbed, and the model never sees a stack.
func TestHandlersThatMisbehaveFailTheirOwnCallOnly(t *testing.T) {
	const unexpected = "Error: the tool failed unexpectedly."
	tests := []struct {
		name    string
		handler toolrunner.Handler
		want    string
	}{
		{"panic", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) { panic("secret") }, unexpected},
		{"panic with an error", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) { panic(runtest.ErrBroken) }, unexpected},
		{"panic with context.Canceled", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) { panic(context.Canceled) }, unexpected},
		{"goexit", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
			runtime.Goexit()
			return toolrunner.TextResult("not reached"), nil
		}, unexpected},
		{"an error whose text panics", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) { return nil, badError{} }, unexpected},
		{"typed nil error", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) { return nil, (*typedNil)(nil) }, "Error: a typed nil"},
		{"context.Canceled of its own", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
			return nil, context.Canceled
		}, "Error: context canceled"},
		{"a deadline of its own", func(ctx context.Context, _ *toolrunner.Call) (*toolrunner.Result, error) {
			ctx, cancel := context.WithTimeout(ctx, 0)
			defer cancel()
			return nil, fmt.Errorf("fetch: %w", ctx.Err())
		}, "Error: fetch: context deadline exceeded"},
		{"joined errors", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
			return nil, errors.Join(runtest.ErrBroken, errors.New("twice"))
		}, "Error: broken\ntwice"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := runtest.Start(t, runtest.Asking("hi"), runtest.Tools(runtest.Raw("bad", test.handler), runtest.Says("good", "fine")), toolrunnertest.Message(
				toolrunnertest.Call("a", "good", `{}`), toolrunnertest.Call("b", "bad", `{}`), toolrunnertest.Call("c", "good", `{}`),
			), toolrunnertest.Text("done"))
			c.Run(t)
			runtest.WantFailure(t, c.Request(t, -1), "b", test.want)
			runtest.WantSuccess(t, c.Request(t, -1), "a", "fine")
			runtest.WantSuccess(t, c.Request(t, -1), "c", "fine")
		})
	}
}

type explosive struct{ City string }

func (*explosive) UnmarshalJSON([]byte) error { panic("in UnmarshalJSON") }

// B020: code of the caller that runs beside the handler may panic too.
func TestPanicsWhileInputIsDecodedOrOutputEncodedFailTheCall(t *testing.T) {
	type city struct {
		City string `json:"city"`
	}
	in, err := toolrunner.NewBetaToolFromBytes("in", "", []byte(`{"type":"object"}`),
		func(context.Context, explosive) (anthropic.BetaToolResultBlockParamContentUnion, error) {
			return anthropic.BetaToolResultBlockParamContentUnion{}, nil
		})
	if err != nil {
		t.Fatal(err)
	}
	out := toolrunner.NewTool("out", "", func(context.Context, city) (panicsAsJSON, error) { return panicsAsJSON{}, nil })
	c := runtest.Start(t, runtest.Asking("hi"), []anthropic.BetaTool{in, out}, toolrunnertest.Message(
		toolrunnertest.Call("a", "in", `{"City":"Paris"}`), toolrunnertest.Call("b", "out", `{"city":"Paris"}`),
	), toolrunnertest.Text("done"))
	c.Run(t)
	for _, id := range []string{"a", "b"} {
		runtest.WantFailure(t, c.Request(t, -1), id, "Error: the tool failed unexpectedly.")
	}
}

type panicsAsJSON struct{}

func (panicsAsJSON) MarshalJSON() ([]byte, error) { panic("in MarshalJSON") }

// E174: the timeout of a tool is its own, and the loop goes on.
func TestTimeoutFailsTheCallAndTheRunGoesOn(t *testing.T) {
	tests := []struct {
		name    string
		handler toolrunner.Handler
		want    string
		took    time.Duration
	}{
		{"the handler returns the context's error", func(ctx context.Context, _ *toolrunner.Call) (*toolrunner.Result, error) {
			<-ctx.Done()
			return nil, fmt.Errorf("reading: %w", ctx.Err())
		}, "Error: the call timed out after 5s", 5 * time.Second},
		{"the handler ignores its context", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
			runtest.Pause(time.Hour)
			return toolrunner.TextResult("late"), nil
		}, "Error: the call timed out after 5s, and did not stop: whether it took effect is unknown", 5*time.Second + 100*time.Millisecond},
		{"the handler is done in time", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
			return nil, runtest.ErrBroken
		}, "Error: broken", 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				slow := runtest.Raw("slow", test.handler)
				slow.Timeout = 5 * time.Second
				c := runtest.Start(t, runtest.Asking("hi"), runtest.Tools(slow), runtest.Calls("slow", "a"), toolrunnertest.Text("done"))
				begin := time.Now()
				c.Run(t)
				if took := time.Since(begin); took != test.took {
					t.Errorf("the run took %v, want %v", took, test.took)
				}
				runtest.WantFailure(t, c.Request(t, -1), "a", test.want)
				runtest.Pause(2 * time.Hour) // whoever was left behind ends before the bubble does
			})
		})
	}
}

// The context of a handler carries its call, and ends with it.
func TestHandlersFindTheirCallInTheirContext(t *testing.T) {
	var got *toolrunner.Call
	var kept context.Context
	work := runtest.Raw("work", func(ctx context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
		got, _ = toolrunner.CallFrom(ctx)
		kept = ctx          //nolint:fatcontext // to see that it ends
		call.Input[0] = 'x' // it is the handler's own
		return nil, nil     //nolint:nilnil // a success with nothing to say
	})
	c := runtest.Start(t, runtest.Asking("hi"), runtest.Tools(work), runtest.Calls("work", "a"), toolrunnertest.Text("done"))
	c.Run(t)
	if got == nil || got.ID != "a" || got.Name != "work" || got.Iteration != 1 {
		t.Errorf("CallFrom() = %+v, want call a of work in iteration 1", got)
	}
	if kept.Err() == nil {
		t.Error("the context of a call that has ended is alive")
	}
	if _, ok := toolrunner.CallFrom(t.Context()); ok {
		t.Error("CallFrom() found a call in a context that is of none")
	}
}

// E210, E211, E214: members of a toolset are not looked up by their bare name.
func TestMembersOfAToolsetAreNotFoundByTheirBareName(t *testing.T) {
	var ran runtest.Journal
	c := runtest.Start(t, runtest.Asking("hi"), runtest.Tools(ran.Tool("work")), toolrunnertest.Message(
		toolrunnertest.RawBlock(`{"type":"tool_use","id":"a","name":"work","toolset_name":"set","input":{}}`)), toolrunnertest.Text("done"))
	c.Run(t)
	ran.Want(t)
	runtest.WantFailure(t, c.Request(t, -1), "a", "Error: Toolset 'set' member 'work' not found")
	if got := string(c.Request(t, -1).ToolResult("a")); !strings.Contains(got, `"toolset_name":"set"`) {
		t.Errorf("the result does not name its toolset: %s", got)
	}
}

// B068: a call without a name fails like one of an unknown tool, and what goes
// back is a request that the API takes.
func TestCallWithoutANameDoesNotBlockTheConversation(t *testing.T) {
	c := runtest.New(t, toolrunnertest.Message(
		toolrunnertest.Call("a", "", `{}`), toolrunnertest.Call("b", "work", `{}`)), toolrunnertest.Text("done"))
	c.Runner = c.NewRunner(t, runtest.Asking("hi"), runtest.Says("work", "ran"))
	c.Run(t)
	runtest.WantSuccess(t, c.Request(t, -1), "b", "ran")
	if _, failed := runtest.ResultText(t, c.Request(t, -1), "a"); !failed {
		t.Error("the call without a name did not fail")
	}
}

// A history that ends in calls begins with running them: a saved conversation goes on
// (E106).
func TestCallsAtTheEndOfTheFirstMessagesAreRun(t *testing.T) {
	iteration := -1
	work := runtest.Raw("work", func(_ context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
		iteration = call.Iteration
		return toolrunner.TextResult("ran"), nil
	})
	c := runtest.Start(t, runtest.Given(runtest.User("hi"), runtest.Calling("a", "work")), runtest.Tools(work), toolrunnertest.Text("done"))
	c.Run(t)
	if iteration != 0 {
		t.Errorf("the call ran with iteration %d, want 0: no reply of this run made it", iteration)
	}
	c.WantRequest(t, 0, "user 'hi'", "assistant call(a)", "user result(a)")
	c.WantHistory(t, "user 'hi'", "assistant call(a)", "user result(a)", "assistant 'done'")
}
