package toolrunner_test

import (
	"context"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// Two calls are interrupted by a crash. The one of a tool that only reads runs
// again; of the other one the model reads that nobody knows.
func ExampleResume_interrupted() {
	srv := toolrunnertest.New(
		toolrunnertest.Message(
			toolrunnertest.Call("toolu_1", "look", `{}`),
			toolrunnertest.Call("toolu_2", "send", `{}`),
		),
		toolrunnertest.Text("I look whether it was sent."),
	)
	defer srv.Close()
	client := srv.Client()

	sent := make(chan struct{})
	look := toolrunner.NewTool("look", "Look into the mailbox.", func(context.Context, struct{}) (string, error) {
		fmt.Println("(looking)")
		<-sent
		return "2 letters", nil
	})
	look.ReadOnly = true
	var runner *toolrunner.Runner
	var kept []byte // what a checkpoint has when the process dies in the middle of send
	send := toolrunner.NewTool("send", "Send the letter.", func(context.Context, struct{}) (_ string, err error) {
		kept, err = runner.Snapshot()
		close(sent)
		return "sent", err
	})
	params := toolrunner.Params{BetaMessageNewParams: ask("Send my letter.")}
	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{look, send}, params)
	if err != nil {
		fmt.Println(err)
		return
	}
	turn, err := runner.Next(context.Background())
	if err == nil {
		_, err = turn.Results(context.Background())
	}
	if err != nil {
		fmt.Println(err)
		return
	}

	params.Messages = nil
	runner, err = toolrunner.Resume(&client.Beta.Messages, []anthropic.BetaTool{look, send}, params, kept)
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := runner.RunToCompletion(context.Background()); err != nil {
		fmt.Println(err)
		return
	}
	request := srv.Requests()[1]
	fmt.Println(request.ToolResultText("toolu_1"))
	fmt.Println(request.ToolResultText("toolu_2"))
	// Output:
	// (looking)
	// (looking)
	// 2 letters
	// Error: this call was interrupted while it ran. Whether it took effect is unknown.
}
