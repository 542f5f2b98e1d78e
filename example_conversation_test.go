package toolrunner_test

import (
	"context"
	"fmt"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// A runner is a conversation: messages that are added after the end of a run
// begin the next one.
func ExampleRunner_AppendMessages_afterTheEnd() {
	srv := toolrunnertest.New(toolrunnertest.Text("Paris."), toolrunnertest.Text("About two million."))
	defer srv.Close()
	client := srv.Client()

	runner, err := toolrunner.New(&client.Beta.Messages, nil, toolrunner.Params{
		BetaMessageNewParams: ask("What is the capital of France?"),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	answer := func() {
		for turn, err := range runner.All(context.Background()) {
			if err != nil {
				fmt.Println(err)
				return
			}
			fmt.Println(turn.Text())
		}
	}
	answer()
	if err := runner.AppendMessages(say("How many people live there?")); err != nil {
		fmt.Println(err)
		return
	}
	answer()
	fmt.Println(len(runner.Messages()), "messages")
	// Output:
	// Paris.
	// About two million.
	// 4 messages
}
