package approval_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// B030, B080, B124: A runs at once, B waits, C is denied, beside a server tool's use
// without a result. Nothing is sent until B is decided on; then one request has all
// results in the model's order, and A has run once.
func TestMixedBatchGoesOutInOneRequest(t *testing.T) {
	runtest.BothWays(t, func(t *testing.T, streaming bool) {
		var ran runtest.Journal
		c := runtest.Start(t, approving(runtest.ByID(map[string]toolrunner.Decision{"b": toolrunner.Suspend(), "c": toolrunner.Deny("too dear")})),
			runtest.Tools(ran.Tool("work")), toolrunnertest.Message(
				toolrunnertest.ServerToolUse("srvtoolu_1", "code_execution", `{}`), toolrunnertest.Call("a", "work", `{"n":1}`),
				toolrunnertest.Call("b", "work", `{ "m":"reviewed" }`), toolrunnertest.Call("c", "work", `{}`),
			), toolrunnertest.Message(
				toolrunnertest.RawBlock(`{"type":"code_execution_tool_result","tool_use_id":"srvtoolu_1","content":{"type":"code_execution_result","stdout":"","stderr":"","return_code":0,"content":[]}}`),
				toolrunnertest.Say("done"),
			))
		turns := c.All
		if streaming {
			turns = c.AllStreaming
		}
		for range 3 { // it may be asked to go on as often as one likes
			for turn, err := range turns(t.Context()) {
				if err != nil {
					c.WantSuspended(t, err, "b")
					continue
				}
				for range turn.Events() {
				}
			}
			if n := len(c.Server.Requests()); n != 1 {
				t.Fatalf("%d requests, want 1", n)
			}
		}
		ran.Want(t, "a")
		pending := c.Pending()[0]
		if got := string(pending.Input); got != `{ "m":"reviewed" }` || pending.Name != "work" || pending.Iteration != 1 {
			t.Errorf("Pending() = %+v, want the call as the model made it", pending)
		}
		pending.Input[2] = 'X' // it is the caller's
		c.MustDecide(t, "b", toolrunner.Allow())
		if got := c.Pending(); len(got) != 0 {
			t.Errorf("Pending() = %v after the decision, want none", got)
		}
		c.Run(t)
		ran.Want(t, "a", "b")
		c.WantShape(t, "user 'hi'", "assistant server_tool_use call(a) call(b) call(c)", "user result(a) result(b) error(c)")
		runtest.WantFailure(t, c.Request(t, 1), "c", declined+" The reason: too dear")
		c.WantOutcome(t, toolrunner.OutcomeCompleted)
	})
}

// Every way to run ends with the error, keeps it, and goes on after a decision.
func TestEachWayToRunIsSuspended(t *testing.T) {
	for name, step := range map[string]func(c *runtest.Conversation, ctx context.Context) error{
		"All":             func(c *runtest.Conversation, ctx context.Context) error { _, err := c.TryRun(ctx, nil); return err },
		"RunToCompletion": func(c *runtest.Conversation, ctx context.Context) error { _, err := c.RunToCompletion(ctx); return err },
		"Next": func(c *runtest.Conversation, ctx context.Context) error {
			for {
				if _, err := c.Next(ctx); err != nil {
					return err
				}
			}
		},
		"AllStreaming": func(c *runtest.Conversation, ctx context.Context) error {
			for _, err := range c.AllStreaming(ctx) {
				if err != nil {
					return err
				}
			}
			return nil
		},
		"Results": func(c *runtest.Conversation, ctx context.Context) error {
			for turn, err := range c.All(ctx) {
				if err != nil {
					return err
				}
				if _, err := turn.Results(ctx); err != nil {
					return err
				}
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			var ran runtest.Journal
			params := approving(runtest.Suspending("a", "b"))
			params.MaxIterations = 2
			c := runtest.Start(t, params, runtest.Tools(ran.Tool("work")), runtest.Calls("work", "a", "b", "c"), toolrunnertest.Text("done"))
			for range 2 {
				err := step(c, t.Context())
				var suspended *toolrunner.SuspendedError
				if suspended = runtest.WantAs[*toolrunner.SuspendedError](t, err); runtest.IDsOf(suspended.Calls) != "a b" {
					t.Errorf("the error lists %s, want a b", runtest.IDsOf(suspended.Calls))
				}
			}
			c.MustDecide(t, "b", toolrunner.Allow())
			if suspended := runtest.WantAs[*toolrunner.SuspendedError](t, step(c, t.Context())); runtest.IDsOf(suspended.Calls) != "a" {
				t.Errorf("the error lists %s, want a", runtest.IDsOf(suspended.Calls))
			}
			ran.Want(t, "c", "b")
			c.MustDecide(t, "a", toolrunner.Deny(""))
			c.Run(t)
			ran.Want(t, "c", "b")
			c.WantOutcome(t, toolrunner.OutcomeCompleted)
			c.WantShape(t, "user 'hi'", "assistant call(a) call(b) call(c)", "user error(a) result(b) result(c)")
		})
	}
}

