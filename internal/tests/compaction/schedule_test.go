// Package compaction_test tests compaction, by the API and by the client.
package compaction_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"
	"github.com/google/go-cmp/cmp"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// E176, E177, E179, E183, E186, E187, E188, E128, E129: each moment.
func TestACompactionComesOnceTheTurnIsComplete(t *testing.T) {
	const (
		hi      = "user(text)"
		called  = hi + " assistant(tool_use) user(tool_result)"
		summary = "assistant(compaction)"
	)
	paused := toolrunnertest.Text("so far").StopReason("pause_turn")
	tests := []struct {
		name    string
		at      int // -1: before the run
		limit   int
		replies []toolrunnertest.Reply
		flows   []string
		turns   []string
		outcome toolrunner.Outcome
		count   int
		last    string // id of the last message
		warned  []string
	}{
		{
			name: "before the first request", at: -1,
			replies: []toolrunnertest.Reply{runtest.SummaryReply("s"), toolrunnertest.Text("done")},
			flows:   []string{"compact " + hi, "send " + summary},
			turns:   []string{"compaction", "done"}, outcome: toolrunner.OutcomeCompleted, count: 1, last: "msg_2",
		},
		{
			name:    "in a tool turn",
			replies: []toolrunnertest.Reply{runtest.LookAt("c1"), runtest.SummaryReply("s"), toolrunnertest.Text("done")},
			flows:   []string{"send " + hi, "compact " + called, "send " + summary},
			turns:   []string{"tool_use", "compaction", "done"}, outcome: toolrunner.OutcomeCompleted, count: 2, last: "msg_3",
		},
		{
			name:    "in a paused turn",
			replies: []toolrunnertest.Reply{paused, toolrunnertest.Text("done"), runtest.SummaryReply("s")},
			flows:   []string{"send " + hi, "send user(text) assistant(text)", "compact user(text) assistant(text) assistant(text)"},
			turns:   []string{"so far", "done", "compaction"}, outcome: toolrunner.OutcomeCompleted, count: 2, last: "msg_3",
		},
		{
			name:    "in a paused turn that goes on with calls",
			replies: []toolrunnertest.Reply{paused, runtest.LookAt("c1"), runtest.SummaryReply("s"), toolrunnertest.Text("done")},
			flows: []string{
				"send " + hi, "send user(text) assistant(text)",
				"compact user(text) assistant(text) assistant(tool_use) user(tool_result)", "send " + summary,
			},
			turns: []string{"so far", "tool_use", "compaction", "done"}, outcome: toolrunner.OutcomeCompleted, count: 3, last: "msg_4",
		},
		{
			name:    "in the final turn",
			replies: []toolrunnertest.Reply{toolrunnertest.Text("done"), runtest.SummaryReply("s")},
			flows:   []string{"send " + hi, "compact user(text) assistant(text)"},
			turns:   []string{"done", "compaction"}, outcome: toolrunner.OutcomeCompleted, count: 1, last: "msg_2",
		},
		{
			name:    "in a final turn that was cut short without calls",
			replies: []toolrunnertest.Reply{toolrunnertest.Text("do").StopReason("max_tokens"), runtest.SummaryReply("s")},
			flows:   []string{"send " + hi, "compact user(text) assistant(text)"},
			turns:   []string{"do", "compaction"}, outcome: toolrunner.OutcomeTruncated, count: 1, last: "msg_2",
		},
		{
			name:    "in a final turn that was cut short with calls",
			replies: []toolrunnertest.Reply{runtest.LookAt("c1").StopReason("max_tokens")},
			flows:   []string{"send " + hi},
			turns:   []string{"max_tokens"}, outcome: toolrunner.OutcomeTruncated, count: 1, last: "msg_1",
			warned: []string{"calls not run", "compaction skipped"},
		},
		{
			name: "in the final turn, at the limit", limit: 1,
			replies: []toolrunnertest.Reply{toolrunnertest.Text("done"), runtest.SummaryReply("s")},
			flows:   []string{"send " + hi, "compact user(text) assistant(text)"},
			turns:   []string{"done", "compaction"}, outcome: toolrunner.OutcomeCompleted, count: 1, last: "msg_2",
		},
		{
			name: "in a tool turn, at the limit", limit: 1,
			replies: []toolrunnertest.Reply{runtest.LookAt("c1")},
			flows:   []string{"send " + hi},
			turns:   []string{"tool_use"}, outcome: toolrunner.OutcomeMaxIterations, count: 1, last: "msg_1",
		},
		{
			name: "in a paused turn, at the limit", limit: 1,
			replies: []toolrunnertest.Reply{paused},
			flows:   []string{"send " + hi},
			turns:   []string{"so far"}, outcome: toolrunner.OutcomeMaxIterations, count: 1, last: "msg_1",
		},
		{
			name: "is not counted", limit: 2,
			replies: []toolrunnertest.Reply{runtest.LookAt("c1"), runtest.SummaryReply("s"), toolrunnertest.Text("done")},
			flows:   []string{"send " + hi, "compact " + called, "send " + summary},
			turns:   []string{"tool_use", "compaction", "done"}, outcome: toolrunner.OutcomeCompleted, count: 2, last: "msg_3",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			runtest.BothWays(t, func(t *testing.T, streaming bool) {
				s := runtest.NewStage(t, func(p *toolrunner.Params) { p.MaxIterations = tt.limit }, tt.replies...)
				if tt.at < 0 {
					runtest.Schedule(t, s)
				}
				turns, err := s.Play(t.Context(), streaming, runtest.CompactWhen(t, s, tt.at))
				if err != nil {
					t.Fatalf("the run failed: %v", err)
				}
				if diff := cmp.Diff(tt.flows, s.Flows()); diff != "" {
					t.Errorf("requests (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(tt.turns, turns); diff != "" {
					t.Errorf("turns (-want +got):\n%s", diff)
				}
				if got := s.Outcome(); got != tt.outcome {
					t.Errorf("Outcome() = %v, want %v", got, tt.outcome)
				}
				if got := s.IterationCount(); got != tt.count {
					t.Errorf("IterationCount() = %d, want %d", got, tt.count)
				}
				if got := s.LastMessage().ID; got != tt.last {
					t.Errorf("LastMessage().ID = %s, want %s", got, tt.last)
				}
				if diff := cmp.Diff(tt.warned, s.Tape.Warnings()); diff != "" {
					t.Errorf("warnings (-want +got):\n%s", diff)
				}
				s.Check(t)
			})
		})
	}
}

