package toolrunner_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// A schema that comes from elsewhere is sent as it is, and the handler gets the
// input byte for byte.
func ExampleNewBetaToolFromBytes() {
	srv := toolrunnertest.New(
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "lookup", `{"id": 9007199254740993}`)),
		toolrunnertest.Text("Found."),
	)
	defer srv.Close()
	client := srv.Client()

	schema := []byte(`{"type":"object","properties":{"id":{"type":"integer"}},"required":["id"]}`)
	lookup, err := toolrunner.NewBetaToolFromBytes("lookup", "Find a record.", schema,
		func(_ context.Context, input json.RawMessage) (anthropic.BetaToolResultBlockParamContentUnion, error) {
			fmt.Println("input:", string(input))
			return anthropic.BetaToolResultBlockParamContentUnion{OfText: &anthropic.BetaTextBlockParam{Text: "a record"}}, nil
		})
	if err != nil {
		fmt.Println(err)
		return
	}
	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{lookup}, toolrunner.Params{
		BetaMessageNewParams: ask("Find record 9007199254740993."),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := runner.RunToCompletion(context.Background()); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(srv.Requests()[1].ToolResult("toolu_1")))
	// Output:
	// input: {"id": 9007199254740993}
	// {"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"a record"}]}
}
