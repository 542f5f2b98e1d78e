package toolrunner_test

import (
	"context"
	"fmt"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// After a streamed run the last message is there as if it had come at once.
func ExampleRunner_LastMessage() {
	srv := toolrunnertest.New(toolrunnertest.Text("It is mild in Paris.").Usage(20, 8))
	defer srv.Close()
	client := srv.Client()

	runner, err := toolrunner.New(&client.Beta.Messages, nil, toolrunner.Params{
		BetaMessageNewParams: ask("How is the weather in Paris?"),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, err := range runner.AllStreaming(context.Background()) {
		if err != nil {
			fmt.Println(err)
			return
		}
	}
	message := runner.LastMessage()
	fmt.Println(toolrunner.Text(message), message.StopReason, message.Usage.OutputTokens)
	// Output: It is mild in Paris. end_turn 8
}
