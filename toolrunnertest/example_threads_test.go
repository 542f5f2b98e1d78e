package toolrunnertest_test

import (
	"context"
	"fmt"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// greet has two turns with a message thread of the SDK, and returns how many messages each request sent.
func greet(srv *toolrunnertest.Server, between func()) []int {
	client := srv.Client()
	thread := client.Beta.Messages.NewThread(anthropic.BetaMessageThreadCreateParams{Model: "claude-test", MaxTokens: 100})
	for _, text := range []string{"Hello!", "Bye!"} {
		_, err := thread.Send(context.Background(), anthropic.BetaMessageThreadSendParams{
			Messages: []anthropic.BetaMessageParam{anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock(text))},
		})
		if err != nil {
			fmt.Println(err)
		}
		between()
	}
	var counts []int
	for _, request := range srv.Requests() {
		counts = append(counts, len(request.Messages()))
	}
	return counts
}

// The second turn sends what is new; when the server has forgotten, the client sends everything.
func ExampleServer_Forget() {
	srv := toolrunnertest.NewServer(nil, toolrunnertest.Text("Good day."), toolrunnertest.Text("Goodbye."))
	defer srv.Close()
	fmt.Println(greet(srv, func() { srv.Forget() }), srv.Err())
	// Output: [1 1 3] <nil>
}

func ExampleServer_ForgetAfter() {
	srv := toolrunnertest.NewServer(nil, toolrunnertest.Text("Good day."), toolrunnertest.Text("Goodbye."))
	defer srv.Close()
	srv.ForgetAfter(5 * time.Minute) // as the API does; in a synctest bubble that takes no time
	fmt.Println(greet(srv, func() {}))
	// Output: [1 1]
}

func ExampleServer_ForgetAtRandom() {
	srv := toolrunnertest.NewServer(nil, toolrunnertest.Text("Good day."), toolrunnertest.Text("Goodbye."))
	defer srv.Close()
	srv.ForgetAtRandom(1, 42)
	fmt.Println(greet(srv, func() {}))
	// Output: [1 1 3]
}
