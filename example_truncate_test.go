package toolrunner_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// Truncate cuts long results, and tells the model.
func ExampleTruncate() {
	srv := toolrunnertest.New(
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "read_log", `{}`)),
		toolrunnertest.Text("It is a log."),
	)
	defer srv.Close()
	client := srv.Client()

	readLog := toolrunner.NewTool("read_log", "Read the log.", func(context.Context, struct{}) (string, error) {
		return strings.Repeat("all is well\n", 1000), nil
	})
	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{readLog}, toolrunner.Params{
		BetaMessageNewParams: ask("What is in the log?"),
		Middleware:           []toolrunner.Middleware{toolrunner.Truncate(24)},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := runner.RunToCompletion(context.Background()); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(srv.Requests()[1].ToolResult("toolu_1")))
	// Output: {"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"all is well\nall is well\n"},{"type":"text","text":"[The result was cut here: 11976 more characters are left out.]"}]}
}
