package toolrunner_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// Everything that bounds a run, in one place.
func ExampleNew_production() {
	_, client := scripted(
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "get_weather", `{"city":"Paris"}`)),
		toolrunnertest.Text("It is mild in Paris."),
	)

	weather := weatherTool()
	weather.ReadOnly = true            // so Retry applies, and an interrupted call may run again
	weather.Timeout = 30 * time.Second // for a call with all its attempts

	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{weather}, toolrunner.Params{
		BetaMessageNewParams: ask("How is the weather in Paris?"),
		MaxIterations:        20,
		MaxConcurrency:       4,
		Limits:               toolrunner.Limits{TotalTokens: 2_000_000, FailedCalls: 10},
		Middleware: []toolrunner.Middleware{
			toolrunner.Truncate(50_000),
			toolrunner.Retry(3, time.Second),
			toolrunner.Timeout(10 * time.Second), // for one attempt, of any tool
		},
		AutoCompact: toolrunner.AutoCompact{Threshold: 100_000, Client: &toolrunner.ClientCompaction{}},
		Logger:      slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
		RequestOptions: []option.RequestOption{
			option.WithMaxRetries(4),
			option.WithRequestTimeout(5 * time.Minute), // for one attempt
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithTimeoutCause(context.Background(), 15*time.Minute, errors.New("the run took too long"))
	defer cancel()
	message, err := runner.RunToCompletion(ctx)
	usage := runner.Usage() // whatever became of the run
	fmt.Println(toolrunner.Text(message), err, runner.Outcome(), usage.InputTokens, usage.OutputTokens)
	// Output:
	// (looking at the weather in Paris)
	// It is mild in Paris. <nil> completed 20 10
}
