package toolrunner_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// A middleware goes around the handler of every call. This one logs how long
// each took, and whether it failed.
func ExampleMiddleware() {
	_, client := scripted(
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "get_weather", `{"city":"Paris"}`)),
		toolrunnertest.Text("It is mild."),
	)

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

// A middleware may answer a call by itself, and decide what runs. Here some
// answers are known, and what costs money does not run after dark.
func ExampleMiddleware_conditional() {
	srv, client := scripted(
		toolrunnertest.Message(
			toolrunnertest.Call("toolu_1", "get_weather", `{"city":"Paris"}`),
			toolrunnertest.Call("toolu_2", "get_weather", `{"city":"Rome"}`),
			toolrunnertest.Call("toolu_3", "pay", `{}`),
		),
		toolrunnertest.Text("It is mild in both. I will pay tomorrow."),
	)

	pay := toolrunner.NewTool("pay", "Pay the bill.", func(context.Context, struct{}) (string, error) { return "paid", nil })
	known := map[string]string{`{"city":"Rome"}`: "23 degrees, as of an hour ago"}
	night := true

	conditional := func(next toolrunner.Handler) toolrunner.Handler {
		return func(ctx context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
			if answer, ok := known[string(call.Input)]; ok && call.Name == "get_weather" {
				return toolrunner.TextResult(answer), nil
			}
			if call.Name == "pay" && night {
				return toolrunner.ErrorResult("Payments are made from 8 to 18 o'clock."), nil
			}
			return next(ctx, call)
		}
	}
	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{weatherTool(), pay}, toolrunner.Params{
		BetaMessageNewParams: ask("How is the weather in Paris and Rome? Then pay the bill."),
		Middleware:           []toolrunner.Middleware{conditional},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := runner.RunToCompletion(context.Background()); err != nil {
		fmt.Println(err)
		return
	}
	for _, id := range []string{"toolu_1", "toolu_2", "toolu_3"} {
		fmt.Println(string(srv.Requests()[1].ToolResult(id)))
	}
	// Output:
	// (looking at the weather in Paris)
	// {"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"21 degrees"}]}
	// {"type":"tool_result","tool_use_id":"toolu_2","content":[{"type":"text","text":"23 degrees, as of an hour ago"}]}
	// {"type":"tool_result","tool_use_id":"toolu_3","content":[{"type":"text","text":"Payments are made from 8 to 18 o'clock."}],"is_error":true}
}

// Limit bounds how many calls of a tool run at once: here one, though the turn
// has three.
func ExampleLimit() {
	_, client := scripted(
		toolrunnertest.Message(
			toolrunnertest.Call("toolu_1", "query", `{}`),
			toolrunnertest.Call("toolu_2", "query", `{}`),
			toolrunnertest.Call("toolu_3", "query", `{}`),
		),
		toolrunnertest.Text("Done."),
	)

	var running, most atomic.Int32
	query := toolrunner.NewTool("query", "Query the database.", func(context.Context, struct{}) (string, error) {
		defer running.Add(-1)
		if now := running.Add(1); now > most.Load() {
			most.Store(now)
		}
		return "no rows", nil
	})
	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{query}, toolrunner.Params{
		BetaMessageNewParams: ask("What is in the database?"),
		Middleware:           []toolrunner.Middleware{toolrunner.Limit(1, "query")},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := runner.RunToCompletion(context.Background()); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(most.Load(), "at once")
	// Output: 1 at once
}

// Retry calls the handler again after an error that says it is temporary, for
// tools that are marked ReadOnly.
func ExampleRetry() {
	srv, client := scripted(
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "get_price", `{}`)),
		toolrunnertest.Text("It costs 12 euros."),
	)

	attempts := 0
	price := toolrunner.NewTool("get_price", "Get the price.", func(context.Context, struct{}) (string, error) {
		if attempts++; attempts < 3 {
			return "", toolrunner.Temporary(errors.New("the shop is busy"))
		}
		return "12 euros", nil
	})
	price.ReadOnly = true

	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{price}, toolrunner.Params{
		BetaMessageNewParams: ask("What does it cost?"),
		Middleware:           []toolrunner.Middleware{toolrunner.Retry(3, time.Millisecond)},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := runner.RunToCompletion(context.Background()); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(attempts, "attempts:", string(srv.Requests()[1].ToolResult("toolu_1")))
	// Output: 3 attempts: {"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"12 euros"}]}
}

// Timeout ends the context of every call after a time.
func ExampleTimeout() {
	srv, client := scripted(
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "wait_for_rain", `{}`)),
		toolrunnertest.Text("It does not rain."),
	)

	rain := toolrunner.NewTool("wait_for_rain", "Wait until it rains.", func(ctx context.Context, _ struct{}) (string, error) {
		<-ctx.Done()
		return "", ctx.Err()
	})
	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{rain}, toolrunner.Params{
		BetaMessageNewParams: ask("Does it rain?"),
		Middleware:           []toolrunner.Middleware{toolrunner.Timeout(10 * time.Millisecond)},
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
	// Output: {"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"Error: the call timed out after 10ms"}],"is_error":true}
}

// Truncate cuts long results, and tells the model.
func ExampleTruncate() {
	srv, client := scripted(
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "read_log", `{}`)),
		toolrunnertest.Text("It is a log."),
	)

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
