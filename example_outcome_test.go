package toolrunner_test

import (
	"context"
	"fmt"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// After a loop, Outcome says how the run ended.
func ExampleOutcome() {
	srv := toolrunnertest.New(toolrunnertest.Text("I cannot help with that.").StopReason("refusal"))
	defer srv.Close()
	client := srv.Client()

	runner, err := toolrunner.New(&client.Beta.Messages, nil, toolrunner.Params{BetaMessageNewParams: ask("Do something bad.")})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, err := range runner.All(context.Background()) {
		if err != nil { // the outcome is OutcomeFailed then
			fmt.Println(err)
			return
		}
	}
	switch outcome := runner.Outcome(); outcome {
	case toolrunner.OutcomeCompleted:
		fmt.Println("done")
	case toolrunner.OutcomeRefused:
		fmt.Println("the model refused")
	case toolrunner.OutcomeTruncated, toolrunner.OutcomeMaxIterations:
		fmt.Println("not done yet:", outcome)
	default:
		fmt.Println("unexpected:", outcome)
	}
	// Output: the model refused
}
