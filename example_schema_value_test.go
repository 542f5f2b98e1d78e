package toolrunner_test

import (
	"context"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// A schema may also be the SDK's value, and the input still a type.
func ExampleNewBetaTool() {
	srv := toolrunnertest.New(
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "roll", `{"sides":6}`)),
		toolrunnertest.Text("You rolled a 4."),
	)
	defer srv.Close()
	client := srv.Client()

	type input struct {
		Sides int `json:"sides"`
	}
	schema := anthropic.BetaToolInputSchemaParam{
		Properties: map[string]any{"sides": map[string]any{"type": "integer", "minimum": 2}},
		Required:   []string{"sides"},
	}
	roll := toolrunner.NewBetaTool("roll", "Roll a die.", schema,
		func(_ context.Context, in input) (anthropic.BetaToolResultBlockParamContentUnion, error) {
			text := fmt.Sprintf("4 of %d", in.Sides)
			return anthropic.BetaToolResultBlockParamContentUnion{OfText: &anthropic.BetaTextBlockParam{Text: text}}, nil
		})

	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{roll}, toolrunner.Params{
		BetaMessageNewParams: ask("Roll a die."),
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
	// {"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"4 of 6"}]}
}
