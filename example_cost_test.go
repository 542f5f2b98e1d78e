package toolrunner_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// A run that has used what it may ends between turns. Raising the limit lets it go
// on.
func ExampleLimits() {
	_, client := scripted(
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "get_weather", `{"city":"Paris"}`)).Usage(900, 200),
		toolrunnertest.Text("It is mild.").Usage(1200, 20),
	)

	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{weatherTool()}, toolrunner.Params{
		BetaMessageNewParams: ask("How is the weather in Paris?"),
		Limits: toolrunner.Limits{
			TotalTokens: 1000,
			ToolCalls:   map[string]int{"get_weather": 10},
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = runner.RunToCompletion(context.Background())
	fmt.Println(err)
	fmt.Println(errors.Is(err, toolrunner.ErrLimitReached), runner.Outcome() == toolrunner.OutcomeLimitReached)

	runner.Params.Limits.TotalTokens = 5000
	message, err := runner.RunToCompletion(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(message.Content[0].Text)
	// Output:
	// (looking at the weather in Paris)
	// toolrunner: the run has reached one of Params.Limits: Limits.TotalTokens is 1000, and the run has had 1100
	// true true
	// It is mild.
}

// A run that reaches its limit has run the calls of its last turn, so that it
// can go on when the limit is raised.
func ExampleParams_maxIterations() {
	call := func(id string) toolrunnertest.Reply {
		return toolrunnertest.Message(toolrunnertest.Call(id, "get_weather", `{"city":"Paris"}`))
	}
	_, client := scripted(call("toolu_1"), call("toolu_2"), toolrunnertest.Text("Still mild."))

	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{weatherTool()}, toolrunner.Params{
		BetaMessageNewParams: ask("How is the weather in Paris?"),
		MaxIterations:        2,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = runner.RunToCompletion(context.Background())
	fmt.Println(errors.Is(err, toolrunner.ErrMaxIterations), runner.Outcome(), runner.IterationCount())

	runner.Params.MaxIterations = 3
	message, err := runner.RunToCompletion(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(toolrunner.Text(message))
	// Output:
	// (looking at the weather in Paris)
	// (looking at the weather in Paris)
	// true max iterations 2
	// Still mild.
}

// Usage adds up what all replies have cost.
func ExampleUsage() {
	_, client := scripted(
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "get_weather", `{"city":"Paris"}`)).Usage(20, 30).CacheUsage(400, 0),
		toolrunnertest.Text("It is mild.").Usage(60, 10).CacheUsage(0, 400),
	)

	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{weatherTool()}, toolrunner.Params{
		BetaMessageNewParams: ask("How is the weather in Paris?"),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := runner.RunToCompletion(context.Background()); err != nil {
		fmt.Println(err)
		return
	}
	total := runner.Usage()
	fmt.Println("replies:", total.Replies)
	fmt.Println("in:", total.InputTokens, "out:", total.OutputTokens)
	fmt.Println("written to the cache:", total.CacheCreationInputTokens, "read from it:", total.CacheReadInputTokens)
	// Output:
	// (looking at the weather in Paris)
	// replies: 2
	// in: 80 out: 40
	// written to the cache: 400 read from it: 400
}

// Each request is the one before it, byte for byte, and what has come since.
func Example_prefix() {
	srv, client := scripted(
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "get_weather", `{"city":"Paris"}`)),
		toolrunnertest.Message(toolrunnertest.Call("toolu_2", "get_weather", `{"city":"Rome"}`)),
		toolrunnertest.Text("Rome is warmer."),
	)

	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{weatherTool()}, toolrunner.Params{
		BetaMessageNewParams: ask("Where is it warmer, in Paris or in Rome?"),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := runner.RunToCompletion(context.Background()); err != nil {
		fmt.Println(err)
		return
	}

	var before []byte
	for _, request := range srv.Requests() {
		body := bytes.TrimSuffix(request.Body, []byte("]}")) // the end of the messages and of the request
		added, ok := bytes.CutPrefix(body, before)
		if before != nil {
			fmt.Printf("%v, and then %s\n", ok, added)
		}
		before = body
	}
	// Output:
	// (looking at the weather in Paris)
	// (looking at the weather in Rome)
	// true, and then ,{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"get_weather","input":{"city":"Paris"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"21 degrees"}]}]}
	// true, and then ,{"role":"assistant","content":[{"type":"tool_use","id":"toolu_2","name":"get_weather","input":{"city":"Rome"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_2","content":[{"type":"text","text":"21 degrees"}]}]}
}

// A block that a handler returns may carry a cache breakpoint of its own.
func ExampleNewTool_cacheControl() {
	srv, client := scripted(
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "read_manual", `{}`)),
		toolrunnertest.Text("I have read it."),
	)

	manual := toolrunner.NewTool("read_manual", "Read the manual.",
		func(context.Context, struct{}) (anthropic.BetaToolResultBlockParamContentUnion, error) {
			return anthropic.BetaToolResultBlockParamContentUnion{OfText: &anthropic.BetaTextBlockParam{
				Text:         "a long text",
				CacheControl: anthropic.NewBetaCacheControlEphemeralParam(),
			}}, nil
		})
	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{manual}, toolrunner.Params{
		BetaMessageNewParams: ask("Read the manual."),
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
	// Output:
	// {"type":"tool_result","tool_use_id":"toolu_1","content":[{"text":"a long text","cache_control":{"type":"ephemeral"},"type":"text"}]}
}

// What the body changes in a result is what is sent. Here the last result of a
// turn becomes a cache breakpoint.
func ExampleTurn_Results_cacheControl() {
	srv, client := scripted(
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "get_weather", `{"city":"Paris"}`)),
		toolrunnertest.Text("It is mild."),
	)

	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{weatherTool()}, toolrunner.Params{
		BetaMessageNewParams: ask("How is the weather in Paris?"),
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	ctx := context.Background()
	for turn, err := range runner.All(ctx) {
		if err != nil {
			fmt.Println(err)
			return
		}
		results, err := turn.Results(ctx)
		if err != nil {
			fmt.Println(err)
			return
		}
		if len(results) > 0 {
			results[len(results)-1].CacheControl = anthropic.NewBetaCacheControlEphemeralParam()
		}
	}
	fmt.Println(string(srv.Requests()[1].ToolResult("toolu_1")))
	// Output:
	// (looking at the weather in Paris)
	// {"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"21 degrees"}],"cache_control":{"type":"ephemeral"}}
}

