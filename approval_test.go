package toolrunner_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// approving returns params with an approver.
func approving(approver toolrunner.Approver) toolrunner.Params {
	params := asking("hi")
	params.Approve = approver
	return params
}

// byID decides on each call by its id; the others are allowed.
func byID(decisions map[string]toolrunner.Decision) toolrunner.Approver {
	return func(_ context.Context, call *toolrunner.Call) (toolrunner.Decision, error) {
		if d, ok := decisions[call.ID]; ok {
			return d, nil
		}
		return toolrunner.Allow(), nil
	}
}

// suspending suspends the calls with these ids.
func suspending(ids ...string) toolrunner.Approver {
	decisions := make(map[string]toolrunner.Decision)
	for _, id := range ids {
		decisions[id] = toolrunner.Suspend()
	}
	return byID(decisions)
}

// runSuspended runs up to the end for want of decisions, and returns the error.
func (c *conversation) runSuspended(t *testing.T, ids ...string) *toolrunner.SuspendedError {
	t.Helper()
	_, err := c.tryRun(t.Context(), nil)
	return c.wantSuspended(t, err, ids...)
}

// wantSuspended checks the end of a run that waits for these calls.
func (c *conversation) wantSuspended(t *testing.T, err error, ids ...string) *toolrunner.SuspendedError {
	t.Helper()
	suspended := wantAs[*toolrunner.SuspendedError](t, err)
	want := strings.Join(ids, " ")
	if got := idsOf(suspended.Calls); got != want {
		t.Errorf("the error lists %q, want %q", got, want)
	}
	if got := idsOf(c.Pending()); got != want {
		t.Errorf("Pending() lists %q, want %q", got, want)
	}
	for _, id := range ids {
		if !strings.Contains(err.Error(), id) {
			t.Errorf("the error reads %q, want %s in it", err, id)
		}
	}
	c.wantOutcome(t, toolrunner.OutcomeSuspended)
	return suspended
}

func idsOf(calls []*toolrunner.Call) string {
	ids := make([]string, len(calls))
	for i, call := range calls {
		ids[i] = call.ID
	}
	return strings.Join(ids, " ")
}

func (c *conversation) decide(t *testing.T, id string, d toolrunner.Decision) {
	t.Helper()
	if err := c.Decide(id, d); err != nil {
		t.Fatalf("Decide(%s, %v) error = %v", id, d, err)
	}
}

const declined = "Error: the user declined this call, and it was not run."

// E175: the approver sees each call of a turn, one at a time and in the model's
// order, before any of them starts, with the input that its handler would get.
func TestApproverIsAskedInOrderBeforeAnyCallStarts(t *testing.T) {
	var happened journal
	asked := 0
	work := raw("work", func(_ context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
		happened.add("run")
		return toolrunner.TextResult(string(call.Input)), nil
	})
	params := approving(func(_ context.Context, call *toolrunner.Call) (toolrunner.Decision, error) {
		asked++
		happened.add("%s %s %s %d", call.ID, call.Name, call.Input, call.Iteration)
		copy(call.Input, `{"HACK":`) // it is the approver's to keep
		call.Name, call.ID = "other", "other"
		return toolrunner.Allow(), nil
	})
	c := converse(t, params, tools(work), toolrunnertest.Message(
		toolrunnertest.Call("a", "work", `{"n":   1}`), toolrunnertest.Call("b", "work", `{"n":   2}`),
	), calls("work", "c"), toolrunnertest.Text("done"))
	c.run(t)
	happened.want(t, `a work {"n":   1} 1`, `b work {"n":   2} 1`, "run", "run", "c work {} 2", "run")
	wantSuccess(t, c.request(t, 1), "a", `{"n":   1}`)
	wantSuccess(t, c.request(t, 1), "b", `{"n":   2}`)
	if asked != 3 {
		t.Errorf("the approver was asked %d times, want once for each of 3 calls", asked)
	}
}

