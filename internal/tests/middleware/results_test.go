package middleware_test

import (
	"context"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// callEach is a reply for each input, which calls work with it.
func callEach(inputs ...string) []toolrunnertest.Reply {
	replies := make([]toolrunnertest.Reply, len(inputs), len(inputs)+1)
	for i, input := range inputs {
		replies[i] = toolrunnertest.Message(toolrunnertest.Call("call_"+string(rune('a'+i)), "work", input))
	}
	return append(replies, toolrunnertest.Text("done"))
}

// S29: a call of a read only tool is answered by an earlier one of the same input;
// failures are not kept, and of the rest the newest.
func TestCacheResults(t *testing.T) {
	tests := []struct {
		name     string
		size     int
		readOnly bool
		inputs   []string
		want     int32
	}{
		{"hit", 2, true, []string{`{"n":1}`, `{"n":1}`, `{ "n": 1 }`}, 1},
		{"other input", 2, true, []string{`{"n":1}`, `{"n":2}`, `{"n":1}`}, 2},
		{"other number of the same value", 2, true, []string{`{"n":1}`, `{"n":1.0}`}, 2},
		{"not read only", 2, false, []string{`{"n":1}`, `{"n":1}`}, 2},
		{"the oldest goes", 2, true, []string{`{"n":1}`, `{"n":2}`, `{"n":3}`, `{"n":1}`, `{"n":3}`}, 4},
		{"no size", 0, true, []string{`{"n":1}`, `{"n":1}`}, 2},
		{"negative size", -1, true, []string{`{"n":1}`, `{"n":1}`}, 2},
		{"error", 2, true, []string{`{"fail":1}`, `{"fail":1}`}, 2},
		{"failed result", 2, true, []string{`{"is_error":1}`, `{"is_error":1}`}, 2},
		{"panic", 2, true, []string{`{"panic":1}`, `{"panic":1}`}, 2},
		{"result that cannot be sent", 2, true, []string{`{"broken":1}`, `{"broken":1}`}, 2},
		{"nothing to say", 2, true, []string{`{"nil":1}`, `{"nil":1}`}, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var ran runtest.Tally
			work := runtest.Raw("work", func(_ context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
				ran.Add(1)
				switch input := string(call.Input); {
				case strings.Contains(input, "fail"):
					return toolrunner.TextResult("half"), runtest.ErrBroken
				case strings.Contains(input, "is_error"):
					return toolrunner.ErrorResult("no"), nil
				case strings.Contains(input, "panic"):
					panic("no")
				case strings.Contains(input, "broken"):
					return &toolrunner.Result{Content: []anthropic.BetaToolResultBlockParamContentUnion{runtest.RawContentBlock(`{"type":`)}}, nil
				case strings.Contains(input, "nil"):
					return nil, nil
				}
				return toolrunner.TextResult(strings.ReplaceAll(string(call.Input), " ", "")), nil
			})
			work.ReadOnly = test.readOnly
			d := runtest.StartUnchecked(t, toolrunner.Params{Middleware: []toolrunner.Middleware{toolrunner.CacheResults(test.size)}}, runtest.Tools(work), callEach(test.inputs...)...)
			d.MustPlay(t, func(turn *toolrunner.Turn) {
				results, err := turn.Results(t.Context())
				if err != nil {
					t.Errorf("Results() error = %v", err)
				}
				for i, r := range results {
					if input := strings.ReplaceAll(string(turn.Calls()[i].Input), " ", ""); strings.Contains(input, `"n"`) && r.Content[0].OfText.Text != input {
						t.Errorf("the result for %s is %q, want its input", input, r.Content[0].OfText.Text)
					}
				}
			})
			ran.Want(t, test.want)
			d.WantFaithful(t)
		})
	}
}

// Results that come from the cache are nobody else's: what a body, a middleware
// or the handler itself makes of one leaves the next as it was.
func TestCachedResultsAreNotPoisoned(t *testing.T) {
	shared := toolrunner.TextResult("fresh")
	shared.Content[0].OfText.CacheControl = ephemeral
	work := runtest.Raw("work", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) { return shared, nil })
	work.ReadOnly = true
	spoil := func(next toolrunner.Handler) toolrunner.Handler {
		return func(ctx context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
			result, err := next(ctx, call)
			if call.ID == "call_a" || call.ID == "call_b" {
				result.Content[0].OfText.Text = "spoiled by a middleware"
			}
			return result, err
		}
	}
	d := runtest.StartUnchecked(t, toolrunner.Params{Middleware: []toolrunner.Middleware{spoil, toolrunner.CacheResults(9)}}, runtest.Tools(work), callEach(`{}`, `{}`, `{}`, `{}`)...)
	d.MustPlay(t, func(turn *toolrunner.Turn) {
		results, err := turn.Results(t.Context())
		if err != nil {
			t.Errorf("Results() error = %v", err)
		}
		if turn.Iteration() == 3 {
			*results[0].Content[0].OfText = anthropic.BetaTextBlockParam{Text: "spoiled by the body"}
		}
	})
	for call, want := range map[string]string{
		"call_a": `"text":"spoiled by a middleware"`, "call_b": `"text":"spoiled by a middleware"`,
		"call_c": `"text":"spoiled by the body"`, "call_d": `"text":"fresh"`,
	} {
		if got := string(d.Request(t, -1).ToolResult(call)); !strings.Contains(got, want) {
			t.Errorf("result of %s = %s, want one with %s", call, got, want)
		}
	}
}

