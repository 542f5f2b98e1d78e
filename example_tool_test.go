package toolrunner_test

import (
	"context"
	"fmt"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// A Tool is a definition and a handler, with a few promises about its calls.
// What the constructors do not ask for is set before a runner has the tool.
func ExampleTool() {
	srv := toolrunnertest.New(
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "search_notes", `{"words":"rain"}`)),
		toolrunnertest.Text("The search took too long."),
	)
	defer srv.Close()
	client := srv.Client()

	type input struct {
		Words string `json:"words" jsonschema:"required"`
	}
	search := toolrunner.NewTool("search_notes", "Search the user's notes.", func(ctx context.Context, _ input) (string, error) {
		<-ctx.Done() // a server that does not answer
		return "", ctx.Err()
	})
	search.Definition.InputExamples = []map[string]any{{"words": "holiday Iceland"}}
	search.Definition.CacheControl = anthropic.NewBetaCacheControlEphemeralParam()
	search.Timeout = 10 * time.Millisecond
	search.ReadOnly = true // a call that was interrupted may run again

	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{search}, toolrunner.Params{
		BetaMessageNewParams: ask("What did I note about rain?"),
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
	// Output: {"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"Error: the call timed out after 10ms"}],"is_error":true}
}
