package toolrunner_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// Abort ends the run with an error of the handler's own, which the loop returns.
func ExampleAbort() {
	_, client := scripted(toolrunnertest.Message(toolrunnertest.Call("toolu_1", "pay", `{}`)))

	errNoBudget := errors.New("the budget is used up")
	pay := toolrunner.NewTool("pay", "Pay the bill.", func(context.Context, struct{}) (string, error) {
		return "", toolrunner.Abort(errNoBudget)
	})
	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{pay}, toolrunner.Params{
		BetaMessageNewParams: ask("Pay the bill."),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = runner.RunToCompletion(context.Background())
	fmt.Println(err)
	fmt.Println(errors.Is(err, errNoBudget), runner.Outcome())
	// Output:
	// toolrunner: a tool ended the run: the budget is used up
	// true failed
}

// A ToolError carries what the model reads, of any kind. The cause stays private:
// it is in the log, and in Result.Err.
func ExampleToolError() {
	srv, client := scripted(
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "click", `{}`)),
		toolrunnertest.Text("The page shows an error."),
	)

	click := toolrunner.NewTool("click", "Click the button.", func(context.Context, struct{}) (string, error) {
		return "", &toolrunner.ToolError{
			Content: []anthropic.BetaToolResultBlockParamContentUnion{
				{OfText: &anthropic.BetaTextBlockParam{Text: "The button did not react. The screen:"}},
				{OfImage: &anthropic.BetaImageBlockParam{Source: anthropic.BetaImageBlockParamSourceUnion{
					OfBase64: &anthropic.BetaBase64ImageSourceParam{MediaType: "image/png", Data: "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAADklEQVR4nGJiAAQAAP//AAYAA/rQWa4AAAAASUVORK5CYII="},
				}}},
			},
			Err: errors.New("driver: element 0x7f at 10.0.0.5 is stale"),
		}
	})
	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{click}, toolrunner.Params{
		BetaMessageNewParams: ask("Click the button."),
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
	// Output: {"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"The button did not react. The screen:"},{"source":{"data":"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAADklEQVR4nGJiAAQAAP//AAYAA/rQWa4AAAAASUVORK5CYII=","media_type":"image/png","type":"base64"},"type":"image"}],"is_error":true}
}

// Results runs the calls of the turn, so that the body can look at their results
// before they are sent. Here the first failure ends the run.
func ExampleTurn_Results() {
	srv, client := scripted(toolrunnertest.Message(toolrunnertest.Call("toolu_1", "pay", `{}`)))

	pay := toolrunner.NewTool("pay", "Pay the bill.", func(context.Context, struct{}) (string, error) {
		return "", errors.New("the card was refused")
	})
	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{pay}, toolrunner.Params{
		BetaMessageNewParams: ask("Pay the bill."),
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	work := func(ctx context.Context) error {
		for turn, err := range runner.All(ctx) {
			if err != nil {
				return err
			}
			results, err := turn.Results(ctx)
			if err != nil {
				return err
			}
			for i, result := range results {
				if result.IsError {
					return fmt.Errorf("%s: %w", turn.Calls()[i].Name, result.Err)
				}
			}
		}
		return nil
	}
	fmt.Println(work(context.Background()))
	fmt.Println(runner.Outcome(), len(srv.Requests()))
	// Output:
	// pay: the card was refused
	// stopped 1
}

// The same loop, without stopping: each failure is noted, and the model reads it.
func ExampleTurn_Results_goOn() {
	_, client := scripted(
		toolrunnertest.Message(
			toolrunnertest.Call("toolu_1", "pay", `{}`),
			toolrunnertest.Call("toolu_2", "get_weather", `{"city":"Paris"}`),
		),
		toolrunnertest.Text("I could not pay. The weather is mild."),
	)

	pay := toolrunner.NewTool("pay", "Pay the bill.", func(context.Context, struct{}) (string, error) {
		return "", errors.New("the card was refused")
	})
	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{pay, weatherTool()}, toolrunner.Params{
		BetaMessageNewParams: ask("Pay the bill, then look at the weather in Paris."),
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
		for i, result := range results {
			if result.IsError {
				fmt.Println("failed:", turn.Calls()[i].Name, result.Err)
			}
		}
		fmt.Print(turn.Text())
	}
	// Output:
	// (looking at the weather in Paris)
	// failed: pay the card was refused
	// I could not pay. The weather is mild.
}

// After an error of the API, another loop takes the step that failed again. The
// tools of the turn have run, and do not run again.
func ExampleRunner_All_afterAnError() {
	_, client := scripted(
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "get_weather", `{"city":"Paris"}`)),
		toolrunnertest.Status(529, "overloaded_error", "Overloaded"),
		toolrunnertest.Text("It is mild."),
	)

	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{weatherTool()}, toolrunner.Params{
		BetaMessageNewParams: ask("How is the weather in Paris?"),
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	_, err = runner.RunToCompletion(context.Background())
	var failure *anthropic.Error
	if errors.As(err, &failure) {
		fmt.Println("status", failure.StatusCode)
	}

	message, err := runner.RunToCompletion(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(toolrunner.Text(message))
	// Output:
	// (looking at the weather in Paris)
	// status 529
	// It is mild.
}

// Cancelling the context ends the run with its cause. What has finished is kept
// for another loop.
func ExampleRunner_All_cancel() {
	srv, client := scripted(
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "wait_for_rain", `{}`)),
		toolrunnertest.Text("I gave up."),
	)

	errGone := errors.New("the user has gone")
	ctx, cancel := context.WithCancelCause(context.Background())
	rain := toolrunner.NewTool("wait_for_rain", "Wait until it rains.", func(ctx context.Context, _ struct{}) (string, error) {
		cancel(errGone)
		<-ctx.Done()
		return "", ctx.Err()
	})
	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{rain}, toolrunner.Params{
		BetaMessageNewParams: ask("Wait for rain."),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, err := range runner.All(ctx) {
		if err != nil {
			fmt.Println(err)
			fmt.Println(errors.Is(err, context.Canceled), errors.Is(err, errGone))
		}
	}

	for turn, err := range runner.All(context.Background()) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(turn.Text())
	}
	fmt.Println(string(srv.Requests()[1].ToolResult("toolu_1")))
	// Output:
	// toolrunner: context canceled: the user has gone
	// true true
	// I gave up.
	// {"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"Error: this call was interrupted while it ran. Whether it took effect is unknown."}],"is_error":true}
}

// A reply that is no message ends the run; nothing of it is kept.
func ExampleReplyError() {
	_, client := scripted(toolrunnertest.RawJSON(`{"type":"pong"}`))

	runner, err := toolrunner.New(&client.Beta.Messages, nil, toolrunner.Params{BetaMessageNewParams: ask("Hi!")})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = runner.RunToCompletion(context.Background())
	var reply *toolrunner.ReplyError
	if errors.As(err, &reply) {
		fmt.Println(reply.Reason)
		fmt.Println(string(reply.Body))
	}
	// Output:
	// it is not a message of the assistant with a list of blocks
	// {"type":"pong"}
}
