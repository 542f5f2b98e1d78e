package toolrunner_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolrunner/toolrunner"
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
		{"two calls", blocks("a look", "b look"), []string{
			"message start", "start 0", "stop 0", "start 1", "a", "stop 1", "message delta", "b", "message stop",
		}},
		{"a call before text", blocks("a look", "text"), []string{
			"message start", "start 0", "stop 0", "start 1", "a", "stop 1", "message delta", "message stop",
		}},
		{"cut off", blocks("a look", "b look").StopReason("max_tokens"), []string{
			"message start", "start 0", "stop 0", "start 1", "a", "stop 1", "message delta", "message stop",
		}},
		{"a pause", blocks("a look", "b look").StopReason("pause_turn"), []string{
			"message start", "start 0", "stop 0", "start 1", "a", "stop 1", "message delta", "message stop",
		}},
	}
	for _, test := range tests {
		bubble(t, test.name, func(t *testing.T) {
			var log journal
			c := newConversation(t, test.reply)
			c.Runner = c.runner(t, hasty(), log.reads("look"))
			for turn, err := range c.AllStreaming(t.Context()) {
				if err != nil {
					t.Fatalf("AllStreaming() error = %v", err)
				}
				log.watch(turn, -1)
				break
			}
			log.want(t, test.want...)
		})
	}
}

