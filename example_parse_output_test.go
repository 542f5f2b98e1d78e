package toolrunner_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// A reply can also be parsed by hand: a schema that is given as JSON leaves that
// to the caller.
func ExampleParams_parseOutput() {
	srv := toolrunnertest.New(toolrunnertest.Text(`{"city":"Paris"}`), toolrunnertest.Text("I do not know."))
	defer srv.Close()
	client := srv.Client()

	params := ask("Name a city.")
	params.OutputConfig.Format = anthropic.BetaJSONOutputFormatParam{Schema: json.RawMessage(
		`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false}`,
	)}
	for range 2 {
		runner, err := toolrunner.New(&client.Beta.Messages, nil, toolrunner.Params{BetaMessageNewParams: params})
		if err != nil {
			fmt.Println(err)
			return
		}
		message, err := runner.RunToCompletion(context.Background())
		if err != nil {
			fmt.Println(err)
			return
		}
		var answer struct{ City string }
		if err := message.ParseOutput(&answer); errors.Is(err, anthropic.ErrStructuredOutputParse) {
			fmt.Println("not an answer:", toolrunner.Text(message))
			continue
		}
		fmt.Println(answer.City)
	}
	// Output:
	// Paris
	// not an answer: I do not know.
}
