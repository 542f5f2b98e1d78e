// Package logs_test tests what a run logs, and what it must not.
package logs_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/google/go-cmp/cmp"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// S19, E228: the names on which filters are built.
func TestRecordsHaveTheirNames(t *testing.T) {
	s := runtest.NewStageWith(t, func(p *toolrunner.Params) { p.MaxIterations = 4 }, []option.RequestOption{option.WithMaxRetries(1)},
		toolrunnertest.Status(529, "overloaded_error", "Overloaded").Header("retry-after-ms", "1"),
		toolrunnertest.Message(toolrunnertest.Call("c1", "look", `{}`), toolrunnertest.Call("c2", "nope", `{}`), toolrunnertest.Call("c3", "fail", `{}`),
			toolrunnertest.Call("c4", "look", `{"x":1}`), toolrunnertest.Call("c1", "look", `{}`)),
		toolrunnertest.Status(400, "invalid_request_error", "no"))
	s.Tape.Level = slog.LevelDebug
	if err := s.AddTools(toolrunner.NewTool("fail", "", func(context.Context, struct{}) (string, error) { return "", errors.New("no luck") })); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Play(t.Context(), false, nil); !runtest.HasStatus(400)(err) {
		t.Fatalf("the run's error = %v, want the API's", err)
	}
	got := make(map[string]string) // the last of each name
	for _, r := range s.Tape.Records {
		keys, ok := strings.CutSuffix(strings.Join(r.Keys, " "), " conversation_id")
		if !ok || r.Attrs["conversation_id"].String() != s.ConversationID() {
			t.Errorf("the record %q does not end with the conversation's id: %v", r.Text, r.Attrs)
		}
		got[r.Text] = r.Level.String() + " " + keys
	}
	want := map[string]string{
		"request":           "INFO iteration model messages bytes streaming",
		"reply":             "INFO iteration stop_reason duration input_tokens output_tokens request_id",
		"run ended":         "INFO outcome iterations replies input_tokens output_tokens",
		"request retried":   "WARN iteration attempt status",
		"request failed":    "WARN iteration error",
		"request rejected":  "WARN iteration attempt status retry_after",
		"reply changed":     "WARN iteration change",
		"message sent":      "DEBUG role message",
		"message received":  "DEBUG message",
		"tool call started": "INFO tool call_id iteration",
		"tool call ended":   "INFO tool call_id iteration duration",
		"tool call failed":  "WARN tool call_id iteration duration error",
		"tool not found":    "WARN tool call_id iteration available",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	if got := s.Tape.Named("request retried")[0].Attrs; got["status"].Int64() != 529 || got["attempt"].Int64() != 2 {
		t.Errorf("the retry is recorded as %v, want attempt 2 after status 529", got)
	}
	if got := s.Tape.Named("reply")[0].Attrs["request_id"].String(); got != "req_2" {
		t.Errorf("request_id = %q, want req_2", got)
	}
}

// S18, E84: one record for each call that failed, whatever made it fail.
func TestAFailedCallIsOneRecord(t *testing.T) {
	tests := []struct {
		name    string
		handler toolrunner.Handler
		err     string
		stack   bool
	}{
		{name: "error", handler: func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) { return nil, errors.New("no luck") }, err: "no luck"},
		{name: "private cause", err: "db down", handler: func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
			return nil, &toolrunner.ToolError{Content: toolrunner.TextResult("later").Content, Err: errors.New("db down")}
		}},
		{name: "result", err: "the tool returned a failed result", handler: func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
			return toolrunner.ErrorResult("what the model reads"), nil
		}},
		{name: "panic", err: "panic: boom", stack: true, handler: func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
			panic("boom")
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := runtest.NewStage(t, nil, toolrunnertest.Message(toolrunnertest.Call("c1", "raw", `{}`)), toolrunnertest.Text("done"))
			if err := s.AddTools(toolrunner.NewRawTool(anthropic.BetaToolParam{Name: "raw"}, tt.handler)); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Play(t.Context(), false, nil); err != nil {
				t.Fatal(err)
			}
			failed := s.Tape.Named("tool call failed")
			if len(failed) != 1 || len(s.Tape.Named("tool call ended")) != 0 {
				t.Fatalf("%d records of the failed call, want one and no other", len(failed))
			}
			attrs := failed[0].Attrs
			if got := attrs["error"].String(); got != tt.err {
				t.Errorf("error = %q, want %q", got, tt.err)
			}
			if attrs["tool"].String() != "raw" || attrs["call_id"].String() != "c1" || attrs["duration"].Kind() != slog.KindDuration {
				t.Errorf("the record is %v, want tool, call and duration", attrs)
			}
			if stack := attrs["stack"].String(); tt.stack != strings.Contains(stack, "log_test.go") {
				t.Errorf("stack = %s, want one: %v", stack, tt.stack)
			}
			if got := string(s.Srv.Requests()[1].ToolResult("c1")); strings.Contains(got, "goroutine") || strings.Contains(got, "db down") {
				t.Errorf("the model reads %s, which is private", got)
			}
		})
	}
}

