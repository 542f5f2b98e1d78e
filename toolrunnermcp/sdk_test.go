package toolrunnermcp_test

import (
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	sdkmcp "github.com/anthropics/anthropic-sdk-go/v2/mcp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnermcp"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// The SDK's package mcp turns prompts and resources into what a request takes, and its
// tools run here: over one session, both packages go together.
func TestSDKsPackageWorksBesideThisOne(t *testing.T) {
	session := connectMemory(t, newServer(), nil)
	prompt, err := sdkmcp.ToMessage(&mcp.PromptMessage{Role: "user", Content: &mcp.TextContent{Text: "Say it twice."}})
	if err != nil {
		t.Fatal(err)
	}
	tools := mustTools(t, session, toolrunnermcp.Options{
		Prefix: "ours_", Accept: func(tool *mcp.Tool, _ *toolrunner.Tool) bool { return tool.Name == "echo" },
	})
	theirs, err := sdkmcp.NewBetaTool(&mcp.Tool{Name: "echo", InputSchema: map[string]any{"type": "object"}}, session)
	if err != nil {
		t.Fatal(err)
	}
	srv := toolrunnertest.NewServer(t,
		toolrunnertest.Message(
			toolrunnertest.Call("toolu_1", tools[0].Name(), `{"text":"one"}`),
			toolrunnertest.Call("toolu_2", "echo", `{"text":"two"}`),
		),
		toolrunnertest.Text("Done.").Expect(
			toolrunnertest.HasResult("toolu_1", `{"text":"one"}`), toolrunnertest.HasResult("toolu_2", `{"text":"two"}`)),
	)
	client := srv.Client()
	runner, err := toolrunner.New(&client.Beta.Messages, append(tools, theirs), toolrunner.Params{BetaMessageNewParams: anthropic.BetaMessageNewParams{
		Model: "claude-test", MaxTokens: 100, Messages: []anthropic.BetaMessageParam{prompt},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := runner.RunToCompletion(t.Context()); err != nil {
		t.Error(err)
	}
}
