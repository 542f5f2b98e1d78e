package compaction_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// autoCompact turns it on, at 1,000 tokens.
func autoCompact(client *toolrunner.ClientCompaction) func(*toolrunner.Params) {
	return func(p *toolrunner.Params) {
		p.AutoCompact = toolrunner.AutoCompact{Threshold: 1000, Client: client}
	}
}

// S16: what counts is the context of the last reply, caches and output included.
func TestCompactionBeginsAtTheThreshold(t *testing.T) {
	tests := []struct {
		name                     string
		input, cached, made, out int
		due                      bool
	}{
		{name: "just below", input: 900, cached: 50, made: 30, out: 19},
		{name: "exactly", input: 900, cached: 50, made: 30, out: 20, due: true},
		{name: "from the cache", cached: 999, out: 1, due: true},
		{name: "into the cache", made: 999, out: 1, due: true},
		{name: "by output alone", out: 1000, due: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			runtest.BothWays(t, func(t *testing.T, streaming bool) {
				replies := []toolrunnertest.Reply{runtest.LookAt("c1").Usage(tt.input, tt.out).CacheUsage(tt.made, tt.cached)}
				want := []string{"send user(text)"}
				if tt.due {
					replies = append(replies, runtest.SummaryReply("s"))
					want = append(want, "compact user(text) assistant(tool_use) user(tool_result)", "send assistant(compaction)")
				} else {
					want = append(want, "send user(text) assistant(tool_use) user(tool_result)")
				}
				s := runtest.NewStage(t, autoCompact(nil), append(replies, toolrunnertest.Text("done"))...)
				if _, err := s.Play(t.Context(), streaming, nil); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, s.Flows()); diff != "" {
					t.Errorf("requests (-want +got):\n%s", diff)
				}
				s.Check(t)
			})
		})
	}
}

// S16, B121: not at the end of a run, whose next one may never come; then first.
func TestTheNextRunBeginsWithTheCompaction(t *testing.T) {
	s := runtest.NewStage(t, autoCompact(nil), toolrunnertest.Text("done").Usage(2000, 5), runtest.SummaryReply("s"), toolrunnertest.Text("more"))
	if turns, err := s.Play(t.Context(), false, nil); err != nil || !slices.Equal(turns, []string{"done"}) {
		t.Fatalf("turns = %q, error = %v; want done alone", turns, err)
	}
	if err := s.AppendMessages(runtest.User("and?")); err != nil {
		t.Fatal(err)
	}
	if turns, err := s.Play(t.Context(), false, nil); err != nil || !slices.Equal(turns, []string{"compaction", "more"}) {
		t.Fatalf("turns = %q, error = %v; want compaction and more", turns, err)
	}
	if got := s.IterationCount(); got != 1 {
		t.Errorf("IterationCount() = %d, want 1", got)
	}
	s.Check(t)
}

// B121: a paused turn goes on first, whatever its context is.
func TestAPausedTurnIsNotCompactedOnTheWay(t *testing.T) {
	for name, client := range map[string]*toolrunner.ClientCompaction{"api": nil, "client": {}} {
		t.Run(name, func(t *testing.T) {
			search := toolrunnertest.ServerToolUse("srv1", "web_search", `{}`)
			found := toolrunnertest.RawBlock(`{"type":"web_search_tool_result","tool_use_id":"srv1","content":[]}`)
			summary := runtest.SummaryReply("s")
			if client != nil {
				summary = toolrunnertest.Text("s")
			}
			s := runtest.NewStage(t, autoCompact(client),
				toolrunnertest.Message(search).StopReason("pause_turn").Usage(5000, 1),
				toolrunnertest.Message(found, toolrunnertest.Call("c1", "look", `{}`)).Usage(6000, 1), summary, toolrunnertest.Text("done"))
			if _, err := s.Play(t.Context(), false, nil); err != nil {
				t.Fatal(err)
			}
			if got, want := s.Flows()[1], "send user(text) assistant(server_tool_use)"; got != want {
				t.Errorf("the second request is %q, want %q", got, want)
			}
			if got := len(s.Srv.Requests()); got != 4 {
				t.Errorf("%d requests, want 4", got)
			}
		})
	}
}