// E141, E157, E158, E165: whatever the body reads, each call runs once, and the
// requests are those of a run whose calls wait for the reply, E163.
func TestEagerRunSendsWhatAnyRunSends(t *testing.T) {
	reply := blocks("text", "a look", "b change", `c look {"n":1}`, "d missing", `e look {"n":"x"}`, "f look")
	type input struct {
		N int `json:"n,omitempty"`
	}
	sent := func(t *testing.T, params toolrunner.Params, body func(*toolrunner.Turn)) [][]byte {
		var ran journal
		look := toolrunner.NewTool("look", "", func(ctx context.Context, _ input) (string, error) {
			call, _ := toolrunner.CallFrom(ctx)
			ran.add("%s", call.ID)
			return "saw " + call.ID, nil
		})
		look.ReadOnly = true
		c := converse(t, params, tools(look, ran.tool("change")), reply, toolrunnertest.Text("done"))
		c.mustStream(t, body)
		ran.wantSorted(t, "a", "b", "c", "f")
		var bodies [][]byte
		for _, q := range c.srv.Requests() {
			bodies = append(bodies, q.Body)
		}
		return bodies
	}
	tests := []struct {
		name string
		body func(turn *toolrunner.Turn)
	}{
		{"not read", nil},
		{"read", func(turn *toolrunner.Turn) { new(journal).watch(turn, -1) }},
		{"read in part", func(turn *toolrunner.Turn) { new(journal).watch(turn, 9) }},
		{"the calls", func(turn *toolrunner.Turn) { _ = turn.Calls() }},
		{"the results", func(turn *toolrunner.Turn) { _, _ = turn.Results(context.Background()) }},
		{"the results after a part", func(turn *toolrunner.Turn) {
			new(journal).watch(turn, 12)
			_, _ = turn.Results(context.Background())
		}},
	}
	for _, test := range tests {
		bubble(t, test.name, func(t *testing.T) {
			want := sent(t, asking("hi"), nil)
			got := sent(t, hasty(), test.body)
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
		{name: "read only", reply: blocks("a look", "b look", "text"), early: []string{"a", "b"}},
		{name: "others wait", reply: blocks("a look", "b change", "c look", "text"), early: []string{"a", "c"}},
		{name: "exclusive, and what comes after it", reply: blocks("a look", "b alone", "c look", "text"), early: []string{"a"}},
		{
			name: "one by one", reply: blocks("a look", "b change", "c look", "text"), early: []string{"a"},
			change: func(p *toolrunner.Params) { p.MaxConcurrency = 1 },
		},
		{name: "an unknown tool", reply: blocks("a missing", "b look", "text"), early: []string{"b"}, failed: []string{"a"}},
		{name: "a member of a toolset", reply: toolrunnertest.Message(
			toolrunnertest.RawBlock(`{"type":"tool_use","id":"a","name":"look","toolset_name":"set","input":{}}`),
			toolrunnertest.Call("b", "look", `{}`), toolrunnertest.Say("so")), early: []string{"b"}, failed: []string{"a"}},
		{name: "input that is cut", reply: blocks(`a look {"n":`, "b look", "text"), failed: []string{"a"}},
		{name: "a call from code", reply: toolrunnertest.Message(
			toolrunnertest.RawBlock(`{"type":"server_tool_use","id":"srvtoolu_1","name":"code_execution","input":{}}`),
			toolrunnertest.RawBlock(`{"type":"tool_use","id":"a","name":"look","input":{},"caller":{"type":"code_execution_20250825","tool_id":"srvtoolu_1"}}`),
			toolrunnertest.Call("b", "look", `{}`)), early: []string{"a", "b"}},
		{name: "before a fallback", reply: blocks("a look", "b look", "fallback", "c look", "text"), early: []string{"a"}, skip: []string{"a", "b"}},
		{name: "twice the same", reply: blocks("a look", "b look", "a look", "c look", "text"), early: []string{"a", "b"}, mended: true},
		{name: "switched off", reply: blocks("a look", "text"), change: func(p *toolrunner.Params) { p.EagerTools = false }},
	}
	for _, test := range tests {
		bubble(t, test.name, func(t *testing.T) {
			var ran journal
			alone := ran.reads("alone")
			alone.Exclusive = true
			params := hasty()
			if test.change != nil {
				test.change(&params)
			}
			c := newConversation(t, test.reply.StopReason("tool_use"), toolrunnertest.Text("done"))
			c.Runner = c.runner(t, params, ran.reads("look"), ran.tool("change"), alone)
			c.mustStream(t, func(turn *toolrunner.Turn) {
				new(journal).watch(turn, -1)
				if turn.Iteration() == 1 {
					ran.want(t, test.early...)
				}
			})
			if !test.mended {
				c.wantFaithful(t)
			}
			q := c.request(t, -1)
			for _, id := range []string{"a", "b", "c"} {
				answered := bytes.Contains(q.Body, []byte(`"id":"`+id+`"`)) && !slices.Contains(test.skip, id)
				if result := q.ToolResult(id); (result != nil) != answered {
					t.Errorf("the result of %s = %s, want one: %v", id, result, answered)
				} else if answered {
					_, failed := resultText(t, q, id)
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
		bubble(t, reason, func(t *testing.T) {
			play := func(params toolrunner.Params) (*conversation, *journal) {
				var log journal
				script := []toolrunnertest.Reply{blocks("a wait", "b wait").StopReason(reason)}
				if reason == "pause_turn" {
					script = append(script, toolrunnertest.Text("on"))
				}
				c := newConversation(t, append(script, toolrunnertest.Text("done"))...)
				c.Runner = c.runner(t, params, log.waits("wait", time.Minute))
				c.mustStream(t, nil)
				c.append(t, user("go on"))
				c.mustStream(t, nil)
				return c, &log
			}
			plain, _ := play(asking("hi"))
			c, log := play(hasty())
			log.want(t, "a", "a cancelled")
			for i, q := range plain.srv.Requests() {
				if got := c.request(t, i).Body; !bytes.Equal(got, q.Body) {
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
		bubble(t, test.name, func(t *testing.T) {
			var log journal
			c := converse(t, hasty(), tools(log.reads("look")), blocks("a look", "b look", "c look"), toolrunnertest.Text("done"))
			c.mustStream(t, func(turn *toolrunner.Turn) {
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
				log.add("read")
				if test.results {
					if list, err := turn.Results(t.Context()); err != nil || len(list) != 3 {
						t.Errorf("Results() = %v, %v; want three", list, err)
					}
					wantDeferred(t, turn, map[string]bool{"a": false, "b": false})
				}
				log.add("body over")
			})
			log.want(t, test.want...)
			c.wantShape(t, "user 'hi'", "assistant call(a) call(b) call(c)", "user result(a) result(b) result(c)")
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
	bothWays(t, func(t *testing.T, streaming bool) {
		var ran tally
		d := dialogueWith(t, toolrunner.Params{}, tools(ran.tool("work")), calls("work", "a"), toolrunnertest.Text("done"))
		d.streaming = streaming
		var first *toolrunner.Turn
		d.mustPlay(t, func(turn *toolrunner.Turn) {
			if turn.Iteration() > 1 {
				return
			}
			first = turn
			_ = turn.Calls()
			wantDeferred(t, turn, map[string]bool{"a": true, "b": false})
		})
		ran.want(t, 1)
		if err := first.Defer("a"); !errors.Is(err, toolrunner.ErrTurnOver) {
			t.Errorf("Defer() after the body = %v, want ErrTurnOver", err)
		}
	})
	d := dialogueWith(t, toolrunner.Params{EagerTools: true}, nil, calls("work", "a"), toolrunnertest.Text("done"))
	d.streaming = true
	d.mustPlay(t, func(turn *toolrunner.Turn) {
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
	var ran journal
	c := converse(t, hasty(), tools(ran.reads("look")), blocks("a look", "text").StopReason("tool_use"), toolrunnertest.Text("done"))
	if _, err := c.tryRun(t.Context(), func(*toolrunner.Turn) { ran.add("body") }); err != nil {
		t.Fatal(err)
	}
	ran.want(t, "body", "a", "body")

	// One that streams because its replies may be long does not either.
	ran = journal{}
	params := hasty()
	params.MaxTokens = 1 << 20
	c = converse(t, params, tools(ran.reads("look")), blocks("a look", "text").StopReason("tool_use"), toolrunnertest.Text("done"))
	if _, err := c.tryRun(t.Context(), func(*toolrunner.Turn) { ran.add("body") }); err != nil {
		t.Fatal(err)
	}
	ran.want(t, "body", "a", "body")
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
		bubble(t, test.name, func(t *testing.T) {
			var log journal
			now, most := make(chan struct{}, 10), make(chan int, 100)
			slow := func(_ context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
				now <- struct{}{}
				most <- len(now)
				log.add("%s", call.ID)
				pause(time.Second)
				<-now
				return toolrunner.TextResult(call.ID), nil
			}
			params := hasty()
			params.MaxConcurrency = test.limit
			c := converse(t, params, tools(readOnly("look", slow), raw("change", slow)),
				blocks("a look", "b look", "c change", "d look", "e look", "f change").Trickle(10*time.Millisecond), toolrunnertest.Text("done"))
			c.mustStream(t, nil)
			close(most)
			highest := 0
			for n := range most {
				highest = max(highest, n)
			}
			if highest != test.most {
				t.Errorf("at most %d calls ran at once, want %d", highest, test.most)
			}
			if test.limit == 1 {
				log.want(t, "a", "b", "c", "d", "e", "f")
			}
			c.wantShape(t, "user 'hi'", "assistant call(a) call(b) call(c) call(d) call(e) call(f)",
				"user result(a) result(b) result(c) result(d) result(e) result(f)")
		})
	}
}

// E159: what a call runs is looked up when it starts.
func TestToolChangesWhileTheReplyStreams(t *testing.T) {
	var ran journal
	c := converse(t, hasty(), tools(ran.reads("look"), ran.reads("gone")),
		blocks("a look", "b gone", "c look", "d new", "text").StopReason("tool_use"), toolrunnertest.Text("done"))
	c.mustStream(t, func(turn *toolrunner.Turn) {
		if turn.Iteration() > 1 {
			return
		}
		for e := range turn.Events() {
			if e.Type != "content_block_start" {
				continue
			}
			switch e.Index {
			case 2: // a has started, b is about to
				c.RemoveTools(ran.reads("look"), ran.reads("gone"))
			case 4: // c has not, d is about to
				if err := c.AddTools(ran.reads("new")); err != nil {
					t.Error(err)
				}
			}
		}
	})
	ran.wantSorted(t, "a", "d")
	wantSuccess(t, c.request(t, -1), "a", "read a")
	wantFailure(t, c.request(t, -1), "b", "Error: Tool 'gone' not found")
	wantFailure(t, c.request(t, -1), "c", "Error: Tool 'look' not found")
	wantSuccess(t, c.request(t, -1), "d", "read d")
}
