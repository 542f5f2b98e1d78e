package toolrunner_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// A Handler decodes its input by itself, and says what the model reads.
func ExampleHandler() {
	srv := toolrunnertest.New(
		toolrunnertest.Message(
			toolrunnertest.Call("toolu_1", "stock", `{"article":"umbrella"}`),
			toolrunnertest.Call("toolu_2", "stock", `{"article":"sunshade"}`),
		),
		toolrunnertest.Text("There are umbrellas."),
	)
	defer srv.Close()
	client := srv.Client()

	stock := func(_ context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
		var in struct{ Article string }
		if err := json.Unmarshal(call.Input, &in); err != nil {
			return nil, err
		}
		if in.Article != "umbrella" {
			return toolrunner.ErrorResult("There is no such article. Try umbrella."), nil
		}
		return toolrunner.JSONResult(map[string]int{"pieces": 12, "reserved": 3})
	}
	definition := anthropic.BetaToolParam{
		Name:        "stock",
		Description: anthropic.String("Look up how many pieces of an article there are."),
		InputSchema: anthropic.BetaToolInputSchemaParam{Properties: map[string]any{"article": map[string]any{"type": "string"}}},
	}
	tools := []anthropic.BetaTool{toolrunner.NewRawTool(definition, stock)}

	runner, err := toolrunner.New(&client.Beta.Messages, tools, toolrunner.Params{BetaMessageNewParams: ask("What is in stock?")})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := runner.RunToCompletion(context.Background()); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(srv.Requests()[1].ToolResult("toolu_1")))
	fmt.Println(string(srv.Requests()[1].ToolResult("toolu_2")))
	// Output:
	// {"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"{\"pieces\":12,\"reserved\":3}"}]}
	// {"type":"tool_result","tool_use_id":"toolu_2","content":[{"type":"text","text":"There is no such article. Try umbrella."}],"is_error":true}
}
