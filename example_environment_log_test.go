package toolrunner_test

import (
	"context"
	"fmt"
	"os"
	"regexp"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// With ANTHROPIC_LOG=info or debug in its environment, a program that sets no
// Logger writes records to standard error.
func ExampleParams_environmentLog() {
	srv := toolrunnertest.New(
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "get_weather", `{"city":"Paris"}`)),
		toolrunnertest.Text("It is mild."),
	)
	defer srv.Close()
	client := srv.Client()

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
	return regexp.MustCompile(`(?m)^time=\S+ | duration=\S+`).ReplaceAllString(string(text), ""), err
}
