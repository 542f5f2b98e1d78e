package survive_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// model replies with the script's n-th reply to a request with n replies in it.
func model(script ...toolrunnertest.Reply) func(q *toolrunnertest.Request) toolrunnertest.Reply {
	return func(q *toolrunnertest.Request) toolrunnertest.Reply {
		n := 0
		for _, raw := range q.Messages() {
			if strings.HasPrefix(string(raw), `{"role":"assistant"`) {
				n++
			}
		}
		return script[min(n, len(script)-1)].ID(fmt.Sprintf("msg_%d", n))
	}
}

func scenarios() []scenario {
	work := runtest.Tools(runtest.RepeatableTool("work"))
	call := func(id string) toolrunnertest.Block {
		return toolrunnertest.Call(id, "work", `{"n": 12345678901234567890, "a":[ ]}`)
	}
	two := toolrunnertest.Message(toolrunnertest.Thinking("", "c2ln+/="), call("a"), call("b"))
	done := toolrunnertest.Text("done")
	server := toolrunnertest.Message(toolrunnertest.Say("let me see"), toolrunnertest.ServerToolUse("srvtoolu_1", "web_search", `{}`)).StopReason("pause_turn")
	found := toolrunnertest.Message(toolrunnertest.RawBlock(`{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]}`), call("c"))
	forced := toolrunner.Params{}
	forced.ToolChoice.OfAny = &anthropic.BetaToolChoiceAnyParam{}
	return []scenario{
		{name: "plain", tools: work, model: model(two, toolrunnertest.Message(call("c")), done)},
		{name: "failures", tools: work, model: model(toolrunnertest.Message(call("a"), call("fail"), toolrunnertest.Call("x", "ghost", `{}`), call("b")), done)},
		{name: "paused", tools: work, model: model(server, found, done)},
		{name: "paused for nothing", tools: work, model: model(two, toolrunnertest.Message(toolrunnertest.ServerToolUse("srvtoolu_1", "web_search", `{}`)).StopReason("pause_turn"), toolrunnertest.Message().StopReason("end_turn"))},
		{name: "container", tools: work, model: model(two.Container("box_1"), toolrunnertest.Message(call("c")), done)},
		{name: "forced", params: forced, tools: work, model: model(two, done)},
		{name: "cut off", tools: work, model: model(two, toolrunnertest.Message(toolrunnertest.Say("x"), call("c")).StopReason("max_tokens"), done), body: func(e *recording, turn *toolrunner.Turn) {
			if turn.StopReason == "max_tokens" {
				e.must(e.AppendMessages(runtest.User("go on")))
				e.after = true
			}
		}},
		{name: "follow-ups", tools: work, model: model(two, done), body: func(e *recording, turn *toolrunner.Turn) {
			if e.first("append") {
				e.must(e.AppendMessages(runtest.User("also this"), runtest.Calling("given", "work")))
				e.after = true
			}
		}},
		{name: "follow-ups to a paused turn", tools: work, model: model(server, found, done), body: func(e *recording, turn *toolrunner.Turn) {
			if e.first("append") {
				e.must(e.AppendMessages(runtest.User("also this"), runtest.Calling("given", "work"), runtest.Answering("given", "here")))
				e.after = true
			}
		}},
		{name: "results by hand", tools: work, model: model(two, done), body: func(e *recording, turn *toolrunner.Turn) {
			if e.first("append") {
				e.must(e.AppendMessages(runtest.Answering("a", "by hand")))
				e.after = true
			}
		}},
		{name: "edited results", tools: work, model: model(two, done), body: func(e *recording, turn *toolrunner.Turn) {
			if e.first("edit") {
				results, err := turn.Results(e.t.Context())
				e.must(err)
				results[0].Content = toolrunner.TextResult("edited").Content
				results[1] = toolrunner.ErrorResult("replaced")
				e.after, e.edited = true, true
			}
		}},
		{name: "retried", tools: work, model: model(two, done), body: func(e *recording, turn *toolrunner.Turn) {
			if e.first("retry") {
				_, err := turn.Results(e.t.Context())
				e.must(err)
				e.must(turn.Retry())
				e.after = true
			}
		}},
		{name: "replaced", tools: work, model: model(two, toolrunnertest.Message(call("c")), done), body: func(e *recording, turn *toolrunner.Turn) {
			if turn.Iteration() == 2 && e.first("replace") {
				_, err := turn.Results(e.t.Context())
				e.must(err)
				e.must(turn.Replace(turn.ToParam(), runtest.Answering("c", "instead"), runtest.Calling("d", "work")))
				e.after = true
			}
		}},
		{name: "replaced by the same calls", tools: work, model: model(two, done), body: func(e *recording, turn *toolrunner.Turn) {
			if e.first("replace") {
				_, err := turn.Results(e.t.Context())
				e.must(err)
				e.must(turn.Replace(runtest.User("think again"), turn.ToParam()))
				e.after = true
			}
		}},
		{name: "set", tools: work, model: model(two, done), body: func(e *recording, turn *toolrunner.Turn) {
			if e.first("set") {
				e.must(e.SetMessages(append(e.Messages()[:1], runtest.User("anew"), runtest.Calling("d", "work"))...))
				e.after = true
			}
		}},
		{name: "left", tools: work, model: model(two, done), body: func(e *recording, turn *toolrunner.Turn) {
			e.after = true
			e.once["break"] = e.first("left")
		}},
		{name: "cancelled", tools: work, model: model(two, done), body: func(e *recording, turn *toolrunner.Turn) {
			e.after = true
			if e.first("cancel") {
				e.cancel()
			}
		}},
		{name: "failed", tools: work, model: model(two, done), body: func(e *recording, turn *toolrunner.Turn) {
			e.after, e.fail = true, e.first("fail")
		}},
		{name: "compacted on demand", tools: work, model: model(two, toolrunnertest.Message(toolrunnertest.Compaction("so far")), done), body: func(e *recording, turn *toolrunner.Turn) {
			if e.first("compact") {
				e.must(e.CompactBeforeNextTurn(anthropic.BetaCompactionConfigUnionParam{}))
				e.after = true
			}
		}},
	}
}

