package toolrunner_test

import (
	"context"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// A block that a handler returns may carry a cache breakpoint of its own.
func ExampleNewTool_cacheControl() {
	srv := toolrunnertest.New(
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "read_manual", `{}`)),
		toolrunnertest.Text("I have read it."),
	)
	defer srv.Close()
	client := srv.Client()

	manual := toolrunner.NewTool("read_manual", "Read the manual.",
		func(context.Context, struct{}) (anthropic.BetaToolResultBlockParamContentUnion, error) {
			return anthropic.BetaToolResultBlockParamContentUnion{OfText: &anthropic.BetaTextBlockParam{
				Text:         "a long text",
				CacheControl: anthropic.NewBetaCacheControlEphemeralParam(),
			}}, nil
		})
	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{manual}, toolrunner.Params{
		BetaMessageNewParams: ask("Read the manual."),
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
	// {"type":"tool_result","tool_use_id":"toolu_1","content":[{"text":"a long text","cache_control":{"type":"ephemeral"},"type":"text"}]}
}
