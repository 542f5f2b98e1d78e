package toolrunner_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// A snapshot can be taken at any time, here in the body of a turn whose tools have
// not run. Its head tells one state of a run from another.
func ExampleRunner_Snapshot() {
	srv := toolrunnertest.New(
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "get_weather", `{"city":"Paris"}`)),
		toolrunnertest.Text("It is mild in Paris."),
	)
	defer srv.Close()
	client := srv.Client()

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