// At debug level a message is told with the first request that has it, and so is
// a history that the caller put in place.
func TestEachMessageThatIsSentIsOneRecord(t *testing.T) {
	s := runtest.NewStage(t, nil, runtest.LookAt("c1"), toolrunnertest.Text("one"), toolrunnertest.Text("two"))
	s.Tape.Level = slog.LevelDebug
	for range 2 {
		if _, err := s.Play(t.Context(), false, nil); err != nil {
			t.Fatal(err)
		}
		if err := s.SetMessages(anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock("anew"))); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, r := range s.Tape.Named("message sent") {
		got = append(got, runtest.Sketch([]json.RawMessage{json.RawMessage(r.Attrs["message"].String())}))
	}
	want := []string{"user(text)", "assistant(tool_use)", "user(tool_result)", "user(text)"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("messages in records (-want +got):\n%s", diff)
	}
}

// B128: how a run ended is in one record.
func TestTheEndOfARunIsOneRecord(t *testing.T) {
	tests := []struct {
		reply   toolrunnertest.Reply
		outcome string
	}{
		{toolrunnertest.Text("done"), "completed"},
		{toolrunnertest.Text("do").StopReason("max_tokens"), "truncated"},
		{toolrunnertest.Text("no").StopReason("refusal"), "refused"},
		{runtest.LookAt("c1"), "max iterations"},
		{toolrunnertest.Status(500, "api_error", "oops"), "failed"},
	}
	for _, tt := range tests {
		t.Run(tt.outcome, func(t *testing.T) {
			s := runtest.NewStage(t, func(p *toolrunner.Params) { p.MaxIterations = 1 }, tt.reply)
			_, _ = s.Play(t.Context(), false, nil)
			ends := s.Tape.Named("run ended")
			if len(ends) != 1 || ends[0].Attrs["outcome"].String() != tt.outcome {
				t.Errorf("records of the end: %v, want one: %s", ends, tt.outcome)
			}
		})
	}
}

// S19, E228, E229: ANTHROPIC_LOG writes to stderr, and nothing else writes
// anything, the SDK's warning about this model's thinking included.
func TestOnlyTheEnvironmentMakesTheLibraryWrite(t *testing.T) {
	tests := []struct {
		log    string
		levels []string
	}{
		{log: ""},
		{log: "warn"},
		{log: "info", levels: []string{"INFO", "WARN"}},
		{log: "debug", levels: []string{"DEBUG", "INFO", "WARN"}},
	}
	for _, tt := range tests {
		t.Run("ANTHROPIC_LOG="+tt.log, func(t *testing.T) {
			exe, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			var stdout, stderr strings.Builder
			child := exec.CommandContext(t.Context(), exe, "-test.run=^TestRunOfAChildProcess$")
			child.Env = append(os.Environ(), "ANTHROPIC_LOG="+tt.log, childProcess+"=1")
			child.Stdout, child.Stderr = &stdout, &stderr
			if err := child.Run(); err != nil {
				t.Fatalf("the child failed: %v\n%s", err, stderr.String())
			}
			if stdout.String() != "" {
				t.Errorf("stdout has %q, want nothing", stdout.String())
			}
			var levels []string
			for line := range strings.Lines(stderr.String()) {
				_, rest, ok := strings.Cut(line, " level=")
				level, _, _ := strings.Cut(rest, " ")
				if !ok {
					t.Errorf("stderr has the line %q, want records only", line)
				}
				if !slices.Contains(levels, level) {
					levels = append(levels, level)
				}
			}
			slices.Sort(levels)
			if diff := cmp.Diff(tt.levels, levels); diff != "" {
				t.Errorf("levels (-want +got):\n%s", diff)
			}
			if strings.Contains(stderr.String(), "sk-ant-child") {
				t.Error("stderr has the key")
			}
		})
	}
}

const childProcess = "TOOLRUNNER_TEST_CHILD"

