package toolrunner_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// A decision that comes from elsewhere says what it was made on: it holds for the
// input that somebody has seen, and for no other.
func ExampleDecision_For() {
	srv := toolrunnertest.New(
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "send_mail", `{"to": "all@example.com"}`)),
		toolrunnertest.Text("All have it."),
	)
	defer srv.Close()
	client := srv.Client()

	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{mailTool()}, toolrunner.Params{
		BetaMessageNewParams: ask("Tell everybody."),
		Approve: func(context.Context, *toolrunner.Call) (toolrunner.Decision, error) {
			return toolrunner.Suspend(), nil
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := runner.RunToCompletion(context.Background()); !errors.As(err, new(*toolrunner.SuspendedError)) {
		fmt.Println(err)
		return
	}
	form, err := json.Marshal(runner.Pending()[0]) // goes out with the question
	if err != nil {
		fmt.Println(err)
		return
	}

	var seen toolrunner.Call // comes back with the answer
	if err := json.Unmarshal(form, &seen); err != nil {
		fmt.Println(err)
		return
	}
	other := seen
	other.Input = json.RawMessage(`{"to":"ann@example.com"}`)
	var wrong *toolrunner.DecisionError
	if errors.As(runner.Decide(seen.ID, toolrunner.Allow().For(&other)), &wrong) {
		fmt.Println(wrong.Reason)
	}
	fmt.Println(runner.Decide(seen.ID, toolrunner.Allow().For(&seen)))
	if _, err := runner.RunToCompletion(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// it was made on another input, which differs from byte 8 on: there it has "nn@example.com\"}", and this call has "ll@example.com\"}"
	// <nil>
	// (sending mail to all@example.com)
}
