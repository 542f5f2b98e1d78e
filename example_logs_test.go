package toolrunner_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"regexp"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// With ANTHROPIC_LOG=info or debug in its environment, a program that sets no
// Logger writes records to standard error.
func ExampleParams_environmentLog() {
	_, client := scripted(
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "get_weather", `{"city":"Paris"}`)),
		toolrunnertest.Text("It is mild."),
	)

	records, err := withEnvironmentLog("info", func() error {
		runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{weatherTool()}, toolrunner.Params{
			BetaMessageNewParams: ask("How is the weather in Paris?"),
		})
		if err == nil {
			_, err = runner.RunToCompletion(context.Background())
		}
		return err
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(records)
	// Output:
	// (looking at the weather in Paris)
	// level=INFO msg=request iteration=1 model=claude-test messages=1 bytes=294 streaming=false
	// level=INFO msg=reply iteration=1 stop_reason=tool_use input_tokens=10 output_tokens=5 request_id=req_1
	// level=INFO msg="tool call started" tool=get_weather call_id=toolu_1 iteration=1
	// level=INFO msg="tool call ended" tool=get_weather call_id=toolu_1 iteration=1
	// level=INFO msg=request iteration=2 model=claude-test messages=3 bytes=531 streaming=false
	// level=INFO msg=reply iteration=2 stop_reason=end_turn input_tokens=10 output_tokens=5 request_id=req_2
	// level=INFO msg="run ended" outcome=completed iterations=2 replies=2 input_tokens=20 output_tokens=10
}

// withEnvironmentLog returns what run writes to standard error, without what
// differs from run to run.
func withEnvironmentLog(level string, run func() error) (string, error) {
	stderr := os.Stderr
	defer func() { os.Stderr = stderr }()
	file, err := os.CreateTemp("", "log")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.Remove(file.Name()) }()
	defer func() { _ = file.Close() }()
	os.Stderr = file

	defer func() { _ = os.Unsetenv("ANTHROPIC_LOG") }()
	if err := os.Setenv("ANTHROPIC_LOG", level); err != nil {
		return "", err
	}
	if err := run(); err != nil {
		return "", err
	}
	text, err := os.ReadFile(file.Name())
	return regexp.MustCompile(`(?m)^time=\S+ | duration=\S+| conversation_id=\S+`).ReplaceAllString(string(text), ""), err
}

// A failing call is one record. It has what the model does not read: the cause,
// and the stack of a panic.
func ExampleParams_logger() {
	srv, client := scripted(
		toolrunnertest.Message(
			toolrunnertest.Call("toolu_1", "pay", `{}`),
			toolrunnertest.Call("toolu_2", "divide", `{"by":0}`),
		),
		toolrunnertest.Text("Neither worked."),
	)

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
			case slog.TimeKey, "duration", "conversation_id":
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
