package toolrunnermcp_test

import (
	"context"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnermcp"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

func ExampleSource() {
	ctx := context.Background()
	api, transport := weatherService()

	source, err := toolrunnermcp.NewSource(toolrunnermcp.Options{Name: "weather", Prefix: "met_"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer source.Close()
	client := mcp.NewClient(&mcp.Implementation{Name: "example", Version: "1"}, source.ClientOptions(nil))
	session, err := client.Connect(ctx, transport, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer session.Close()
	if err := source.Attach(session); err != nil {
		fmt.Println(err)
		return
	}

	own := []anthropic.BetaTool{} // the program's
	tools, err := source.AppendTools(ctx, own)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(tools[0].Name(), "-", tools[0].Description())

	runner, err := toolrunner.New(&api.Beta.Messages, tools, toolrunner.Params{
		BetaMessageNewParams: anthropic.BetaMessageNewParams{
			Model:     "claude-opus-4-5",
			MaxTokens: 1024,
			Messages:  []anthropic.BetaMessageParam{anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock("How is the weather in Paris?"))},
			Betas:     []anthropic.AnthropicBeta{anthropic.AnthropicBetaInlineTools2026_09_15}, // for changes of the list
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := source.Follow(ctx, runner); err != nil {
		fmt.Println(err)
		return
	}
	message, err := runner.RunToCompletion(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(toolrunner.Text(message))
	// Output:
	// met_weather_now_700b5356 - The weather in a city.
	// It is sunny in Paris.
}

// weatherService is a scripted model and an MCP server for it. A server in a
// process of its own has an mcp.CommandTransport in place of this one.
func weatherService() (anthropic.Client, mcp.Transport) {
	server := mcp.NewServer(&mcp.Implementation{Name: "met", Version: "1"}, nil)
	type input struct {
		City string `json:"city"`
	}
	mcp.AddTool(server, &mcp.Tool{Name: "weather.now", Description: "The weather in a city."},
		func(_ context.Context, _ *mcp.CallToolRequest, in input) (*mcp.CallToolResult, any, error) {
			return textAnswer("Sunny in " + in.City), nil, nil
		})
	theirs, ours := mcp.NewInMemoryTransports()
	if _, err := server.Connect(context.Background(), theirs, nil); err != nil {
		panic(err)
	}
	model := toolrunnertest.NewServer(nil,
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "met_weather_now_700b5356", `{"city":"Paris"}`)),
		toolrunnertest.Text("It is sunny in Paris."),
	)
	return model.Client(), ours
}
