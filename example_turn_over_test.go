package toolrunner_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// A turn belongs to its loop body: later it can be read, but not acted on.
func ExampleTurn() {
	srv := toolrunnertest.New(toolrunnertest.Text("It is mild in Paris."))
	defer srv.Close()
	client := srv.Client()

	runner, err := toolrunner.New(&client.Beta.Messages, nil, toolrunner.Params{
		BetaMessageNewParams: ask("How is the weather in Paris?"),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	var last *toolrunner.Turn
	for turn, err := range runner.All(context.Background()) {
		if err != nil {
			fmt.Println(err)
			return
		}
		last = turn
	}
	fmt.Println(last.Text())
	fmt.Println(errors.Is(last.Retry(), toolrunner.ErrTurnOver))
	// Output:
	// It is mild in Paris.
	// true
}
