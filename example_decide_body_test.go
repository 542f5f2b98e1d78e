package toolrunner_test

import (
	"context"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// A loop body decides with the whole turn in view. There need not be an approver;
// calls that it says nothing about run.
func ExampleRunner_Decide_body() {
	srv := toolrunnertest.New(
		toolrunnertest.Message(
			toolrunnertest.Call("toolu_1", "send_mail", `{"to":"ann@example.com"}`),
			toolrunnertest.Call("toolu_2", "send_mail", `{"to":"bob@example.com"}`),
		),
		toolrunnertest.Text("Only Ann has it."),
	)
	defer srv.Close()
	client := srv.Client()

	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{mailTool()}, toolrunner.Params{
		BetaMessageNewParams: ask("Tell Ann and Bob."),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for turn, err := range runner.All(context.Background()) {
		if err != nil {
			fmt.Println(err)
			return
		}
		for i, call := range turn.Calls() {
			if i == 0 {
				continue
			}
			if err := runner.Decide(call.ID, toolrunner.Deny("one mail at a time")); err != nil {
				fmt.Println(err)
				return
			}
		}
		fmt.Println(turn.StopReason)
	}
	// Output:
	// tool_use
	// (sending mail to ann@example.com)
	// end_turn
}
