package runtest

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// Stage is a runner with its scripted server, and its records.
type Stage struct {
	*toolrunner.Runner

	Srv  *toolrunnertest.Server
	Tape *RecordTape
	Ran  []string // ids of the calls that ran, in order, if one at a time
}

// NewStage makes a runner that asks "hi" and has a tool named "look". change,
// which may be nil, changes its parameters.
func NewStage(t testing.TB, change func(*toolrunner.Params), replies ...toolrunnertest.Reply) *Stage {
	t.Helper()
	return NewStageWith(t, change, nil, replies...)
}

func NewStageWith(t testing.TB, change func(*toolrunner.Params), opts []option.RequestOption, replies ...toolrunnertest.Reply) *Stage {
	t.Helper()
	s := &Stage{Srv: toolrunnertest.NewServer(t, replies...), Tape: &RecordTape{}}
	client := s.Srv.Client(opts...)
	params := toolrunner.Params{
		BetaMessageNewParams: anthropic.BetaMessageNewParams{
			Model: "m", MaxTokens: 100,
			Messages: []anthropic.BetaMessageParam{anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock("hi"))},
		},
		Logger:         slog.New(s.Tape),
		MaxConcurrency: 1,
	}
	if change != nil {
		change(&params)
	}
	var err error
	s.Runner, err = toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{s.Looker("look")}, params)
	if err != nil {
		t.Fatalf("New() error = %v", err)
	}
	return s
}

// Looker is a tool that takes note of its calls.
func (s *Stage) Looker(name string) *toolrunner.Tool {
	return toolrunner.NewTool(name, "", func(ctx context.Context, _ struct{}) (string, error) {
		call, _ := toolrunner.CallFrom(ctx)
		s.Ran = append(s.Ran, call.ID)
		return "seen", nil
	})
}

// Play goes through the loop, with a body for each turn. It returns the texts of
// the turns, or their stop reasons where there is none.
func (s *Stage) Play(ctx context.Context, streaming bool, body func(n int, turn *toolrunner.Turn)) ([]string, error) {
	loop := s.All
	if streaming {
		loop = s.AllStreaming
	}
	var turns []string
	for turn, err := range loop(ctx) {
		if err != nil {
			return turns, err
		}
		if body != nil {
			body(len(turns), turn)
		}
		text := turn.Text()
		if text == "" {
			text = string(turn.StopReason)
		}
		turns = append(turns, text)
	}
	return turns, nil
}

// Flows describes the requests, one word each: "send", "compact", or
// "summarize", with the roles of the messages and what the blocks in them are.
func (s *Stage) Flows() []string {
	var flows []string
	for _, q := range s.Srv.Requests() {
		kind := "send"
		if q.Field("compaction") != nil {
			kind = "compact"
		}
		flows = append(flows, kind+" "+Sketch(q.Messages()))
	}
	return flows
}

// Sketch writes messages as "user(text) assistant(tool_use)".
func Sketch(messages []json.RawMessage) string {
	var parts []string
	for _, raw := range messages {
		var m struct {
			Role    string
			Content []struct{ Type string }
		}
		_ = json.Unmarshal(raw, &m)
		var kinds []string
		for _, b := range m.Content {
			kinds = append(kinds, b.Type)
		}
		parts = append(parts, m.Role+"("+strings.Join(kinds, " ")+")")
	}
	return strings.Join(parts, " ")
}

// Check checks that the run was faithful and the script used up.
func (s *Stage) Check(t *testing.T, options ...toolrunnertest.RunOption) {
	t.Helper()
	if err := toolrunnertest.CheckRun(s.Srv.Requests(), options...); err != nil {
		t.Errorf("CheckRun(): %v", err)
	}
	if n := s.Srv.Remaining(); n > 0 {
		t.Errorf("%d scripted replies were not asked for", n)
	}
}

func NoCompactionConfig() anthropic.BetaCompactionConfigUnionParam {
	return anthropic.BetaCompactionConfigUnionParam{}
}

// Deadline is when a test that may hang gives up.
func (s *Stage) Deadline() <-chan time.Time { return time.After(10 * time.Second) }

// CompactWhen schedules a compaction in the body of the turn with this number.
func CompactWhen(t *testing.T, s *Stage, at int) func(int, *toolrunner.Turn) {
	t.Helper()
	return func(n int, _ *toolrunner.Turn) {
		if n == at {
			Schedule(t, s)
		}
	}
}

func Schedule(t *testing.T, s *Stage) {
	t.Helper()
	if err := s.CompactBeforeNextTurn(NoCompactionConfig()); err != nil {
		t.Errorf("CompactBeforeNextTurn() error = %v", err)
	}
}
