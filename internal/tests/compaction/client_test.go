package compaction_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// promptOf returns the text of the last message of a request.
func promptOf(t *testing.T, q *toolrunnertest.Request) string {
	t.Helper()
	var m struct {
		Role    string
		Content []struct{ Text string }
	}
	messages := q.Messages()
	if err := json.Unmarshal(messages[len(messages)-1], &m); err != nil || m.Role != "user" || len(m.Content) != 1 {
		t.Fatalf("the last message is %s, want one text of the user", messages[len(messages)-1])
	}
	return m.Content[0].Text
}

// S16: what the zero values of ClientCompaction ask for, and what is not asked.
func TestASummaryByTheClientIsARequestOfItsOwn(t *testing.T) {
	runtest.BothWays(t, func(t *testing.T, streaming bool) {
		s := runtest.NewStage(t, func(p *toolrunner.Params) {
			autoCompact(&toolrunner.ClientCompaction{})(p)
			p.System = []anthropic.BetaTextBlockParam{{Text: "be brief"}}
			p.Thinking = anthropic.BetaThinkingConfigParamUnion{OfEnabled: &anthropic.BetaThinkingConfigEnabledParam{BudgetTokens: 9000}}
			p.StopSequences = []string{"STOP"}
			p.ToolChoice.OfAny = &anthropic.BetaToolChoiceAnyParam{}
			p.OutputConfig.Format.Schema = json.RawMessage(`{}`)
		}, runtest.LookAt("c1").Usage(1000, 0), toolrunnertest.Text("it was seen").Usage(1200, 30), toolrunnertest.Text("done").Usage(50, 1))
		s.Srv.Ignore(toolrunnertest.RuleThinkingBudget, toolrunnertest.RuleThinkingToolChoice) // all at once, to see what is left out
		turns, err := s.Play(t.Context(), streaming, nil)
		if err != nil || !slices.Equal(turns, []string{"tool_use", "done"}) {
			t.Fatalf("turns = %q, error = %v; want no turn for the summary", turns, err)
		}
		want := []string{
			"send user(text)", "send user(text) assistant(tool_use) user(tool_result) user(text)", "send user(text)",
		}
		if diff := cmp.Diff(want, s.Flows()); diff != "" {
			t.Errorf("requests (-want +got):\n%s", diff)
		}
		q := s.Srv.Requests()[1]
		for name, want := range map[string]string{
			"model": `"m"`, "max_tokens": "4096", "tool_choice": `{"type":"none"}`, "thinking": "", "stop_sequences": "",
			"output_config": "", "compaction": "", "stream": "", "system": string(s.Srv.Requests()[0].Field("system")),
			"tools": string(s.Srv.Requests()[0].Field("tools")),
		} {
			if got := string(q.Field(name)); got != want {
				t.Errorf("%s = %s, want %s", name, got, want)
			}
		}
		if got := promptOf(t, q); !strings.Contains(got, "ummar") {
			t.Errorf("the prompt is %q, want one that asks for a summary", got)
		}
		if got := promptOf(t, s.Srv.Requests()[2]); !strings.HasSuffix(got, "it was seen") {
			t.Errorf("the history is %q, want one that ends with the summary", got)
		}
		if got := s.Usage(); got.Replies != 3 || got.InputTokens != 2250 {
			t.Errorf("Usage() = %+v, want 3 replies and 2250 input tokens", got)
		}
		if got := s.IterationCount(); got != 2 {
			t.Errorf("IterationCount() = %d, want 2", got)
		}
		s.Check(t, toolrunnertest.Takeover(toolrunnertest.Nth(2)))
	})
}

func TestASummaryByTheClientHasItsOwnModelPromptAndLength(t *testing.T) {
	s := runtest.NewStage(t, autoCompact(&toolrunner.ClientCompaction{Model: "small", Prompt: "In three words:", MaxTokens: 12}),
		runtest.LookAt("c1").Usage(1000, 0), toolrunnertest.Text("seen it all"), toolrunnertest.Text("done"))
	if _, err := s.Play(t.Context(), false, nil); err != nil {
		t.Fatal(err)
	}
	q := s.Srv.Requests()[1]
	got := []string{q.Model(), string(q.Field("max_tokens")), promptOf(t, q)}
	if diff := cmp.Diff([]string{"small", "12", "In three words:"}, got); diff != "" {
		t.Errorf("model, max_tokens and prompt (-want +got):\n%s", diff)
	}
	if got := s.Srv.Requests()[2].Model(); got != "m" {
		t.Errorf("the next request is for %q, want m", got)
	}
}

