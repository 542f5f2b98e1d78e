// Package eager_test tests calls that start while their reply streams.
package eager_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// E152, E153, E154: a call starts when the model has moved on from it, and the
// reader has handled the event that says so; one that a limit may have cut off
// never does.
func TestCallStartsWhenTheModelHasMovedOn(t *testing.T) {
	tests := []struct {
		name  string
		reply toolrunnertest.Reply
		want  []string
	}{
		{"two calls", runtest.Blocks("a look", "b look"), []string{
			"message start", "start 0", "stop 0", "start 1", "a", "stop 1", "message delta", "b", "message stop",
		}},
		{"a call before text", runtest.Blocks("a look", "text"), []string{
			"message start", "start 0", "stop 0", "start 1", "a", "stop 1", "message delta", "message stop",
		}},
		{"cut off", runtest.Blocks("a look", "b look").StopReason("max_tokens"), []string{
			"message start", "start 0", "stop 0", "start 1", "a", "stop 1", "message delta", "message stop",
		}},
		{"a pause", runtest.Blocks("a look", "b look").StopReason("pause_turn"), []string{
			"message start", "start 0", "stop 0", "start 1", "a", "stop 1", "message delta", "message stop",
		}},
	}
	for _, test := range tests {
		runtest.Bubble(t, test.name, func(t *testing.T) {
			var log runtest.Journal
			c := runtest.New(t, test.reply)
			c.Runner = c.NewRunner(t, runtest.EagerParams(), log.Reads("look"))
			for turn, err := range c.AllStreaming(t.Context()) {
				if err != nil {
					t.Fatalf("AllStreaming() error = %v", err)
				}
				log.Watch(turn, -1)
				break
			}
			log.Want(t, test.want...)
		})
	}
}

// E141, E157, E158, E165: whatever the body reads, each call runs once, and the
// requests are those of a run whose calls wait for the reply, E163.
func TestEagerRunSendsWhatAnyRunSends(t *testing.T) {
	reply := runtest.Blocks("text", "a look", "b change", `c look {"n":1}`, "d missing", `e look {"n":"x"}`, "f look")
	type input struct {
		N int `json:"n,omitempty"`
	}
	sent := func(t *testing.T, params toolrunner.Params, body func(*toolrunner.Turn)) [][]byte {
		var ran runtest.Journal
		look := toolrunner.NewTool("look", "", func(ctx context.Context, _ input) (string, error) {
			call, _ := toolrunner.CallFrom(ctx)
			ran.Add("%s", call.ID)
			return "saw " + call.ID, nil
		})
		look.ReadOnly = true
		c := runtest.Start(t, params, runtest.Tools(look, ran.Tool("change")), reply, toolrunnertest.Text("done"))
		c.MustStream(t, body)
		ran.WantSorted(t, "a", "b", "c", "f")
		var bodies [][]byte
		for _, q := range c.Server.Requests() {
			bodies = append(bodies, q.Body)
		}
		return bodies
	}
	tests := []struct {
		name string
		body func(turn *toolrunner.Turn)
	}{
		{"not read", nil},
		{"read", func(turn *toolrunner.Turn) { new(runtest.Journal).Watch(turn, -1) }},
		{"read in part", func(turn *toolrunner.Turn) { new(runtest.Journal).Watch(turn, 9) }},
		{"the calls", func(turn *toolrunner.Turn) { _ = turn.Calls() }},
		{"the results", func(turn *toolrunner.Turn) { _, _ = turn.Results(context.Background()) }},
		{"the results after a part", func(turn *toolrunner.Turn) {
			new(runtest.Journal).Watch(turn, 12)
			_, _ = turn.Results(context.Background())
		}},
	}
	for _, test := range tests {
		runtest.Bubble(t, test.name, func(t *testing.T) {
			want := sent(t, runtest.Asking("hi"), nil)
			got := sent(t, runtest.EagerParams(), test.body)
			if len(got) != 2 || !bytes.Equal(got[0], want[0]) || !bytes.Equal(got[1], want[1]) {
				t.Errorf("requests = %s\nwant %s", got, want)
			}
		})
	}
}