// B078: whatever is left after a compaction, the number of compactions is small.
func TestAnIrreducibleContextIsNotCompactedWithoutEnd(t *testing.T) {
	for name, client := range map[string]*toolrunner.ClientCompaction{"api": nil, "client": {}} {
		for _, summary := range []string{"all of it", ""} {
			t.Run(fmt.Sprintf("%s, summary %q", name, summary), func(t *testing.T) {
				compactions, turns := 0, 0
				s := runtest.NewStage(t, autoCompact(client))
				s.Srv.Otherwise(toolrunnertest.Func(func(q *toolrunnertest.Request) toolrunnertest.Reply {
					if q.Field("compaction") != nil {
						compactions++
						return runtest.SummaryReply(summary)
					}
					if string(q.Field("tool_choice")) == `{"type":"none"}` {
						compactions++
						return toolrunnertest.Text(summary)
					}
					if turns++; turns == 40 {
						return toolrunnertest.Text("done")
					}
					return runtest.LookAt(fmt.Sprintf("c%d", turns)).Usage(1600, 1)
				}))
				if _, err := s.Play(t.Context(), false, nil); err != nil {
					t.Fatal(err)
				}
				if compactions != 1 {
					t.Errorf("%d compactions in %d turns of the same context, want 1", compactions, turns)
				}
			})
		}
	}
}

// B078: a context that grows is compacted whenever it has grown to the threshold,
// if compacting brings it below.
func TestAContextThatGrowsIsCompactedEachTimeAtTheThreshold(t *testing.T) {
	var sizes []int // of the context at each compaction
	context, turns := 100, 0
	s := runtest.NewStage(t, autoCompact(nil))
	s.Srv.Otherwise(toolrunnertest.Func(func(q *toolrunnertest.Request) toolrunnertest.Reply {
		if q.Field("compaction") != nil {
			sizes = append(sizes, context)
			context = 600
			return runtest.SummaryReply("s")
		}
		if turns++; turns == 20 {
			return toolrunnertest.Text("done")
		}
		context += 100
		return runtest.LookAt(fmt.Sprintf("c%d", turns)).Usage(context, 0)
	}))
	if _, err := s.Play(t.Context(), false, nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int{1000, 1000, 1000}, sizes); diff != "" {
		t.Errorf("contexts that were compacted (-want +got):\n%s", diff)
	}
}

// S16, B040: a failure ends the run once and leaves the history as it was.
func TestAFailedAutomaticCompactionLeavesTheHistoryAsItWas(t *testing.T) {
	for name, client := range map[string]*toolrunner.ClientCompaction{"api": nil, "client": {}} {
		t.Run(name, func(t *testing.T) {
			s := runtest.NewStage(t, autoCompact(client), runtest.LookAt("c1", "c2").Usage(1500, 1),
				toolrunnertest.Status(http.StatusBadRequest, "invalid_request_error", "prompt is too long"), toolrunnertest.Text("done").Usage(1600, 1))
			if _, err := s.Play(t.Context(), false, nil); !runtest.HasStatus(400)(err) {
				t.Fatalf("the run's error = %v, want the API's", err)
			}
			before := sketchOf(t, s.Messages())
			if _, err := s.Play(t.Context(), false, nil); err != nil {
				t.Fatal(err)
			}
			if want := "user(text) assistant(tool_use tool_use) user(tool_result tool_result)"; before != want {
				t.Errorf("the history is %q after the failure, want %q", before, want)
			}
			last := s.Srv.Requests()[2]
			if got := runtest.Sketch(last.Messages()); got != before || last.Field("compaction") != nil {
				t.Errorf("the last request is %q, want %q as it was", got, before)
			}
			s.Check(t, toolrunnertest.Takeover(toolrunnertest.Nth(2)))
			if client == nil {
				s.Check(t)
			}
		})
	}
}

// S16: the config is sent as given.
func TestAutoCompactSendsItsConfig(t *testing.T) {
	s := runtest.NewStage(t, func(p *toolrunner.Params) {
		autoCompact(nil)(p)
		p.AutoCompact.Config.OfSummarize = &anthropic.BetaSummarizeCompactionParam{Instructions: anthropic.String("names")}
	}, runtest.LookAt("c1").Usage(1000, 1), runtest.SummaryReply("s"), toolrunnertest.Text("done"))
	if _, err := s.Play(t.Context(), false, nil); err != nil {
		t.Fatal(err)
	}
	want := json.RawMessage(`{"instructions":"names","type":"summarize"}`)
	if got := s.Srv.Requests()[1].Field("compaction"); string(got) != string(want) {
		t.Errorf("compaction = %s, want %s", got, want)
	}
}
