package toolrunner_test

import (
	"context"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// Another goroutine, such as one that serves a page, takes the questions and answers
// them. The run waits for as long as its context allows.
func ExampleAskChannel() {
	srv := toolrunnertest.New(
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "send_mail", `{"to":"ann@example.com"}`)),
		toolrunnertest.Text("Ann has it."),
	)
	defer srv.Close()
	client := srv.Client()

	questions := make(chan *toolrunner.Question)
	go func() {
		for question := range questions {
			fmt.Println("shown on the page:", question.Call.Name, string(question.Call.Input))
			question.Answer(toolrunner.Allow()) // when the button is clicked
		}
	}()
	defer close(questions)
	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{mailTool()}, toolrunner.Params{
		BetaMessageNewParams: ask("Tell Ann."),
		Approve:              toolrunner.AskChannel(questions),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := runner.RunToCompletion(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// shown on the page: send_mail {"to":"ann@example.com"}
	// (sending mail to ann@example.com)
}