// E183: with members that nobody knows, in their order, to the byte.
func TestTheSummaryIsTheHistoryByteForByte(t *testing.T) {
	const block = `{"signature":"s+/=","type":"compaction","new_member":{"b":1.0,"a":null},"content":"a < b & \"c\" é","encrypted_content":null,"tool_changes":[]}`
	runtest.BothWays(t, func(t *testing.T, streaming bool) {
		s := runtest.NewStage(t, nil, runtest.LookAt("c1"), toolrunnertest.Message(toolrunnertest.RawBlock(block)), runtest.LookAt("c2"), toolrunnertest.Text("done"))
		if _, err := s.Play(t.Context(), streaming, runtest.CompactWhen(t, s, 0)); err != nil {
			t.Fatal(err)
		}
		want := `{"role":"assistant","content":[` + block + `]}`
		for i, q := range s.Srv.Requests()[2:] {
			if got := string(q.Messages()[0]); got != want {
				t.Errorf("request %d begins with\n%s\nwant\n%s", i+2, got, want)
			}
		}
		if got, want := len(s.Messages()), 4; got != want {
			t.Errorf("len(Messages()) = %d, want %d", got, want)
		}
		s.Check(t)
	})
}

func TestTheLastScheduleCounts(t *testing.T) {
	instructions := func(text string) anthropic.BetaCompactionConfigUnionParam {
		return anthropic.BetaCompactionConfigUnionParam{OfSummarize: &anthropic.BetaSummarizeCompactionParam{Instructions: anthropic.String(text)}}
	}
	raw := param.Override[anthropic.BetaCompactionConfigUnionParam](json.RawMessage(`{"type":"newer","depth":3}`))
	tests := []struct {
		name    string
		configs []anthropic.BetaCompactionConfigUnionParam
		want    string
	}{
		{name: "none", configs: []anthropic.BetaCompactionConfigUnionParam{{}}, want: `{"type":"summarize"}`},
		{name: "own", configs: []anthropic.BetaCompactionConfigUnionParam{{}, instructions("names")}, want: `{"instructions":"names","type":"summarize"}`},
		{name: "none after own", configs: []anthropic.BetaCompactionConfigUnionParam{instructions("names"), {}}, want: `{"type":"summarize"}`},
		{name: "raw", configs: []anthropic.BetaCompactionConfigUnionParam{raw}, want: `{"type":"newer","depth":3}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := runtest.NewStage(t, nil, runtest.SummaryReply("s"), toolrunnertest.Text("done"))
			for _, config := range tt.configs {
				if err := s.CompactBeforeNextTurn(config); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := s.Play(t.Context(), false, nil); err != nil {
				t.Fatal(err)
			}
			if got := string(s.Srv.Requests()[0].Field("compaction")); got != tt.want {
				t.Errorf("compaction = %s, want %s", got, tt.want)
			}
		})
	}
}

// E184: the history stays, and the run goes on, or ends with its last reply.
func TestWithoutASummaryTheHistoryStays(t *testing.T) {
	replies := map[string]toolrunnertest.Reply{
		"null":     runtest.SummaryReply(""),
		"empty":    toolrunnertest.Message(toolrunnertest.RawBlock(`{"type":"compaction","content":""}`)),
		"no block": toolrunnertest.Message().StopReason("compaction"),
		"a text":   toolrunnertest.Text("I would rather not").StopReason("refusal"),
	}
	for name, reply := range replies {
		t.Run(name, func(t *testing.T) {
			runtest.BothWays(t, func(t *testing.T, streaming bool) {
				s := runtest.NewStage(t, nil, runtest.LookAt("c1"), reply, toolrunnertest.Text("done"), reply)
				turns, err := s.Play(t.Context(), streaming, func(n int, turn *toolrunner.Turn) {
					if n == 0 || n == 2 {
						runtest.Schedule(t, s)
					}
					if n == 1 && s.LastMessage().ID != "msg_1" {
						turn.Text() // reads the reply
						t.Errorf("LastMessage().ID = %s in the body of what brought nothing, want msg_1", s.LastMessage().ID)
					}
				})
				if err != nil || len(turns) != 4 {
					t.Fatalf("turns = %q, error = %v; want 4 and none", turns, err)
				}
				want := []string{
					"send user(text)", "compact user(text) assistant(tool_use) user(tool_result)",
					"send user(text) assistant(tool_use) user(tool_result)",
					"compact user(text) assistant(tool_use) user(tool_result) assistant(text)",
				}
				if diff := cmp.Diff(want, s.Flows()); diff != "" {
					t.Errorf("requests (-want +got):\n%s", diff)
				}
				if got := s.LastMessage().ID; got != "msg_3" {
					t.Errorf("LastMessage().ID = %s, want msg_3", got)
				}
				if diff := cmp.Diff([]string{"compaction skipped", "compaction skipped"}, s.Tape.Warnings()); diff != "" {
					t.Errorf("warnings (-want +got):\n%s", diff)
				}
				if got := s.Outcome(); got != toolrunner.OutcomeCompleted {
					t.Errorf("Outcome() = %v, want completed", got)
				}
				s.Check(t)
			})
		})
	}
}

func TestWhatDoesNotGoWithACompactionIsRefused(t *testing.T) {
	edit := func(kind string) anthropic.BetaContextManagementConfigParam {
		return param.Override[anthropic.BetaContextManagementConfigParam](json.RawMessage(fmt.Sprintf(`{"edits":[{"type":%q}]}`, kind)))
	}
	s := runtest.NewStage(t, func(p *toolrunner.Params) { p.ContextManagement = edit("compact_20990101") }, runtest.LookAt("c1"), toolrunnertest.Text("done"))
	if err := s.CompactBeforeNextTurn(runtest.NoCompactionConfig()); err == nil || !strings.Contains(err.Error(), "compact_20990101") {
		t.Errorf("CompactBeforeNextTurn() error = %v, want one that names the edit", err)
	}
	s.Params.ContextManagement = edit("clear_tool_uses_20250919")
	runtest.Schedule(t, s)
	s.Params.ContextManagement = anthropic.BetaContextManagementConfigParam{
		Edits: []anthropic.BetaContextManagementConfigEditUnionParam{{OfCompact20260112: &anthropic.BetaCompact20260112EditParam{}}},
	}
	if _, err := s.Play(t.Context(), false, nil); err == nil || !strings.Contains(err.Error(), "compact_20260112") {
		t.Errorf("the run's error = %v, want one that names the edit", err)
	}
	if n := len(s.Srv.Requests()); n != 0 {
		t.Fatalf("%d requests went out, want none", n)
	}
	turns, err := s.Play(t.Context(), false, func(n int, _ *toolrunner.Turn) {
		if n == 0 {
			s.Params.Compaction = anthropic.BetaCompactionConfigUnionParam{OfSummarize: &anthropic.BetaSummarizeCompactionParam{}}
		}
	})
	if len(turns) != 1 || err == nil || !strings.Contains(err.Error(), "Params.Compaction") {
		t.Errorf("turns = %q, error = %v; want one turn, and an error that names Params.Compaction", turns, err)
	}
	if len(s.Ran) != 0 {
		t.Errorf("calls %q ran beside parameters that cannot be sent, want none", s.Ran)
	}
	s.Params.Compaction = anthropic.BetaCompactionConfigUnionParam{}
	if _, err := s.Play(t.Context(), false, nil); err != nil {
		t.Errorf("going on: %v", err)
	}
	if diff := cmp.Diff([]string{"c1"}, s.Ran); diff != "" {
		t.Errorf("calls that ran (-want +got):\n%s", diff)
	}
}

// S16: the beta's edit does not go with it.
func TestAutoCompactIsRefusedBesideAnEditThatCompacts(t *testing.T) {
	edits := []anthropic.BetaContextManagementConfigEditUnionParam{{OfCompact20260112: &anthropic.BetaCompact20260112EditParam{}}}
	params := toolrunner.Params{AutoCompact: toolrunner.AutoCompact{Threshold: 1}}
	params.Model, params.MaxTokens, params.ContextManagement.Edits = "m", 1024, edits
	client := toolrunnertest.NewServer(t).Client()
	if _, err := toolrunner.New(&client.Beta.Messages, nil, params); err == nil || !strings.Contains(err.Error(), "compact_20260112") {
		t.Errorf("New() error = %v, want one that names the edit", err)
	}
	params.AutoCompact.Client = &toolrunner.ClientCompaction{}
	if _, err := toolrunner.New(&client.Beta.Messages, nil, params); err != nil {
		t.Errorf("New() error = %v, want none: a summary by the client goes with it", err)
	}
}

// E185, E192, B076: the moment belongs to the compaction.
func TestNothingTakesOverACompaction(t *testing.T) {
	runtest.BothWays(t, func(t *testing.T, streaming bool) {
		s := runtest.NewStage(t, nil, runtest.LookAt("c1"), runtest.SummaryReply("s"), toolrunnertest.Text("done"))
		_, err := s.Play(t.Context(), streaming, func(n int, turn *toolrunner.Turn) {
			if n == 0 {
				runtest.Schedule(t, s)
			}
			if n != 1 {
				return
			}
			for range 2 { // before the reply has been read, where it streams, and after
				for name, err := range map[string]error{
					"Retry": turn.Retry(), "Replace": turn.Replace(runtest.User("x")), "SetMessages": s.SetMessages(runtest.User("x")),
				} {
					if err == nil || errors.Is(err, toolrunner.ErrTurnOver) {
						t.Errorf("%s() error = %v, want one that says why", name, err)
					}
				}
				runtest.Schedule(t, s) // changes nothing
				turn.Text()
			}
			s.Params.MaxTokens = 77
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := string(s.Srv.Requests()[2].Field("max_tokens")); got != "77" {
			t.Errorf("max_tokens = %s after the compaction, want 77", got)
		}
		s.Check(t)
	})
}
