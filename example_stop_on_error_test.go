package toolrunner_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// Results runs the calls of the turn, so that the body can look at their results
// before they are sent. Here the first failure ends the run.
func ExampleTurn_Results() {
	srv := toolrunnertest.New(toolrunnertest.Message(toolrunnertest.Call("toolu_1", "pay", `{}`)))
	defer srv.Close()
	client := srv.Client()

	pay := toolrunner.NewTool("pay", "Pay the bill.", func(context.Context, struct{}) (string, error) {
		return "", errors.New("the card was refused")
	})
	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{pay}, toolrunner.Params{
		BetaMessageNewParams: ask("Pay the bill."),
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	work := func(ctx context.Context) error {
		for turn, err := range runner.All(ctx) {
			if err != nil {
				return err
			}
			results, err := turn.Results(ctx)
			if err != nil {
				return err
			}
			for i, result := range results {
				if result.IsError {
					return fmt.Errorf("%s: %w", turn.Calls()[i].Name, result.Err)
				}
			}
		}
		return nil
	}
	fmt.Println(work(context.Background()))
	fmt.Println(runner.Outcome(), len(srv.Requests()))
	// Output:
	// pay: the card was refused
	// stopped 1
}
