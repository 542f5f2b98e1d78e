package limits_test

import (
	"testing"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// E125-E127, E131, G5, B112: the limit is on replies; the tools of the last turn run.
func TestMaxIterationsIsOnReplies(t *testing.T) {
	tests := []struct {
		name    string
		limit   int
		rounds  int // of calls, before the model is done
		want    int // requests
		outcome toolrunner.Outcome
	}{
		{"one, none needed", 1, 0, 1, toolrunner.OutcomeCompleted},
		{"one, two needed", 1, 1, 1, toolrunner.OutcomeMaxIterations},
		{"two, two needed", 2, 1, 2, toolrunner.OutcomeCompleted},
		{"two, four needed", 2, 3, 2, toolrunner.OutcomeMaxIterations},
		{"no limit", 0, 3, 4, toolrunner.OutcomeCompleted},
		{"negative", -1, 3, 4, toolrunner.OutcomeCompleted},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var ran runtest.Journal
			params := runtest.Asking("hi")
			params.MaxIterations = test.limit
			c := runtest.Start(t, params, runtest.Tools(ran.Tool("work")))
			var ids []string
			for i := range min(test.rounds, test.want) {
				ids = append(ids, string(rune('a'+i)))
				c.Server.Add(runtest.Calls("work", ids[i]))
			}
			if test.outcome == toolrunner.OutcomeCompleted {
				c.Server.Add(toolrunnertest.Text("done"))
			}
			turns := c.Run(t)
			if len(turns) != test.want || len(c.Server.Requests()) != test.want {
				t.Errorf("%d turns of %d requests, want %d", len(turns), len(c.Server.Requests()), test.want)
			}
			ran.Want(t, ids...)
			c.WantOutcome(t, test.outcome)
			if test.outcome == toolrunner.OutcomeMaxIterations {
				history := []string{"user 'hi'"}
				for _, id := range ids {
					history = append(history, "assistant call("+id+")", "user result("+id+")")
				}
				c.WantHistory(t, history...)
			}
		})
	}
}

// E130, G4: raising the limit lets the run go on, without running a tool again.
func TestRaisingMaxIterationsLetsTheRunGoOn(t *testing.T) {
	var ran runtest.Journal
	params := runtest.Asking("hi")
	params.MaxIterations = 1
	c := runtest.Start(t, params, runtest.Tools(ran.Tool("work")), runtest.Calls("work", "a"), runtest.Calls("work", "b"), toolrunnertest.Text("done"))
	c.Run(t)
	c.WantOutcome(t, toolrunner.OutcomeMaxIterations)
	if turns := c.Run(t); len(turns) != 0 {
		t.Errorf("%d turns beyond the limit, want none", len(turns))
	}
	c.Params.MaxIterations = 2
	c.Run(t)
	c.WantOutcome(t, toolrunner.OutcomeMaxIterations)
	if _, err := c.TryRun(t.Context(), nil); err != nil {
		t.Error(err)
	}
	c.Params.MaxIterations = 3
	c.Run(t)
	c.WantOutcome(t, toolrunner.OutcomeCompleted)
	ran.Want(t, "a", "b")
}

// The limit is per run: what a follow-up begins after the end counts anew, but a
// follow-up does not get a run over its limit.
func TestMaxIterationsIsPerRun(t *testing.T) {
	params := runtest.Asking("hi")
	params.MaxIterations = 1
	c := runtest.Start(t, params, runtest.Tools(runtest.Says("work", "ran")), toolrunnertest.Text("one"), toolrunnertest.Text("two"), runtest.Calls("work", "a"), toolrunnertest.Text("three"))
	c.Run(t)
	c.MustAppend(t, runtest.User("again"))
	c.Run(t)
	c.MustAppend(t, runtest.User("and again"))
	c.Run(t)
	c.WantOutcome(t, toolrunner.OutcomeMaxIterations)
	if turns := c.Run(t); len(turns) != 0 {
		t.Errorf("%d turns beyond the limit, want none", len(turns))
	}
	c.MustAppend(t, runtest.User("more")) // F24: what the user says begins another run
	c.Run(t)
	c.WantOutcome(t, toolrunner.OutcomeCompleted)
	c.WantHistory(t, "user 'hi'", "assistant 'one'", "user 'again'", "assistant 'two'", "user 'and again'", "assistant call(a)", "user result(a)", "user 'more'", "assistant 'three'")
}

// E130: the limit is read at each request.
func TestMaxIterationsCanChangeInTheBody(t *testing.T) {
	params := runtest.Asking("hi")
	params.MaxIterations = 5
	c := runtest.Start(t, params, runtest.Tools(runtest.Says("work", "ran")), runtest.Calls("work", "a"), runtest.Calls("work", "b"))
	if _, err := c.TryRun(t.Context(), func(turn *toolrunner.Turn) { c.Params.MaxIterations = 2 }); err != nil {
		t.Fatal(err)
	}
	c.WantOutcome(t, toolrunner.OutcomeMaxIterations)
}
