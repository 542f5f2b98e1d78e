package toolrunner_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// A stream that breaks off is an error, never a short answer. Another loop sends
// the request again.
func ExampleIncompleteStreamError() {
	srv := toolrunnertest.New(
		toolrunnertest.Text("It is mild, and it will stay so.").EndAfter(4),
		toolrunnertest.Text("It is mild, and it will stay so."),
	)
	defer srv.Close()
	client := srv.Client()

	runner, err := toolrunner.New(&client.Beta.Messages, nil, toolrunner.Params{BetaMessageNewParams: ask("How is the weather?")})
	if err != nil {
		fmt.Println(err)
		return
	}

	for range 2 {
		for turn, err := range runner.AllStreaming(context.Background()) {
			var broken *toolrunner.IncompleteStreamError
			if errors.As(err, &broken) {
				fmt.Println("broke off after", broken.Events, "events, the last a", broken.Last)
				break
			}
			if err != nil {
				fmt.Println(err)
				return
			}
			for event := range turn.Events() { // the loop around it has the error, too
				if event.Text != "" {
					fmt.Printf("%q\n", event.Text)
				}
			}
		}
	}
	// Output:
	// "It is mild, and "
	// broke off after 3 events, the last a content_block_delta
	// "It is mild, and "
	// "it will stay so."
}
