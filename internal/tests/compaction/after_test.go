package compaction_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// E189: the error comes once, nothing changes, and the run goes on.
func TestAFailedCompactionChangesNothing(t *testing.T) {
	broken := func(t *testing.T, streaming bool) toolrunnertest.Reply {
		t.Helper()
		if streaming {
			return runtest.SummaryReply("s").EndAfter(3)
		}
		return runtest.SummaryReply("s").CutAt(40)
	}
	fixed := func(r toolrunnertest.Reply) func(*testing.T, bool) toolrunnertest.Reply {
		return func(*testing.T, bool) toolrunnertest.Reply { return r }
	}
	tests := []struct {
		name  string
		reply func(*testing.T, bool) toolrunnertest.Reply
		is    func(error) bool
	}{
		{name: "overloaded", reply: fixed(toolrunnertest.Status(529, "overloaded_error", "Overloaded")), is: runtest.HasStatus(529)},
		{name: "refused", reply: fixed(toolrunnertest.Status(http.StatusBadRequest, "invalid_request_error", "too long")), is: runtest.HasStatus(400)},
		{name: "cut", reply: broken, is: func(err error) bool { return err != nil }},
		{name: "no message", reply: fixed(toolrunnertest.RawJSON(`{"content":7}`)), is: func(err error) bool {
			var reply *toolrunner.ReplyError
			return errors.As(err, &reply)
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			runtest.BothWays(t, func(t *testing.T, streaming bool) {
				s := runtest.NewStage(t, nil, runtest.LookAt("c1"), tt.reply(t, streaming), toolrunnertest.Text("done"))
				_, err := s.Play(t.Context(), streaming, runtest.CompactWhen(t, s, 0))
				if !tt.is(err) {
					t.Errorf("the run's error = %v, want that of the compaction", err)
				}
				if got := s.Outcome(); got != toolrunner.OutcomeFailed {
					t.Errorf("Outcome() = %v, want failed", got)
				}
				if got := s.LastMessage().ID; got != "msg_1" {
					t.Errorf("LastMessage().ID = %s, want msg_1", got)
				}
				if turns, err := s.Play(t.Context(), streaming, nil); err != nil || !slices.Equal(turns, []string{"done"}) {
					t.Errorf("going on: turns = %q, error = %v; want done", turns, err)
				}
				requests := s.Srv.Requests()
				if got, want := requests[2].Field("messages"), requests[1].Field("messages"); string(got) != string(want) {
					t.Errorf("the history changed to %s, want %s", got, want)
				}
				if diff := cmp.Diff([]string{"c1"}, s.Ran); diff != "" {
					t.Errorf("calls that ran (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// E189: cancelled on the way, and before it.
func TestACancelledCompactionChangesNothing(t *testing.T) {
	errEnough := errors.New("enough")
	runtest.BothWays(t, func(t *testing.T, streaming bool) {
		ctx, cancel := context.WithCancelCause(t.Context())
		reply := toolrunnertest.Func(func(*toolrunnertest.Request) toolrunnertest.Reply {
			cancel(errEnough)
			return runtest.SummaryReply("s").Delay(1 << 40)
		})
		s := runtest.NewStage(t, nil, runtest.LookAt("c1"), reply, toolrunnertest.Text("done"))
		if _, err := s.Play(ctx, streaming, runtest.CompactWhen(t, s, 0)); !errors.Is(err, errEnough) {
			t.Errorf("the run's error = %v, want one that wraps %v", err, errEnough)
		}
		if turns, err := s.Play(t.Context(), streaming, nil); err != nil || !slices.Equal(turns, []string{"done"}) {
			t.Errorf("going on: turns = %q, error = %v; want done", turns, err)
		}
		requests := s.Srv.Requests()
		if got, want := requests[2].Field("messages"), requests[1].Field("messages"); string(got) != string(want) {
			t.Errorf("the history changed to %s, want %s", got, want)
		}
	})
}

func TestParametersThatShapeAReplyAreLeftOutOnce(t *testing.T) {
	format := anthropic.BetaJSONOutputFormatParam{Schema: json.RawMessage(`{"type":"object"}`)}
	tests := []struct {
		name   string
		choice anthropic.BetaToolChoiceUnionParam
		sent   string // while compacting
		after  string
	}{
		{name: "auto", choice: anthropic.BetaToolChoiceUnionParam{OfAuto: &anthropic.BetaToolChoiceAutoParam{}}, sent: `{"type":"auto"}`, after: `{"type":"auto"}`},
		{name: "none", choice: anthropic.BetaToolChoiceUnionParam{OfNone: &anthropic.BetaToolChoiceNoneParam{}}, sent: `{"type":"none"}`, after: `{"type":"none"}`},
		{name: "any", choice: anthropic.BetaToolChoiceUnionParam{OfAny: &anthropic.BetaToolChoiceAnyParam{}}, after: `{"type":"any"}`},
		{name: "tool", choice: anthropic.BetaToolChoiceUnionParam{OfTool: &anthropic.BetaToolChoiceToolParam{Name: "look"}}, after: `{"name":"look","type":"tool"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fallbacks := []anthropic.BetaFallbackParam{{Model: "f"}}
			fallbacks[0].OutputConfig.Format = format
			s := runtest.NewStage(t, func(p *toolrunner.Params) {
				p.StopSequences = []string{"STOP"}
				p.OutputConfig = anthropic.BetaOutputConfigParam{Format: format, Effort: "low"}
				p.OutputFormat = format //nolint:staticcheck // callers may still set it
				p.ToolChoice = tt.choice
				p.Fallbacks.OfBetaFallbackArray = fallbacks
				p.ContextManagement = anthropic.BetaContextManagementConfigParam{
					Edits: []anthropic.BetaContextManagementConfigEditUnionParam{{OfClearToolUses20250919: &anthropic.BetaClearToolUses20250919EditParam{}}},
				}
			}, runtest.SummaryReply("s"), toolrunnertest.Text("{}"))
			runtest.Schedule(t, s)
			if _, err := s.Play(t.Context(), false, nil); err != nil {
				t.Fatal(err)
			}
			compact, send := s.Srv.Requests()[0], s.Srv.Requests()[1]
			for _, name := range []string{"stop_sequences", "output_format", "context_management"} {
				if got := compact.Field(name); got != nil {
					t.Errorf("%s = %s beside the compaction, want none", name, got)
				}
				if send.Field(name) == nil {
					t.Errorf("%s is not sent afterwards", name)
				}
			}
			for name, want := range map[string][2]string{
				"tool_choice":   {tt.sent, tt.after},
				"output_config": {`{"effort":"low"}`, `{"effort":"low","format":{"schema":{"type":"object"},"type":"json_schema"}}`},
				"fallbacks":     {`[{"model":"f"}]`, `[{"model":"f","output_config":{"format":{"schema":{"type":"object"},"type":"json_schema"}}}]`},
			} {
				if diff := cmp.Diff(want, [2]string{string(compact.Field(name)), string(send.Field(name))}); diff != "" {
					t.Errorf("%s, while compacting and after (-want +got):\n%s", name, diff)
				}
			}
			if fallbacks[0].OutputConfig.Format.Schema == nil {
				t.Error("the caller's fallbacks were changed")
			}
		})
	}
}

// E45, E46, E47: tools across a compaction.
func TestToolChangesGoOutWithTheCompactionAndStay(t *testing.T) {
	call := func(id, name string) toolrunnertest.Reply {
		return toolrunnertest.Message(toolrunnertest.Call(id, name, `{}`))
	}
	runtest.BothWays(t, func(t *testing.T, streaming bool) {
		s := runtest.NewStage(t, nil,
			call("c1", "look"), runtest.SummaryReply("s"), toolrunnertest.Message(
				toolrunnertest.Call("c2", "look", `{}`), toolrunnertest.Call("c3", "added", `{}`), toolrunnertest.Call("c4", "again", `{}`)),
			toolrunnertest.Text("done"))
		if err := s.AddTools(s.Looker("again")); err != nil {
			t.Fatal(err)
		}
		_, err := s.Play(t.Context(), streaming, func(n int, _ *toolrunner.Turn) {
			var err error
			switch n {
			case 0:
				s.RemoveToolsByNames("again")
				err = s.AddTools(s.Looker("added"))
				runtest.Schedule(t, s)
			case 1:
				s.RemoveToolsByNames("look")
				err = s.AddTools(s.Looker("again"))
			}
			if err != nil {
				t.Fatal(err)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		want := []string{
			"send user(text) system(tool_addition)",
			"compact user(text) system(tool_addition) assistant(tool_use) user(tool_result) system(tool_removal tool_addition)",
			"send assistant(compaction)",
			"send assistant(compaction) assistant(tool_use tool_use tool_use) user(tool_result tool_result tool_result) system(tool_removal tool_addition)",
		}
		if diff := cmp.Diff(want, s.Flows()); diff != "" {
			t.Errorf("requests (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"c1", "c3", "c4"}, s.Ran); diff != "" {
			t.Errorf("calls that ran (-want +got):\n%s", diff)
		}
		s.Check(t)
	})
}

func TestToolChangesInACompactionBlockCount(t *testing.T) {
	block := toolrunnertest.RawBlock(`{"type":"compaction","content":"s","tool_changes":[{"type":"tool_removal","tool":{"type":"tool_reference","name":"look"}}]}`)
	s := runtest.NewStage(t, nil, toolrunnertest.Message(block), runtest.LookAt("c1"), toolrunnertest.Text("done"))
	runtest.Schedule(t, s)
	if _, err := s.Play(t.Context(), false, nil); err != nil {
		t.Fatal(err)
	}
	if got := string(s.Srv.Requests()[2].ToolResult("c1")); len(s.Ran) > 0 || !strings.Contains(got, "Tool 'look' not found") {
		t.Errorf("calls %q ran, the model reads %s; want none, and that it is not found", s.Ran, got)
	}
}

// S15: what the caller says around a compaction keeps its place.
func TestFollowUpsKeepTheirPlaceAroundACompaction(t *testing.T) {
	runtest.BothWays(t, func(t *testing.T, streaming bool) {
		s := runtest.NewStage(t, nil, runtest.LookAt("c1"), runtest.SummaryReply("s"), toolrunnertest.Text("one"), toolrunnertest.Text("two"))
		follow := func(text string) {
			if err := s.AppendMessages(runtest.User(text)); err != nil {
				t.Errorf("AppendMessages(%q) error = %v", text, err)
			}
		}
		_, err := s.Play(t.Context(), streaming, func(n int, turn *toolrunner.Turn) {
			switch n {
			case 0:
				follow("before it")
				runtest.Schedule(t, s)
				follow("still before it")
			case 1:
				follow("while it streams")
				turn.Text()
				follow("after it")
			case 2:
				follow("later")
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		want := []string{
			"send user(text)",
			"compact user(text) assistant(tool_use) user(tool_result) user(text) user(text)",
			"send assistant(compaction) user(text) user(text)",
			"send assistant(compaction) user(text) user(text) assistant(text) user(text)",
		}
		if diff := cmp.Diff(want, s.Flows()); diff != "" {
			t.Errorf("requests (-want +got):\n%s", diff)
		}
		s.Check(t)
	})
}

// The loop body ends with the loop; the compaction does not.
func TestTheConversationIsTheCallersAfterACompactionThatEndedTheLoop(t *testing.T) {
	runtest.BothWays(t, func(t *testing.T, streaming bool) {
		for _, broken := range []bool{true, false} {
			s := runtest.NewStage(t, nil, toolrunnertest.Text("done"), runtest.SummaryReply("s"), toolrunnertest.Text("again"))
			loop := s.All(t.Context())
			if streaming {
				loop = s.AllStreaming(t.Context())
			}
			n := 0
			for turn, err := range loop {
				if err != nil {
					t.Fatal(err)
				}
				if n++; n == 1 {
					runtest.Schedule(t, s)
				} else if turn.Text(); broken {
					break
				}
			}
			if got := sketchOf(t, s.Messages()); got != "assistant(compaction)" {
				t.Errorf("the history is %s, want the summary", got)
			}
			if err := s.SetMessages(runtest.User("anew")); err != nil {
				t.Fatalf("broken off %v: SetMessages() error = %v, want none: no compaction is under way", broken, err)
			}
			if turns, err := s.Play(t.Context(), streaming, nil); err != nil || !slices.Equal(turns, []string{"again"}) {
				t.Errorf("going on: turns = %q, error = %v; want again", turns, err)
			}
		}
	})
}

// A takeover after a compaction, when the next request has failed.
func TestATakeoverAfterACompactionFindsTheShortHistory(t *testing.T) {
	s := runtest.NewStage(t, nil, runtest.LookAt("c1"), runtest.LookAt("c2"), runtest.SummaryReply("s"),
		toolrunnertest.Status(529, "overloaded_error", "Overloaded"), toolrunnertest.Text("done"))
	if _, err := s.Play(t.Context(), false, runtest.CompactWhen(t, s, 1)); !runtest.HasStatus(529)(err) {
		t.Fatalf("the run's error = %v, want the API's", err)
	}
	if err := s.SetMessages(append(s.Messages(), runtest.User("and?"))...); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Play(t.Context(), false, nil); err != nil {
		t.Fatal(err)
	}
	if got, want := s.Flows()[4], "send assistant(compaction) user(text)"; got != want {
		t.Errorf("the last request is %q, want %q", got, want)
	}
	s.Check(t)
}

func sketchOf(t *testing.T, messages []anthropic.BetaMessageParam) string {
	t.Helper()
	raws := make([]json.RawMessage, len(messages))
	for i, m := range messages {
		var err error
		if raws[i], err = m.MarshalJSON(); err != nil {
			t.Fatal(err)
		}
	}
	return runtest.Sketch(raws)
}
