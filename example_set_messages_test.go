package toolrunner_test

import (
	"context"
	"fmt"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// SetMessages puts another history in the place of the whole one. Here the
// oldest exchange is dropped before the next question.
func ExampleRunner_SetMessages() {
	srv := toolrunnertest.New(toolrunnertest.Text("Paris."), toolrunnertest.Text("Rome."), toolrunnertest.Text("Berlin."))
	defer srv.Close()
	client := srv.Client()

	runner, err := toolrunner.New(&client.Beta.Messages, nil, toolrunner.Params{
		BetaMessageNewParams: ask("The capital of France?"),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, question := range []string{"And of Italy?", "And of Germany?"} {
		if _, err := runner.RunToCompletion(context.Background()); err != nil {
			fmt.Println(err)
			return
		}
		messages := append(runner.Messages(), say(question))
		if len(messages) > 3 {
			messages = messages[2:]
		}
		if err := runner.SetMessages(messages...); err != nil {
			fmt.Println(err)
			return
		}
	}
	if _, err := runner.RunToCompletion(context.Background()); err != nil {
		fmt.Println(err)
		return
	}
	printMessages(runner.Messages())
	// Output:
	// {"content":[{"text":"And of Italy?","type":"text"}],"role":"user"}
	// {"content":[{"text":"Rome.","type":"text"}],"role":"assistant"}
	// {"content":[{"text":"And of Germany?","type":"text"}],"role":"user"}
	// {"content":[{"text":"Berlin.","type":"text"}],"role":"assistant"}
}