// E155, E160, E166 and the rules of Exclusive and MaxConcurrency: which calls of a
// reply start before it is complete. All of them have run in the end.
func TestOnlyCallsThatMayStartEarlyDo(t *testing.T) {
	tests := []struct {
		name   string
		reply  toolrunnertest.Reply
		change func(p *toolrunner.Params)
		early  []string
		failed []string
		skip   []string // calls that get no result
		mended bool     // the reply does not go back as it came
	}{
		{name: "read only", reply: runtest.Blocks("a look", "b look", "text"), early: []string{"a", "b"}},
		{name: "others wait", reply: runtest.Blocks("a look", "b change", "c look", "text"), early: []string{"a", "c"}},
		{name: "exclusive, and what comes after it", reply: runtest.Blocks("a look", "b alone", "c look", "text"), early: []string{"a"}},
		{
			name: "one by one", reply: runtest.Blocks("a look", "b change", "c look", "text"), early: []string{"a"},
			change: func(p *toolrunner.Params) { p.MaxConcurrency = 1 },
		},
		{name: "an unknown tool", reply: runtest.Blocks("a missing", "b look", "text"), early: []string{"b"}, failed: []string{"a"}},
		{name: "a member of a toolset", reply: toolrunnertest.Message(
			toolrunnertest.RawBlock(`{"type":"tool_use","id":"a","name":"look","toolset_name":"set","input":{}}`),
			toolrunnertest.Call("b", "look", `{}`), toolrunnertest.Say("so")), early: []string{"b"}, failed: []string{"a"}},
		{name: "input that is cut", reply: runtest.Blocks(`a look {"n":`, "b look", "text"), failed: []string{"a"}},
		{name: "a call from code", reply: toolrunnertest.Message(
			toolrunnertest.RawBlock(`{"type":"server_tool_use","id":"srvtoolu_1","name":"code_execution","input":{}}`),
			toolrunnertest.RawBlock(`{"type":"tool_use","id":"a","name":"look","input":{},"caller":{"type":"code_execution_20250825","tool_id":"srvtoolu_1"}}`),
			toolrunnertest.Call("b", "look", `{}`)), early: []string{"a", "b"}},
		{name: "before a fallback", reply: runtest.Blocks("a look", "b look", "fallback", "c look", "text"), early: []string{"a"}, skip: []string{"a", "b"}},
		{name: "twice the same", reply: runtest.Blocks("a look", "b look", "a look", "c look", "text"), early: []string{"a", "b"}, mended: true},
		{name: "switched off", reply: runtest.Blocks("a look", "text"), change: func(p *toolrunner.Params) { p.EagerTools = false }},
	}
	for _, test := range tests {
		runtest.Bubble(t, test.name, func(t *testing.T) {
			var ran runtest.Journal
			alone := ran.Reads("alone")
			alone.Exclusive = true
			params := runtest.EagerParams()
			if test.change != nil {
				test.change(&params)
			}
			c := runtest.New(t, test.reply.StopReason("tool_use"), toolrunnertest.Text("done"))
			c.Runner = c.NewRunner(t, params, ran.Reads("look"), ran.Tool("change"), alone)
			c.MustStream(t, func(turn *toolrunner.Turn) {
				new(runtest.Journal).Watch(turn, -1)
				if turn.Iteration() == 1 {
					ran.Want(t, test.early...)
				}
			})
			if !test.mended {
				c.WantFaithful(t)
			}
			q := c.Request(t, -1)
			for _, id := range []string{"a", "b", "c"} {
				answered := bytes.Contains(q.Body, []byte(`"id":"`+id+`"`)) && !slices.Contains(test.skip, id)
				if result := q.ToolResult(id); (result != nil) != answered {
					t.Errorf("the result of %s = %s, want one: %v", id, result, answered)
				} else if answered {
					_, failed := runtest.ResultText(t, q, id)
					if want := slices.Contains(test.failed, id); failed != want {
						t.Errorf("the result of %s = %s, want it failed: %v", id, result, want)
					}
				}
			}
		})
	}
}

