package toolrunner_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// A rule is an approver that asks nobody. What it denies the model reads, and goes
// on; other calls of the turn are not affected.
func ExampleApprover() {
	srv, client := scripted(
		toolrunnertest.Message(
			toolrunnertest.Call("toolu_1", "send_mail", `{"to":"ann@example.com"}`),
			toolrunnertest.Call("toolu_2", "send_mail", `{"to":"all@example.org"}`),
		),
		toolrunnertest.Text("Ann has it, the others do not."),
	)

	ownDomain := func(_ context.Context, call *toolrunner.Call) (toolrunner.Decision, error) {
		var mail struct {
			To string `json:"to"`
		}
		if err := call.Decode(&mail); err != nil {
			return toolrunner.Forbid(err.Error()), nil
		}
		if !strings.HasSuffix(mail.To, "@example.com") {
			return toolrunner.Forbid("mail may go to example.com only"), nil
		}
		return toolrunner.Allow(), nil
	}
	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{mailTool()}, toolrunner.Params{
		BetaMessageNewParams: ask("Tell everybody."),
		Approve:              ownDomain,
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
	fmt.Println(string(srv.Requests()[1].ToolResult("toolu_2")))
	fmt.Println(message.Content[0].Text)
	// Output:
	// (sending mail to ann@example.com)
	// {"type":"tool_result","tool_use_id":"toolu_2","content":[{"type":"text","text":"Error: this call is not allowed, and it was not run. The reason: mail may go to example.com only"}],"is_error":true}
	// Ann has it, the others do not.
}

// mailTool is what the model calls in the examples of approval.
func mailTool() *toolrunner.Tool {
	type input struct {
		To string `json:"to" jsonschema:"required"`
	}
	return toolrunner.NewTool("send_mail", "Send a mail.", func(_ context.Context, in input) (string, error) {
		fmt.Println("(sending mail to " + in.To + ")")
		return "sent", nil
	})
}

// Some tools need approval, and the rest does not.
func ExampleAskFor() {
	_, client := scripted(
		toolrunnertest.Message(
			toolrunnertest.Call("toolu_1", "get_weather", `{"city":"Paris"}`),
			toolrunnertest.Call("toolu_2", "send_mail", `{"to":"ann@example.com"}`),
		),
		toolrunnertest.Text("I did not tell Ann."),
	)

	never := func(_ context.Context, call *toolrunner.Call) (toolrunner.Decision, error) {
		fmt.Println("declined:", call.Name)
		return toolrunner.Deny(""), nil
	}
	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{weatherTool(), mailTool()}, toolrunner.Params{
		BetaMessageNewParams: ask("Tell Ann how the weather in Paris is."),
		Approve:              toolrunner.AskFor(never, "send_mail", "delete_mail"),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := runner.RunToCompletion(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// declined: send_mail
	// (looking at the weather in Paris)
}

// Tools that only look need no approval.
func ExampleAskUnlessReadOnly() {
	_, client := scripted(
		toolrunnertest.Message(
			toolrunnertest.Call("toolu_1", "get_weather", `{"city":"Paris"}`),
			toolrunnertest.Call("toolu_2", "send_mail", `{"to":"ann@example.com"}`),
		),
		toolrunnertest.Text("I have told Ann."),
	)

	weather := weatherTool()
	weather.ReadOnly = true
	confirm := func(_ context.Context, call *toolrunner.Call) (toolrunner.Decision, error) {
		fmt.Println("confirmed:", call.Name)
		return toolrunner.Allow(), nil
	}
	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{weather, mailTool()}, toolrunner.Params{
		BetaMessageNewParams: ask("Tell Ann how the weather in Paris is."),
		MaxConcurrency:       1,
		Approve:              toolrunner.AskUnlessReadOnly(confirm),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := runner.RunToCompletion(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// confirmed: send_mail
	// (looking at the weather in Paris)
	// (sending mail to ann@example.com)
}

// A person sees each call before it runs. In a program of yours, the answers come
// from os.Stdin and the questions go to os.Stderr.
func ExampleAskTerminal() {
	_, client := scripted(
		toolrunnertest.Message(
			toolrunnertest.Call("toolu_1", "send_mail", `{"to":"ann@example.com"}`),
		),
		toolrunnertest.Text("Ann has it."),
	)

	typed := strings.NewReader("y\n")
	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{mailTool()}, toolrunner.Params{
		BetaMessageNewParams: ask("Tell Ann."),
		Approve:              toolrunner.AskTerminal(typed, os.Stdout),
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
	fmt.Println(message.Content[0].Text)
	// Output:
	// ═══ toolrunner asks ═══
	// send_mail with 24 bytes of input:
	//   "to": "ann@example.com"
	// Run send_mail with 24 bytes of input? [y]es, [n]o REASON, [e]dit JSON, [s]uspend: (sending mail to ann@example.com)
	// Ann has it.
}

// Another goroutine, such as one that serves a page, takes the questions and answers
// them. The run waits for as long as its context allows.
func ExampleAskChannel() {
	_, client := scripted(
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "send_mail", `{"to":"ann@example.com"}`)),
		toolrunnertest.Text("Ann has it."),
	)

	questions := make(chan *toolrunner.Question)
	go func() {
		for question := range questions {
			fmt.Println("shown on the page:", question.Call.Name, string(question.Call.Input))
			question.Answer(toolrunner.Allow()) // when the button is clicked
		}
	}()
	defer close(questions)
	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{mailTool()}, toolrunner.Params{
		BetaMessageNewParams: ask("Tell Ann."),
		Approve:              toolrunner.AskChannel(questions),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := runner.RunToCompletion(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// shown on the page: send_mail {"to":"ann@example.com"}
	// (sending mail to ann@example.com)
}

// A call runs with another input than the model's; the model reads which.
func ExampleAllowInput() {
	srv, client := scripted(
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "send_mail", `{"to":"all@example.com"}`)),
		toolrunnertest.Text("Ann has it."),
	)

	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{mailTool()}, toolrunner.Params{
		BetaMessageNewParams: ask("Tell everybody."),
		Approve: func(context.Context, *toolrunner.Call) (toolrunner.Decision, error) {
			return toolrunner.AllowInput(json.RawMessage(`{"to":"ann@example.com"}`)), nil
		},
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
	// (sending mail to ann@example.com)
	// {"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"[The user changed the input of this call before it ran. It ran with: {\"to\":\"ann@example.com\"}]"},{"type":"text","text":"sent"}]}
}

// A loop body decides with the whole turn in view. There need not be an approver;
// calls that it says nothing about run.
func ExampleRunner_Decide_body() {
	_, client := scripted(
		toolrunnertest.Message(
			toolrunnertest.Call("toolu_1", "send_mail", `{"to":"ann@example.com"}`),
			toolrunnertest.Call("toolu_2", "send_mail", `{"to":"bob@example.com"}`),
		),
		toolrunnertest.Text("Only Ann has it."),
	)

	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{mailTool()}, toolrunner.Params{
		BetaMessageNewParams: ask("Tell Ann and Bob."),
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
		for i, call := range turn.Calls() {
			if i == 0 {
				continue
			}
			if err := runner.Decide(call.ID, toolrunner.Deny("one mail at a time")); err != nil {
				fmt.Println(err)
				return
			}
		}
		fmt.Println(turn.StopReason)
	}
	// Output:
	// tool_use
	// (sending mail to ann@example.com)
	// end_turn
}

// A decision that comes from elsewhere says what it was made on: it holds for the
// input that somebody has seen, and for no other.
func ExampleDecision_For() {
	_, client := scripted(
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "send_mail", `{"to": "all@example.com"}`)),
		toolrunnertest.Text("All have it."),
	)

	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{mailTool()}, toolrunner.Params{
		BetaMessageNewParams: ask("Tell everybody."),
		Approve: func(context.Context, *toolrunner.Call) (toolrunner.Decision, error) {
			return toolrunner.Suspend(), nil
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := runner.RunToCompletion(context.Background()); !errors.As(err, new(*toolrunner.SuspendedError)) {
		fmt.Println(err)
		return
	}
	form, err := json.Marshal(runner.Pending()[0]) // goes out with the question
	if err != nil {
		fmt.Println(err)
		return
	}

	var seen toolrunner.Call // comes back with the answer
	if err := json.Unmarshal(form, &seen); err != nil {
		fmt.Println(err)
		return
	}
	other := seen
	other.Input = json.RawMessage(`{"to":"ann@example.com"}`)
	var wrong *toolrunner.DecisionError
	if errors.As(runner.Decide(seen.ID, toolrunner.Allow().For(&other)), &wrong) {
		fmt.Println(wrong.Reason)
	}
	fmt.Println(runner.Decide(seen.ID, toolrunner.Allow().For(&seen)))
	if _, err := runner.RunToCompletion(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// it was made on another input, which differs from byte 8 on: there it has "nn@example.com\"}", and this call has "ll@example.com\"}"
	// <nil>
	// (sending mail to all@example.com)
}

// Nobody is there to ask: the calls that need approval wait, the others run, and the
// run ends. It goes on once each call is decided on.
func ExampleSuspend() {
	_, client := scripted(
		toolrunnertest.Message(
			toolrunnertest.Call("toolu_1", "get_weather", `{"city":"Paris"}`),
			toolrunnertest.Call("toolu_2", "send_mail", `{"to":"ann@example.com"}`),
		),
		toolrunnertest.Text("Ann knows."),
	)

	later := func(context.Context, *toolrunner.Call) (toolrunner.Decision, error) { return toolrunner.Suspend(), nil }
	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{weatherTool(), mailTool()}, toolrunner.Params{
		BetaMessageNewParams: ask("Tell Ann how the weather in Paris is."),
		Approve:              toolrunner.AskFor(later, "send_mail"),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = runner.RunToCompletion(context.Background())
	var suspended *toolrunner.SuspendedError
	if !errors.As(err, &suspended) {
		fmt.Println(err)
		return
	}
	fmt.Println(runner.Outcome() == toolrunner.OutcomeSuspended, len(suspended.Calls))

	for _, call := range runner.Pending() { // an hour later
		fmt.Println("allowed:", call.Name, string(call.Input))
		if err := runner.Decide(call.ID, toolrunner.Allow()); err != nil {
			fmt.Println(err)
			return
		}
	}
	message, err := runner.RunToCompletion(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(message.Content[0].Text)
	// Output:
	// (looking at the weather in Paris)
	// true 1
	// allowed: send_mail {"to":"ann@example.com"}
	// (sending mail to ann@example.com)
	// Ann knows.
}
