package toolrunner_test

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// A person sees each call before it runs. In a program of yours, the answers come
// from os.Stdin and the questions go to os.Stderr.
func ExampleAskTerminal() {
	srv := toolrunnertest.New(
		toolrunnertest.Message(
			toolrunnertest.Call("toolu_1", "send_mail", `{"to":"ann@example.com"}`),
		),
		toolrunnertest.Text("Ann has it."),
	)
	defer srv.Close()
	client := srv.Client()

	typed := strings.NewReader("y\n")
	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{mailTool()}, toolrunner.Params{
		BetaMessageNewParams: ask("Tell Ann."),
		Approve:              toolrunner.AskTerminal(typed, os.Stdout),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	message, err := runner.RunToCompletion(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(message.Content[0].Text)
	// Output:
	// ═══ toolrunner asks ═══
	// send_mail with 24 bytes of input:
	//   "to": "ann@example.com"
	// Run send_mail with 24 bytes of input? [y]es, [n]o REASON, [e]dit JSON, [s]uspend: (sending mail to ann@example.com)
	// Ann has it.
}
