package toolrunner_test

import (
	"bytes"
	"context"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// Each request is the one before it, byte for byte, and what has come since.
func Example_prefix() {
	srv := toolrunnertest.New(
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "get_weather", `{"city":"Paris"}`)),
		toolrunnertest.Message(toolrunnertest.Call("toolu_2", "get_weather", `{"city":"Rome"}`)),
		toolrunnertest.Text("Rome is warmer."),
	)
	defer srv.Close()
	client := srv.Client()

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
