package toolrunner_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// RunToCompletion has an error for a run that did not complete, beside the last
// message that came.
func ExampleRunner_RunToCompletion_incomplete() {
	srv := toolrunnertest.New(toolrunnertest.Text("Once upon").StopReason("max_tokens"))
	defer srv.Close()
	client := srv.Client()

	runner, err := toolrunner.New(&client.Beta.Messages, nil, toolrunner.Params{BetaMessageNewParams: ask("Tell me a story.")})
	if err != nil {
		fmt.Println(err)
		return
	}
	message, err := runner.RunToCompletion(context.Background())
	switch {
	case err == nil:
		fmt.Println(toolrunner.Text(message))
	case errors.Is(err, toolrunner.ErrTruncated):
		fmt.Println(toolrunner.Text(message) + "...")
	case errors.Is(err, toolrunner.ErrRefused):
		fmt.Println("the model refused")
	case errors.Is(err, toolrunner.ErrMaxIterations):
		fmt.Println("still not done after", runner.IterationCount(), "turns")
	default: // the API, the network, the context, a tool that ended the run
		fmt.Println(err)
	}
	// Output: Once upon...
}
