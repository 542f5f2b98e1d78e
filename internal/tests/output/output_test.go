// Package output_test tests final replies that are parsed.
package output_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

type weatherReport struct {
	City    string `json:"city"`
	Degrees int    `json:"degrees"`
}

const (
	parisReport = `{"city":"Paris","degrees":21}`
	romeReport  = `{"city":"Rome","degrees":30}`
)

// intoReport has the final reply parsed into report, by one of the two fields.
func intoReport(report any, old bool) func(*toolrunner.Params) {
	return func(p *toolrunner.Params) {
		if old {
			p.OutputFormat.Schema = report //nolint:staticcheck // callers may still set it
		} else {
			p.OutputConfig.Format.Schema = report
		}
	}
}

func TestTheFinalReplyIsParsedAndNoOther(t *testing.T) {
	for _, old := range []bool{false, true} {
		runtest.BothWays(t, func(t *testing.T, streaming bool) {
			var report weatherReport
			s := runtest.NewStage(t, intoReport(&report, old),
				runtest.LookAt("c1"), toolrunnertest.Message(toolrunnertest.Say("not yet"), toolrunnertest.Call("c2", "look", `{}`)),
				toolrunnertest.Text("so far").StopReason("pause_turn"), toolrunnertest.Text(parisReport))
			_, err := s.Play(t.Context(), streaming, func(n int, turn *toolrunner.Turn) {
				turn.Text()
				if done := n == 3; done != (report.City != "") {
					t.Errorf("in turn %d the report is %+v", n, report)
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			if want := (weatherReport{"Paris", 21}); report != want {
				t.Errorf("the report is %+v, want %+v", report, want)
			}
			for i, q := range s.Srv.Requests() {
				field := "output_config"
				if old {
					field = "output_format"
				}
				if got := string(q.Field(field)); !strings.Contains(got, `"degrees"`) {
					t.Errorf("request %d has the %s %s, want the schema of the struct", i, field, got)
				}
			}
			s.Check(t)
		})
	}
}

// E219, G17: the error comes once, after the last turn, and nothing is lost.
func TestAReplyThatDoesNotParseIsKept(t *testing.T) {
	runtest.BothWays(t, func(t *testing.T, streaming bool) {
		var report weatherReport
		s := runtest.NewStage(t, intoReport(&report, false), toolrunnertest.Text("It is warm."), toolrunnertest.Text(romeReport))
		turns, err := s.Play(t.Context(), streaming, nil)
		if !errors.Is(err, anthropic.ErrStructuredOutputParse) || !slices.Equal(turns, []string{"It is warm."}) {
			t.Fatalf("turns = %q, error = %v; want the turn, and that it does not parse", turns, err)
		}
		if got := s.LastMessage(); got == nil || got.ID != "msg_1" {
			t.Errorf("LastMessage() = %v, want msg_1", got)
		}
		if got := s.Outcome(); got != toolrunner.OutcomeCompleted {
			t.Errorf("Outcome() = %v, want completed", got)
		}
		if turns, err := s.Play(t.Context(), streaming, nil); err != nil || len(turns) > 0 {
			t.Errorf("once more: turns = %q, error = %v; want neither", turns, err)
		}
		if err := s.AppendMessages(runtest.User("as JSON, please")); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Play(t.Context(), streaming, nil); err != nil || report.City != "Rome" {
			t.Errorf("the next run: error = %v, report = %+v; want Rome", err, report)
		}
		s.Check(t)
	})
}

func TestRunToCompletionReturnsTheReplyThatDoesNotParse(t *testing.T) {
	s := runtest.NewStage(t, intoReport(&weatherReport{}, false), toolrunnertest.Text("It is warm."))
	message, err := s.RunToCompletion(t.Context())
	if !errors.Is(err, anthropic.ErrStructuredOutputParse) || message == nil || message.ID != "msg_1" {
		t.Errorf("RunToCompletion() = %v, %v; want msg_1, and that it does not parse", message, err)
	}
}

// E221: why a run ended is not hidden behind what its reply looks like.
func TestARunThatDidNotCompleteIsNotParsed(t *testing.T) {
	tests := []struct {
		reason string
		err    error
	}{
		{"refusal", toolrunner.ErrRefused},
		{"max_tokens", toolrunner.ErrTruncated},
		{"model_context_window_exceeded", toolrunner.ErrTruncated},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			report := weatherReport{City: "before"}
			s := runtest.NewStage(t, intoReport(&report, false), toolrunnertest.Text(`{"city":"Pa`).StopReason(tt.reason), toolrunnertest.Text(parisReport).StopReason(tt.reason))
			for range 2 {
				if message, err := s.RunToCompletion(t.Context()); !errors.Is(err, tt.err) || errors.Is(err, anthropic.ErrStructuredOutputParse) || message == nil {
					t.Errorf("RunToCompletion() = %v, %v; want the message and %v", message, err, tt.err)
				}
				if err := s.AppendMessages(runtest.User("go on")); err != nil {
					t.Fatal(err)
				}
			}
			if report.City != "before" {
				t.Errorf("the report is %+v, want it untouched", report)
			}
		})
	}
}

// A reply that was taken over is nobody's output.
func TestAReplyThatWasTakenOverFailsNoRun(t *testing.T) {
	s := runtest.NewStage(t, func(p *toolrunner.Params) {
		intoReport(&weatherReport{}, false)(p)
		p.MaxIterations = 1
	}, toolrunnertest.Text("It is warm."))
	_, err := s.Play(t.Context(), false, func(_ int, turn *toolrunner.Turn) {
		if err := turn.Retry(); err != nil {
			t.Fatal(err)
		}
	})
	if err != nil || s.Outcome() != toolrunner.OutcomeMaxIterations {
		t.Errorf("error = %v, Outcome() = %v; want none, and max iterations", err, s.Outcome())
	}
}

// G17: a compaction after the final reply is no output, and hides none.
func TestOutputGoesThroughACompaction(t *testing.T) {
	var report weatherReport
	s := runtest.NewStage(t, intoReport(&report, false), toolrunnertest.Text(parisReport), runtest.SummaryReply("s"))
	if _, err := s.Play(t.Context(), false, runtest.CompactWhen(t, s, 0)); err != nil || report.City != "Paris" {
		t.Errorf("error = %v, report = %+v; want Paris", err, report)
	}
}

// G17: raw schemas are sent as they are, and nothing is parsed.
func TestARawSchemaParsesNothing(t *testing.T) {
	for name, schema := range map[string]any{
		"raw": json.RawMessage(`{"type":"object"}`),
		"map": map[string]any{"type": "object"},
	} {
		t.Run(name, func(t *testing.T) {
			runtest.BothWays(t, func(t *testing.T, streaming bool) {
				s := runtest.NewStage(t, intoReport(schema, false), toolrunnertest.Text("no JSON at all"))
				if _, err := s.Play(t.Context(), streaming, nil); err != nil {
					t.Fatal(err)
				}
				want := `{"format":{"schema":{"type":"object"},"type":"json_schema"}}`
				if got := string(s.Srv.Requests()[0].Field("output_config")); got != want {
					t.Errorf("output_config = %s, want %s", got, want)
				}
			})
		})
	}
}

type reportTree struct {
	Name     string        `json:"name"`
	Children []*reportTree `json:"children"`
}

type reportList []reportList

// What has no schema is an error before anything is sent, and never a panic.
func TestASchemaThatIsNoneIsAnError(t *testing.T) {
	number := 7
	text := "x"
	raw := json.RawMessage(`{}`)
	for name, schema := range map[string]any{
		"nil struct":    (*weatherReport)(nil),
		"number":        &number,
		"text":          &text,
		"raw pointer":   &raw,
		"no pointer":    weatherReport{},
		"chan":          make(chan int),
		"func in it":    &struct{ F func() }{},
		"chan in it":    &struct{ C chan int }{},
		"tree":          &reportTree{},
		"list":          &struct{ L reportList }{},
		"tree, as item": &struct{ Trees map[string]reportTree }{},
	} {
		t.Run(name, func(t *testing.T) {
			for _, old := range []bool{false, true} {
				s := runtest.NewStage(t, intoReport(schema, old))
				if _, err := s.Play(t.Context(), false, nil); err == nil || !strings.HasPrefix(err.Error(), "toolrunner: ") {
					t.Errorf("the run's error = %v, want one from the runner", err)
				}
				if n := len(s.Srv.Requests()); n > 0 {
					t.Errorf("%d requests went out, want none", n)
				}
			}
		})
	}
}

// selfReport uses the runner while it is parsed.
type selfReport struct{ read func() }

func (r *selfReport) UnmarshalJSON([]byte) error {
	r.read()
	return nil
}

// No lock is held while code of the caller runs.
func TestParsingMayUseTheRunner(t *testing.T) {
	var s *runtest.Stage
	var count int
	report := &selfReport{read: func() { count = len(s.Messages()) }}
	s = runtest.NewStage(t, intoReport(report, false), toolrunnertest.Text("{}"))
	done := make(chan error, 1)
	go func() {
		_, err := s.RunToCompletion(t.Context())
		done <- err
	}()
	select {
	case err := <-done:
		if err != nil {
			t.Fatal(err)
		}
	case <-s.Deadline():
		t.Fatal("parsing waits for a lock that the runner holds")
	}
	if diff := cmp.Diff(2, count); diff != "" {
		t.Errorf("messages while parsing (-want +got):\n%s", diff)
	}
}

// Q13: the answer of any message is read as a value of its own, and what is no answer is told
// apart.
func TestOutputOfAMessage(t *testing.T) {
	for name, tt := range map[string]struct {
		reply toolrunnertest.Reply
		want  weatherReport
		err   error
		says  string
	}{
		"an answer":        {reply: toolrunnertest.Text(parisReport), want: weatherReport{"Paris", 21}},
		"in two blocks":    {reply: toolrunnertest.Message(toolrunnertest.Say(parisReport[:9]), toolrunnertest.Say(parisReport[9:])), want: weatherReport{"Paris", 21}},
		"white space":      {reply: toolrunnertest.Text(" " + parisReport + "\n"), want: weatherReport{"Paris", 21}},
		"no JSON":          {reply: toolrunnertest.Text("It is mild."), err: anthropic.ErrStructuredOutputParse, says: "JSON"},
		"another type":     {reply: toolrunnertest.Text(`{"city":"Paris","degrees":"mild"}`), err: anthropic.ErrStructuredOutputParse, says: "degrees"},
		"another property": {reply: toolrunnertest.Text(`{"city":"Paris","degrees":21,"wind":3}`), err: anthropic.ErrStructuredOutputParse, says: "wind"},
		"two values":       {reply: toolrunnertest.Text(parisReport + parisReport), err: anthropic.ErrStructuredOutputParse},
		"refused":          {reply: toolrunnertest.Text(parisReport).StopReason("refusal"), err: toolrunner.ErrRefused},
		"cut off":          {reply: toolrunnertest.Text(parisReport).StopReason("max_tokens"), err: toolrunner.ErrTruncated},
		"paused":           {reply: toolrunnertest.Text(parisReport).StopReason("pause_turn"), err: anthropic.ErrStructuredOutputParse, says: "pause_turn"},
		"calls":            {reply: toolrunnertest.Message(toolrunnertest.Say(parisReport), toolrunnertest.Call("a", "look", `{}`)), err: anthropic.ErrStructuredOutputParse, says: "tool_use"},
	} {
		t.Run(name, func(t *testing.T) {
			s := runtest.NewStage(t, func(p *toolrunner.Params) { p.OutputConfig.Format = toolrunner.OutputFormat[weatherReport]() }, tt.reply)
			turn, err := s.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			got, err := toolrunner.Output[weatherReport](turn.BetaMessage)
			if got != tt.want || !errors.Is(err, tt.err) || err != nil && !strings.Contains(err.Error(), tt.says) {
				t.Errorf("Output() = %+v, %v; want %+v, an error that is %v and says %q", got, err, tt.want, tt.err, tt.says)
			}
		})
	}
	if _, err := toolrunner.Output[weatherReport](nil); !errors.Is(err, anthropic.ErrStructuredOutputParse) {
		t.Errorf("Output(nil) has the error %v", err)
	}
}

// The format has the schema of the type, in the form of strict mode: each object is closed.
func TestOutputFormatIsStrict(t *testing.T) {
	s := runtest.NewStage(t, func(p *toolrunner.Params) { p.OutputConfig.Format = toolrunner.OutputFormat[weatherReport]() }, toolrunnertest.Text(parisReport))
	if _, err := s.RunToCompletion(t.Context()); err != nil {
		t.Fatal(err)
	}
	const want = `{"format":{"schema":{"type":"object","properties":{"city":{"type":["string","null"]},"degrees":{"type":["integer","null"]}},"required":["city","degrees"],"additionalProperties":false},"type":"json_schema"}}`
	if got := string(s.Srv.Requests()[0].Field("output_config")); got != want {
		t.Errorf("output_config = %s\nwant            %s", got, want)
	}
	defer func() {
		if recover() == nil {
			t.Error("OutputFormat of a type without a schema does not panic")
		}
	}()
	toolrunner.OutputFormat[chan int]()
}