// With a message thread, the API keeps the conversation, and a request holds what is new.
// What the API has forgotten goes out whole, in the same turn.
func ExampleParams_messageThread() {
	call := func(id, city string) toolrunnertest.Reply {
		return toolrunnertest.Message(toolrunnertest.Call(id, "get_weather", `{"city":"`+city+`"}`))
	}
	server, client := scripted(call("toolu_1", "Paris"), call("toolu_2", "Oslo"), toolrunnertest.Text("Paris is warmer."))

	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{weatherTool()}, toolrunner.Params{
		BetaMessageNewParams: ask("Is Paris warmer than Oslo?"),
		MessageThread:        true,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for turn, err := range runner.All(context.Background()) {
		if err != nil {
			fmt.Println(err)
			return
		}
		if turn.Iteration() == 2 {
			server.Forget() // as the API does after minutes
		}
	}
	for _, request := range server.Requests() {
		fmt.Println(string(request.Field("thread")), len(request.Messages()), "messages, answered", request.Status)
	}
	// Output:
	// (looking at the weather in Paris)
	// (looking at the weather in Oslo)
	// {"type":"create"} 1 messages, answered 200
	// {"type":"continue","previous_message_id":"msg_1"} 1 messages, answered 200
	// {"type":"continue","previous_message_id":"msg_2"} 1 messages, answered 404
	// {"type":"create"} 5 messages, answered 200
}
