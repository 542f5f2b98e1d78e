// Package results_test tests the results of calls, as handlers return them and as a loop
// body changes them.
package results_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// E64-E66, E70, E73, E74, E76, G28, B044, B105: what goes out for what a handler returns.
func TestWhatAHandlerReturnsGoesOutAsAValidResult(t *testing.T) {
	const head = `{"type":"tool_result","tool_use_id":"a"`
	tests := []struct {
		name   string
		result *toolrunner.Result
		err    error
		want   string
	}{
		{"text", toolrunner.TextResult("hi"), nil, head + `,"content":[{"type":"text","text":"hi"}]}`},
		{"nil", nil, nil, head + `}`},
		{"no content", &toolrunner.Result{}, nil, head + `}`},
		{"empty slice", &toolrunner.Result{Content: []runtest.Content{}}, nil, head + `}`},
		{"zero union", &toolrunner.Result{Content: []runtest.Content{{}}}, nil, head + `}`},
		{"empty text", toolrunner.TextResult(""), nil, head + `}`},
		{"zero union beside text", &toolrunner.Result{Content: []runtest.Content{{}, runtest.TextContent("x"), {}}}, nil, head + `,"content":[{"type":"text","text":"x"}]}`},
		{"failed without content", &toolrunner.Result{IsError: true}, nil, head + `,"content":[{"type":"text","text":"Error: the tool failed without saying why."}],"is_error":true}`},
		{"failed with empty text", toolrunner.ErrorResult(""), nil, head + `,"content":[{"type":"text","text":"Error: the tool failed without saying why."}],"is_error":true}`},
		{"failed text as given", toolrunner.ErrorResult("no such city"), nil, head + `,"content":[{"type":"text","text":"no such city"}],"is_error":true}`},
		{"error", nil, runtest.ErrBroken, head + `,"content":[{"type":"text","text":"Error: broken"}],"is_error":true}`},
		{"error without text", nil, errors.New(""), head + `,"content":[{"type":"text","text":"Error: the tool failed without saying why."}],"is_error":true}`},
		{"error of space", nil, errors.New(" \t "), head + `,"content":[{"type":"text","text":"Error: the tool failed without saying why."}],"is_error":true}`},
		{
			"content beside an error", toolrunner.TextResult("half"), runtest.ErrBroken,
			head + `,"content":[{"type":"text","text":"half"},{"type":"text","text":"Error: broken"}],"is_error":true}`,
		},
		{
			"cache control", &toolrunner.Result{Content: []runtest.Content{runtest.TextContent("x")}, CacheControl: anthropic.NewBetaCacheControlEphemeralParam()}, nil,
			head + `,"content":[{"type":"text","text":"x"}],"cache_control":{"type":"ephemeral"}}`,
		},
		{"control characters", toolrunner.TextResult("\x00\"\\\n<&>\u2028"), nil, head + `,"content":[{"type":"text","text":"\u0000\"\\\n<&>` + "\u2028" + `"}]}`},
		{"invalid UTF-8", toolrunner.TextResult("a\xffb"), nil, head + `,"content":[{"type":"text","text":"a` + "\ufffd" + `b"}]}`},
		{"the private cause stays private", &toolrunner.Result{Content: []runtest.Content{runtest.TextContent("x")}, IsError: true, Err: errors.New("secret")}, nil, head + `,"content":[{"type":"text","text":"x"}],"is_error":true}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			work := runtest.Raw("work", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) { return test.result, test.err })
			c := runtest.Start(t, runtest.Asking("hi"), runtest.Tools(work), runtest.Calls("work", "a"), toolrunnertest.Text("done"))
			c.Run(t)
			if got := string(c.Request(t, -1).ToolResult("a")); got != test.want {
				t.Errorf("result = %s\nwant     %s", got, test.want)
			}
		})
	}
}

// E65: content of every kind is passed on in order.
func TestContentOfEveryKindIsPassedOnInOrder(t *testing.T) {
	blocks := []runtest.Content{
		runtest.TextContent("one"),
		{OfImage: &anthropic.BetaImageBlockParam{Source: anthropic.BetaImageBlockParamSourceUnion{OfBase64: &anthropic.BetaBase64ImageSourceParam{Data: "AA==", MediaType: "image/png"}}}},
		{OfDocument: &anthropic.BetaRequestDocumentBlockParam{Source: anthropic.BetaRequestDocumentBlockSourceUnionParam{OfText: &anthropic.BetaPlainTextSourceParam{Data: "doc"}}}},
		{OfSearchResult: &anthropic.BetaSearchResultBlockParam{Source: "s", Title: "t", Content: []anthropic.BetaTextBlockParam{{Text: "x"}}}},
		{OfToolReference: &anthropic.BetaToolReferenceBlockParam{ToolName: "work"}},
		runtest.TextContent("two"),
	}
	work := runtest.Raw("work", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
		return &toolrunner.Result{Content: blocks}, nil
	})
	c := runtest.Start(t, runtest.Asking("hi"), runtest.Tools(work), runtest.Calls("work", "a"), toolrunnertest.Text("done"))
	c.Run(t)
	var kinds []string
	for _, b := range runtest.WireBlocks(runtest.RawContent(t, c.Request(t, -1).ToolResult("a"))) {
		kinds = append(kinds, b.Type)
	}
	if got, want := strings.Join(kinds, " "), "text image document search_result tool_reference text"; got != want {
		t.Errorf("content = %s, want %s", got, want)
	}
}

// E72, B114: what the model reads of an error is bounded and valid.
func TestErrorTextIsBoundedAndValid(t *testing.T) {
	const most = len("Error: ") + 4096 + len("...")
	for name, long := range map[string]string{
		"ASCII": strings.Repeat("x", 1<<20), "wide": strings.Repeat("\U0001F600", 1<<18), "invalid": strings.Repeat("\xff", 1<<20),
		"wide, cut inside a character": "x" + strings.Repeat("\U0001F600", 1<<18),
	} {
		t.Run(name, func(t *testing.T) {
			work := runtest.Raw("work", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) { return nil, errors.New(long) })
			c := runtest.Start(t, runtest.Asking("hi"), runtest.Tools(work), runtest.Calls("work", "a"), toolrunnertest.Text("done"))
			c.Run(t)
			got, failed := runtest.ResultText(t, c.Request(t, -1), "a")
			if n := utf8.RuneCountInString(got); !failed || n > most || n < 4000 && name != "invalid" {
				t.Errorf("the text has %d characters, failed %v; want about 4096 and no more, failed", n, failed)
			}
			if !strings.HasPrefix(got, "Error: "+string([]rune(strings.ToValidUTF8(long[:8], "\ufffd"))[:1])) {
				t.Errorf("the text begins with %.20q", got)
			}
			if name != "invalid" && strings.Contains(got, "\ufffd") {
				t.Errorf("the text holds a replacement character: %.20q ... %q", got, got[len(got)-20:])
			}
		})
	}
}

// B038, B105: what a typed tool returns is JSON without escapes for HTML, or an
// error result.
func TestOutputsOfTypedTools(t *testing.T) {
	type none struct{}
	tests := []struct {
		name   string
		tool   *toolrunner.Tool
		want   string
		failed bool
	}{
		{"string", runtest.TypedTool(func() (string, error) { return "plain", nil }), "plain", false},
		{"struct", runtest.TypedTool(func() (struct{ Code string }, error) { return struct{ Code string }{"if a<b && c>d {"}, nil }), `{"Code":"if a<b && c>d {"}`, false},
		{"nil slice", runtest.TypedTool(func() ([]string, error) { return nil, nil }), "null", false},
		{"nil *Result", runtest.TypedTool(func() (*toolrunner.Result, error) { return (*toolrunner.Result)(nil), nil }), "", false},
		{"no fields", runtest.TypedTool(func() (any, error) { return none{}, nil }), "{}", false},
		{"*Result", runtest.TypedTool(func() (*toolrunner.Result, error) { return toolrunner.ErrorResult("no"), nil }), "no", true},
		{"block", runtest.TypedTool(func() (runtest.Content, error) { return runtest.TextContent("block"), nil }), "block", false},
		{"blocks", runtest.TypedTool(func() ([]runtest.Content, error) {
			return []runtest.Content{runtest.TextContent("a"), runtest.TextContent("b")}, nil
		}), "ab", false},
		{"blocks beside an error", runtest.TypedTool(func() ([]runtest.Content, error) {
			return []runtest.Content{runtest.TextContent("a")}, runtest.ErrBroken
		}), "aError: broken", true},
		{"a string beside an error", runtest.TypedTool(func() (string, error) { return "half", runtest.ErrBroken }), "Error: broken", true},
		{"5 MB", runtest.TypedTool(func() (string, error) { return strings.Repeat("x", 5<<20), nil }), strings.Repeat("x", 5<<20), false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := runtest.Start(t, runtest.Asking("hi"), runtest.Tools(test.tool), runtest.Calls("work", "a"), toolrunnertest.Text("done"))
			c.Run(t)
			got, failed := runtest.ResultText(t, c.Request(t, -1), "a")
			if got != test.want || failed != test.failed {
				t.Errorf("result = %.200q, failed %v; want %.200q, failed %v", got, failed, test.want, test.failed)
			}
		})
	}
}

// A result of raw JSON goes out as it is, and one that is broken fails its call.
func TestBrokenContentFailsTheCall(t *testing.T) {
	broken := anthropic.BetaTextBlockParam{Text: "x"}
	broken.SetExtraFields(map[string]any{"meta": math.Inf(1)})
	c := runtest.Start(t, runtest.Asking("hi"), runtest.Tools(runtest.Raw("work", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
		return &toolrunner.Result{Content: []runtest.Content{{OfText: &broken}}}, nil
	})), runtest.Calls("work", "a"), toolrunnertest.Text("done"))
	c.Run(t)
	if got, failed := runtest.ResultText(t, c.Request(t, -1), "a"); !failed || !strings.HasPrefix(got, "Error: the tool's result could not be encoded: ") {
		t.Errorf("result = %q, failed %v", got, failed)
	}
}

// S20, E82: a body that returns the Err of a failed result stops for every kind
// of failure, and not by chance for those that have a private cause.
func TestResultsThatFailedHaveAnError(t *testing.T) {
	failing := runtest.Raw("failing", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
		return toolrunner.ErrorResult("no such city"), nil
	})
	wordless := runtest.Raw("wordless", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
		return &toolrunner.Result{IsError: true}, nil
	})
	strict := runtest.TypedTool(func() (string, error) { return "", nil })
	reply := toolrunnertest.Message(
		toolrunnertest.Call("a", "failing", `{}`), toolrunnertest.Call("b", "wordless", `{}`),
		toolrunnertest.Call("c", "missing", `{}`), toolrunnertest.Call("d", strict.Name(), `{"more":1}`),
	)
	c := runtest.Start(t, runtest.Asking("hi"), runtest.Tools(failing, wordless, strict), reply)
	want := []string{"no such city", "without saying why", "Tool 'missing' not found", "invalid input"}
	for turn, err := range c.All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		results, err := turn.Results(t.Context())
		if err != nil || len(results) != len(want) {
			t.Fatalf("Results() = %v, %v; want %d results", results, err, len(want))
		}
		for i, result := range results {
			if !result.IsError || result.Err == nil || !strings.Contains(result.Err.Error(), want[i]) {
				t.Errorf("result %d: IsError = %t, Err = %v; want an error with %q", i, result.IsError, result.Err, want[i])
			}
		}
		break
	}
}