// E154, E81, E150: results of a reply that did not stop for its calls are dropped;
// the history is that of a run without eager calls.
func TestResultsOfAReplyThatDoesNotWaitForThemAreDropped(t *testing.T) {
	for _, reason := range []string{"max_tokens", "model_context_window_exceeded", "refusal", "end_turn", "stop_sequence", "tomorrow", "pause_turn"} {
		runtest.Bubble(t, reason, func(t *testing.T) {
			play := func(params toolrunner.Params) (*runtest.Conversation, *runtest.Journal) {
				var log runtest.Journal
				script := []toolrunnertest.Reply{runtest.Blocks("a wait", "b wait").StopReason(reason)}
				if reason == "pause_turn" {
					script = append(script, toolrunnertest.Text("on"))
				}
				c := runtest.New(t, append(script, toolrunnertest.Text("done"))...)
				c.Runner = c.NewRunner(t, params, log.Waits("wait", time.Minute))
				c.MustStream(t, nil)
				c.MustAppend(t, runtest.User("go on"))
				c.MustStream(t, nil)
				return c, &log
			}
			plain, _ := play(runtest.Asking("hi"))
			c, log := play(runtest.EagerParams())
			log.Want(t, "a", "a cancelled")
			for i, q := range plain.Server.Requests() {
				if got := c.Request(t, i).Body; !bytes.Equal(got, q.Body) {
					t.Errorf("request %d = %s\nwant        %s", i, got, q.Body)
				}
			}
		})
	}
}

// E155: a call that is held back runs after the body, or in Results.
func TestDeferHoldsACallBack(t *testing.T) {
	tests := []struct {
		name    string
		results bool
		want    []string
	}{
		{"until the body is done", false, []string{"a", "c", "read", "body over", "b"}},
		{"until Results", true, []string{"a", "c", "read", "b", "body over"}},
	}
	for _, test := range tests {
		runtest.Bubble(t, test.name, func(t *testing.T) {
			var log runtest.Journal
			c := runtest.Start(t, runtest.EagerParams(), runtest.Tools(log.Reads("look")), runtest.Blocks("a look", "b look", "c look"), toolrunnertest.Text("done"))
			c.MustStream(t, func(turn *toolrunner.Turn) {
				if turn.Iteration() > 1 {
					return
				}
				for e := range turn.Events() {
					synctest.Wait()
					if e.Type == "content_block_start" && e.Index == 2 { // the event that makes it start
						wantDeferred(t, turn, map[string]bool{"a": false, "b": true, "z": false})
					}
				}
				synctest.Wait()
				log.Add("read")
				if test.results {
					if list, err := turn.Results(t.Context()); err != nil || len(list) != 3 {
						t.Errorf("Results() = %v, %v; want three", list, err)
					}
					wantDeferred(t, turn, map[string]bool{"a": false, "b": false})
				}
				log.Add("body over")
			})
			log.Want(t, test.want...)
			c.WantShape(t, "user 'hi'", "assistant call(a) call(b) call(c)", "user result(a) result(b) result(c)")
		})
	}
}

// wantDeferred defers calls, and checks for which that succeeds.
func wantDeferred(t *testing.T, turn *toolrunner.Turn, want map[string]bool) {
	t.Helper()
	for id, ok := range want {
		if err := turn.Defer(id); (err == nil) != ok {
			t.Errorf("Defer(%s) error = %v, want success: %v", id, err, ok)
		}
	}
}

// E155: where no call starts early, Defer knows the calls and changes nothing.
func TestDeferWithoutEagerCallsChangesNothing(t *testing.T) {
	runtest.BothWays(t, func(t *testing.T, streaming bool) {
		var ran runtest.Tally
		d := runtest.StartUnchecked(t, toolrunner.Params{}, runtest.Tools(ran.Tool("work")), runtest.Calls("work", "a"), toolrunnertest.Text("done"))
		d.Streaming = streaming
		var first *toolrunner.Turn
		d.MustPlay(t, func(turn *toolrunner.Turn) {
			if turn.Iteration() > 1 {
				return
			}
			first = turn
			_ = turn.Calls()
			wantDeferred(t, turn, map[string]bool{"a": true, "b": false})
		})
		ran.Want(t, 1)
		if err := first.Defer("a"); !errors.Is(err, toolrunner.ErrTurnOver) {
			t.Errorf("Defer() after the body = %v, want ErrTurnOver", err)
		}
	})
	d := runtest.StartUnchecked(t, toolrunner.Params{EagerTools: true}, nil, runtest.Calls("work", "a"), toolrunnertest.Text("done"))
	d.Streaming = true
	d.MustPlay(t, func(turn *toolrunner.Turn) {
		if turn.Iteration() > 1 {
			return
		}
		_ = turn.Calls()
		wantDeferred(t, turn, map[string]bool{"a": true})
		if err := turn.Retry(); err != nil {
			t.Errorf("Retry() error = %v", err)
		}
		wantDeferred(t, turn, map[string]bool{"a": false})
	})
}

