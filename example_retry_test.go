package toolrunner_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// Retry calls the handler again after an error that says it is temporary, for
// tools that are marked ReadOnly.
func ExampleRetry() {
	srv := toolrunnertest.New(
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "get_price", `{}`)),
		toolrunnertest.Text("It costs 12 euros."),
	)
	defer srv.Close()
	client := srv.Client()

	attempts := 0
	price := toolrunner.NewTool("get_price", "Get the price.", func(context.Context, struct{}) (string, error) {
		if attempts++; attempts < 3 {
			return "", toolrunner.Temporary(errors.New("the shop is busy"))
		}
		return "12 euros", nil
	})
	price.ReadOnly = true

	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{price}, toolrunner.Params{
		BetaMessageNewParams: ask("What does it cost?"),
		Middleware:           []toolrunner.Middleware{toolrunner.Retry(3, time.Millisecond)},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := runner.RunToCompletion(context.Background()); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(attempts, "attempts:", string(srv.Requests()[1].ToolResult("toolu_1")))
	// Output: 3 attempts: {"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"12 euros"}]}
}
