package toolrunner_test

import (
	"context"
	"fmt"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// Timeout ends the context of every call after a time.
func ExampleTimeout() {
	srv := toolrunnertest.New(
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "wait_for_rain", `{}`)),
		toolrunnertest.Text("It does not rain."),
	)
	defer srv.Close()
	client := srv.Client()

	rain := toolrunner.NewTool("wait_for_rain", "Wait until it rains.", func(ctx context.Context, _ struct{}) (string, error) {
		<-ctx.Done()
		return "", ctx.Err()
	})
	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{rain}, toolrunner.Params{
		BetaMessageNewParams: ask("Does it rain?"),
		Middleware:           []toolrunner.Middleware{toolrunner.Timeout(10 * time.Millisecond)},
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
