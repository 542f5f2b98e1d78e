// Package approval_test tests approvers, decisions, and runs that are suspended until
// somebody decides.
package approval_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// approving returns params with an approver.
func approving(approver toolrunner.Approver) toolrunner.Params {
	params := runtest.Asking("hi")
	params.Approve = approver
	return params
}

const declined = "Error: the user declined this call, and it was not run."

// E175: the approver sees each call of a turn, one at a time and in the model's
// order, before any of them starts, with the input that its handler would get.
func TestApproverIsAskedInOrderBeforeAnyCallStarts(t *testing.T) {
	var happened runtest.Journal
	asked := 0
	work := runtest.Raw("work", func(_ context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
		happened.Add("run")
		return toolrunner.TextResult(string(call.Input)), nil
	})
	params := approving(func(_ context.Context, call *toolrunner.Call) (toolrunner.Decision, error) {
		asked++
		happened.Add("%s %s %s %d", call.ID, call.Name, call.Input, call.Iteration)
		copy(call.Input, `{"HACK":`) // it is the approver's to keep
		call.Name, call.ID = "other", "other"
		return toolrunner.Allow(), nil
	})
	c := runtest.Start(t, params, runtest.Tools(work), toolrunnertest.Message(
		toolrunnertest.Call("a", "work", `{"n":   1}`), toolrunnertest.Call("b", "work", `{"n":   2}`),
	), runtest.Calls("work", "c"), toolrunnertest.Text("done"))
	c.Run(t)
	happened.Want(t, `a work {"n":   1} 1`, `b work {"n":   2} 1`, "run", "run", "c work {} 2", "run")
	runtest.WantSuccess(t, c.Request(t, 1), "a", `{"n":   1}`)
	runtest.WantSuccess(t, c.Request(t, 1), "b", `{"n":   2}`)
	if asked != 3 {
		t.Errorf("the approver was asked %d times, want once for each of 3 calls", asked)
	}
}

// Calls that cannot run are answered and not asked about: nobody has to decide on
// what will not happen.
func TestCallsThatCannotRunAreNotAskedAbout(t *testing.T) {
	var asked, ran runtest.Journal
	params := approving(func(_ context.Context, call *toolrunner.Call) (toolrunner.Decision, error) {
		asked.Add("%s", call.ID)
		return toolrunner.Allow(), nil
	})
	strict := toolrunner.NewTool("strict", "", func(context.Context, struct{}) (string, error) { return "", nil })
	c := runtest.Start(t, params, runtest.Tools(ran.Tool("work"), strict), toolrunnertest.Message(
		toolrunnertest.Call("a", "missing", `{}`), toolrunnertest.Call("b", "work", `{}`), toolrunnertest.Call("c", "strict", `{"more":1}`),
	), toolrunnertest.Text("done"))
	c.Run(t)
	asked.Want(t, "b")
	ran.Want(t, "b")
	c.WantShape(t, "user 'hi'", "assistant call(a) call(b) call(c)", "user error(a) result(b) error(c)")
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
			var ran runtest.Journal
			c := runtest.Start(t, approving(runtest.ByID(map[string]toolrunner.Decision{"b": toolrunner.Deny(tt.reason)})), runtest.Tools(ran.Tool("work")),
				runtest.Calls("work", "a", "b", "c"), toolrunnertest.Text("done"))
			c.Run(t)
			ran.WantSorted(t, "a", "c")
			runtest.WantFailure(t, c.Request(t, 1), "b", tt.want)
			c.WantShape(t, "user 'hi'", "assistant call(a) call(b) call(c)", "user result(a) error(b) result(c)")
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
		{"error", func(context.CancelFunc) (toolrunner.Decision, error) { return toolrunner.Allow(), runtest.ErrBroken }, func(err error) bool {
			return errors.Is(err, runtest.ErrBroken) && strings.Contains(err.Error(), `"b" of work`)
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
			return toolrunner.AllowInput(runtest.RawJSON(`[1]`)), nil
		}, func(err error) bool {
			return errors.As(err, new(*toolrunner.DecisionError))
		}},
		{"a decision on another call", func(context.CancelFunc) (toolrunner.Decision, error) {
			return toolrunner.Allow().For(&toolrunner.Call{Name: "work", Input: runtest.RawJSON(`{"other":1}`)}), nil
		}, func(err error) bool { return errors.As(err, new(*toolrunner.DecisionError)) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var happened runtest.Journal
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			failing := true
			c := runtest.Start(t, approving(func(_ context.Context, call *toolrunner.Call) (toolrunner.Decision, error) {
				happened.Add("ask %s", call.ID)
				switch {
				case call.ID == "a":
					return toolrunner.Deny("no"), nil
				case call.ID == "b" && failing:
					return tt.fail(cancel)
				}
				return toolrunner.Allow(), nil
			}), runtest.Tools(happened.Tool("work")), runtest.Calls("work", "a", "b", "c"), toolrunnertest.Text("done"))
			if _, err := c.TryRun(ctx, nil); !tt.want(err) {
				t.Errorf("All() error = %v (%T)", err, err)
			}
			c.WantOutcome(t, toolrunner.OutcomeFailed)
			happened.Want(t, "ask a", "ask b")
			if _, err := c.RunToCompletion(ctx); ctx.Err() == nil && !tt.want(err) {
				t.Errorf("RunToCompletion() error = %v (%T)", err, err)
			}
			failing = false
			c.Run(t)
			runtest.WantFailure(t, c.Request(t, 1), "a", declined+" The reason: no")
			runtest.WantSuccess(t, c.Request(t, 1), "b", "ran")
			runtest.WantSuccess(t, c.Request(t, 1), "c", "ran")
		})
	}
}

