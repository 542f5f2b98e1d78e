package toolrunner_test

import (
	"context"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// A typed tool finds its call in the context: for a log, or as a key that makes
// an order idempotent.
func ExampleCallFrom() {
	srv := toolrunnertest.New(
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "order", `{"article":"umbrella"}`)),
		toolrunnertest.Text("It is ordered."),
	)
	defer srv.Close()
	client := srv.Client()

	type input struct {
		Article string `json:"article" jsonschema:"required"`
	}
	order := toolrunner.NewTool("order", "Order an article.", func(ctx context.Context, in input) (string, error) {
		key := ""
		if call, ok := toolrunner.CallFrom(ctx); ok {
			key = call.ID
		}
		fmt.Println("ordering", in.Article, "with the key", key)
		return "ordered", nil
	})

	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{order}, toolrunner.Params{
		BetaMessageNewParams: ask("Order an umbrella."),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := runner.RunToCompletion(context.Background()); err != nil {
		fmt.Println(err)
		return
	}
	// Output: ordering umbrella with the key toolu_1
}
