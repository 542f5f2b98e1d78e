package toolrunner_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// A result that fails says one thing to the model and another to the program.
func ExampleResult() {
	srv := toolrunnertest.New(
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "read_page", `{}`)),
		toolrunnertest.Text("The page is not there."),
	)
	defer srv.Close()
	client := srv.Client()

	readPage := toolrunner.NewTool("read_page", "Read the page.", func(context.Context, struct{}) (*toolrunner.Result, error) {
		result := toolrunner.ErrorResult("There is no such page.")
		result.Err = errors.New("GET http://10.0.0.5/page: 404")
		return result, nil
	})
	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{readPage}, toolrunner.Params{
		BetaMessageNewParams: ask("What is on the page?"),
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
		for _, result := range results {
			fmt.Println("the program:", result.Err)
		}
	}
	fmt.Println("the model:", srv.Requests()[1].ToolResultText("toolu_1"))
	// Output:
	// the program: GET http://10.0.0.5/page: 404
	// the model: There is no such page.
}
