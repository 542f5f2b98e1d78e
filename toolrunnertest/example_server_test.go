package toolrunnertest_test

import (
	"context"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner/toolrunnertest"
)

func ExampleServer() {
	srv := toolrunnertest.NewServer(
		nil,
		toolrunnertest.Message(
			toolrunnertest.Say("Let me look."),
			toolrunnertest.Call("toolu_1", "get_weather", `{"city":"Paris"}`),
		),
		toolrunnertest.Status(529, "overloaded_error", "Overloaded"),
	)
	defer srv.Close()
	client := srv.Client()
	params := anthropic.BetaMessageNewParams{
		Model:     "claude-test",
		MaxTokens: 100,
		Messages:  []anthropic.BetaMessageParam{anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock("How is the weather?"))},
	}

	reply, err := client.Beta.Messages.New(context.Background(), params)
	fmt.Println(reply.StopReason, string(reply.Content[1].Input), err)

	_, err = client.Beta.Messages.New(context.Background(), params)
	fmt.Println(err != nil, srv.Remaining())

	params.Messages = append(params.Messages, reply.ToParam())
	_, err = client.Beta.Messages.New(context.Background(), params)
	fmt.Println(err != nil)
	for _, request := range srv.Requests() {
		fmt.Println(request.Status, len(request.Messages()))
	}
	// Output:
	// tool_use {"city":"Paris"} <nil>
	// true 0
	// true
	// 200 1
	// 529 1
	// 400 2
}

func ExampleCheckRequest() {
	err := toolrunnertest.CheckRequest([]byte(`{
		"model": "claude-test",
		"max_tokens": 100,
		"messages": [
			{"role": "user", "content": "How is the weather?"},
			{"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {}}]},
			{"role": "user", "content": [{"type": "text", "text": ""}]}
		]
	}`))
	for _, breach := range toolrunnertest.Breaches(err) {
		fmt.Println(breach.Rule, breach.Path)
	}
	// Output:
	// text-empty messages.2.content.0
	// tool-result-missing messages.1
}

func ExampleCheckRun() {
	srv := toolrunnertest.NewServer(
		nil,
		toolrunnertest.Message(toolrunnertest.Thinking("The sum is 3.", "signature"), toolrunnertest.Say("3")),
		toolrunnertest.Text("6"),
	)
	defer srv.Close()
	client := srv.Client()
	params := anthropic.MessageNewParams{
		Model:     "claude-test",
		MaxTokens: 100,
		Messages:  []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("1+2?"))},
	}
	reply, err := client.Messages.New(context.Background(), params)
	if err != nil {
		fmt.Println(err)
		return
	}

	// This program keeps the text of the reply and loses its thinking.
	params.Messages = append(
		params.Messages,
		anthropic.NewAssistantMessage(anthropic.NewTextBlock(reply.Content[1].Text)),
		anthropic.NewUserMessage(anthropic.NewTextBlock("Twice that?")),
	)
	if _, err := client.Messages.New(context.Background(), params); err != nil {
		fmt.Println(err)
	}

	fmt.Println(toolrunnertest.CheckRun(srv.Requests()))
	// Output: requests.1.messages.1: 1 blocks instead of the reply's 2 (Takeover(Nth(1)) allows it)
}
