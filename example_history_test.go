package toolrunner_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// A conversation is saved as JSON, and goes on in another process.
func ExampleRunner_Messages() {
	srv, client := scripted(
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "find_order", `{"number":9007199254740993}`)),
		toolrunnertest.Text("It has been sent."),
		toolrunnertest.Text("On Monday."),
	)

	type input struct {
		Number json.Number `json:"number" jsonschema:"required"`
	}
	tools := []anthropic.BetaTool{toolrunner.NewTool("find_order", "Find an order.",
		func(context.Context, input) (string, error) { return "sent on Monday", nil })}

	runner, err := toolrunner.New(&client.Beta.Messages, tools, toolrunner.Params{BetaMessageNewParams: ask("Where is my order?")})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := runner.RunToCompletion(context.Background()); err != nil {
		fmt.Println(err)
		return
	}
	saved, err := json.Marshal(runner.Messages())
	if err != nil {
		fmt.Println(err)
		return
	}

	var encoded []json.RawMessage // and later, perhaps elsewhere
	if err := json.Unmarshal(saved, &encoded); err != nil {
		fmt.Println(err)
		return
	}
	var messages []anthropic.BetaMessageParam
	for _, message := range encoded {
		messages = append(messages, param.Override[anthropic.BetaMessageParam](message))
	}
	runner, err = toolrunner.New(&client.Beta.Messages, tools, toolrunner.Params{
		BetaMessageNewParams: anthropic.BetaMessageNewParams{Model: "claude-test", MaxTokens: 1024, Messages: append(messages, say("When?"))},
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
	fmt.Print(srv.Requests()[2].Outline())
	// Output:
	// On Monday.
	// user: Where is my order?
	// assistant call toolu_1: find_order {"number":9007199254740993}
	// user result toolu_1: sent on Monday
	// assistant: It has been sent.
	// user: When?
}

// SetMessages puts another history in the place of the whole one. Here the
// oldest exchange is dropped before the next question.
func ExampleRunner_SetMessages() {
	_, client := scripted(toolrunnertest.Text("Paris."), toolrunnertest.Text("Rome."), toolrunnertest.Text("Berlin."))

	runner, err := toolrunner.New(&client.Beta.Messages, nil, toolrunner.Params{
		BetaMessageNewParams: ask("The capital of France?"),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, question := range []string{"And of Italy?", "And of Germany?"} {
		if _, err := runner.RunToCompletion(context.Background()); err != nil {
			fmt.Println(err)
			return
		}
		messages := append(runner.Messages(), say(question))
		if len(messages) > 3 {
			messages = messages[2:]
		}
		if err := runner.SetMessages(messages...); err != nil {
			fmt.Println(err)
			return
		}
	}
	if _, err := runner.RunToCompletion(context.Background()); err != nil {
		fmt.Println(err)
		return
	}
	printMessages(runner.Messages())
	// Output:
	// {"content":[{"text":"And of Italy?","type":"text"}],"role":"user"}
	// {"content":[{"text":"Rome.","type":"text"}],"role":"assistant"}
	// {"content":[{"text":"And of Germany?","type":"text"}],"role":"user"}
	// {"content":[{"text":"Berlin.","type":"text"}],"role":"assistant"}
}

// Replace takes over: these messages go out in place of the reply and its
// results. A call that they answer does not run.
func ExampleTurn_Replace() {
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
		calls := turn.Calls()
		if len(calls) == 0 {
			continue
		}
		results := make([]anthropic.BetaContentBlockParamUnion, len(calls))
		for i, call := range calls {
			results[i] = anthropic.NewBetaToolResultBlock(call.ID, "20 degrees, as of this morning", false)
		}
		err := turn.Replace(turn.ToParam(), anthropic.NewBetaUserMessage(results...), say("Please be concise."))
		if err != nil {
			fmt.Println(err)
			return
		}
	}
	printMessages(runner.Messages()[1:])
	// Output:
	// {"content":[{"id":"toolu_1","input":{"city":"Paris"},"name":"get_weather","type":"tool_use"}],"role":"assistant"}
	// {"content":[{"tool_use_id":"toolu_1","is_error":false,"content":[{"text":"20 degrees, as of this morning","type":"text"}],"type":"tool_result"}],"role":"user"}
	// {"content":[{"text":"Please be concise.","type":"text"}],"role":"user"}
	// {"content":[{"text":"Mild.","type":"text"}],"role":"assistant"}
}

// A reply that was cut off is dropped, and asked for again with twice the room.
// At the ceiling the run ends with what there is.
func ExampleTurn_Retry() {
	srv, client := scripted()
	srv.Otherwise(toolrunnertest.Text("Once upon a time").StopReason("max_tokens"))

	runner, err := toolrunner.New(&client.Beta.Messages, nil, toolrunner.Params{
		BetaMessageNewParams: ask("Tell me a long story."),
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	const ceiling = 8192
	for turn, err := range runner.All(context.Background()) {
		if err != nil {
			fmt.Println(err)
			return
		}
		if turn.StopReason == anthropic.BetaStopReasonMaxTokens && runner.Params.MaxTokens < ceiling {
			runner.Params.MaxTokens = min(2*runner.Params.MaxTokens, ceiling)
			if err := turn.Retry(); err != nil {
				fmt.Println(err)
				return
			}
		}
	}
	for _, request := range srv.Requests() {
		fmt.Println(string(request.Field("max_tokens")), "tokens,", len(request.Messages()), "message")
	}
	fmt.Println(runner.Outcome(), len(runner.Messages()))
	// Output:
	// 1024 tokens, 1 message
	// 2048 tokens, 1 message
	// 4096 tokens, 1 message
	// 8192 tokens, 1 message
	// truncated 2
}

// Messages that the API would refuse are refused at once, with what is wrong, and
// nothing is changed.
func ExampleHistoryError() {
	_, client := scripted(toolrunnertest.Text("Hello."))

	runner, err := toolrunner.New(&client.Beta.Messages, nil, toolrunner.Params{BetaMessageNewParams: ask("Hi!")})
	if err != nil {
		fmt.Println(err)
		return
	}
	err = runner.AppendMessages(
		say("Have you seen this?"),
		anthropic.NewBetaUserMessage(anthropic.NewBetaToolResultBlock("toolu_9", "21 degrees", false)),
	)
	var wrong *toolrunner.HistoryError
	if errors.As(err, &wrong) {
		fmt.Println(wrong.Index, wrong.Reason)
	}
	fmt.Println(len(runner.Messages()))
	// Output:
	// 1 the tool_result for "toolu_9" answers no open call: each call is answered once, in the one message right after it
	// 1
}

// What has been said, as a person reads it: each call has its result right below.
func ExampleTranscript() {
	_, client := scripted(
		toolrunnertest.Message(toolrunnertest.Say("Let me look."), toolrunnertest.Call("toolu_1", "get_weather", `{"city":"Paris"}`)),
		toolrunnertest.Text("It is mild."),
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
	if err := (toolrunner.Transcript{}).Write(os.Stdout, runner.Messages()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// (looking at the weather in Paris)
	// user
	//   How is the weather in Paris?
	//
	// assistant
	//   Let me look.
	//   > get_weather {"city":"Paris"}
	//   < 21 degrees
	//
	// assistant
	//   It is mild.
}
