package toolrunner_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// Tools that the API runs stand in Params.Tools beside those of the runner. What
// they return goes back as it came.
func ExampleParams_serverTools() {
	const found = `{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result",` +
		`"url":"https://example.com","title":"Paris","encrypted_content":"EqgfCioIARgB","page_age":null}]}`
	srv := toolrunnertest.New(
		toolrunnertest.Message(
			toolrunnertest.ServerToolUse("srvtoolu_1", "web_search", `{"query":"Paris"}`),
			toolrunnertest.RawBlock(found),
			toolrunnertest.Call("toolu_1", "get_weather", `{"city":"Paris"}`),
		),
		toolrunnertest.Text("It is mild in the capital of France."),
	)
	defer srv.Close()
	client := srv.Client()

	params := ask("Where is Paris, and how is the weather there?")
	params.Tools = []anthropic.BetaToolUnionParam{
		{OfWebSearchTool20260209: &anthropic.BetaWebSearchTool20260209Param{MaxUses: anthropic.Int(3)}},
	}
	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{weatherTool()}, toolrunner.Params{BetaMessageNewParams: params})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := runner.RunToCompletion(context.Background()); err != nil {
		fmt.Println(err)
		return
	}
	second := srv.Requests()[1]
	fmt.Println("untouched:", strings.Contains(string(second.Messages()[1]), found))
	fmt.Println("answered: ", string(second.ToolResult("toolu_1")))
	// Output:
	// (looking at the weather in Paris)
	// untouched: true
	// answered:  {"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"21 degrees"}]}
}