// TestRunOfAChildProcess is what the test above looks at, in a process of its own.
func TestRunOfAChildProcess(t *testing.T) {
	if os.Getenv(childProcess) == "" {
		t.Skip("it runs in a child process")
	}
	for _, streaming := range []bool{false, true} {
		s := runtest.NewStageWith(t, func(p *toolrunner.Params) {
			p.Model, p.Logger = anthropic.ModelClaudeOpus4_6, nil
			p.Thinking.OfEnabled = &anthropic.BetaThinkingConfigEnabledParam{BudgetTokens: 1024}
		}, []option.RequestOption{option.WithAPIKey("sk-ant-child")},
			toolrunnertest.Message(toolrunnertest.Call("c1", "panic", `{}`), toolrunnertest.Call("c2", "nope", `{}`)),
			runtest.SummaryReply(""), toolrunnertest.Text("done"))
		s.Srv.Ignore(toolrunnertest.RuleThinkingBudget)
		tool := toolrunner.NewTool("panic", "", func(context.Context, struct{}) (string, error) { panic("boom") })
		if err := s.AddTools(tool); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Play(t.Context(), streaming, runtest.CompactWhen(t, s, 0)); err != nil {
			t.Fatal(err)
		}
	}
	os.Exit(0) // before the test binary says how it went
}

// A12: a request that the API does not take now is recorded before the wait, with the time
// that the API names.
func TestWhatIsWaitedForIsRecorded(t *testing.T) {
	for name, test := range map[string]struct {
		key, value string
		want       time.Duration
	}{
		"seconds":      {"Retry-After", "2", 2 * time.Second},
		"fractions":    {"Retry-After", "0.5", 500 * time.Millisecond},
		"milliseconds": {"Retry-After-Ms", "1500", 1500 * time.Millisecond},
		"a date":       {"Retry-After", "Sat, 01 Jan 2000 00:00:03 GMT", 3 * time.Second},
		"an hour":      {"Retry-After", "3600", time.Hour},
		"nothing":      {"X", "x", -1},
		"nonsense":     {"Retry-After", "soon", -1},
		"too much":     {"Retry-After", "1e300", -1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tape := &runtest.RecordTape{Level: slog.LevelWarn}
				params := toolrunner.Params{Logger: slog.New(tape), RequestOptions: []option.RequestOption{option.WithMaxRetries(1)}}
				c := runtest.StartUnchecked(t, params, nil, toolrunnertest.Status(429, "rate_limit_error", "slow down").Header(test.key, test.value), toolrunnertest.Text("so"))
				c.Run(t)
				records := tape.Named("request rejected")
				if len(records) != 1 || records[0].Attrs["status"].Int64() != 429 || records[0].Attrs["attempt"].Int64() != 1 {
					t.Fatalf("records = %v", records)
				}
				got, ok := records[0].Attrs["retry_after"]
				if ok != (test.want >= 0) || ok && got.Duration() != test.want {
					t.Errorf("retry_after = %v, want %v", got, test.want)
				}
			})
		})
	}
}

// W12: calls of a reply that did not stop for them are not run, and that is no silent loss.
func TestCallsThatAreNotRunAreRecorded(t *testing.T) {
	for reason, want := range map[string]int{"end_turn": 1, "max_tokens": 1, "refusal": 1, "stop_sequence": 1, "tool_use": 0, "pause_turn": 0} {
		tape := &runtest.RecordTape{Level: slog.LevelWarn}
		params := toolrunner.Params{Logger: slog.New(tape)}
		c := runtest.New(t, toolrunnertest.Message(toolrunnertest.Say("x"), toolrunnertest.Call("a", "look", `{}`)).StopReason(reason))
		c.Server.Otherwise(toolrunnertest.Text("so"))
		params.BetaMessageNewParams = runtest.Asking("hi").BetaMessageNewParams
		r := c.NewRunner(t, params, runtest.Says("look", "ok"))
		if _, err := r.RunToCompletion(t.Context()); err != nil && !errors.Is(err, toolrunner.ErrTruncated) && !errors.Is(err, toolrunner.ErrRefused) {
			t.Errorf("%s: %v", reason, err)
		}
		records := tape.Named("calls not run")
		if len(records) != want || want == 1 && (records[0].Attrs["count"].Int64() != 1 || records[0].Attrs["stop_reason"].String() != reason) {
			t.Errorf("%s: records = %v, want %d", reason, records, want)
		}
	}
}
