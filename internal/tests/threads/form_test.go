package threads_test

import (
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// A run, what its body does at each turn, and the requests that come of it.
type story struct {
	name    string
	params  func(*toolrunner.Params)
	replies []toolrunnertest.Reply
	body    func(t *testing.T, c *runtest.Conversation, turn *toolrunner.Turn)
	want    []string
}

func (s *story) run(t *testing.T) {
	t.Helper()
	t.Run(s.name, func(t *testing.T) {
		runtest.BothWays(t, func(t *testing.T, streaming bool) {
			params := asking()
			if s.params != nil {
				s.params(&params)
			}
			c := start(t, streaming, params, s.replies...)
			c.MustPlay(t, func(turn *toolrunner.Turn) {
				if s.body != nil {
					s.body(t, c, turn)
				}
			})
			wantForms(t, c, s.want...)
		})
	})
}

// atFirst does something in the body of the first turn.
func atFirst(do func(t *testing.T, c *runtest.Conversation, turn *toolrunner.Turn)) func(*testing.T, *runtest.Conversation, *toolrunner.Turn) {
	return func(t *testing.T, c *runtest.Conversation, turn *toolrunner.Turn) {
		if turn.Iteration() == 1 {
			do(t, c, turn)
		}
	}
}

const (
	createHi = "C: user 'hi'"
	whole    = "user 'hi', assistant call(a), user result(a)"
)

// What each request of a run holds while nothing goes wrong.
func TestRequestsHoldWhatIsNew(t *testing.T) {
	callA, callB := runtest.Calls("work", "a"), runtest.Calls("work", "b")
	for _, s := range []story{
		{
			name: "T1, T2: results", replies: []toolrunnertest.Reply{callA, callB, done()},
			want: []string{createHi, "K msg_1: user result(a)", "K msg_2: user result(b)"},
		},
		{
			name: "T3: a pause", replies: []toolrunnertest.Reply{toolrunnertest.Text("wait").StopReason("pause_turn"), done()},
			want: []string{createHi, "K msg_1: "},
		},
		{
			name: "T4: results, then what the body appends", replies: []toolrunnertest.Reply{callA, done()},
			body: atFirst(func(t *testing.T, c *runtest.Conversation, _ *toolrunner.Turn) { c.MustAppend(t, runtest.User("more")) }),
			want: []string{createHi, "K msg_1: user result(a), user 'more'"},
		},
		{
			name: "T5: tools that change", replies: []toolrunnertest.Reply{callA, done()},
			body: atFirst(func(t *testing.T, c *runtest.Conversation, _ *toolrunner.Turn) {
				c.MustAppend(t, runtest.User("more"))
				if err := c.AddTools(runtest.Says("other", "ran")); err != nil {
					t.Error(err)
				}
			}),
			want: []string{createHi, "K msg_1: user result(a), user 'more', system addition(other)"},
		},
		{
			name: "T6: the caller extends the history", replies: []toolrunnertest.Reply{toolrunnertest.Text("so"), done()},
			body: atFirst(func(t *testing.T, c *runtest.Conversation, turn *toolrunner.Turn) {
				_ = turn.Text()
				if err := c.SetMessages(append(c.Messages(), runtest.User("more"))...); err != nil {
					t.Error(err)
				}
			}),
			want: []string{createHi, "K msg_1: user 'more'"},
		},
		{
			name: "T7: the caller changes the history", replies: []toolrunnertest.Reply{toolrunnertest.Text("so"), done()},
			body: atFirst(func(t *testing.T, c *runtest.Conversation, turn *toolrunner.Turn) {
				_ = turn.Text()
				messages := c.Messages()
				messages[0] = runtest.User("ho")
				if err := c.SetMessages(append(messages, runtest.User("more"))...); err != nil {
					t.Error(err)
				}
			}),
			want: []string{createHi, "C: user 'ho', assistant 'so', user 'more'"},
		},
		{
			name: "T7: the caller trims the history", replies: []toolrunnertest.Reply{callA, callB, done()},
			body: func(t *testing.T, c *runtest.Conversation, turn *toolrunner.Turn) {
				if turn.Iteration() == 2 {
					_ = turn.Text()
					if err := c.SetMessages(runtest.User("short")); err != nil {
						t.Error(err)
					}
				}
			},
			want: []string{createHi, "K msg_1: user result(a)", "C: user 'short'"},
		},
		{
			name: "T8: the body replaces the reply", replies: []toolrunnertest.Reply{callA, done()},
			body: atFirst(func(t *testing.T, _ *runtest.Conversation, turn *toolrunner.Turn) {
				if err := turn.Replace(runtest.Verbatim(`{"role":"assistant","content":"mine"}`), runtest.User("more")); err != nil {
					t.Error(err)
				}
			}),
			want: []string{createHi, "C: user 'hi', assistant 'mine', user 'more'"},
		},
		{
			name: "T8: the body asks again", replies: []toolrunnertest.Reply{callA, done()},
			body: atFirst(func(t *testing.T, _ *runtest.Conversation, turn *toolrunner.Turn) {
				if err := turn.Retry(); err != nil {
					t.Error(err)
				}
			}),
			want: []string{createHi, createHi},
		},
		{
			name: "T8: a reply that was mended", replies: []toolrunnertest.Reply{runtest.Calls("work", "not legal"), done()},
			want: []string{createHi, "C: user 'hi', assistant call(not_legal), user result(not_legal)"},
		},
		{
			name: "T9: max_tokens", replies: []toolrunnertest.Reply{callA, done()},
			body: atFirst(func(_ *testing.T, c *runtest.Conversation, _ *toolrunner.Turn) { c.Params.MaxTokens = 77 }),
			want: []string{createHi, "K msg_1: user result(a)"},
		},
		{
			name: "T10: the system prompt", replies: []toolrunnertest.Reply{callA, callB, done()},
			body: atFirst(func(_ *testing.T, c *runtest.Conversation, _ *toolrunner.Turn) {
				c.Params.System = []anthropic.BetaTextBlockParam{{Text: "be kind"}}
			}),
			want: []string{createHi, "C: " + whole, "K msg_2: user result(b)"},
		},
		{
			name: "T10: the tools", replies: []toolrunnertest.Reply{callA, done()},
			body: atFirst(func(_ *testing.T, c *runtest.Conversation, _ *toolrunner.Turn) {
				c.Params.Tools = []anthropic.BetaToolUnionParam{runtest.RawDefinition(`{"name":"extra","input_schema":{"type":"object"}}`)}
			}),
			want: []string{createHi, "C: " + whole},
		},
		{
			name: "T22: a refusal", replies: []toolrunnertest.Reply{toolrunnertest.Text("no").StopReason("refusal"), done()},
			body: atFirst(func(t *testing.T, c *runtest.Conversation, _ *toolrunner.Turn) {
				c.MustAppend(t, runtest.User("please"))
			}),
			want: []string{createHi, "C: user 'hi', assistant 'no', user 'please'"},
		},
		{
			name: "T23: a fallback model", replies: []toolrunnertest.Reply{
				toolrunnertest.RawJSON(`{"id":"msg_f","type":"message","role":"assistant","content":[{"type":"tool_use","id":"a","name":"work","input":{}}],"stop_reason":"tool_use",` +
					`"usage":{"input_tokens":1,"output_tokens":1,"iterations":[{"type":"message"},{"type":"fallback_message"}]}}`), callB, done(),
			},
			want: []string{createHi, "C: " + whole, "K msg_2: user result(b)"},
		},
		{
			name: "T31: betas of the caller", replies: []toolrunnertest.Reply{callA, done()},
			params: func(p *toolrunner.Params) { p.Betas = []anthropic.AnthropicBeta{"beta-one", beta} },
			want:   []string{createHi, "K msg_1: user result(a)"},
		},
		{
			name: "T31: a header of the caller", replies: []toolrunnertest.Reply{callA, done()},
			params: func(p *toolrunner.Params) {
				p.RequestOptions = []option.RequestOption{option.WithHeader("anthropic-beta", "beta-one")}
			},
			want: []string{createHi, "K msg_1: user result(a)"},
		},
		{
			name: "T41: no thread unless asked for", replies: []toolrunnertest.Reply{callA, done()},
			params: func(p *toolrunner.Params) { p.MessageThread = false },
			want:   []string{"U: user 'hi'", "U: " + whole},
		},
		{
			name: "a thread that begins late", replies: []toolrunnertest.Reply{callA, callB, done()},
			params: func(p *toolrunner.Params) { p.MessageThread = false },
			body:   atFirst(func(_ *testing.T, c *runtest.Conversation, _ *toolrunner.Turn) { c.Params.MessageThread = true }),
			want:   []string{"U: user 'hi'", "C: " + whole, "K msg_2: user result(b)"},
		},
		{
			name: "a thread that ends early, and begins anew", replies: []toolrunnertest.Reply{callA, callB, done()},
			body: func(_ *testing.T, c *runtest.Conversation, turn *toolrunner.Turn) {
				c.Params.MessageThread = turn.Iteration() != 1
			},
			want: []string{createHi, "U: " + whole, "C: " + whole + ", assistant call(b), user result(b)"},
		},
	} {
		s.run(t)
	}
}

// T11: requests of a thread name the container of the replies.
func TestContainersOfThreads(t *testing.T) {
	c := start(t, false, asking(), runtest.Calls("work", "a").Container("box"), done())
	c.MustPlay(t, nil)
	wantForms(t, c, createHi, "K msg_1: user result(a)")
	if got := string(c.Request(t, 1).Field("container")); got != `"box"` {
		t.Errorf("the second request names the container %s, want box", got)
	}
}

// T9: a K has the parameters as they are now.
func TestThreadsTakeParametersOfEachTurn(t *testing.T) {
	c := start(t, false, asking(), runtest.Calls("work", "a"), done())
	c.MustPlay(t, func(*toolrunner.Turn) { c.Params.MaxTokens = 77 })
	if got := string(c.Request(t, 1).Field("max_tokens")); got != "77" {
		t.Errorf("the second request has max_tokens %s, want 77", got)
	}
}

// T12: a compaction is a C beside the thread; if it brings no summary, the thread goes on.
func TestCompactionsBesideThreads(t *testing.T) {
	for name, tt := range map[string]struct {
		reply toolrunnertest.Reply
		next  string
	}{
		"with a summary":    {runtest.SummaryReply("in short"), "C: assistant compaction"},
		"without a summary": {toolrunnertest.Text("no"), "K msg_1: user result(a)"},
	} {
		t.Run(name, func(t *testing.T) {
			runtest.BothWays(t, func(t *testing.T, streaming bool) {
				c := start(t, streaming, asking(), runtest.Calls("work", "a"), tt.reply, runtest.Calls("work", "b"), done())
				c.MustPlay(t, compactAfterTheFirst(t, c))
				wantForms(t, c, createHi, "C: "+whole, tt.next, "K msg_3: user result(b)")
			})
		})
	}
}

// T28: the member is the runner's own.
func TestTheMemberThreadIsTheRunners(t *testing.T) {
	params := asking()
	params.Thread = anthropic.BetaMessageThreadParamOfContinue("msg_1")
	c := runtest.New(t)
	if _, err := toolrunner.New(&c.Client.Beta.Messages, nil, params); err == nil {
		t.Error("New() takes Params.Thread")
	}
	params.Thread = anthropic.BetaMessageThreadParamUnion{}
	params.RequestOptions = []option.RequestOption{option.WithJSONSet("thread.type", "create")}
	c.Runner = c.NewRunner(t, params)
	if err := c.Play(t.Context(), nil); err == nil {
		t.Error("a request option may set thread")
	}
	c.WantRequests(t, 0)
}

// T30: another process begins a thread of its own.
func TestResumedRunsBeginThreads(t *testing.T) {
	c := start(t, false, asking(), runtest.Calls("work", "a"), done())
	c.FirstTurn(t)
	snapshot, err := c.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	params := asking()
	params.Messages = nil
	c.Runner, err = toolrunner.Resume(&c.Client.Beta.Messages, runtest.Tools(runtest.Says("work", "ran")), params, snapshot)
	if err != nil {
		t.Fatal(err)
	}
	c.MustPlay(t, nil)
	wantForms(t, c, createHi, "C: "+whole)
}