// A cache is shared by runners; tools are told apart.
func TestCacheResultsIsSharedByRunners(t *testing.T) {
	cache := []toolrunner.Middleware{toolrunner.CacheResults(9)}
	var work, other runtest.Tally
	for range 2 {
		one, two := work.Tool("work"), other.Tool("other")
		one.ReadOnly, two.ReadOnly = true, true
		d := runtest.StartUnchecked(t, toolrunner.Params{Middleware: cache}, runtest.Tools(one, two),
			toolrunnertest.Message(toolrunnertest.Call("a", "work", `{}`), toolrunnertest.Call("b", "other", `{}`)), toolrunnertest.Text("done"))
		d.MustPlay(t, func(*toolrunner.Turn) {})
	}
	work.Want(t, 1)
	other.Want(t, 1)
}

// Truncate counts characters over all text blocks, keeps the others, and tells the
// model how much is left out.
func TestTruncate(t *testing.T) {
	const image = `{"type":"image","source":{"type":"url","url":"http://x"}}`
	shown := func(text string) string { return `{"type":"text","text":"` + text + `"}` }
	cut := func(n string) string {
		return shown("[The result was cut here: " + n + " more characters are left out.]")
	}
	tests := []struct {
		name   string
		most   int
		result *toolrunner.Result
		err    error
		want   string // what follows the id
	}{
		{"short enough", 4, toolrunner.TextResult("1234"), nil, `,"content":[` + shown("1234") + `]`},
		{"too long", 4, toolrunner.TextResult("12345678901234"), nil, `,"content":[` + shown("1234") + `,` + cut("10") + `]`},
		{"wide characters", 2, toolrunner.TextResult("äöü"), nil, `,"content":[` + shown("äö") + `,` + cut("1") + `]`},
		{"invalid UTF-8", 2, toolrunner.TextResult("\xff\xffab"), nil, `,"content":[` + shown("\ufffd\ufffd") + `,` + cut("2") + `]`},
		{"over blocks", 3, &toolrunner.Result{Content: []runtest.Content{runtest.TextContent("12"), runtest.RawContentBlock(image), runtest.TextContent("34"), runtest.TextContent("56")}}, nil, `,"content":[` + shown("12") + `,` + image + `,` + shown("3") + `,` + cut("3") + `]`},
		{"nothing may stay", 0, &toolrunner.Result{Content: []runtest.Content{runtest.TextContent("12"), runtest.RawContentBlock(image)}}, nil, `,"content":[` + image + `,` + cut("2") + `]`},
		{"negative", -5, toolrunner.TextResult("12"), nil, `,"content":[` + cut("2") + `]`},
		{"no content", 1, &toolrunner.Result{}, nil, ``},
		{"nil", 1, nil, nil, ``},
		{"failed", 1, &toolrunner.Result{Content: []runtest.Content{runtest.TextContent("12")}, IsError: true, CacheControl: ephemeral}, nil, `,"content":[` + shown("1") + `,` + cut("1") + `],"is_error":true,` + breakpoint},
		{"beside an error", 1, toolrunner.TextResult("12"), runtest.ErrBroken, `,"content":[` + shown("1") + `,` + cut("1") + `,` + shown("Error: broken") + `],"is_error":true`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			work := runtest.Raw("work", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) { return test.result, test.err })
			d := runtest.StartUnchecked(t, toolrunner.Params{Middleware: []toolrunner.Middleware{toolrunner.Truncate(test.most)}}, runtest.Tools(work), runtest.Calls("work", "a"), toolrunnertest.Text("done"))
			before := ""
			if test.result != nil && len(test.result.Content) > 0 && test.result.Content[0].OfText != nil {
				before = test.result.Content[0].OfText.Text
			}
			d.MustPlay(t, func(*toolrunner.Turn) {})
			d.WantResult(t, "a", `{"type":"tool_result","tool_use_id":"a"`+test.want+`}`)
			if before != "" && test.result.Content[0].OfText.Text != before {
				t.Errorf("the handler's own result was changed to %q", test.result.Content[0].OfText.Text)
			}
		})
	}
}

const breakpoint = `"cache_control":{"type":"ephemeral"}`

var ephemeral = anthropic.NewBetaCacheControlEphemeralParam()
