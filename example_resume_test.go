package toolrunner_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// paymentTool is a tool that nobody should call unasked.
func paymentTool() *toolrunner.Tool {
	type input struct {
		To     string `json:"to"`
		Amount int    `json:"amount"`
	}
	return toolrunner.NewTool("pay", "Pay a bill.", func(_ context.Context, in input) (string, error) {
		fmt.Printf("(paying %d to %s)\n", in.Amount, in.To)
		return "paid", nil
	})
}

// paymentParams is what both processes run with.
func paymentParams() toolrunner.Params {
	params := toolrunner.Params{
		BetaMessageNewParams: ask("Pay the rent."),
		Approve:              func(context.Context, *toolrunner.Call) (toolrunner.Decision, error) { return toolrunner.Suspend(), nil },
	}
	params.Messages = nil
	return params
}

// untilSuspended is the first process: it ends with a call that waits.
func untilSuspended(client anthropic.Client) (snapshot []byte, err error) {
	params := paymentParams()
	params.Messages = []anthropic.BetaMessageParam{say("Pay the rent.")}
	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{paymentTool()}, params)
	if err != nil {
		return nil, err
	}
	_, err = runner.RunToCompletion(context.Background())
	var suspended *toolrunner.SuspendedError
	if !errors.As(err, &suspended) {
		return nil, err
	}
	for _, call := range suspended.Calls {
		fmt.Println("waiting:", call.ID, call.Name, string(call.Input))
	}
	return runner.Snapshot()
}

// decided is the second process, perhaps days later.
func decided(client anthropic.Client, snapshot []byte) (answer string, err error) {
	runner, err := toolrunner.Resume(&client.Beta.Messages, []anthropic.BetaTool{paymentTool()}, paymentParams(), snapshot)
	if err != nil {
		return "", err
	}
	for _, call := range runner.Pending() {
		if err := runner.Decide(call.ID, toolrunner.Allow()); err != nil {
			return "", err
		}
	}
	message, err := runner.RunToCompletion(context.Background())
	if err != nil {
		return "", err
	}
	return message.Content[0].Text, nil
}

// A run waits for a decision, is saved, and goes on in another process once
// somebody has decided. The two share nothing but the snapshot.
func ExampleResume() {
	srv := toolrunnertest.New(
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "pay", `{"to":"landlord","amount":900}`)),
		toolrunnertest.Text("The rent is paid."),
	)
	defer srv.Close()

	snapshot, err := untilSuspended(srv.Client())
	if err != nil {
		fmt.Println(err)
		return
	}
	answer, err := decided(srv.Client(), snapshot)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(answer)
	// Output:
	// waiting: toolu_1 pay {"to":"landlord","amount":900}
	// (paying 900 to landlord)
	// The rent is paid.
}
