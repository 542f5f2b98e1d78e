package toolrunner_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// A rule is an approver that asks nobody. What it denies the model reads, and goes
// on; other calls of the turn are not affected.
func ExampleApprover() {
	srv := toolrunnertest.New(
		toolrunnertest.Message(
			toolrunnertest.Call("toolu_1", "send_mail", `{"to":"ann@example.com"}`),
			toolrunnertest.Call("toolu_2", "send_mail", `{"to":"all@example.org"}`),
		),
		toolrunnertest.Text("Ann has it, the others do not."),
	)
	defer srv.Close()
	client := srv.Client()

	ownDomain := func(_ context.Context, call *toolrunner.Call) (toolrunner.Decision, error) {
		var mail struct{ To string }
		if err := json.Unmarshal(call.Input, &mail); err != nil {
			return toolrunner.Decision{}, err
		}
		if !strings.HasSuffix(mail.To, "@example.com") {
			return toolrunner.Forbid("mail may go to example.com only"), nil
		}
		return toolrunner.Allow(), nil
	}
	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{mailTool()}, toolrunner.Params{
		BetaMessageNewParams: ask("Tell everybody."),
		Approve:              ownDomain,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	message, err := runner.RunToCompletion(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(srv.Requests()[1].ToolResult("toolu_2")))
	fmt.Println(message.Content[0].Text)
	// Output:
	// (sending mail to ann@example.com)
	// {"type":"tool_result","tool_use_id":"toolu_2","content":[{"type":"text","text":"Error: this call is not allowed, and it was not run. The reason: mail may go to example.com only"}],"is_error":true}
	// Ann has it, the others do not.
}

// mailTool is what the model calls in the examples of approval.
func mailTool() *toolrunner.Tool {
	type input struct {
		To string `json:"to" jsonschema:"required"`
	}
	return toolrunner.NewTool("send_mail", "Send a mail.", func(_ context.Context, in input) (string, error) {
		fmt.Println("(sending mail to " + in.To + ")")
		return "sent", nil
	})
}
