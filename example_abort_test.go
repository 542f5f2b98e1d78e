package toolrunner_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// Abort ends the run with an error of the handler's own, which the loop returns.
func ExampleAbort() {
	srv := toolrunnertest.New(toolrunnertest.Message(toolrunnertest.Call("toolu_1", "pay", `{}`)))
	defer srv.Close()
	client := srv.Client()

	errNoBudget := errors.New("the budget is used up")
	pay := toolrunner.NewTool("pay", "Pay the bill.", func(context.Context, struct{}) (string, error) {
		return "", toolrunner.Abort(errNoBudget)
	})
	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{pay}, toolrunner.Params{
		BetaMessageNewParams: ask("Pay the bill."),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = runner.RunToCompletion(context.Background())
	fmt.Println(err)
	fmt.Println(errors.Is(err, errNoBudget), runner.Outcome())
	// Output:
	// toolrunner: a tool ended the run: the budget is used up
	// true failed
}
