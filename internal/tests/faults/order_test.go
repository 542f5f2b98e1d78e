package faults_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

func system(text string) anthropic.BetaMessageParam {
	return runtest.Verbatim(fmt.Sprintf(`{"role":"system","content":[{"type":"text","text":%q}]}`, text))
}

func assistant(text string) anthropic.BetaMessageParam {
	return runtest.Verbatim(fmt.Sprintf(`{"role":"assistant","content":[{"type":"text","text":%q}]}`, text))
}

// F2: follow-ups of all roles, in any order, make a request that the API takes, none is
// lost, and the run's own snapshot can be resumed. The server refuses every other one.
func TestFollowUpsOfAnyOrderAreSentInOneThatTheAPITakes(t *testing.T) {
	made := map[string]func(text string) anthropic.BetaMessageParam{"system": system, "assistant": assistant, "user": runtest.User}
	roles := []string{"system", "assistant", "user"}
	var orders [][]string
	for _, a := range roles {
		for _, b := range roles {
			for _, d := range roles {
				orders = append(orders, []string{a, b, d})
			}
		}
	}
	for _, when := range []string{"in the body", "after the end", "beside calls"} {
		for _, order := range orders {
			t.Run(when+"/"+strings.Join(order, " "), func(t *testing.T) {
				first := toolrunnertest.Text("first")
				if when == "beside calls" {
					first = callOf("a")
				}
				c, _ := start(t, toolrunner.Params{}, first)
				c.Server.Otherwise(toolrunnertest.Text("more"))
				var texts []string
				follow := func() {
					for i, role := range order {
						text := fmt.Sprintf("%s %d", role, i)
						if err := c.AppendMessages(made[role](text)); err == nil {
							texts = append(texts, text)
						}
					}
				}
				c.MustPlay(t, func(turn *toolrunner.Turn) {
					if turn.Iteration() == 1 && when != "after the end" {
						follow()
					}
				})
				if when == "after the end" {
					follow()
				}
				mustDo(t, "AppendMessages()", c.AppendMessages(runtest.User("last")))
				snapshot, err := c.Snapshot()
				mustDo(t, "Snapshot()", err)
				mustDo(t, "going on", c.Play(t.Context(), nil))
				sent := strings.Join(runtest.Shape(c.Request(t, -1).Messages()), "; ")
				for _, text := range append(texts, "last") {
					if strings.Count(sent, "'"+text+"'") != 1 {
						t.Errorf("%q is not there once in %s", text, sent)
					}
				}
				resumed := c.Resume(t, snapshot, runtest.Asking(""), new(runtest.Journal).Tool("work"))
				mustDo(t, "the resumed loop", resumed.Play(t.Context(), nil))
				if again := strings.Join(runtest.Shape(c.Request(t, -1).Messages()), "; "); again != sent {
					t.Errorf("the resumed run sends %s\nwant                    %s", again, sent)
				}
			})
		}
	}
}

// fromCode is a reply in which code at the server calls a tool and waits for its result.
func fromCode() toolrunnertest.Reply {
	return toolrunnertest.Message(
		toolrunnertest.ServerToolUse("srvtoolu_c", "code_execution", `{"code":"work()"}`),
		toolrunnertest.RawBlock(`{"type":"tool_use","id":"a","name":"work","input":{},"caller":{"type":"code_execution_20250825","tool_id":"srvtoolu_c"}}`),
	)
}

// F9: while code at the server waits for results, nothing but results goes out: no
// message of the user or the system, no change of tools, no compaction. All of it comes
// after that turn, once.
func TestOnlyResultsFollowWhileCodeAtTheServerWaits(t *testing.T) {
	done := toolrunnertest.Message(
		toolrunnertest.RawBlock(`{"type":"code_execution_tool_result","tool_use_id":"srvtoolu_c","content":{"type":"code_execution_result","stdout":"","stderr":"","return_code":0,"content":[]}}`),
		toolrunnertest.Say("so"))
	for name, add := range map[string]func(c *runtest.Conversation) error{
		"a follow-up":      func(c *runtest.Conversation) error { return c.AppendMessages(runtest.User("more")) },
		"a system message": func(c *runtest.Conversation) error { return c.AppendMessages(runtest.User("more"), system("be brief")) },
		"a new tool":       func(c *runtest.Conversation) error { return c.AddTools(runtest.Says("other", "x")) },
		"a removal":        func(c *runtest.Conversation) error { c.RemoveToolsByNames("spare"); return nil },
		"a compaction":     func(c *runtest.Conversation) error { return c.CompactBeforeNextTurn(runtest.NoCompactionConfig()) },
		"a compaction that is due": func(c *runtest.Conversation) error {
			c.Params.AutoCompact = toolrunner.AutoCompact{Threshold: 1, Client: &toolrunner.ClientCompaction{}}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			var ran runtest.Journal
			c := runtest.StartUnchecked(t, toolrunner.Params{}, runtest.Tools(ran.Tool("work"), ran.Tool("spare")), fromCode(), done)
			c.Server.Otherwise(toolrunnertest.Text("done"))
			if name == "a compaction" {
				c.Server.Add(runtest.SummaryReply("so far"))
			}
			c.MustPlay(t, func(turn *toolrunner.Turn) {
				if turn.Iteration() == 1 && ran.Entries == nil {
					mustDo(t, "adding", add(c))
				}
			})
			ran.Want(t, "a")
			c.WantRequest(t, 1, "user 'hi'", "assistant server_tool_use call(a)", "user result(a)")
			if c.Request(t, 1).Field("compaction") != nil {
				t.Error("the results went into a compaction")
			}
		})
	}
}

// F19: a call in the reply to a compaction goes with it: nobody would answer it.
func TestCallInACompactionDoesNotBreakTheConversation(t *testing.T) {
	c, ran := start(t, toolrunner.Params{},
		toolrunnertest.Message(toolrunnertest.Compaction("so far"), toolrunnertest.Call("a", "work", `{}`)).StopReason("compaction"),
		toolrunnertest.Text("done"), toolrunnertest.Text("resumed"))
	mustDo(t, "CompactBeforeNextTurn()", c.CompactBeforeNextTurn(runtest.NoCompactionConfig()))
	mustDo(t, "AppendMessages()", c.AppendMessages(runtest.User("go on")))
	var snapshot []byte
	c.MustPlay(t, func(turn *toolrunner.Turn) {
		if turn.Iteration() == 0 {
			var err error
			snapshot, err = c.Snapshot()
			mustDo(t, "Snapshot()", err)
			if calls := turn.Calls(); len(calls) != 0 {
				t.Errorf("Calls() = %v, want none", calls)
			}
		}
	})
	ran.Want(t)
	resumed := c.Resume(t, snapshot, runtest.Asking(""), ran.Tool("work"))
	mustDo(t, "the resumed loop", resumed.Play(t.Context(), nil))
	ran.Want(t)
}