// Decide refuses what it cannot do, says what differs, and changes nothing.
func TestDecideRefusesWhatItCannotDo(t *testing.T) {
	long := `{"text":"` + strings.Repeat("x", 3000)
	var ran runtest.Journal
	refusals := make(map[string]string)
	var c *runtest.Conversation
	refused := func(name, id string, d toolrunner.Decision) {
		t.Helper()
		before := c.Pending()
		wrong := runtest.WantAs[*toolrunner.DecisionError](t, c.Decide(id, d))
		if wrong.CallID != id || wrong.Decision.String() != d.String() || len(c.Pending()) != len(before) {
			t.Errorf("%s: the error is %+v, and %d calls are pending, want %d", name, wrong, len(c.Pending()), len(before))
		}
		refusals[name] = wrong.Error()
	}
	work := runtest.Raw("work", func(_ context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
		ran.Add("%s", call.ID)
		refused("started", call.ID, toolrunner.Deny(""))
		return nil, nil
	})
	double := toolrunner.NewTool("double", "", func(_ context.Context, in struct{ N int }) (int, error) { return 2 * in.N, nil })
	c = runtest.Start(t, approving(runtest.Suspending("a", "b", "l")), runtest.Tools(work, double), toolrunnertest.Message(
		toolrunnertest.Call("a", "work", `{"to":"me"}`), toolrunnertest.Call("b", "double", `{"N":1}`), toolrunnertest.Call("l", "work", long+`1"}`),
		toolrunnertest.Call("c", "work", `{}`),
	), toolrunnertest.Text("done"), toolrunnertest.Message(toolrunnertest.Call("t", "work", `{}`)).StopReason("max_tokens"))
	refused("nothing yet", "a", toolrunner.Allow())
	c.RunSuspended(t, "a", "b", "l")
	made := func(name, input string) *toolrunner.Call {
		return &toolrunner.Call{ID: "other", Name: name, Input: runtest.RawJSON(input)}
	}
	refused("unknown", "z", toolrunner.Allow())
	refused("answered", "c", toolrunner.Deny(""))
	refused("other tool", "a", toolrunner.Allow().For(made("double", `{"to":"me"}`)))
	refused("other input", "a", toolrunner.Allow().For(made("work", `{"to":"you"}`)))
	refused("denied for another", "a", toolrunner.Deny("").For(made("work", `{}`)))
	refused("longer input", "l", toolrunner.Allow().For(made("work", long+`2"}`)))
	refused("cut input", "a", toolrunner.Allow().For(made("work", `{"to":`)))
	refused("no object", "a", toolrunner.AllowInput(runtest.RawJSON(`[]`)))
	refused("no JSON", "a", toolrunner.AllowInput(runtest.RawJSON(`{"a":1`)))
	refused("more than one", "a", toolrunner.AllowInput(runtest.RawJSON(`{} {}`)))
	refused("nothing", "a", toolrunner.AllowInput(nil))
	refused("schema", "b", toolrunner.AllowInput(runtest.RawJSON(`{"N":"x"}`)))
	c.MustDecide(t, "a", toolrunner.Allow().For(made("work", `{ "to" : "me" }`)))
	refused("decided", "a", toolrunner.Deny(""))
	refused("decided again", "a", toolrunner.Suspend())
	c.MustDecide(t, "b", toolrunner.Suspend()) // it is none, and may come again
	c.MustDecide(t, "b", toolrunner.Deny(""))
	c.MustDecide(t, "l", toolrunner.Deny(""))
	c.Run(t)
	refused("sent", "a", toolrunner.Allow())
	c.MustAppend(t, runtest.User("more"))
	c.Run(t)
	refused("cut off", "t", toolrunner.Allow())
	ran.Want(t, "c", "a")
	for name, want := range map[string]string{
		"nothing yet": "open are: none", "unknown": `open are: "a" of work, "b" of double`, "answered": "has its result", "started": "has started",
		"other tool": `of the tool "double", and this is one of "work"`, "other input": `differs from byte 7 on: there it has "you\"}", and this call has "me\"}"`,
		"longer input": `from byte 3009 on: there it has "2\"}", and this call has "1\"}"`, "cut input": "another input", "denied for another": "another input",
		"no object": "not a JSON object", "no JSON": "not a JSON object", "more than one": "not a JSON object", "nothing": "not a JSON object",
		"schema": "N: expected integer", "decided": "decided already: allow", "decided again": "decided already", "sent": "open are: none",
	} {
		if got := refusals[name]; !strings.Contains(got, want) {
			t.Errorf("%s: the error reads %q, want %q in it", name, got, want)
		}
	}
}

