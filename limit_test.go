package toolrunner_test

import (
	"testing"

	"github.com/toolrunner/toolrunner"
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
			var ran journal
			params := asking("hi")
			params.MaxIterations = test.limit
			c := converse(t, params, tools(ran.tool("work")))
			var ids []string
			for i := range min(test.rounds, test.want) {
				ids = append(ids, string(rune('a'+i)))
				c.srv.Add(calls("work", ids[i]))
			}
			if test.outcome == toolrunner.OutcomeCompleted {
				c.srv.Add(toolrunnertest.Text("done"))
			}
			turns := c.run(t)
			if len(turns) != test.want || len(c.srv.Requests()) != test.want {
				t.Errorf("%d turns of %d requests, want %d", len(turns), len(c.srv.Requests()), test.want)
			}
			ran.want(t, ids...)
			c.wantOutcome(t, test.outcome)
			if test.outcome == toolrunner.OutcomeMaxIterations {
				history := []string{"user 'hi'"}
				for _, id := range ids {
					history = append(history, "assistant call("+id+")", "user result("+id+")")
				}
				c.wantHistory(t, history...)
			}
		})
	}
}

// E130, G4: raising the limit lets the run go on, without running a tool again.
func TestRaisingMaxIterationsLetsTheRunGoOn(t *testing.T) {
	var ran journal
	params := asking("hi")
	params.MaxIterations = 1
	c := converse(t, params, tools(ran.tool("work")), calls("work", "a"), calls("work", "b"), toolrunnertest.Text("done"))
	c.run(t)
	c.wantOutcome(t, toolrunner.OutcomeMaxIterations)
	if turns := c.run(t); len(turns) != 0 {
		t.Errorf("%d turns beyond the limit, want none", len(turns))
	}
	c.Params.MaxIterations = 2
	c.run(t)
	c.wantOutcome(t, toolrunner.OutcomeMaxIterations)
	if _, err := c.tryRun(t.Context(), nil); err != nil {
		t.Error(err)
	}
	c.Params.MaxIterations = 3
	c.run(t)
	c.wantOutcome(t, toolrunner.OutcomeCompleted)
	ran.want(t, "a", "b")
}

// The limit is per run: what a follow-up begins after the end counts anew, but a
// follow-up does not get a run over its limit.
func TestMaxIterationsIsPerRun(t *testing.T) {
	params := asking("hi")
	params.MaxIterations = 1
	c := converse(t, params, tools(says("work", "ran")), toolrunnertest.Text("one"), toolrunnertest.Text("two"), calls("work", "a"), toolrunnertest.Text("three"))
	c.run(t)
	c.append(t, user("again"))
	c.run(t)
	c.append(t, user("and again"))
	c.run(t)
	c.wantOutcome(t, toolrunner.OutcomeMaxIterations)
	if turns := c.run(t); len(turns) != 0 {
		t.Errorf("%d turns beyond the limit, want none", len(turns))
	}
	c.append(t, user("more")) // F24: what the user says begins another run
	c.run(t)
	c.wantOutcome(t, toolrunner.OutcomeCompleted)
	c.wantHistory(t, "user 'hi'", "assistant 'one'", "user 'again'", "assistant 'two'", "user 'and again'", "assistant call(a)", "user result(a)", "user 'more'", "assistant 'three'")
}

// E130: the limit is read at each request.
func TestMaxIterationsCanChangeInTheBody(t *testing.T) {
	params := asking("hi")
	params.MaxIterations = 5
	c := converse(t, params, tools(says("work", "ran")), calls("work", "a"), calls("work", "b"))
	if _, err := c.tryRun(t.Context(), func(turn *toolrunner.Turn) { c.Params.MaxIterations = 2 }); err != nil {
		t.Fatal(err)
	}
	c.wantOutcome(t, toolrunner.OutcomeMaxIterations)
}