// Calls that cannot run are answered and not asked about: nobody has to decide on
// what will not happen.
func TestCallsThatCannotRunAreNotAskedAbout(t *testing.T) {
	var asked, ran journal
	params := approving(func(_ context.Context, call *toolrunner.Call) (toolrunner.Decision, error) {
		asked.add("%s", call.ID)
		return toolrunner.Allow(), nil
	})
	strict := toolrunner.NewTool("strict", "", func(context.Context, struct{}) (string, error) { return "", nil })
	c := converse(t, params, tools(ran.tool("work"), strict), toolrunnertest.Message(
		toolrunnertest.Call("a", "missing", `{}`), toolrunnertest.Call("b", "work", `{}`), toolrunnertest.Call("c", "strict", `{"more":1}`),
	), toolrunnertest.Text("done"))
	c.run(t)
	asked.want(t, "b")
	ran.want(t, "b")
	c.wantShape(t, "user 'hi'", "assistant call(a) call(b) call(c)", "user error(a) result(b) error(c)")
}

// E175, B125: the model reads that the user declined, and the reason; the other
// calls of the turn are not affected.
func TestDeniedCallsAreAnsweredAndTheOthersRun(t *testing.T) {
	long := strings.Repeat("x", 5000)
	for name, tt := range map[string]struct{ reason, want string }{
		"reason":        {"not on a Sunday", declined + " The reason: not on a Sunday"},
		"none":          {"", declined},
		"space":         {" \n\t", declined},
		"space around":  {" no \n", declined + " The reason: no"},
		"invalid UTF-8": {"a\xffb", declined + " The reason: a\ufffdb"},
		"long":          {long, declined + " The reason: " + long[:4096] + "..."},
	} {
		t.Run(name, func(t *testing.T) {
			var ran journal
			c := converse(t, approving(byID(map[string]toolrunner.Decision{"b": toolrunner.Deny(tt.reason)})), tools(ran.tool("work")),
				calls("work", "a", "b", "c"), toolrunnertest.Text("done"))
			c.run(t)
			ran.wantSorted(t, "a", "c")
			wantFailure(t, c.request(t, 1), "b", tt.want)
			c.wantShape(t, "user 'hi'", "assistant call(a) call(b) call(c)", "user result(a) error(b) result(c)")
		})
	}
}

// An approver that fails, panics or is cancelled ends the run before a call of the
// turn has started. What it had decided stays, and going on asks for the rest.
func TestNothingRunsIfTheApproverFails(t *testing.T) {
	tests := []struct {
		name string
		fail func(cancel context.CancelFunc) (toolrunner.Decision, error)
		want func(error) bool
	}{
		{"error", func(context.CancelFunc) (toolrunner.Decision, error) { return toolrunner.Allow(), errBroken }, func(err error) bool {
			return errors.Is(err, errBroken) && strings.Contains(err.Error(), `"b" of work`)
		}},
		{"panic", func(context.CancelFunc) (toolrunner.Decision, error) { panic("boom") }, func(err error) bool { return strings.Contains(err.Error(), "panic: boom") }},
		{"panic with nil", func(context.CancelFunc) (toolrunner.Decision, error) { panic(nil) }, func(err error) bool { return err != nil }}, //nolint:govet // on purpose
		{"cancel", func(cancel context.CancelFunc) (toolrunner.Decision, error) {
			cancel()
			return toolrunner.Allow(), nil
		}, func(err error) bool { return errors.Is(err, context.Canceled) }},
		{"the end of another run", func(context.CancelFunc) (toolrunner.Decision, error) {
			return toolrunner.Decision{}, toolrunner.ErrDone
		}, func(err error) bool { return err != nil && !errors.Is(err, toolrunner.ErrDone) }},
		{"input that is no object", func(context.CancelFunc) (toolrunner.Decision, error) {
			return toolrunner.AllowInput(rawJSON(`[1]`)), nil
		}, func(err error) bool {
			return errors.As(err, new(*toolrunner.DecisionError))
		}},
		{"a decision on another call", func(context.CancelFunc) (toolrunner.Decision, error) {
			return toolrunner.Allow().For(&toolrunner.Call{Name: "work", Input: rawJSON(`{"other":1}`)}), nil
		}, func(err error) bool { return errors.As(err, new(*toolrunner.DecisionError)) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var happened journal
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			failing := true
			c := converse(t, approving(func(_ context.Context, call *toolrunner.Call) (toolrunner.Decision, error) {
				happened.add("ask %s", call.ID)
				switch {
				case call.ID == "a":
					return toolrunner.Deny("no"), nil
				case call.ID == "b" && failing:
					return tt.fail(cancel)
				}
				return toolrunner.Allow(), nil
			}), tools(happened.tool("work")), calls("work", "a", "b", "c"), toolrunnertest.Text("done"))
			if _, err := c.tryRun(ctx, nil); !tt.want(err) {
				t.Errorf("All() error = %v (%T)", err, err)
			}
			c.wantOutcome(t, toolrunner.OutcomeFailed)
			happened.want(t, "ask a", "ask b")
			if _, err := c.RunToCompletion(ctx); ctx.Err() == nil && !tt.want(err) {
				t.Errorf("RunToCompletion() error = %v (%T)", err, err)
			}
			failing = false
			c.run(t)
			wantFailure(t, c.request(t, 1), "a", declined+" The reason: no")
			wantSuccess(t, c.request(t, 1), "b", "ran")
			wantSuccess(t, c.request(t, 1), "c", "ran")
		})
	}
}

