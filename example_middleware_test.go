package toolrunner_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// A middleware goes around the handler of every call. This one logs how long
// each took, and whether it failed.
func ExampleMiddleware() {
	srv := toolrunnertest.New(
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "get_weather", `{"city":"Paris"}`)),
		toolrunnertest.Text("It is mild."),
	)
	defer srv.Close()
	client := srv.Client()

	logger := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: withoutTimes}))

	logging := func(next toolrunner.Handler) toolrunner.Handler {
		return func(ctx context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
			begin := time.Now()
			result, err := next(ctx, call)
			failed := err != nil || result != nil && result.IsError
			logger.LogAttrs(ctx, slog.LevelInfo, "call", slog.String("tool", call.Name), slog.String("input", string(call.Input)),
				slog.Duration("duration", time.Since(begin)), slog.Bool("failed", failed))
			return result, err
		}
	}
	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{weatherTool()}, toolrunner.Params{
		BetaMessageNewParams: ask("How is the weather in Paris?"),
		Middleware:           []toolrunner.Middleware{logging},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := runner.RunToCompletion(context.Background()); err != nil {
		fmt.Println(err)
		return
	}
	// Output:
	// (looking at the weather in Paris)
	// level=INFO msg=call tool=get_weather input="{\"city\":\"Paris\"}" failed=false
}

// withoutTimes leaves out of records what differs from run to run.
func withoutTimes(_ []string, a slog.Attr) slog.Attr {
	switch a.Key {
	case slog.TimeKey, "duration":
		return slog.Attr{}
	}
	return a
}
