package toolrunner_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// paymentTool is a tool that nobody should call unasked.
func paymentTool() *toolrunner.Tool {
	type input struct {
		To     string `json:"to"`
		Amount int    `json:"amount"`
	}
	return toolrunner.NewTool("pay", "Pay a bill.", func(_ context.Context, in input) (string, error) {
		fmt.Printf("(paying %d to %s)\n", in.Amount, in.To)
		return "paid", nil
	})
}

// paymentParams is what both processes run with.
func paymentParams() toolrunner.Params {
	params := toolrunner.Params{
		BetaMessageNewParams: ask("Pay the rent."),
		Approve:              func(context.Context, *toolrunner.Call) (toolrunner.Decision, error) { return toolrunner.Suspend(), nil },
	}
	params.Messages = nil
	return params
}

// untilSuspended is the first process: it ends with a call that waits.
func untilSuspended(client anthropic.Client) (snapshot []byte, err error) {
	params := paymentParams()
	params.Messages = []anthropic.BetaMessageParam{say("Pay the rent.")}
	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{paymentTool()}, params)
	if err != nil {
		return nil, err
	}
	_, err = runner.RunToCompletion(context.Background())
	var suspended *toolrunner.SuspendedError
	if !errors.As(err, &suspended) {
		return nil, err
	}
	for _, call := range suspended.Calls {
		fmt.Println("waiting:", call.ID, call.Name, string(call.Input))
	}
	return runner.Snapshot()
}

// decided is the second process, perhaps days later.
func decided(client anthropic.Client, snapshot []byte) (answer string, err error) {
	runner, err := toolrunner.Resume(&client.Beta.Messages, []anthropic.BetaTool{paymentTool()}, paymentParams(), snapshot)
	if err != nil {
		return "", err
	}
	for _, call := range runner.Pending() {
		if err := runner.Decide(call.ID, toolrunner.Allow()); err != nil {
			return "", err
		}
	}
	message, err := runner.RunToCompletion(context.Background())
	if err != nil {
		return "", err
	}
	return message.Content[0].Text, nil
}

// A run waits for a decision, is saved, and goes on in another process once
// somebody has decided. The two share nothing but the snapshot.
func ExampleResume() {
	srv := toolrunnertest.NewServer(nil,
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "pay", `{"to":"landlord","amount":900}`)),
		toolrunnertest.Text("The rent is paid."),
	)
	defer srv.Close()

	snapshot, err := untilSuspended(srv.Client())
	if err != nil {
		fmt.Println(err)
		return
	}
	answer, err := decided(srv.Client(), snapshot)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(answer)
	// Output:
	// waiting: toolu_1 pay {"to":"landlord","amount":900}
	// (paying 900 to landlord)
	// The rent is paid.
}

// A snapshot can be taken at any time, here in the body of a turn whose tools have
// not run. Its head tells one state of a run from another.
func ExampleRunner_Snapshot() {
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
	var snapshot []byte
	for _, err := range runner.All(context.Background()) {
		if err == nil {
			snapshot, err = runner.Snapshot()
		}
		if err != nil {
			fmt.Println(err)
			return
		}
		break // and the process ends
	}

	var head struct {
		Version  int    `json:"toolrunner"`
		Run      string `json:"run"`      // of the conversation, for ever
		Sequence int64  `json:"sequence"` // grows with each step
	}
	if err := json.Unmarshal(snapshot, &head); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("version", head.Version, head.Run != "", head.Sequence > 1)

	params := ask("")
	params.Messages = nil // they are in the snapshot
	runner, err = toolrunner.Resume(&client.Beta.Messages, []anthropic.BetaTool{weatherTool()}, toolrunner.Params{
		BetaMessageNewParams: params,
	}, snapshot)
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
	// version 2 true true
	// (looking at the weather in Paris)
	// It is mild in Paris.
}

// A later version of a program must still have the tools that waiting calls need.
func ExampleSnapshotError() {
	_, client := scripted(
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "pay", `{"to":"landlord","amount":900}`)),
	)
	snapshot, err := untilSuspended(client)
	if err != nil {
		fmt.Println(err)
		return
	}

	_, err = toolrunner.Resume(&client.Beta.Messages, nil, paymentParams(), snapshot)
	var unusable *toolrunner.SnapshotError
	if errors.As(err, &unusable) {
		fmt.Println(unusable.Reason)
	}
	// Output:
	// waiting: toolu_1 pay {"to":"landlord","amount":900}
	// the call "toolu_1" waits for the tool "pay", which is not among the tools; pass it to Resume
}

// With a key, a snapshot that was changed where it was stored is refused.
func ExampleParams_snapshotKey() {
	_, client := scripted(
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "pay", `{"to":"landlord","amount":900}`)),
	)

	key := []byte("32 bytes that came from a secret") // read from where secrets are kept
	params := paymentParams()
	params.SnapshotKey = key
	params.Messages = []anthropic.BetaMessageParam{say("Pay the rent.")}
	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{paymentTool()}, params)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = runner.RunToCompletion(context.Background())
	if suspended := (*toolrunner.SuspendedError)(nil); !errors.As(err, &suspended) {
		fmt.Println(err)
		return
	}
	snapshot, err := runner.Snapshot()
	if err != nil {
		fmt.Println(err)
		return
	}
	tampered := bytes.ReplaceAll(snapshot, []byte("landlord"), []byte("stranger"))

	params.Messages = nil
	_, err = toolrunner.Resume(&client.Beta.Messages, []anthropic.BetaTool{paymentTool()}, params, tampered)
	fmt.Println(err)
	// Output:
	// toolrunner: the snapshot cannot be used: record 1, at byte 0: it was changed after it was written, or another Params.SnapshotKey was set then
}

// Two calls are interrupted by a crash. The one of a tool that only reads runs
// again; of the other one the model reads that nobody knows.
func ExampleResume_interrupted() {
	srv, client := scripted(
		toolrunnertest.Message(
			toolrunnertest.Call("toolu_1", "look", `{}`),
			toolrunnertest.Call("toolu_2", "send", `{}`),
		),
		toolrunnertest.Text("I look whether it was sent."),
	)

	sent := make(chan struct{})
	look := toolrunner.NewTool("look", "Look into the mailbox.", func(context.Context, struct{}) (string, error) {
		fmt.Println("(looking)")
		<-sent
		return "2 letters", nil
	})
	look.ReadOnly = true
	var runner *toolrunner.Runner
	var kept []byte // what a checkpoint has when the process dies in the middle of send
	send := toolrunner.NewTool("send", "Send the letter.", func(context.Context, struct{}) (_ string, err error) {
		kept, err = runner.Snapshot()
		close(sent)
		return "sent", err
	})
	params := toolrunner.Params{BetaMessageNewParams: ask("Send my letter.")}
	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{look, send}, params)
	if err != nil {
		fmt.Println(err)
		return
	}
	turn, err := runner.Next(context.Background())
	if err == nil {
		_, err = turn.Results(context.Background())
	}
	if err != nil {
		fmt.Println(err)
		return
	}

	params.Messages = nil
	runner, err = toolrunner.Resume(&client.Beta.Messages, []anthropic.BetaTool{look, send}, params, kept)
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := runner.RunToCompletion(context.Background()); err != nil {
		fmt.Println(err)
		return
	}
	request := srv.Requests()[1]
	fmt.Println(request.ToolResultText("toolu_1"))
	fmt.Println(request.ToolResultText("toolu_2"))
	// Output:
	// (looking)
	// (looking)
	// 2 letters
	// Error: this call was interrupted while it ran. Whether it took effect is unknown.
}