// An approver runs on the goroutine of the runner, and may do what that may.
func TestApproverMayUseTheRunner(t *testing.T) {
	t.Run("it is asked no more once it has taken itself out", func(t *testing.T) {
		var asked, ran journal
		var c *conversation
		c = converse(t, approving(func(_ context.Context, call *toolrunner.Call) (toolrunner.Decision, error) {
			asked.add("%s", call.ID)
			c.Params.Approve = nil
			return toolrunner.Allow(), nil
		}), tools(ran.tool("work")), calls("work", "a", "b"), calls("work", "c"), toolrunnertest.Text("done"))
		c.run(t)
		asked.want(t, "a")
		ran.wantSorted(t, "a", "b", "c")
	})
	t.Run("it decides on all at once", func(t *testing.T) {
		var asked, ran journal
		var c *conversation
		c = converse(t, approving(func(_ context.Context, call *toolrunner.Call) (toolrunner.Decision, error) {
			asked.add("%s", call.ID)
			c.decide(t, "b", toolrunner.Deny(""))
			c.decide(t, "a", toolrunner.Deny(""))
			return toolrunner.Allow(), nil // too late
		}), tools(ran.tool("work")), calls("work", "a", "b"), toolrunnertest.Text("done"))
		c.run(t)
		asked.want(t, "a")
		ran.want(t)
		wantFailure(t, c.request(t, 1), "a", declined)
	})
	t.Run("it removes the tool", func(t *testing.T) {
		var ran journal
		var c *conversation
		c = converse(t, approving(func(context.Context, *toolrunner.Call) (toolrunner.Decision, error) {
			c.RemoveToolsByNames("work")
			return toolrunner.Allow(), nil
		}), tools(ran.tool("work"), ran.tool("stays")), calls("work", "a"), toolrunnertest.Text("done"))
		c.run(t)
		ran.want(t)
	})
	t.Run("it takes over", func(t *testing.T) {
		var ran journal
		var c *conversation
		c = converse(t, approving(func(context.Context, *toolrunner.Call) (toolrunner.Decision, error) {
			return toolrunner.Allow(), c.SetMessages(user("anew"))
		}), tools(ran.tool("work")), calls("work", "a", "b"))
		_, err := c.tryRun(t.Context(), nil)
		wantAs[*toolrunner.DecisionError](t, err)
		ran.want(t)
		c.wantHistory(t, "user 'anew'")
	})
	t.Run("it sees valid messages", func(t *testing.T) {
		var c *conversation
		var seen [][]string
		c = converse(t, approving(func(_ context.Context, call *toolrunner.Call) (toolrunner.Decision, error) {
			seen = append(seen, shape(encoded(t, c.Messages())))
			return toolrunner.Deny(""), nil
		}), tools(says("work", "ok")), calls("work", "a", "b"), toolrunnertest.Text("done"))
		c.run(t)
		if got, want := fmt.Sprint(seen), "[[user 'hi' assistant call(a) call(b)] [user 'hi' assistant call(a) call(b) user error(a) error(b)]]"; got != want {
			t.Errorf("Messages() = %s, want %s", got, want)
		}
	})
}

