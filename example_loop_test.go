package toolrunner_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// A body sees each turn once its reply is complete, before its calls run.
func ExampleRunner_All() {
	_, client := scripted(
		toolrunnertest.Message(
			toolrunnertest.Say("Let me look."),
			toolrunnertest.Call("toolu_1", "get_weather", `{"city":"Paris"}`),
		),
		toolrunnertest.Text("It is mild."),
	)

	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{weatherTool()}, toolrunner.Params{
		BetaMessageNewParams: ask("How is the weather in Paris?"),
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
		fmt.Println(turn.Iteration(), turn.StopReason, turn.Text())
	}
	usage := runner.Usage()
	fmt.Println(usage.Replies, "replies,", usage.InputTokens+usage.OutputTokens, "tokens")
	// Output:
	// 1 tool_use Let me look.
	// (looking at the weather in Paris)
	// 2 end_turn It is mild.
	// 2 replies, 30 tokens
}

// Next takes one step, for programs that have a loop of their own.
func ExampleRunner_Next() {
	_, client := scripted(
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "get_weather", `{"city":"Paris"}`)),
		toolrunnertest.Text("It is mild in Paris."),
	)

	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{weatherTool()}, toolrunner.Params{
		BetaMessageNewParams: ask("How is the weather in Paris?"),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for {
		turn, err := runner.Next(context.Background())
		if errors.Is(err, toolrunner.ErrDone) {
			break
		}
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(turn.StopReason)
	}
	fmt.Println(runner.Outcome())
	// Output:
	// tool_use
	// (looking at the weather in Paris)
	// end_turn
	// completed
}

// When only the answer counts, there is no loop to write.
func ExampleRunner_RunToCompletion() {
	_, client := scripted(
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "get_weather", `{"city":"Paris"}`)),
		toolrunnertest.Text("It is mild in Paris."),
	)

	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{weatherTool()}, toolrunner.Params{
		BetaMessageNewParams: ask("How is the weather in Paris?"),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	message, err := runner.RunToCompletion(context.Background())
	if err != nil { // the run failed, was cut off, refused, or reached a limit
		fmt.Println(err)
		return
	}
	fmt.Println(toolrunner.Text(message))
	// Output:
	// (looking at the weather in Paris)
	// It is mild in Paris.
}

// RunToCompletion has an error for a run that did not complete, beside the last
// message that came.
func ExampleRunner_RunToCompletion_incomplete() {
	_, client := scripted(toolrunnertest.Text("Once upon").StopReason("max_tokens"))

	runner, err := toolrunner.New(&client.Beta.Messages, nil, toolrunner.Params{BetaMessageNewParams: ask("Tell me a story.")})
	if err != nil {
		fmt.Println(err)
		return
	}
	message, err := runner.RunToCompletion(context.Background())
	switch {
	case err == nil:
		fmt.Println(toolrunner.Text(message))
	case errors.Is(err, toolrunner.ErrTruncated):
		fmt.Println(toolrunner.Text(message) + "...")
	case errors.Is(err, toolrunner.ErrRefused):
		fmt.Println("the model refused")
	case errors.Is(err, toolrunner.ErrMaxIterations):
		fmt.Println("still not done after", runner.IterationCount(), "turns")
	default: // the API, the network, the context, a tool that ended the run
		fmt.Println(err)
	}
	// Output: Once upon...
}

// A reply may begin with a block that is no text, or have none at all, so its first
// block is not the answer.
func ExampleText() {
	_, client := scripted(toolrunnertest.Message(
		toolrunnertest.Thinking("Easy.", "c2lnbmF0dXJl"),
		toolrunnertest.Say("It is mild "),
		toolrunnertest.Say("in Paris."),
	))

	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{weatherTool()}, toolrunner.Params{
		BetaMessageNewParams: ask("How is the weather in Paris?"),
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
	fmt.Println(toolrunner.Text(message))
	fmt.Printf("%q\n", toolrunner.Text(nil))
	// Output:
	// It is mild in Paris.
	// ""
}

// After a loop, Outcome says how the run ended.
func ExampleOutcome() {
	_, client := scripted(toolrunnertest.Text("I cannot help with that.").StopReason("refusal"))

	runner, err := toolrunner.New(&client.Beta.Messages, nil, toolrunner.Params{BetaMessageNewParams: ask("Do something bad.")})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, err := range runner.All(context.Background()) {
		if err != nil { // the outcome is OutcomeFailed then
			fmt.Println(err)
			return
		}
	}
	switch outcome := runner.Outcome(); outcome {
	case toolrunner.OutcomeCompleted:
		fmt.Println("done")
	case toolrunner.OutcomeRefused:
		fmt.Println("the model refused")
	case toolrunner.OutcomeTruncated, toolrunner.OutcomeMaxIterations:
		fmt.Println("not done yet:", outcome)
	default:
		fmt.Println("unexpected:", outcome)
	}
	// Output: the model refused
}

// A loop over All ends without an error where the run was cut off, refused or reached a
// limit. Err says so.
func ExampleRunner_Err() {
	_, client := scripted(toolrunnertest.Text("Once upon a").StopReason("max_tokens"))

	runner, err := toolrunner.New(&client.Beta.Messages, nil, toolrunner.Params{BetaMessageNewParams: ask("Tell me a story.")})
	if err != nil {
		fmt.Println(err)
		return
	}
	for turn, err := range runner.All(context.Background()) {
		if err != nil { // Err returns the same
			break
		}
		fmt.Println(turn.Text())
	}
	switch err := runner.Err(); {
	case err == nil:
		fmt.Println("done")
	case errors.Is(err, toolrunner.ErrTruncated):
		fmt.Println("... and max_tokens cut it off")
	default:
		fmt.Println(err)
	}
	// Output:
	// Once upon a
	// ... and max_tokens cut it off
}

// Breaking off ends the loop before the calls of the turn run. Another loop
// begins by running them.
func ExampleRunner_All_leaveEarly() {
	_, client := scripted(
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "get_weather", `{"city":"Paris"}`)),
		toolrunnertest.Text("It is mild in Paris."),
	)

	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{weatherTool()}, toolrunner.Params{
		BetaMessageNewParams: ask("How is the weather in Paris?"),
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
		if len(turn.Calls()) > 0 {
			break
		}
	}
	fmt.Println(runner.Outcome())

	for turn, err := range runner.All(context.Background()) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(turn.Text())
	}
	fmt.Println(runner.Outcome())
	// Output:
	// stopped
	// (looking at the weather in Paris)
	// It is mild in Paris.
	// completed
}

