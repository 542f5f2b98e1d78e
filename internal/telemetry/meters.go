package telemetry

import (
	"context"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// meters are the histograms of the conventions.
type meters struct {
	request metric.Float64Histogram
	tokens  metric.Int64Histogram
	agent   metric.Float64Histogram
	tool    metric.Float64Histogram
}

// newMeters makes the histograms. A provider that cannot make one returns an instrument
// that does nothing, and tells OpenTelemetry's error handler.
func newMeters(provider metric.MeterProvider) *meters {
	meter := provider.Meter(scope)
	seconds := metric.WithUnit("s")
	var m meters
	m.request, _ = meter.Float64Histogram("gen_ai.client.operation.duration", seconds,
		metric.WithDescription("GenAI operation duration."), metric.WithExplicitBucketBoundaries(powers(0.01, 2, 14)...))
	m.tokens, _ = meter.Int64Histogram("gen_ai.client.token.usage", metric.WithUnit("{token}"),
		metric.WithDescription("Number of input and output tokens used."), metric.WithExplicitBucketBoundaries(powers(1, 4, 14)...))
	m.agent, _ = meter.Float64Histogram("gen_ai.invoke_agent.duration", seconds,
		metric.WithDescription("Duration of a run of the tool runner."), metric.WithExplicitBucketBoundaries(powers(0.1, 2, 13)...))
	m.tool, _ = meter.Float64Histogram("gen_ai.execute_tool.duration", seconds,
		metric.WithDescription("Duration of a tool call."), metric.WithExplicitBucketBoundaries(powers(0.01, 2, 14)...))
	return &m
}

// powers returns n bounds, each a factor above the one before, as the conventions have
// them.
func powers(first, factor float64, n int) []float64 {
	bounds := make([]float64, n)
	hundreds := first * 100 // whole numbers, so that the bounds are exact
	for i := range bounds {
		bounds[i] = hundreds / 100
		hundreds *= factor
	}
	return bounds
}

// run records a run.
func (m *meters) run(ctx context.Context, g *guard, took time.Duration, model, failure string) {
	if m == nil {
		return
	}
	attributes := failed([]attribute.KeyValue{keyRequestModel.String(model)}, failure)
	g.do(ctx, func() { m.agent.Record(ctx, took.Seconds(), metric.WithAttributes(attributes...)) })
}

// call records a call.
func (m *meters) call(ctx context.Context, g *guard, took time.Duration, name string, end CallEnd) {
	if m == nil {
		return
	}
	failure := end.Error
	if end.Interrupted {
		failure = "canceled"
	}
	attributes := failed([]attribute.KeyValue{keyTool.String(name), keyToolType.String("function")}, failure)
	g.do(ctx, func() { m.tool.Record(ctx, took.Seconds(), metric.WithAttributes(attributes...)) })
}

// RequestEnd is how a request ended.
type RequestEnd struct {
	Took          time.Duration
	Model         string // that was asked for
	ResponseModel string // that has answered; empty: none has
	Error         string // the type of its failure; empty: it did not fail
	InputTokens   int64  // those of caches included
	OutputTokens  int64
}

// RequestEnded records a request, with all its attempts.
func (r *Run) RequestEnded(ctx context.Context, end RequestEnd) {
	if r == nil || r.meters == nil {
		return
	}
	attributes := []attribute.KeyValue{
		keyOperation.String(operationChat), keyProvider.String(providerAnthropic), keyRequestModel.String(end.Model),
	}
	if end.ResponseModel != "" {
		attributes = append(attributes, keyResponseModel.String(end.ResponseModel))
	}
	attributes = slices.Clip(attributes)
	r.do(ctx, func() {
		r.meters.request.Record(ctx, end.Took.Seconds(), metric.WithAttributes(failed(attributes, end.Error)...))
		if end.Error == "" {
			r.meters.tokens.Record(ctx, end.InputTokens, metric.WithAttributes(append(attributes, keyTokenType.String("input"))...))
			r.meters.tokens.Record(ctx, end.OutputTokens, metric.WithAttributes(append(attributes, keyTokenType.String("output"))...))
		}
	})
}

// failed adds the type of a failure, if there is one.
func failed(attributes []attribute.KeyValue, failure string) []attribute.KeyValue {
	if failure == "" {
		return attributes
	}
	return append(attributes, keyErrorType.String(failure))
}
