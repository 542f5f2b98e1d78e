package tracing_test

import (
	"bytes"
	"context"
	"image"
	"image/png"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2/option"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// hostile is a provider whose tracer and meter do as they like.
type hostile struct {
	tracenoop.TracerProvider

	act func(where string)
}

func (h hostile) Tracer(string, ...trace.TracerOption) trace.Tracer {
	h.act("Tracer")
	return hostileTracer{act: h.act}
}

type hostileTracer struct {
	tracenoop.Tracer

	act func(where string)
}

func (h hostileTracer) Start(ctx context.Context, name string, _ ...trace.SpanStartOption) (context.Context, trace.Span) {
	h.act("Start " + name)
	span := hostileSpan{act: h.act}
	return trace.ContextWithSpan(ctx, span), span
}

type hostileSpan struct {
	tracenoop.Span

	act func(where string)
}

func (h hostileSpan) IsRecording() bool                     { h.act("IsRecording"); return true }
func (h hostileSpan) End(...trace.SpanEndOption)            { h.act("End") }
func (h hostileSpan) AddEvent(string, ...trace.EventOption) { h.act("AddEvent") }

type hostileMeters struct {
	metricnoop.MeterProvider

	act func(where string)
}

func (h hostileMeters) Meter(string, ...metric.MeterOption) metric.Meter {
	h.act("Meter")
	return metricnoop.Meter{}
}

// X24: what the application's telemetry does with a run never changes it: neither panics,
// nor what blocks for ever, nor what ends the goroutine.
func TestTelemetryEndsNoRun(t *testing.T) {
	handled := 0
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(error) { handled++ }))
	for _, where := range []string{"Tracer", "Start invoke_agent", "Start execute_tool tool", "IsRecording", "End", "AddEvent", "Meter"} {
		for name, act := range map[string]func(){
			"panics": func() { panic(where) },
			"blocks": func() { time.Sleep(10 * time.Minute) },
			"exits":  runtime.Goexit,
		} {
			t.Run(where+" "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					misbehave := func(at string) {
						if at == where {
							act()
						}
					}
					params := toolrunner.Params{TracerProvider: hostile{act: misbehave}, MeterProvider: hostileMeters{act: misbehave}}
					// The SDK's own spans are its own.
					params.RequestOptions = append(params.RequestOptions, option.WithoutOpenTelemetry())
					c := runtest.StartUnchecked(t, params, runtest.Tools(runtest.Says("tool", "ok")),
						toolrunnertest.Message(toolrunnertest.Call("a", "tool", `{}`), toolrunnertest.Call("b", "none", `{}`)), toolrunnertest.Text("so"))
					began := time.Now()
					c.Run(t)
					if took := time.Since(began); took > 2*time.Second {
						t.Errorf("the run took %v", took)
					}
					c.WantOutcome(t, toolrunner.OutcomeCompleted)
					time.Sleep(time.Hour)
				})
			})
		}
	}
	if handled == 0 {
		t.Error("OpenTelemetry's error handler was told nothing")
	}
}

// X21, X23: ANTHROPIC_OPEN_TELEMETRY=false turns everything off.
func TestTheVariableTurnsTelemetryOff(t *testing.T) {
	t.Setenv("ANTHROPIC_OPEN_TELEMETRY", "False")
	w := watch(t, toolrunner.Params{}, nil, toolrunnertest.Text("so"))
	w.Run(t)
	if got := w.outline(); got != "" || len(w.points(t)) > 0 {
		t.Errorf("spans:\n%s\npoints: %v", got, w.points(t))
	}
}

// X14, X15: what calls are about is in spans only if it is asked for, without data, and
// within a bound.
func TestContentModeOfCalls(t *testing.T) {
	tool := runtest.Raw("look", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
		var picture bytes.Buffer
		if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 1, 1))); err != nil {
			return nil, err
		}
		result, err := toolrunner.ImageResult(picture.Bytes())
		if err != nil {
			return nil, err
		}
		result.Content = append(result.Content, runtest.TextContent("seen <b>"))
		return result, nil
	})
	for _, test := range []struct{ name, mode, most, arguments, result, truncated string }{
		{name: "off"},
		{name: "on", mode: "Content", arguments: `{"a":1}`, result: `[{"type":"image"},{"text":"seen <b>","type":"text"}]`},
		{name: "small", mode: "content", most: "30", arguments: `{"a":1}`, result: `[{"type":"image"}]`, truncated: "true"},
		{name: "none", mode: "content", most: "3", result: `[]`, truncated: "true"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("ANTHROPIC_OPEN_TELEMETRY_TRACES_CONTENT_MODE", test.mode)
			t.Setenv("ANTHROPIC_OPEN_TELEMETRY_TRACES_MAX_CONTENT_BYTES", test.most)
			w := watch(t, toolrunner.Params{}, runtest.Tools(tool), toolrunnertest.Message(toolrunnertest.Call("a", "look", `{"a":1}`)), toolrunnertest.Text("so"))
			w.Run(t)
			got := attributesOf(w.span(t, "execute_tool look"))
			for key, want := range map[string]string{
				"gen_ai.tool.call.arguments": test.arguments, "gen_ai.tool.call.result": test.result, "anthropic.content.truncated": test.truncated,
			} {
				if got[key] != want {
					t.Errorf("%s = %s, want %s", key, got[key], want)
				}
			}
			if strings.Contains(w.outline(), "seen") && test.mode == "" {
				t.Error("contents are in the spans")
			}
		})
	}
}
