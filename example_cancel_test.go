package toolrunner_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// Cancelling the context ends the run with its cause. What has finished is kept
// for another loop.
func ExampleRunner_All_cancel() {
	srv := toolrunnertest.New(
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "wait_for_rain", `{}`)),
		toolrunnertest.Text("I gave up."),
	)
	defer srv.Close()
	client := srv.Client()

	errGone := errors.New("the user has gone")
	ctx, cancel := context.WithCancelCause(context.Background())
	rain := toolrunner.NewTool("wait_for_rain", "Wait until it rains.", func(ctx context.Context, _ struct{}) (string, error) {
		cancel(errGone)
		<-ctx.Done()
		return "", ctx.Err()
	})
	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{rain}, toolrunner.Params{
		BetaMessageNewParams: ask("Wait for rain."),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, err := range runner.All(ctx) {
		if err != nil {
			fmt.Println(err)
			fmt.Println(errors.Is(err, context.Canceled), errors.Is(err, errGone))
		}
	}

	for turn, err := range runner.All(context.Background()) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(turn.Text())
	}
	fmt.Println(string(srv.Requests()[1].ToolResult("toolu_1")))
	// Output:
	// toolrunner: context canceled: the user has gone
	// true true
	// I gave up.
	// {"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"Error: this call was interrupted while it ran. Whether it took effect is unknown."}],"is_error":true}
}
