package toolrunner_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// A failing call is one record. It has what the model does not read: the cause,
// and the stack of a panic.
func ExampleParams_logger() {
	srv := toolrunnertest.New(
		toolrunnertest.Message(
			toolrunnertest.Call("toolu_1", "pay", `{}`),
			toolrunnertest.Call("toolu_2", "divide", `{"by":0}`),
		),
		toolrunnertest.Text("Neither worked."),
	)
	defer srv.Close()
	client := srv.Client()

	type input struct {
		By int `json:"by" jsonschema:"required"`
	}
	tools := []anthropic.BetaTool{
		toolrunner.NewTool("pay", "Pay the bill.", func(context.Context, struct{}) (string, error) {
			return "", &toolrunner.ToolError{
				Content: toolrunner.TextResult("The payment failed.").Content,
				Err:     errors.New("dial tcp 10.0.0.5:443: connection refused"),
			}
		}),
		toolrunner.NewTool("divide", "Divide 1 by a number.", func(_ context.Context, in input) (int, error) {
			return 1 / in.By, nil
		}),
	}
	handler := slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{
		Level: slog.LevelWarn,
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr { // what differs from run to run
			switch a.Key {
			case slog.TimeKey, "duration":
				return slog.Attr{}
			case "stack":
				return slog.String("stack", "(cut here)")
			}
			return a
		},
	})
	runner, err := toolrunner.New(&client.Beta.Messages, tools, toolrunner.Params{
		BetaMessageNewParams: ask("Pay the bill, then divide 1 by 0."),
		Logger:               slog.New(handler),
		MaxConcurrency:       1,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := runner.RunToCompletion(context.Background()); err != nil {
		fmt.Println(err)
		return
	}
	for _, id := range []string{"toolu_1", "toolu_2"} {
		fmt.Println(string(srv.Requests()[1].ToolResult(id)))
	}
	// Output:
	// level=WARN msg="tool call failed" tool=pay call_id=toolu_1 iteration=1 error="dial tcp 10.0.0.5:443: connection refused"
	// level=WARN msg="tool call failed" tool=divide call_id=toolu_2 iteration=1 error="panic: runtime error: integer divide by zero" stack="(cut here)"
	// {"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"The payment failed."}],"is_error":true}
	// {"type":"tool_result","tool_use_id":"toolu_2","content":[{"type":"text","text":"Error: the tool failed unexpectedly."}],"is_error":true}
}
