package toolrunner_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// A ToolError carries what the model reads, of any kind. The cause stays private:
// it is in the log, and in Result.Err.
func ExampleToolError() {
	srv := toolrunnertest.New(
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "click", `{}`)),
		toolrunnertest.Text("The page shows an error."),
	)
	defer srv.Close()
	client := srv.Client()

	click := toolrunner.NewTool("click", "Click the button.", func(context.Context, struct{}) (string, error) {
		return "", &toolrunner.ToolError{
			Content: []anthropic.BetaToolResultBlockParamContentUnion{
				{OfText: &anthropic.BetaTextBlockParam{Text: "The button did not react. The screen:"}},
				{OfImage: &anthropic.BetaImageBlockParam{Source: anthropic.BetaImageBlockParamSourceUnion{
					OfBase64: &anthropic.BetaBase64ImageSourceParam{MediaType: "image/png", Data: "iVBORw0KGgo="},
				}}},
			},
			Err: errors.New("driver: element 0x7f at 10.0.0.5 is stale"),
		}
	})
	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{click}, toolrunner.Params{
		BetaMessageNewParams: ask("Click the button."),
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
	// Output: {"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"The button did not react. The screen:"},{"source":{"data":"iVBORw0KGgo=","media_type":"image/png","type":"base64"},"type":"image"}],"is_error":true}
}
