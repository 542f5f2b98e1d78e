package toolrunner_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
)

// NewRawTool takes a whole definition, for what the typed constructors do not
// set, and checks nothing.
func ExampleNewRawTool() {
	definition := anthropic.BetaToolParam{
		Name:        "echo",
		InputSchema: anthropic.BetaToolInputSchemaParam{Properties: map[string]any{"text": map[string]any{"type": "string"}}},
		Strict:      anthropic.Bool(true),
	}
	echo := toolrunner.NewRawTool(definition, func(_ context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
		return toolrunner.TextResult("you said " + string(call.Input)), nil
	})

	content, err := echo.Execute(context.Background(), json.RawMessage(`{"text":"hello"}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(echo.Name(), content[0].OfText.Text)
	// Output: echo you said {"text":"hello"}
}
