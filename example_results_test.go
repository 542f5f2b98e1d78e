package toolrunner_test

import (
	"context"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// A handler returns content blocks, or a value that becomes text: a number and a
// struct are JSON.
func ExampleNewTool_results() {
	srv := toolrunnertest.New(
		toolrunnertest.Message(
			toolrunnertest.Call("toolu_1", "blocks", `{}`),
			toolrunnertest.Call("toolu_2", "number", `{}`),
			toolrunnertest.Call("toolu_3", "record", `{}`),
		),
		toolrunnertest.Text("Thank you."),
	)
	defer srv.Close()
	client := srv.Client()

	type none struct{}
	type content = anthropic.BetaToolResultBlockParamContentUnion
	type record struct {
		Name string `json:"name"`
		Size int    `json:"size"`
	}
	tools := []anthropic.BetaTool{
		toolrunner.NewTool("blocks", "", func(context.Context, none) ([]content, error) {
			return []content{
				{OfText: &anthropic.BetaTextBlockParam{Text: "a chart and its source"}},
				{OfImage: &anthropic.BetaImageBlockParam{Source: anthropic.BetaImageBlockParamSourceUnion{
					OfBase64: &anthropic.BetaBase64ImageSourceParam{MediaType: "image/png", Data: "iVBORw0KGgo="},
				}}},
				{OfDocument: &anthropic.BetaRequestDocumentBlockParam{Source: anthropic.BetaRequestDocumentBlockSourceUnionParam{
					OfText: &anthropic.BetaPlainTextSourceParam{Data: "whole text"},
				}}},
				{OfSearchResult: &anthropic.BetaSearchResultBlockParam{
					Source: "https://example.com", Title: "Example", Content: []anthropic.BetaTextBlockParam{{Text: "a passage"}},
				}},
			}, nil
		}),
		toolrunner.NewTool("number", "", func(context.Context, none) (float64, error) { return 0.5, nil }),
		toolrunner.NewTool("record", "", func(context.Context, none) (record, error) { return record{"a<b", 2}, nil }),
	}
	runner, err := toolrunner.New(&client.Beta.Messages, tools, toolrunner.Params{BetaMessageNewParams: ask("Show me.")})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := runner.RunToCompletion(context.Background()); err != nil {
		fmt.Println(err)
		return
	}
	for _, id := range []string{"toolu_1", "toolu_2", "toolu_3"} {
		fmt.Println(string(srv.Requests()[1].ToolResult(id)))
	}
	// Output:
	// {"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"a chart and its source"},{"source":{"data":"iVBORw0KGgo=","media_type":"image/png","type":"base64"},"type":"image"},{"source":{"data":"whole text","media_type":"text/plain","type":"text"},"type":"document"},{"content":[{"text":"a passage","type":"text"}],"source":"https://example.com","title":"Example","type":"search_result"}]}
	// {"type":"tool_result","tool_use_id":"toolu_2","content":[{"type":"text","text":"0.5"}]}
	// {"type":"tool_result","tool_use_id":"toolu_3","content":[{"type":"text","text":"{\"name\":\"a<b\",\"size\":2}"}]}
}
