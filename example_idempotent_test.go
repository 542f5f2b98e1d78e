package toolrunner_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// The process dies after a payment, before its result is safe. The call runs again,
// and the bank tells by the key that it has seen it.
func ExampleCall_IdempotencyKey() {
	srv := toolrunnertest.New(
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "pay", `{"amount":900}`)),
		toolrunnertest.Text("The rent is paid."),
	)
	defer srv.Close()
	client := srv.Client()

	type input struct {
		Amount int `json:"amount"`
	}
	died := false
	seen := make(map[string]bool) // at the bank
	pay := toolrunner.NewTool("pay", "Pay the rent.", func(ctx context.Context, in input) (string, error) {
		call, _ := toolrunner.CallFrom(ctx)
		key := call.IdempotencyKey()
		if seen[key] {
			fmt.Println("the bank has seen this payment")
			return "paid", nil
		}
		fmt.Println("the bank pays", in.Amount)
		seen[key], died = true, true
		return "paid", nil
	})
	pay.Idempotent = true

	var kept []byte
	params := toolrunner.Params{BetaMessageNewParams: ask("Pay the rent.")}
	params.Checkpoint = func(_ context.Context, delta toolrunner.Delta) error {
		if died {
			return errors.New("the process has died")
		}
		kept = append(kept, delta.Data...)
		return nil
	}
	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{pay}, params)
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := runner.RunToCompletion(context.Background()); !died {
		fmt.Println(err)
		return
	}

	params.Messages, params.Checkpoint = nil, nil
	runner, err = toolrunner.Resume(&client.Beta.Messages, []anthropic.BetaTool{pay}, params, kept)
	if err != nil {
		fmt.Println(err)
		return
	}
	message, err := runner.RunToCompletion(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(message.Content[0].Text)
	// Output:
	// the bank pays 900
	// the bank has seen this payment
	// The rent is paid.
}
