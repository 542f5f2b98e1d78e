package toolrunner_test

import (
	"errors"
	"fmt"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// A later version of a program must still have the tools that waiting calls need.
func ExampleSnapshotError() {
	srv := toolrunnertest.New(
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "pay", `{"to":"landlord","amount":900}`)),
	)
	defer srv.Close()
	client := srv.Client()
	snapshot, err := untilSuspended(client)
	if err != nil {
		fmt.Println(err)
		return
	}

	_, err = toolrunner.Resume(&client.Beta.Messages, nil, paymentParams(), snapshot)
	var unusable *toolrunner.SnapshotError
	if errors.As(err, &unusable) {
		fmt.Println(unusable.Reason)
	}
	// Output:
	// waiting: toolu_1 pay {"to":"landlord","amount":900}
	// the call "toolu_1" waits for the tool "pay", which is not among the tools; pass it to Resume
}
