package history_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

const breakpoint = `"cache_control":{"type":"ephemeral"}`

var ephemeral = anthropic.NewBetaCacheControlEphemeralParam()

// markResults sets a breakpoint at the last result of each turn.
func markResults(t *testing.T) func(turn *toolrunner.Turn) {
	t.Helper()
	return func(turn *toolrunner.Turn) {
		results, err := turn.Results(t.Context())
		if err != nil {
			t.Errorf("Results() error = %v", err)
		}
		if n := len(results); n > 0 {
			results[n-1].CacheControl = ephemeral
		}
	}
}

// breakpointsIn counts those of each message of a request.
func breakpointsIn(q *toolrunnertest.Request) string {
	var counts strings.Builder
	for _, m := range q.Messages() {
		fmt.Fprint(&counts, strings.Count(string(m), breakpoint))
	}
	return counts.String()
}

// B028: a body that marks the results of each turn never sends more than four
// breakpoints; the oldest of the messages go, those of system and tools stay, and
// a record tells each time.
func TestAtMostFourBreakpointsGoOut(t *testing.T) {
	system := []anthropic.BetaTextBlockParam{{Text: "be kind", CacheControl: ephemeral}}
	rawSystem := []anthropic.BetaTextBlockParam{param.Override[anthropic.BetaTextBlockParam](json.RawMessage(`{"type":"text","text":"be kind",` + breakpoint + `}`))}
	unmarked := []anthropic.BetaToolUnionParam{{OfTool: &anthropic.BetaToolParam{Name: "work", InputSchema: anthropic.BetaToolInputSchemaParam{Properties: map[string]any{}}}}}
	plain, marked := (&runtest.Tally{}).Tool("work"), (&runtest.Tally{}).Tool("work")
	marked.Definition.CacheControl = ephemeral
	other := (&runtest.Tally{}).Tool("other")
	other.Definition.CacheControl = ephemeral
	tests := []struct {
		name   string
		params anthropic.BetaMessageNewParams
		tools  []*toolrunner.Tool
		want   string // breakpoints by message of the last request
		drops  int
	}{
		{"none fixed", anthropic.BetaMessageNewParams{}, toolsOf(plain), "00001010101", 1},
		{"system", anthropic.BetaMessageNewParams{System: system}, toolsOf(plain), "00000010101", 2},
		{"system as raw JSON", anthropic.BetaMessageNewParams{System: rawSystem}, toolsOf(plain), "00000010101", 2},
		{"the request and a tool", anthropic.BetaMessageNewParams{CacheControl: ephemeral}, toolsOf(marked), "00000000101", 3},
		{"a tool that Params.Tools replaces", anthropic.BetaMessageNewParams{Tools: unmarked}, toolsOf(marked), "00001010101", 1},
		{"four", anthropic.BetaMessageNewParams{System: system, CacheControl: ephemeral}, toolsOf(marked, other), "00000000000", 5},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var log bytes.Buffer
			params := toolrunner.Params{BetaMessageNewParams: test.params, Logger: slog.New(slog.NewTextHandler(&log, nil))}
			d := runtest.StartUnchecked(t, params, runtest.Tools(test.tools...), runtest.Calls("work", "a"), runtest.Calls("work", "b"), runtest.Calls("work", "c"),
				runtest.Calls("work", "d"), runtest.Calls("work", "e"), toolrunnertest.Text("done"))
			d.MustPlay(t, markResults(t))
			if got := breakpointsIn(d.Request(t, -1)); got != test.want {
				t.Errorf("breakpoints by message = %s, want %s", got, test.want)
			}
			if got := strings.Count(log.String(), `msg="breakpoints dropped" count=1`); got != test.drops {
				t.Errorf("%d records of one dropped breakpoint, want %d:\n%s", got, test.drops, log.String())
			}
			// System and tools are compared byte for byte.
			d.WantFaithful(t, toolrunnertest.Takeover(toolrunnertest.Nth(1, 2, 3, 4, 5)))
		})
	}
}

func toolsOf(tools ...*toolrunner.Tool) []*toolrunner.Tool { return tools }

