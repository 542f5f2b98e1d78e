package compaction_test

import (
	"context"
	"sync"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// S15: handlers may ask for it, all at once, and so may whoever they wait for.
func TestAHandlerSchedulesACompactionForAfterItsTurn(t *testing.T) {
	runtest.BothWays(t, func(t *testing.T, streaming bool) {
		s := runtest.NewStage(t, func(p *toolrunner.Params) {
			p.MaxConcurrency = 2
			p.ContextManagement.Edits = []anthropic.BetaContextManagementConfigEditUnionParam{
				{OfClearToolUses20250919: &anthropic.BetaClearToolUses20250919EditParam{}},
			}
		},
			toolrunnertest.Message(toolrunnertest.Call("c1", "tidy", `{}`), toolrunnertest.Call("c2", "tidy", `{}`)),
			runtest.SummaryReply("s"), toolrunnertest.Text("done"))
		tidy := toolrunner.NewTool("tidy", "", func(context.Context, struct{}) (string, error) {
			var wg sync.WaitGroup
			wg.Go(func() { runtest.Schedule(t, s) })
			runtest.Schedule(t, s)
			wg.Wait()
			return "tidied", nil
		})
		if err := s.AddTools(tidy); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Play(t.Context(), streaming, nil); err != nil {
			t.Fatal(err)
		}
		want := []string{
			"send user(text) system(tool_addition)",
			"compact user(text) system(tool_addition) assistant(tool_use tool_use) user(tool_result tool_result)",
			"send assistant(compaction)",
		}
		if diff := cmp.Diff(want, s.Flows()); diff != "" {
			t.Errorf("requests (-want +got):\n%s", diff)
		}
		s.Check(t)
	})
}

// E183: with Results asked for in the body, edits go into what is summarized.
func TestACompactionComesAfterResultsThatTheBodyAskedFor(t *testing.T) {
	s := runtest.NewStage(t, nil, runtest.LookAt("c1"), runtest.SummaryReply("s"), toolrunnertest.Text("done"))
	_, err := s.Play(t.Context(), false, func(n int, turn *toolrunner.Turn) {
		if n > 0 {
			return
		}
		runtest.Schedule(t, s)
		results, err := turn.Results(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		results[0].Content = toolrunner.TextResult("edited").Content
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"type":"tool_result","tool_use_id":"c1","content":[{"type":"text","text":"edited"}]}`
	if got := string(s.Srv.Requests()[1].ToolResult("c1")); got != want {
		t.Errorf("the compaction has the result %s, want %s", got, want)
	}
	if diff := cmp.Diff([]string{"c1"}, s.Ran); diff != "" {
		t.Errorf("calls that ran (-want +got):\n%s", diff)
	}
	s.Check(t)
}

// A turn that was taken over leaves what was scheduled in it.
func TestATakeoverKeepsWhatWasScheduled(t *testing.T) {
	tests := []struct {
		name     string
		takeOver func(s *runtest.Stage, turn *toolrunner.Turn) error
		history  string
	}{
		{name: "Retry", takeOver: func(_ *runtest.Stage, turn *toolrunner.Turn) error { return turn.Retry() }, history: "user(text)"},
		{name: "Replace", takeOver: func(_ *runtest.Stage, turn *toolrunner.Turn) error { return turn.Replace(runtest.User("x")) }, history: "user(text) user(text)"},
		{name: "SetMessages", takeOver: func(s *runtest.Stage, _ *toolrunner.Turn) error { return s.SetMessages(runtest.User("x")) }, history: "user(text)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			runtest.BothWays(t, func(t *testing.T, streaming bool) {
				s := runtest.NewStage(t, nil, runtest.LookAt("c1"), runtest.SummaryReply("s"), toolrunnertest.Text("done"))
				_, err := s.Play(t.Context(), streaming, func(n int, turn *toolrunner.Turn) {
					if n > 0 {
						return
					}
					runtest.Schedule(t, s)
					if err := tt.takeOver(s, turn); err != nil {
						t.Fatal(err)
					}
				})
				if err != nil {
					t.Fatal(err)
				}
				want := []string{"send user(text)", "compact " + tt.history, "send assistant(compaction)"}
				if diff := cmp.Diff(want, s.Flows()); diff != "" {
					t.Errorf("requests (-want +got):\n%s", diff)
				}
				if len(s.Ran) > 0 {
					t.Errorf("calls %q ran, want none", s.Ran)
				}
			})
		})
	}
}

// S15: the events are those of a compaction, and may be broken off.
func TestACompactionStreamsItsEvents(t *testing.T) {
	s := runtest.NewStage(t, nil, runtest.LookAt("c1"), runtest.SummaryReply("in short"), toolrunnertest.Text("done"))
	var kinds []string
	_, err := s.Play(t.Context(), true, func(n int, turn *toolrunner.Turn) {
		if n == 0 {
			runtest.Schedule(t, s)
		}
		if n != 1 {
			return
		}
		for e, err := range turn.Events() {
			if err != nil {
				t.Fatal(err)
			}
			kinds = append(kinds, e.Type)
			if e.Type == "content_block_delta" {
				break
			}
		}
		if got := turn.Content; len(got) != 0 {
			t.Errorf("Content has %d blocks before the reply has been read, want none", len(got))
		}
		if got := turn.Calls(); len(got) != 0 {
			t.Errorf("Calls() = %v, want none", got)
		}
		if got, want := turn.Content[0].Content.OfString, "in short"; got != want {
			t.Errorf("the summary is %q, want %q", got, want)
		}
		if got := turn.Iteration(); got != 1 {
			t.Errorf("Iteration() = %d, want that of the turn before, 1", got)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"message_start", "content_block_start", "content_block_delta"}, kinds); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	s.Check(t)
}

// The stream of a compaction that the body breaks off in the middle is lost,
// and with it the compaction.
func TestBreakingOffInACompactionLosesIt(t *testing.T) {
	s := runtest.NewStage(t, nil, runtest.LookAt("c1"), runtest.SummaryReply("s").Trickle(0), toolrunnertest.Text("done"))
	n := 0
	for _, err := range s.AllStreaming(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n == 2 {
			break
		}
		runtest.Schedule(t, s)
	}
	if got := s.Outcome(); got != toolrunner.OutcomeStopped {
		t.Errorf("Outcome() = %v, want stopped", got)
	}
	if _, err := s.Play(t.Context(), true, nil); err != nil {
		t.Fatal(err)
	}
	if got, want := s.Flows()[2], "send user(text) assistant(tool_use) user(tool_result)"; got != want {
		t.Errorf("the last request is %q, want %q", got, want)
	}
	if got := s.Usage().Replies; got != 2 {
		t.Errorf("Usage().Replies = %d, want 2", got)
	}
}

// E194: what compactions cost is in the iterations only. E95: the container
// stays.
func TestUsageAndContainerGoThroughACompaction(t *testing.T) {
	const iterations = `{"id":"m","type":"message","role":"assistant","model":"m","content":[{"type":"compaction","content":"s"}],"stop_reason":"compaction",` +
		`"usage":{"input_tokens":0,"output_tokens":0,"iterations":[{"type":"compaction","input_tokens":900,"output_tokens":80,"cache_read_input_tokens":7},{"type":"message","input_tokens":5,"output_tokens":5}]}}`
	s := runtest.NewStage(t, nil, runtest.LookAt("c1").Usage(100, 10).Container("box"), toolrunnertest.RawJSON(iterations), toolrunnertest.Text("done").Usage(20, 2))
	if _, err := s.Play(t.Context(), false, runtest.CompactWhen(t, s, 0)); err != nil {
		t.Fatal(err)
	}
	want := toolrunner.Usage{Replies: 3, InputTokens: 1020, OutputTokens: 92, CacheReadInputTokens: 7}
	if diff := cmp.Diff(want, s.Usage()); diff != "" {
		t.Errorf("Usage() (-want +got):\n%s", diff)
	}
	for i, q := range s.Srv.Requests()[1:] {
		if got := string(q.Field("container")); got != `"box"` {
			t.Errorf("request %d has the container %s, want \"box\"", i+1, got)
		}
	}
	s.Check(t)
}
