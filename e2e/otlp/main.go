// The program sends the spans and metrics of a run to a collector that speaks OTLP over
// HTTP, at OTEL_EXPORTER_OTLP_ENDPOINT or localhost:4318. The model is a script, so it needs
// no key: what counts here is how the providers are connected.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// connect registers providers that export over OTLP. What it returns sends what is left.
func connect(ctx context.Context) (flush func() error, err error) {
	spans, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, err
	}
	metrics, err := otlpmetrichttp.New(ctx)
	if err != nil {
		return nil, err
	}
	tracers := sdktrace.NewTracerProvider(sdktrace.WithBatcher(spans))
	meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewPeriodicReader(metrics)))
	otel.SetTracerProvider(tracers)
	otel.SetMeterProvider(meters)
	return func() error { return errors.Join(tracers.Shutdown(ctx), meters.Shutdown(ctx)) }, nil
}

func run(ctx context.Context) (err error) {
	flush, err := connect(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, flush()) }()

	srv := toolrunnertest.NewServer(nil,
		toolrunnertest.Message(toolrunnertest.Call("toolu_1", "get_weather", `{"city":"Paris"}`)),
		toolrunnertest.Text("It is mild."))
	defer srv.Close()
	client := srv.Client()

	type input struct {
		City string `json:"city" jsonschema:"required"`
	}
	weather := toolrunner.NewTool("get_weather", "Get the weather in a city.",
		func(_ context.Context, in input) (string, error) { return "21 degrees in " + in.City, nil })
	runner, err := toolrunner.New(&client.Beta.Messages, []anthropic.BetaTool{weather}, toolrunner.Params{
		BetaMessageNewParams: anthropic.BetaMessageNewParams{
			Model: anthropic.ModelClaudeSonnet5_5, MaxTokens: 1024,
			Messages: []anthropic.BetaMessageParam{anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock("How is the weather in Paris?"))},
		},
	})
	if err != nil {
		return err
	}
	message, err := runner.RunToCompletion(ctx)
	if err != nil {
		return err
	}
	fmt.Println(toolrunner.Text(message))
	return nil
}
