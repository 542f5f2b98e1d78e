package toolrunner_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// stage is a runner with its scripted server, and its records.
type stage struct {
	*toolrunner.Runner

	srv  *toolrunnertest.Server
	tape *recordTape
	ran  []string // ids of the calls that ran, in order, if one at a time
}

// newStage makes a runner that asks "hi" and has a tool named "look". change,
// which may be nil, changes its parameters.
func newStage(t testing.TB, change func(*toolrunner.Params), replies ...toolrunnertest.Reply) *stage {
	t.Helper()
	return newStageWith(t, change, nil, replies...)
}

func newStageWith(t testing.TB, change func(*toolrunner.Params), opts []option.RequestOption, replies ...toolrunnertest.Reply) *stage {
	t.Helper()
	s := &stage{srv: toolrunnertest.NewServer(t, replies...), tape: &recordTape{}}
	client := s.srv.Client(opts...)
	params := toolrunner.Params{
		BetaMessageNewParams: anthropic.BetaMessageNewParams{
			Model: "m", MaxTokens: 100,
			Messages: []anthropic.BetaMessageParam{anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock("hi"))},
		},
		Logger:         slog.New(s.tape),
		MaxConcurrency: 1,
	}
	if change != nil {
		change(&params)
	}
	var err error
	s.Runner, err = toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{s.looker("look")}, params)
	if err != nil {
		t.Fatalf("New() error = %v", err)
	}
	return s
}

// looker is a tool that takes note of its calls.
func (s *stage) looker(name string) *toolrunner.Tool {
	return toolrunner.NewTool(name, "", func(ctx context.Context, _ struct{}) (string, error) {
		call, _ := toolrunner.CallFrom(ctx)
		s.ran = append(s.ran, call.ID)
		return "seen", nil
	})
}

// play goes through the loop, with a body for each turn. It returns the texts of
// the turns, or their stop reasons where there is none.
func (s *stage) play(ctx context.Context, streaming bool, body func(n int, turn *toolrunner.Turn)) ([]string, error) {
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

// flows describes the requests, one word each: "send", "compact", or
// "summarize", with the roles of the messages and what the blocks in them are.
func (s *stage) flows() []string {
	var flows []string
	for _, q := range s.srv.Requests() {
		kind := "send"
		if q.Field("compaction") != nil {
			kind = "compact"
		}
		flows = append(flows, kind+" "+sketch(q.Messages()))
	}
	return flows
}

// sketch writes messages as "user(text) assistant(tool_use)".
func sketch(messages []json.RawMessage) string {
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

// check checks that the run was faithful and the script used up.
func (s *stage) check(t *testing.T, options ...toolrunnertest.RunOption) {
	t.Helper()
	if err := toolrunnertest.CheckRun(s.srv.Requests(), options...); err != nil {
		t.Errorf("CheckRun(): %v", err)
	}
	if n := s.srv.Remaining(); n > 0 {
		t.Errorf("%d scripted replies were not asked for", n)
	}
}

func lookAt(ids ...string) toolrunnertest.Reply {
	blocks := make([]toolrunnertest.Block, len(ids))
	for i, id := range ids {
		blocks[i] = toolrunnertest.Call(id, "look", `{}`)
	}
	return toolrunnertest.Message(blocks...)
}

// summaryReply is the API's reply to a request to compact. Its tokens are in the
// iterations, none at the top.
func summaryReply(summary string) toolrunnertest.Reply {
	return toolrunnertest.Message(toolrunnertest.Compaction(summary)).Usage(0, 0)
}

func anthropicNoConfig() anthropic.BetaCompactionConfigUnionParam {
	return anthropic.BetaCompactionConfigUnionParam{}
}

// recordTape is a slog handler that keeps records as text.
type recordTape struct {
	mu      sync.Mutex
	records []tapedRecord
	level   slog.Level // the lowest that is kept; the zero value is info
}

type tapedRecord struct {
	level slog.Level
	text  string
	keys  []string
	attrs map[string]slog.Value
}

func (h *recordTape) Enabled(_ context.Context, level slog.Level) bool { return level >= h.level }
func (h *recordTape) WithAttrs([]slog.Attr) slog.Handler               { return h }
func (h *recordTape) WithGroup(string) slog.Handler                    { return h }

func (h *recordTape) Handle(_ context.Context, r slog.Record) error {
	taped := tapedRecord{level: r.Level, text: r.Message, attrs: make(map[string]slog.Value)}
	r.Attrs(func(a slog.Attr) bool {
		taped.keys = append(taped.keys, a.Key)
		taped.attrs[a.Key] = a.Value.Resolve()
		return true
	})
	h.mu.Lock()
	defer h.mu.Unlock()
	h.records = append(h.records, taped)
	return nil
}

// named returns the records with a message.
func (h *recordTape) named(text string) []tapedRecord {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(h.records), func(r tapedRecord) bool { return r.text != text })
}

// warnings returns the messages of the records above info.
func (h *recordTape) warnings() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var texts []string
	for _, r := range h.records {
		if r.level > slog.LevelInfo {
			texts = append(texts, r.text)
		}
	}
	return texts
}

// deadline is when a test that may hang gives up.
func (s *stage) deadline() <-chan time.Time { return time.After(10 * time.Second) }