// B040, S16: it is swapped only for a summary that is there and complete.
func TestTheHistoryStaysWithoutAWholeSummary(t *testing.T) {
	replies := map[string]toolrunnertest.Reply{
		"refused":   toolrunnertest.Text("no").StopReason("refusal"),
		"cut short": toolrunnertest.Text("so f").StopReason("max_tokens"),
		"empty":     toolrunnertest.Message(),
		"blank":     toolrunnertest.Text(" \n"),
		"calls":     runtest.LookAt("c9"),
		"paused":    toolrunnertest.Text("well").StopReason("pause_turn"),
	}
	for name, reply := range replies {
		t.Run(name, func(t *testing.T) {
			s := runtest.NewStage(t, autoCompact(&toolrunner.ClientCompaction{}), runtest.LookAt("c1").Usage(1000, 0), reply, toolrunnertest.Text("done"))
			if _, err := s.Play(t.Context(), false, nil); err != nil {
				t.Fatal(err)
			}
			if got, want := s.Flows()[2], "send user(text) assistant(tool_use) user(tool_result)"; got != want {
				t.Errorf("the next request is %q, want %q", got, want)
			}
			if diff := cmp.Diff([]string{"c1"}, s.Ran); diff != "" {
				t.Errorf("calls that ran (-want +got):\n%s", diff)
			}
			if got := s.Usage().Replies; got != 3 {
				t.Errorf("Usage().Replies = %d, want 3", got)
			}
			if diff := cmp.Diff([]string{"compaction skipped"}, s.Tape.Warnings()); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

// S16, E46: the model knows the tools that were added and taken away, after the
// messages that told it are gone; those of the same step as well.
func TestToolChangesOutliveASummaryByTheClient(t *testing.T) {
	call := func(id, name string) toolrunnertest.Reply {
		return toolrunnertest.Message(toolrunnertest.Call(id, name, `{}`))
	}
	s := runtest.NewStage(t, autoCompact(&toolrunner.ClientCompaction{}),
		call("c1", "look"), call("c2", "early").Usage(1000, 0), toolrunnertest.Text("in short"),
		toolrunnertest.Message(toolrunnertest.Call("c3", "early", `{}`), toolrunnertest.Call("c4", "late", `{}`), toolrunnertest.Call("c5", "look", `{}`)),
		toolrunnertest.Text("done"))
	_, err := s.Play(t.Context(), false, func(n int, _ *toolrunner.Turn) {
		switch n {
		case 0:
			if err := s.AddTools(s.Looker("early")); err != nil {
				t.Fatal(err)
			}
		case 1:
			s.RemoveToolsByNames("look")
			if err := s.AddTools(s.Looker("late")); err != nil {
				t.Fatal(err)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"send user(text)",
		"send user(text) assistant(tool_use) user(tool_result) system(tool_addition)",
		"send user(text) assistant(tool_use) user(tool_result) system(tool_addition) assistant(tool_use) user(tool_result) user(text)",
		"send user(text) system(tool_addition tool_removal tool_addition)",
		"send user(text) system(tool_addition tool_removal tool_addition) assistant(tool_use tool_use tool_use) user(tool_result tool_result tool_result)",
	}
	if diff := cmp.Diff(want, s.Flows()); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"c1", "c2", "c3", "c4"}, s.Ran); diff != "" {
		t.Errorf("calls that ran (-want +got):\n%s", diff)
	}
	s.Check(t, toolrunnertest.Takeover(toolrunnertest.Nth(3)))
}

// S19: it is in the records like any other request.
func TestASummaryByTheClientIsRecorded(t *testing.T) {
	s := runtest.NewStage(t, autoCompact(&toolrunner.ClientCompaction{}),
		runtest.LookAt("c1").Usage(1000, 0), toolrunnertest.Status(529, "overloaded_error", "Overloaded"), runtest.LookAt("c2").Usage(2000, 0), toolrunnertest.Text("in short"), toolrunnertest.Text("done"))
	for range 2 {
		_, _ = s.Play(t.Context(), false, nil)
	}
	var got []int
	for _, text := range []string{"request", "reply", "request failed"} {
		got = append(got, len(s.Tape.Named(text)))
	}
	if diff := cmp.Diff([]int{5, 4, 1}, got); diff != "" {
		t.Errorf("records of requests, replies and failures (-want +got):\n%s", diff)
	}
}
