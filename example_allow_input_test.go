package toolrunner_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// A call runs with another input than the model's; the model reads which.
func ExampleAllowInput() {
	srv := toolrunnertest.New(
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "send_mail", `{"to":"all@example.com"}`)),
		toolrunnertest.Text("Ann has it."),
	)
	defer srv.Close()
	client := srv.Client()

	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{mailTool()}, toolrunner.Params{
		BetaMessageNewParams: ask("Tell everybody."),
		Approve: func(context.Context, *toolrunner.Call) (toolrunner.Decision, error) {
			return toolrunner.AllowInput(json.RawMessage(`{"to":"ann@example.com"}`)), nil
		},
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
	// (sending mail to ann@example.com)
	// {"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"[The user changed the input of this call before it ran. It ran with: {\"to\":\"ann@example.com\"}]"},{"type":"text","text":"sent"}]}
}