// What a body adds comes after the results of its turn.
func ExampleRunner_AppendMessages() {
	_, client := scripted(
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "get_weather", `{"city":"Paris"}`)),
		toolrunnertest.Text("Mild."),
	)

	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{weatherTool()}, toolrunner.Params{
		BetaMessageNewParams: ask("How is the weather in Paris?"),
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
		if len(turn.Calls()) > 0 {
			if err := runner.AppendMessages(say("Please be concise.")); err != nil {
				fmt.Println(err)
				return
			}
		}
	}
	printMessages(runner.Messages())
	// Output:
	// (looking at the weather in Paris)
	// {"content":[{"text":"How is the weather in Paris?","type":"text"}],"role":"user"}
	// {"content":[{"id":"toolu_1","input":{"city":"Paris"},"name":"get_weather","type":"tool_use"}],"role":"assistant"}
	// {"content":[{"tool_use_id":"toolu_1","content":[{"text":"21 degrees","type":"text"}],"type":"tool_result"}],"role":"user"}
	// {"content":[{"text":"Please be concise.","type":"text"}],"role":"user"}
	// {"content":[{"text":"Mild.","type":"text"}],"role":"assistant"}
}

// A runner is a conversation: messages that are added after the end of a run
// begin the next one.
func ExampleRunner_AppendMessages_afterTheEnd() {
	_, client := scripted(toolrunnertest.Text("Paris."), toolrunnertest.Text("About two million."))

	runner, err := toolrunner.New(&client.Beta.Messages, nil, toolrunner.Params{
		BetaMessageNewParams: ask("What is the capital of France?"),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	answer := func() {
		for turn, err := range runner.All(context.Background()) {
			if err != nil {
				fmt.Println(err)
				return
			}
			fmt.Println(turn.Text())
		}
	}
	answer()
	if err := runner.AppendMessages(say("How many people live there?")); err != nil {
		fmt.Println(err)
		return
	}
	answer()
	fmt.Println(len(runner.Messages()), "messages")
	// Output:
	// Paris.
	// About two million.
	// 4 messages
}

// A turn belongs to its loop body: later it can be read, but not acted on.
func ExampleTurn() {
	_, client := scripted(toolrunnertest.Text("It is mild in Paris."))

	runner, err := toolrunner.New(&client.Beta.Messages, nil, toolrunner.Params{
		BetaMessageNewParams: ask("How is the weather in Paris?"),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	var last *toolrunner.Turn
	for turn, err := range runner.All(context.Background()) {
		if err != nil {
			fmt.Println(err)
			return
		}
		last = turn
	}
	fmt.Println(last.Text())
	fmt.Println(errors.Is(last.Retry(), toolrunner.ErrTurnOver))
	// Output:
	// It is mild in Paris.
	// true
}

// Params may change between turns. The history stays as it is.
func ExampleParams() {
	srv, client := scripted(
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "get_weather", `{"city":"Paris"}`)),
		toolrunnertest.Text("It is mild in Paris."),
	)

	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{weatherTool()}, toolrunner.Params{
		BetaMessageNewParams: ask("How is the weather in Paris?"),
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
		if turn.Iteration() == 1 {
			runner.Params.MaxTokens *= 2
		}
	}
	for _, request := range srv.Requests() {
		fmt.Println(string(request.Field("max_tokens")), "tokens,", len(request.Messages()), "messages")
	}
	// Output:
	// (looking at the weather in Paris)
	// 1024 tokens, 1 messages
	// 2048 tokens, 3 messages
}

// A choice that forces a call is sent until the model has called a tool, as the
// run could not come to an end otherwise.
func ExampleParams_toolChoice() {
	srv, client := scripted(
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "get_weather", `{"city":"Paris"}`)),
		toolrunnertest.Text("It is mild."),
	)

	params := ask("How is the weather in Paris?")
	params.ToolChoice = anthropic.BetaToolChoiceUnionParam{OfAny: &anthropic.BetaToolChoiceAnyParam{}}
	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{weatherTool()}, toolrunner.Params{
		BetaMessageNewParams: params,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := runner.RunToCompletion(context.Background()); err != nil {
		fmt.Println(err)
		return
	}
	for _, request := range srv.Requests() {
		fmt.Printf("tool_choice: %s\n", request.Field("tool_choice"))
	}
	// Output:
	// (looking at the weather in Paris)
	// tool_choice: {"type":"any"}
	// tool_choice:
}