// S27: the rules go around any approver, and are asked for the rest alone.
func TestRulesAskForTheRest(t *testing.T) {
	var asked journal
	ask := func(_ context.Context, call *toolrunner.Call) (toolrunner.Decision, error) {
		asked.add("%s", call.ID)
		return toolrunner.Deny("asked"), nil
	}
	names := []string{"write", "remove"}
	tests := []struct {
		name     string
		approver toolrunner.Approver
		want     []string
	}{
		{"AskFor", toolrunner.AskFor(ask, names...), []string{"b"}},
		{"AskFor nothing", toolrunner.AskFor(ask), nil},
		{"AskUnlessReadOnly", toolrunner.AskUnlessReadOnly(ask), []string{"b", "c"}},
		{"both", toolrunner.AskFor(toolrunner.AskUnlessReadOnly(ask), "read", "foreign"), []string{"c"}},
	}
	names[0] = "read" // AskFor has a copy
	read := says("read", "ok")
	read.ReadOnly = true
	all := []anthropic.BetaTool{read, says("write", "ok"), &foreignTool{name: "foreign"}}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			asked = journal{}
			c := converse(t, approving(tt.approver), all, toolrunnertest.Message(
				toolrunnertest.Call("a", "read", `{}`), toolrunnertest.Call("b", "write", `{}`), toolrunnertest.Call("c", "foreign", `{}`),
			), toolrunnertest.Text("done"))
			c.run(t)
			asked.want(t, tt.want...)
		})
	}
	t.Run("no approver at all", func(t *testing.T) {
		var ran journal
		c := converse(t, approving(toolrunner.AskFor(nil, "work")), tools(ran.tool("work")), calls("work", "a"))
		if _, err := c.tryRun(t.Context(), nil); err == nil {
			t.Error("All() error = nil, want one")
		}
		ran.want(t)
	})
}

func TestDecisionsSayWhatTheyAre(t *testing.T) {
	for want, d := range map[string]toolrunner.Decision{
		"allow": toolrunner.Allow(), "allow input": toolrunner.AllowInput(nil), "deny": toolrunner.Deny("secret"), "suspend": {},
	} {
		if got := fmt.Sprintf("%v %+v %s", d, d, d.For(&toolrunner.Call{})); got != want+" "+want+" "+want {
			t.Errorf("the decision reads %q, want %q", got, want)
		}
	}
}

// P13: the model reads whether a person or a rule has denied a call.
func TestForbiddenCallsSpeakOfNoUser(t *testing.T) {
	var ran journal
	rule := func(_ context.Context, call *toolrunner.Call) (toolrunner.Decision, error) {
		return map[string]toolrunner.Decision{"a": toolrunner.Forbid(""), "b": toolrunner.Forbid("not today"), "c": toolrunner.Deny("")}[call.ID], nil
	}
	c := converse(t, approving(rule), tools(ran.tool("work")), calls("work", "a", "b", "c"), toolrunnertest.Text("done"))
	c.run(t)
	ran.want(t)
	const forbidden = "Error: this call is not allowed, and it was not run."
	wantFailure(t, c.request(t, 1), "a", forbidden)
	wantFailure(t, c.request(t, 1), "b", forbidden+" The reason: not today")
	wantFailure(t, c.request(t, 1), "c", declined)
}
