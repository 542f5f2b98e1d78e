package toolrunner_test

import (
	"context"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// A reply may begin with a block that is no text, or have none at all, so its first
// block is not the answer.
func ExampleText() {
	srv := toolrunnertest.New(toolrunnertest.Message(
		toolrunnertest.Thinking("Easy.", "c2lnbmF0dXJl"),
		toolrunnertest.Say("It is mild "),
		toolrunnertest.Say("in Paris."),
	))
	defer srv.Close()
	client := srv.Client()

	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{weatherTool()}, toolrunner.Params{
		BetaMessageNewParams: ask("How is the weather in Paris?"),
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
	fmt.Printf("%q\n", toolrunner.Text(nil))
	// Output:
	// It is mild in Paris.
	// ""
}
