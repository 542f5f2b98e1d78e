package toolrunner_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/anthropics/anthropic-sdk-go/v2"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// A run is one trace: a span for the loop, and in it one for each request and each call.
func ExampleParams_tracing() {
	_, client := scripted(
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "get_weather", `{"city":"Atlantis"}`)),
		toolrunnertest.Text("There is no such city."),
	)
	type input struct {
		City string `json:"city" jsonschema:"required"`
	}
	weather := toolrunner.NewTool("get_weather", "Get the weather in a city.",
		func(_ context.Context, in input) (string, error) { return "", errors.New("no city " + in.City) })

	spans := tracetest.NewInMemoryExporter() // a program of yours exports to a collector
	tracers := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))
	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{weather}, toolrunner.Params{
		BetaMessageNewParams: ask("How is the weather in Atlantis?"),
		TracerProvider:       tracers, // nil: the one that is registered with OpenTelemetry
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := runner.RunToCompletion(context.Background()); err != nil {
		fmt.Println(err)
		return
	}
	for _, span := range spans.GetSpans() { // in the order in which they ended
		fmt.Println(span.Name, span.Status.Code)
		for _, a := range span.Attributes {
			if key := string(a.Key); strings.HasPrefix(key, "toolrunner.") || key == "error.type" {
				fmt.Println("  ", key, a.Value.Emit())
			}
		}
	}
	// Output:
	// anthropic.messages.create Ok
	//    toolrunner.iteration 1
	//    toolrunner.request.kind turn
	// execute_tool get_weather Error
	//    toolrunner.iteration 1
	//    error.type tool_error
	// anthropic.messages.create Ok
	//    toolrunner.iteration 2
	//    toolrunner.request.kind turn
	// invoke_agent Ok
	//    toolrunner.outcome completed
	//    toolrunner.iterations 2
}
