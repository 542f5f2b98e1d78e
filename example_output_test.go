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

// With a pointer to a struct as schema, the final reply is parsed into it, and the
// replies with calls are not.
func ExampleParams_output() {
	_, client := scripted(
		toolrunnertest.Message(
			toolrunnertest.Say("Let me look."),
			toolrunnertest.Call("toolu_1", "get_weather", `{"city":"Paris"}`),
		),
		toolrunnertest.Text(`{"city":"Paris","degrees":21}`),
	)

	var report struct {
		City    string `json:"city"`
		Degrees int    `json:"degrees"`
	}
	params := ask("How is the weather in Paris?")
	params.OutputConfig.Format = anthropic.BetaJSONOutputFormatParam{Schema: &report}
	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{weatherTool()}, toolrunner.Params{
		BetaMessageNewParams: params,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := runner.RunToCompletion(context.Background()); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.City, report.Degrees)
	// Output:
	// (looking at the weather in Paris)
	// Paris 21
}

// The schema of a type, and each answer as a value of its own.
func ExampleOutput() {
	_, client := scripted(toolrunnertest.Text(`{"city":"Paris","degrees":21}`), toolrunnertest.Text(`{"city":"Oslo","degrees":"cold"}`))

	type report struct {
		City    string `json:"city" jsonschema:"required"`
		Degrees int    `json:"degrees" jsonschema:"required"`
	}
	params := ask("How is the weather in Paris?")
	params.OutputConfig.Format = toolrunner.OutputFormat[report]()
	runner, err := toolrunner.New(&client.Beta.Messages, nil, toolrunner.Params{BetaMessageNewParams: params})
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 2 {
		message, err := runner.RunToCompletion(context.Background())
		if err != nil {
			fmt.Println(err)
			return
		}
		answer, err := toolrunner.Output[report](message)
		if err != nil { // refused, cut off, or no report
			fmt.Println(err)
			return
		}
		fmt.Println(answer.City, answer.Degrees)
		if err := runner.AppendMessages(say("And in Oslo?")); err != nil {
			fmt.Println(err)
			return
		}
	}
	// Output:
	// Paris 21
	// anthropic: failed to parse structured output: invalid input: degrees: expected integer, got string "cold"
}

// A reply can also be parsed by hand: a schema that is given as JSON leaves that
// to the caller.
func ExampleParams_parseOutput() {
	_, client := scripted(toolrunnertest.Text(`{"city":"Paris"}`), toolrunnertest.Text("I do not know."))

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
