package toolrunner_test

import (
	"context"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// A middleware may answer a call by itself, and decide what runs. Here some
// answers are known, and what costs money does not run after dark.
func ExampleMiddleware_conditional() {
	srv := toolrunnertest.New(
		toolrunnertest.Message(
			toolrunnertest.Call("toolu_1", "get_weather", `{"city":"Paris"}`),
			toolrunnertest.Call("toolu_2", "get_weather", `{"city":"Rome"}`),
			toolrunnertest.Call("toolu_3", "pay", `{}`),
		),
		toolrunnertest.Text("It is mild in both. I will pay tomorrow."),
	)
	defer srv.Close()
	client := srv.Client()

	pay := toolrunner.NewTool("pay", "Pay the bill.", func(context.Context, struct{}) (string, error) { return "paid", nil })
	known := map[string]string{`{"city":"Rome"}`: "23 degrees, as of an hour ago"}
	night := true

	conditional := func(next toolrunner.Handler) toolrunner.Handler {
		return func(ctx context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
			if answer, ok := known[string(call.Input)]; ok && call.Name == "get_weather" {
				return toolrunner.TextResult(answer), nil
			}
			if call.Name == "pay" && night {
				return toolrunner.ErrorResult("Payments are made from 8 to 18 o'clock."), nil
			}
			return next(ctx, call)
		}
	}
	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{weatherTool(), pay}, toolrunner.Params{
		BetaMessageNewParams: ask("How is the weather in Paris and Rome? Then pay the bill."),
		Middleware:           []toolrunner.Middleware{conditional},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := runner.RunToCompletion(context.Background()); err != nil {
		fmt.Println(err)
		return
	}
	for _, id := range []string{"toolu_1", "toolu_2", "toolu_3"} {
		fmt.Println(string(srv.Requests()[1].ToolResult(id)))
	}
	// Output:
	// (looking at the weather in Paris)
	// {"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"21 degrees"}]}
	// {"type":"tool_result","tool_use_id":"toolu_2","content":[{"type":"text","text":"23 degrees, as of an hour ago"}]}
	// {"type":"tool_result","tool_use_id":"toolu_3","content":[{"type":"text","text":"Payments are made from 8 to 18 o'clock."}],"is_error":true}
}