// toolScenarios are about tools that come and go.
func toolScenarios() []scenario {
	work, late := runtest.Tools(runtest.RepeatableTool("work"), runtest.RepeatableTool("spare")), runtest.Tools(runtest.RepeatableTool("late"))
	call := func(id, tool string) toolrunnertest.Block { return toolrunnertest.Call(id, tool, `{}`) }
	change := func(change func(e *recording, iteration int)) func(e *recording, turn *toolrunner.Turn) {
		return func(e *recording, turn *toolrunner.Turn) {
			change(e, turn.Iteration())
			e.after = e.after || e.once["last"]
		}
	}
	replies := []toolrunnertest.Reply{
		toolrunnertest.Message(call("a", "work")), toolrunnertest.Message(call("b", "late"), call("c", "spare")),
		toolrunnertest.Message(call("d", "late"), call("e", "spare")), toolrunnertest.Message(call("f", "late")), toolrunnertest.Text("done"),
	}
	// compacting is a model whose n-th reply asks for a compaction.
	compacting := func(n int) func(q *toolrunnertest.Request) toolrunnertest.Reply {
		before, after := slices.Clone(replies), slices.Concat(replies[:1], replies[n:])
		before[n-1] = before[n-1].Usage(60, 5)
		return func(q *toolrunnertest.Request) toolrunnertest.Reply {
			first := string(q.Messages()[0])
			switch {
			case strings.Contains(q.LastText(), "Summarize"):
				return toolrunnertest.Text("all so far")
			case q.Field("compaction") != nil:
				return toolrunnertest.Message(toolrunnertest.RawBlock(
					`{"type":"compaction","content":"so far","tool_changes":[{"type":"tool_addition","tool":{"type":"tool_definition","definition":{"name":"late","input_schema":{"type":"object"}}}},{"type":"tool_removal","tool":{"type":"tool_reference","name":"spare"}}]}`))
			case strings.Contains(first, `"compaction"`):
				return model(after...)(q)
			case strings.Contains(first, "This is a summary"):
				return model(after[1:]...)(q)
			}
			return model(before...)(q)
		}
	}
	added := change(func(e *recording, _ int) {
		if e.first("last") {
			e.must(e.AddTools(late...))
		}
	})
	removed := change(func(e *recording, iteration int) {
		if iteration == 1 && e.first("add") {
			e.must(e.AddTools(late...))
		}
		if iteration == 2 && e.first("last") {
			e.RemoveToolsByNames("late", "spare")
		}
	})
	client := toolrunner.Params{AutoCompact: toolrunner.AutoCompact{Threshold: 50, Client: &toolrunner.ClientCompaction{}}}
	server := toolrunner.Params{AutoCompact: toolrunner.AutoCompact{Threshold: 50}}
	return []scenario{
		{name: "added", tools: work, later: late, model: model(replies...), body: added},
		{name: "removed", tools: work, later: late, model: model(replies...), body: removed},
		{name: "added and compacted by the client", params: client, tools: work, later: late, model: compacting(1), body: added},
		{name: "removed and compacted by the client", params: client, tools: work, later: late, model: compacting(2), body: removed},
		{name: "added and compacted by the server", params: server, tools: work, later: late, model: compacting(1), body: added},
		{name: "removed and compacted by the server", params: server, tools: work, later: late, model: compacting(2), body: removed},
	}
}

// B013, B042, B049, B124: a run that is taken up at any moment, in a new process,
// goes on as if nothing had happened: with the same requests, byte for byte.
func TestRunIsTakenUpAtAnyMoment(t *testing.T) {
	for _, s := range append(scenarios(), toolScenarios()...) {
		t.Run(s.name, func(t *testing.T) {
			runtest.BothWays(t, s.takeUpAnywhere)
		})
	}
}
