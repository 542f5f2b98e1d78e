package toolrunner_test

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// Limit bounds how many calls of a tool run at once: here one, though the turn
// has three.
func ExampleLimit() {
	srv := toolrunnertest.New(
		toolrunnertest.Message(
			toolrunnertest.Call("toolu_1", "query", `{}`),
			toolrunnertest.Call("toolu_2", "query", `{}`),
			toolrunnertest.Call("toolu_3", "query", `{}`),
		),
		toolrunnertest.Text("Done."),
	)
	defer srv.Close()
	client := srv.Client()

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
