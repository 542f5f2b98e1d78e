package toolrunner_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
)

// Code for the official runner moves over as it is: NewBetaToolFromJSONSchema
// has its signature. For a type without a schema it returns an error, where
// NewTool panics.
func ExampleNewBetaToolFromJSONSchema() {
	type input struct {
		Text string `json:"text" jsonschema:"required,maxLength=80"`
	}
	shout := func(_ context.Context, in input) (anthropic.BetaToolResultBlockParamContentUnion, error) {
		text := strings.ToUpper(in.Text) + "!"
		return anthropic.BetaToolResultBlockParamContentUnion{OfText: &anthropic.BetaTextBlockParam{Text: text}}, nil
	}
	tool, err := toolrunner.NewBetaToolFromJSONSchema("shout", "Say it louder.", shout)
	if err != nil {
		fmt.Println(err)
		return
	}
	content, err := tool.Execute(context.Background(), json.RawMessage(`{"text":"hello"}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(content[0].OfText.Text)

	type endless struct {
		C chan int `json:"c"`
	}
	_, err = toolrunner.NewBetaToolFromJSONSchema("wait", "Wait.",
		func(context.Context, endless) (anthropic.BetaToolResultBlockParamContentUnion, error) {
			return anthropic.BetaToolResultBlockParamContentUnion{}, nil
		})
	fmt.Println(err)
	// Output:
	// HELLO!
	// toolrunner: tool "wait": toolrunner_test.endless.C: type chan int has no JSON form
}