// B081: a call keeps its decision on its way through JSON, whatever that does to
// space and escapes; a change that any reader could see is another input.
func TestDecisionsTravelAsJSON(t *testing.T) {
	const input = `{"a<b": "\u00e9>&", "n" : 12345678901234567890, "f":1.0}`
	for name, tt := range map[string]struct {
		change func(call *toolrunner.Call)
		ok     bool
	}{
		"as it is":       {func(*toolrunner.Call) {}, true},
		"other digits":   {func(c *toolrunner.Call) { c.Input = runtest.RawJSON(strings.Replace(input, "7890", "7891", 1)) }, false},
		"other number":   {func(c *toolrunner.Call) { c.Input = runtest.RawJSON(strings.Replace(input, "1.0", "1", 1)) }, false},
		"key twice":      {func(c *toolrunner.Call) { c.Input = runtest.RawJSON(strings.Replace(input, `"n"`, `"f":2, "n"`, 1)) }, false},
		"half of a pair": {func(c *toolrunner.Call) { c.Input = runtest.RawJSON(strings.Replace(input, `\u00e9`, `\ud800`, 1)) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			var ran runtest.Journal
			c := runtest.Start(t, approving(runtest.Suspending("a")), runtest.Tools(ran.Tool("work")), toolrunnertest.Message(toolrunnertest.Call("a", "work", input)))
			suspended := c.RunSuspended(t, "a")
			stored, err := json.Marshal(suspended.Calls[0])
			if err != nil {
				t.Fatal(err)
			}
			var call toolrunner.Call
			if err := json.Unmarshal(stored, &call); err != nil {
				t.Fatal(err)
			}
			tt.change(&call)
			if err := c.Decide(call.ID, toolrunner.Deny("").For(&call)); (err == nil) != tt.ok {
				t.Errorf("Decide() error = %v, want none: %v", err, tt.ok)
			}
		})
	}
}

// Exactly one of many decisions at once counts, and what it says is what happens.
func TestTheFirstOfManyDecisionsCounts(t *testing.T) {
	const ids = "abcdefgh"
	var ran runtest.Journal
	params := approving(func(context.Context, *toolrunner.Call) (toolrunner.Decision, error) { return toolrunner.Suspend(), nil })
	c := runtest.Start(t, params, runtest.Tools(ran.Tool("work")), runtest.Calls("work", strings.Split(ids, "")...), toolrunnertest.Text("done"))
	_, err := c.TryRun(t.Context(), nil)
	runtest.WantAs[*toolrunner.SuspendedError](t, err)
	var everybody sync.WaitGroup
	var won [len(ids)]atomic.Int32
	var kind [len(ids)]atomic.Value
	for _, d := range []toolrunner.Decision{toolrunner.Allow(), toolrunner.Deny(""), toolrunner.AllowInput(runtest.RawJSON(`{"n":1}`)), toolrunner.Suspend(), toolrunner.Allow()} {
		everybody.Go(func() {
			for i, id := range strings.Split(ids, "") {
				if err := c.Decide(id, d); err == nil && d.String() != "suspend" {
					won[i].Add(1)
					kind[i].Store(d.String())
				}
				c.Pending()
				c.Messages()
			}
		})
	}
	everybody.Wait()
	c.Run(t)
	for i, id := range strings.Split(ids, "") {
		if n := won[i].Load(); n != 1 {
			t.Errorf("%d decisions on %s counted, want 1", n, id)
		}
		text, failed := runtest.ResultText(t, c.Request(t, -1), id)
		if want := map[any]string{"allow": "ran", "deny": declined, "allow input": changedTo(`{"n":1}`) + "ran"}[kind[i].Load()]; text != want || failed != (want == declined) {
			t.Errorf("%s was decided with %q, and its result is %q", id, kind[i].Load(), text)
		}
	}
}

// A decision that comes while other calls of the turn run is in time, whether the
// loop runs them or Turn.Results does.
func TestDecisionsMayComeWhileOtherCallsRun(t *testing.T) {
	for _, body := range []bool{false, true} {
		for _, d := range []toolrunner.Decision{toolrunner.Allow(), toolrunner.Deny(""), toolrunner.AllowInput(runtest.RawJSON(`{"n":1}`))} {
			var c *runtest.Conversation
			var ran runtest.Journal
			work := runtest.Raw("work", func(_ context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
				if call.ID == "b" {
					c.MustDecide(t, "a", d)
				}
				ran.Add("%s %s", call.ID, call.Input)
				return toolrunner.TextResult("ran"), nil
			})
			c = runtest.Start(t, approving(runtest.Suspending("a")), []anthropic.BetaTool{work}, runtest.Calls("work", "a", "b"), toolrunnertest.Text("done"))
			_, err := c.TryRun(t.Context(), func(turn *toolrunner.Turn) {
				if body {
					if _, err := turn.Results(t.Context()); err != nil {
						t.Errorf("Results() error = %v, decided with %v meanwhile", err, d)
					}
				}
			})
			if err != nil {
				t.Fatalf("All() error = %v, decided with %v meanwhile", err, d)
			}
			want := map[string][]string{"allow": {"b {}", "a {}"}, "deny": {"b {}"}, "allow input": {"b {}", `a {"n":1}`}}[d.String()]
			ran.Want(t, want...)
		}
	}
}
