package middleware_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

const searchResult = `{"type":"search_result","source":"https://x","title":"x","content":[{"type":"text","text":"found"}]}`

func textDocument(title, data string) *anthropic.BetaRequestDocumentBlockParam {
	return &anthropic.BetaRequestDocumentBlockParam{
		Title:  anthropic.String(title),
		Source: anthropic.BetaRequestDocumentBlockSourceUnionParam{OfText: &anthropic.BetaPlainTextSourceParam{Data: data}},
	}
}

func fileDocument(title, about string) *anthropic.BetaRequestDocumentBlockParam {
	return &anthropic.BetaRequestDocumentBlockParam{
		Title: anthropic.String(title), Context: anthropic.String(about),
		Source: anthropic.BetaRequestDocumentBlockSourceUnionParam{OfURL: &anthropic.BetaURLPDFSourceParam{URL: "http://x"}},
	}
}

// MW4: Truncate counts characters over everything that holds text, that of a ToolError
// included, and tells the model how much is left out.
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
		{"a document of plain text", 5, &toolrunner.Result{Content: []runtest.Content{{OfDocument: textDocument("t", "123456")}, runtest.TextContent("7")}}, nil, `,"content":[{"source":{"data":"1234","media_type":"text/plain","type":"text"},"title":"t","type":"document"},` + cut("3") + `]`},
		{"what stands about a file", 5, &toolrunner.Result{Content: []runtest.Content{{OfDocument: fileDocument("1234", "5678")}}}, nil, `,"content":[{"source":{"url":"http://x","type":"url"},"context":"5","title":"1234","type":"document"},` + cut("3") + `]`},
		{"what stands about a file, as raw JSON", 5, &toolrunner.Result{Content: []runtest.Content{runtest.RawContentBlock(`{"type":"document","source":{"type":"url","url":"http://x"},"context":"123456"}`)}}, nil, `,"content":[` + cut("6") + `]`},
		{"what cannot be cut and does not fit", 40, &toolrunner.Result{Content: []runtest.Content{runtest.RawContentBlock(searchResult), runtest.TextContent("1")}}, nil, `,"content":[` + cut(fmt.Sprint(len(searchResult)+1)) + `]`},
		{"what cannot be cut and fits", 200, &toolrunner.Result{Content: []runtest.Content{runtest.RawContentBlock(searchResult), runtest.TextContent("1")}}, nil, `,"content":[` + searchResult + `,` + shown("1") + `]`},
		{"the content of a ToolError", 2, nil, &toolrunner.ToolError{Content: []runtest.Content{runtest.TextContent("123")}}, `,"content":[` + shown("12") + `,` + cut("1") + `],"is_error":true`},
		{"the content of a wrapped ToolError", 2, nil, fmt.Errorf("x: %w", &toolrunner.ToolError{Content: []runtest.Content{runtest.TextContent("123")}}), `,"content":[` + shown("12") + `,` + cut("1") + `],"is_error":true`},
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
