package toolrunner_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// A conversation is saved as JSON, and goes on in another process.
func ExampleRunner_Messages() {
	srv := toolrunnertest.New(
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "find_order", `{"number":9007199254740993}`)),
		toolrunnertest.Text("It has been sent."),
		toolrunnertest.Text("On Monday."),
	)
	defer srv.Close()
	client := srv.Client()

	type input struct {
		Number json.Number `json:"number" jsonschema:"required"`
	}
	tools := []anthropic.BetaTool{toolrunner.NewTool("find_order", "Find an order.",
		func(context.Context, input) (string, error) { return "sent on Monday", nil })}

	runner, err := toolrunner.New(&client.Beta.Messages, tools, toolrunner.Params{BetaMessageNewParams: ask("Where is my order?")})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := runner.RunToCompletion(context.Background()); err != nil {
		fmt.Println(err)
		return
	}
	saved, err := json.Marshal(runner.Messages())
	if err != nil {
		fmt.Println(err)
		return
	}

	var encoded []json.RawMessage // and later, perhaps elsewhere
	if err := json.Unmarshal(saved, &encoded); err != nil {
		fmt.Println(err)
		return
	}
	var messages []anthropic.BetaMessageParam
	for _, message := range encoded {
		messages = append(messages, param.Override[anthropic.BetaMessageParam](message))
	}
	runner, err = toolrunner.New(&client.Beta.Messages, tools, toolrunner.Params{
		BetaMessageNewParams: anthropic.BetaMessageNewParams{Model: "claude-test", MaxTokens: 1024, Messages: append(messages, say("When?"))},
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
	fmt.Println(toolrunner.Text(message))
	fmt.Print(srv.Requests()[2].Outline())
	// Output:
	// On Monday.
	// user: Where is my order?
	// assistant call toolu_1: find_order {"number":9007199254740993}
	// user result toolu_1: sent on Monday
	// assistant: It has been sent.
	// user: When?
}
