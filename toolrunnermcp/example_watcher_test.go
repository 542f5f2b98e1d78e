package toolrunnermcp_test

import (
	"context"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnermcp"
)

func ExampleWatcher() {
	ctx := context.Background()
	api, transport := weatherService()

	var watcher toolrunnermcp.Watcher
	defer watcher.Close()
	client := mcp.NewClient(&mcp.Implementation{Name: "example", Version: "1"}, &mcp.ClientOptions{
		ToolListChangedHandler: watcher.ToolListChanged,
	})
	session, err := client.Connect(ctx, transport, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer session.Close()

	options := toolrunnermcp.Options{Prefix: "met_"}
	tools, err := toolrunnermcp.Tools(ctx, session, options)
	if err != nil {
		fmt.Println(err)
		return
	}
	runner, err := toolrunner.New(&api.Beta.Messages, tools, toolrunner.Params{
		BetaMessageNewParams: anthropic.BetaMessageNewParams{
			Model:     "claude-opus-4-5",
			MaxTokens: 1024,
			Messages:  []anthropic.BetaMessageParam{anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock("How is the weather in Paris?"))},
			Betas:     []anthropic.AnthropicBeta{anthropic.AnthropicBetaInlineTools2026_09_15},
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := watcher.Watch(ctx, runner, session, tools, options); err != nil {
		fmt.Println(err)
		return
	}
	message, err := runner.RunToCompletion(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(toolrunner.Text(message))
	// Output: It is sunny in Paris.
}