// E151: runs that do not stream are not affected.
func TestRunsThatDoNotStreamHaveNoEagerCalls(t *testing.T) {
	var ran runtest.Journal
	c := runtest.Start(t, runtest.EagerParams(), runtest.Tools(ran.Reads("look")), runtest.Blocks("a look", "text").StopReason("tool_use"), toolrunnertest.Text("done"))
	if _, err := c.TryRun(t.Context(), func(*toolrunner.Turn) { ran.Add("body") }); err != nil {
		t.Fatal(err)
	}
	ran.Want(t, "body", "a", "body")

	// One that streams because its replies may be long does not either.
	ran = runtest.Journal{}
	params := runtest.EagerParams()
	params.MaxTokens = 1 << 20
	c = runtest.Start(t, params, runtest.Tools(ran.Reads("look")), runtest.Blocks("a look", "text").StopReason("tool_use"), toolrunnertest.Text("done"))
	if _, err := c.TryRun(t.Context(), func(*toolrunner.Turn) { ran.Add("body") }); err != nil {
		t.Fatal(err)
	}
	ran.Want(t, "body", "a", "body")
}

// E158, E173: calls that began early count for MaxConcurrency beside those that
// did not, and their results stay in the model's order.
func TestEagerCallsAreBoundedTogetherWithTheOthers(t *testing.T) {
	tests := []struct {
		name  string
		limit int
		most  int
	}{{"one", 1, 1}, {"two", 2, 2}, {"the default", 0, 6}}
	for _, test := range tests {
		runtest.Bubble(t, test.name, func(t *testing.T) {
			var log runtest.Journal
			now, most := make(chan struct{}, 10), make(chan int, 100)
			slow := func(_ context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
				now <- struct{}{}
				most <- len(now)
				log.Add("%s", call.ID)
				runtest.Pause(time.Second)
				<-now
				return toolrunner.TextResult(call.ID), nil
			}
			params := runtest.EagerParams()
			params.MaxConcurrency = test.limit
			c := runtest.Start(t, params, runtest.Tools(runtest.ReadOnly("look", slow), runtest.Raw("change", slow)),
				runtest.Blocks("a look", "b look", "c change", "d look", "e look", "f change").Trickle(10*time.Millisecond), toolrunnertest.Text("done"))
			c.MustStream(t, nil)
			close(most)
			highest := 0
			for n := range most {
				highest = max(highest, n)
			}
			if highest != test.most {
				t.Errorf("at most %d calls ran at once, want %d", highest, test.most)
			}
			if test.limit == 1 {
				log.Want(t, "a", "b", "c", "d", "e", "f")
			}
			c.WantShape(t, "user 'hi'", "assistant call(a) call(b) call(c) call(d) call(e) call(f)",
				"user result(a) result(b) result(c) result(d) result(e) result(f)")
		})
	}
}

// E159: what a call runs is looked up when it starts.
func TestToolChangesWhileTheReplyStreams(t *testing.T) {
	var ran runtest.Journal
	c := runtest.Start(t, runtest.EagerParams(), runtest.Tools(ran.Reads("look"), ran.Reads("gone")),
		runtest.Blocks("a look", "b gone", "c look", "d new", "text").StopReason("tool_use"), toolrunnertest.Text("done"))
	c.MustStream(t, func(turn *toolrunner.Turn) {
		if turn.Iteration() > 1 {
			return
		}
		for e := range turn.Events() {
			if e.Type != "content_block_start" {
				continue
			}
			switch e.Index {
			case 2: // a has started, b is about to
				c.RemoveTools(ran.Reads("look"), ran.Reads("gone"))
			case 4: // c has not, d is about to
				if err := c.AddTools(ran.Reads("new")); err != nil {
					t.Error(err)
				}
			}
		}
	})
	ran.WantSorted(t, "a", "d")
	runtest.WantSuccess(t, c.Request(t, -1), "a", "read a")
	runtest.WantFailure(t, c.Request(t, -1), "b", "Error: Tool 'gone' not found")
	runtest.WantFailure(t, c.Request(t, -1), "c", "Error: Tool 'look' not found")
	runtest.WantSuccess(t, c.Request(t, -1), "d", "read d")
}