// E83: breakpoints count wherever they are: in the messages of the caller, inside
// of results, in the definitions of tools that are added; one more than fits goes,
// from the oldest on, and the rest of its message stays as it is.
func TestBreakpointsCountWhereverTheyAre(t *testing.T) {
	var log bytes.Buffer
	work := runtest.Raw("work", func(_ context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
		text := &anthropic.BetaTextBlockParam{Text: "inner", CacheControl: ephemeral}
		return &toolrunner.Result{Content: []anthropic.BetaToolResultBlockParamContentUnion{{OfText: text}}, CacheControl: ephemeral}, nil
	})
	added := (&runtest.Tally{}).Tool("added")
	added.Definition.CacheControl = ephemeral
	first := runtest.Verbatim(`{"role":"user","content":[{"type":"text", "text":"h\u0069","n":1.0,` + breakpoint + `},{"type":"text","text":"there",` + breakpoint + `}]}`)
	params := toolrunner.Params{Logger: slog.New(slog.NewTextHandler(&log, nil))}
	params.Messages = runtest.MessageParams{first}
	d := runtest.StartUnchecked(t, params, runtest.Tools(work), runtest.Calls("work", "a"), toolrunnertest.Text("done"))
	d.MustPlay(t, func(turn *toolrunner.Turn) {
		if turn.Iteration() == 1 {
			if err := d.AddTools(added); err != nil {
				t.Errorf("AddTools() error = %v", err)
			}
		}
	})
	if got := breakpointsIn(d.Request(t, -1)); got != "1021" {
		t.Errorf("breakpoints by message = %s, want 1021", got)
	}
	const want = `{"role":"user","content":[{"type":"text","text":"h\u0069","n":1.0},{"type":"text","text":"there",` + breakpoint + `}]}`
	if got := string(d.Request(t, -1).Messages()[0]); got != want {
		t.Errorf("the first message went out as %s\nwant %s", got, want)
	}
	if !strings.Contains(log.String(), `msg="breakpoints dropped" count=1`) {
		t.Errorf("no record tells of the breakpoint:\n%s", log.String())
	}
}

// Breakpoints are found by what they are: not in the input of a call, not in a
// schema, and not where they are null.
func TestOnlyBreakpointsCount(t *testing.T) {
	var log bytes.Buffer
	tool := runtest.Raw("work", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
		return toolrunner.TextResult(breakpoint), nil
	})
	tool.Definition.InputSchema.Properties = map[string]any{"cache_control": map[string]any{"type": "object"}}
	call := toolrunnertest.RawBlock(`{"type":"tool_use","id":"a","name":"work","input":{"content":{` + breakpoint + `},` + breakpoint + `}}`)
	params := toolrunner.Params{Logger: slog.New(slog.NewTextHandler(&log, nil))}
	null := `{"type":"text","text":"x","cache_control":null}`
	params.Messages = runtest.MessageParams{runtest.Verbatim(`{"role":"user","content":[` + null + `,` + null + `,` + null + `,` + null + `,{"type":"text","text":"y",` + breakpoint + `}]}`)}
	d := runtest.StartUnchecked(t, params, runtest.Tools(tool), toolrunnertest.Message(call), toolrunnertest.Text("done"))
	d.MustPlay(t, func(*toolrunner.Turn) {})
	if strings.Contains(log.String(), "breakpoints dropped") {
		t.Errorf("breakpoints were dropped:\n%s", log.String())
	}
	d.WantFaithful(t)
}

// B085: a breakpoint never stands at an empty text: what is left out takes it along.
func TestBreakpointAtEmptyTextIsLeftOut(t *testing.T) {
	work := runtest.Raw("work", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
		text := &anthropic.BetaTextBlockParam{CacheControl: ephemeral}
		return &toolrunner.Result{Content: []anthropic.BetaToolResultBlockParamContentUnion{{OfText: text}}}, nil
	})
	d := runtest.StartUnchecked(t, toolrunner.Params{}, runtest.Tools(work), runtest.Calls("work", "a"), runtest.Calls("work", "b"), toolrunnertest.Text("done"))
	d.MustPlay(t, func(turn *toolrunner.Turn) {
		if turn.Iteration() == 2 {
			markResults(t)(turn)
		}
	})
	d.WantResult(t, "a", `{"type":"tool_result","tool_use_id":"a"}`)
	d.WantResult(t, "b", `{"type":"tool_result","tool_use_id":"b",`+breakpoint+`}`)
}

// A dropped breakpoint stays dropped when the request is sent again.
func TestRetryDropsTheSameBreakpoints(t *testing.T) {
	params := toolrunner.Params{}
	marked := `{"type":"text","text":"x",` + breakpoint + `}`
	params.Messages = runtest.MessageParams{runtest.Verbatim(`{"role":"user","content":[` + strings.Repeat(marked+",", 5) + marked + `]}`)}
	d := runtest.StartUnchecked(t, params, nil, toolrunnertest.Status(500, "api_error", "no"), toolrunnertest.Text("no"), toolrunnertest.Text("done"))
	if err := d.Play(t.Context(), func(*toolrunner.Turn) {}); err == nil {
		t.Error("the run did not end with the error of the API")
	}
	d.MustPlay(t, func(turn *toolrunner.Turn) {
		if turn.Iteration() == 1 {
			if err := turn.Retry(); err != nil {
				t.Errorf("Retry() error = %v", err)
			}
		}
	})
	for i := range 3 {
		if got := breakpointsIn(d.Request(t, i)); got != "4" {
			t.Errorf("request %d has %s breakpoints, want 4", i, got)
		}
	}
}