// An approver runs on the goroutine of the runner, and may do what that may.
func TestApproverMayUseTheRunner(t *testing.T) {
	t.Run("it is asked no more once it has taken itself out", func(t *testing.T) {
		var asked, ran runtest.Journal
		var c *runtest.Conversation
		c = runtest.Start(t, approving(func(_ context.Context, call *toolrunner.Call) (toolrunner.Decision, error) {
			asked.Add("%s", call.ID)
			c.Params.Approve = nil
			return toolrunner.Allow(), nil
		}), runtest.Tools(ran.Tool("work")), runtest.Calls("work", "a", "b"), runtest.Calls("work", "c"), toolrunnertest.Text("done"))
		c.Run(t)
		asked.Want(t, "a")
		ran.WantSorted(t, "a", "b", "c")
	})
	t.Run("it decides on all at once", func(t *testing.T) {
		var asked, ran runtest.Journal
		var c *runtest.Conversation
		c = runtest.Start(t, approving(func(_ context.Context, call *toolrunner.Call) (toolrunner.Decision, error) {
			asked.Add("%s", call.ID)
			c.MustDecide(t, "b", toolrunner.Deny(""))
			c.MustDecide(t, "a", toolrunner.Deny(""))
			return toolrunner.Allow(), nil // too late
		}), runtest.Tools(ran.Tool("work")), runtest.Calls("work", "a", "b"), toolrunnertest.Text("done"))
		c.Run(t)
		asked.Want(t, "a")
		ran.Want(t)
		runtest.WantFailure(t, c.Request(t, 1), "a", declined)
	})
	t.Run("it removes the tool", func(t *testing.T) {
		var ran runtest.Journal
		var c *runtest.Conversation
		c = runtest.Start(t, approving(func(context.Context, *toolrunner.Call) (toolrunner.Decision, error) {
			c.RemoveToolsByNames("work")
			return toolrunner.Allow(), nil
		}), runtest.Tools(ran.Tool("work"), ran.Tool("stays")), runtest.Calls("work", "a"), toolrunnertest.Text("done"))
		c.Run(t)
		ran.Want(t)
	})
	t.Run("it takes over", func(t *testing.T) {
		var ran runtest.Journal
		c := runtest.New(t, runtest.Calls("work", "a", "b"), toolrunnertest.Text("done"))
		c.Runner = c.NewRunner(t, approving(func(context.Context, *toolrunner.Call) (toolrunner.Decision, error) {
			return toolrunner.Allow(), c.SetMessages(runtest.User("anew"))
		}), ran.Tool("work"))
		c.Run(t) // F8: what it decided on is gone
		c.WantFaithful(t, toolrunnertest.Takeover(toolrunnertest.Nth(1)))
		ran.Want(t)
		c.WantHistory(t, "user 'anew'", "assistant 'done'")
	})
	t.Run("it sees valid messages", func(t *testing.T) {
		var c *runtest.Conversation
		var seen [][]string
		c = runtest.Start(t, approving(func(_ context.Context, call *toolrunner.Call) (toolrunner.Decision, error) {
			seen = append(seen, runtest.Shape(runtest.Encoded(t, c.Messages())))
			return toolrunner.Deny(""), nil
		}), runtest.Tools(runtest.Says("work", "ok")), runtest.Calls("work", "a", "b"), toolrunnertest.Text("done"))
		c.Run(t)
		if got, want := fmt.Sprint(seen), "[[user 'hi' assistant call(a) call(b)] [user 'hi' assistant call(a) call(b) user error(a) error(b)]]"; got != want {
			t.Errorf("Messages() = %s, want %s", got, want)
		}
	})
}

// S27: the rules go around any approver, and are asked for the rest alone.
func TestRulesAskForTheRest(t *testing.T) {
	var asked runtest.Journal
	ask := func(_ context.Context, call *toolrunner.Call) (toolrunner.Decision, error) {
		asked.Add("%s", call.ID)
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
	read := runtest.Says("read", "ok")
	read.ReadOnly = true
	all := []anthropic.BetaTool{read, runtest.Says("write", "ok"), &runtest.OtherTool{ToolName: "foreign"}}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			asked = runtest.Journal{}
			c := runtest.Start(t, approving(tt.approver), all, toolrunnertest.Message(
				toolrunnertest.Call("a", "read", `{}`), toolrunnertest.Call("b", "write", `{}`), toolrunnertest.Call("c", "foreign", `{}`),
			), toolrunnertest.Text("done"))
			c.Run(t)
			asked.Want(t, tt.want...)
		})
	}
	t.Run("no approver at all", func(t *testing.T) {
		var ran runtest.Journal
		c := runtest.Start(t, approving(toolrunner.AskFor(nil, "work")), runtest.Tools(ran.Tool("work")), runtest.Calls("work", "a"))
		if _, err := c.TryRun(t.Context(), nil); err == nil {
			t.Error("All() error = nil, want one")
		}
		ran.Want(t)
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
	var ran runtest.Journal
	rule := func(_ context.Context, call *toolrunner.Call) (toolrunner.Decision, error) {
		return map[string]toolrunner.Decision{"a": toolrunner.Forbid(""), "b": toolrunner.Forbid("not today"), "c": toolrunner.Deny("")}[call.ID], nil
	}
	c := runtest.Start(t, approving(rule), runtest.Tools(ran.Tool("work")), runtest.Calls("work", "a", "b", "c"), toolrunnertest.Text("done"))
	c.Run(t)
	ran.Want(t)
	const forbidden = "Error: this call is not allowed, and it was not run."
	runtest.WantFailure(t, c.Request(t, 1), "a", forbidden)
	runtest.WantFailure(t, c.Request(t, 1), "b", forbidden+" The reason: not today")
	runtest.WantFailure(t, c.Request(t, 1), "c", declined)
}
