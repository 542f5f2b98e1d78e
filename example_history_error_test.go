package toolrunner_test

import (
	"errors"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// Messages that the API would refuse are refused at once, with what is wrong, and
// nothing is changed.
func ExampleHistoryError() {
	srv := toolrunnertest.New(toolrunnertest.Text("Hello."))
	defer srv.Close()
	client := srv.Client()

	runner, err := toolrunner.New(&client.Beta.Messages, nil, toolrunner.Params{BetaMessageNewParams: ask("Hi!")})
	if err != nil {
		fmt.Println(err)
		return
	}
	err = runner.AppendMessages(
		say("Have you seen this?"),
		anthropic.NewBetaUserMessage(anthropic.NewBetaToolResultBlock("toolu_9", "21 degrees", false)),
	)
	var wrong *toolrunner.HistoryError
	if errors.As(err, &wrong) {
		fmt.Println(wrong.Index, wrong.Reason)
	}
	fmt.Println(len(runner.Messages()))
	// Output:
	// 1 the tool_result for "toolu_9" answers no open call: each call is answered once, in the one message right after it
	// 1
}
