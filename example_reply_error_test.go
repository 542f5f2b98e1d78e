package toolrunner_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// A reply that is no message ends the run; nothing of it is kept.
func ExampleReplyError() {
	srv := toolrunnertest.New(toolrunnertest.RawJSON(`{"type":"pong"}`))
	defer srv.Close()
	client := srv.Client()

	runner, err := toolrunner.New(&client.Beta.Messages, nil, toolrunner.Params{BetaMessageNewParams: ask("Hi!")})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = runner.RunToCompletion(context.Background())
	var reply *toolrunner.ReplyError
	if errors.As(err, &reply) {
		fmt.Println(reply.Reason)
		fmt.Println(string(reply.Body))
	}
	// Output:
	// it is not a message of the assistant with a list of blocks
	// {"type":"pong"}
}
