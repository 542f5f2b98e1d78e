package tracing_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// watched is a conversation whose spans and metrics are kept in memory.
type watched struct {
	*runtest.Conversation

	spans   *tracetest.InMemoryExporter
	tracers *sdktrace.TracerProvider
	metrics *sdkmetric.ManualReader
}

func watch(t *testing.T, params toolrunner.Params, tools []anthropic.BetaTool, replies ...toolrunnertest.Reply) *watched {
	t.Helper()
	w := &watched{spans: tracetest.NewInMemoryExporter(), metrics: sdkmetric.NewManualReader()}
	w.tracers = sdktrace.NewTracerProvider(sdktrace.WithSyncer(w.spans))
	meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(w.metrics))
	t.Cleanup(func() {
		_ = w.tracers.Shutdown(context.Background())
		_ = meters.Shutdown(context.Background())
	})
	params.TracerProvider, params.MeterProvider = w.tracers, meters
	params.ConversationID = "c-1"
	w.Conversation = runtest.StartUnchecked(t, params, tools, replies...)
	return w
}

// outline draws the spans as a tree, each with its status, and the attributes, events
// and links that are its own.
func (w *watched) outline() string {
	stubs := w.spans.GetSpans()
	slices.SortStableFunc(stubs, func(a, b tracetest.SpanStub) int {
		return cmp.Or(a.StartTime.Compare(b.StartTime), strings.Compare(a.Name, b.Name))
	})
	known := map[trace.SpanID]bool{}
	for _, s := range stubs {
		known[s.SpanContext.SpanID()] = true
	}
	var b strings.Builder
	var draw func(s tracetest.SpanStub, depth int)
	draw = func(s tracetest.SpanStub, depth int) {
		indent := strings.Repeat("  ", depth)
		fmt.Fprintf(&b, "%s%s %v %v%s\n", indent, s.Name, s.SpanKind, status(s.Status), own(s.Attributes))
		for _, e := range s.Events {
			fmt.Fprintf(&b, "%s* %s%s\n", indent, e.Name, own(e.Attributes))
		}
		for _, l := range s.Links {
			fmt.Fprintf(&b, "%s-> %s\n", indent, nameOf(stubs, l.SpanContext.SpanID()))
		}
		for _, child := range stubs {
			if child.Parent.SpanID() == s.SpanContext.SpanID() {
				draw(child, depth+1)
			}
		}
	}
	for _, s := range stubs {
		if !known[s.Parent.SpanID()] {
			draw(s, 0)
		}
	}
	return b.String()
}

func nameOf(stubs tracetest.SpanStubs, id trace.SpanID) string {
	for _, s := range stubs {
		if s.SpanContext.SpanID() == id {
			return s.Name
		}
	}
	return "elsewhere"
}

func status(s sdktrace.Status) string {
	if s.Code == codes.Error && s.Description != "" {
		return "Error(" + s.Description + ")"
	}
	return s.Code.String()
}

// own lists the attributes that this library sets, without those that each span has.
func own(attributes []attribute.KeyValue) string {
	var b strings.Builder
	for _, a := range attributes {
		key := string(a.Key)
		switch {
		case strings.HasPrefix(key, "toolrunner."), key == "error.type", key == "gen_ai.tool.name":
			fmt.Fprintf(&b, " %s=%s", strings.TrimPrefix(strings.TrimPrefix(key, "toolrunner."), "gen_ai."), a.Value.Emit())
		}
	}
	return b.String()
}

// span returns the only span with a name.
func (w *watched) span(t *testing.T, name string) tracetest.SpanStub {
	t.Helper()
	var found []tracetest.SpanStub
	for _, s := range w.spans.GetSpans() {
		if s.Name == name {
			found = append(found, s)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d spans are named %q, want 1:\n%s", len(found), name, w.outline())
	}
	return found[0]
}

func attributesOf(s tracetest.SpanStub) map[string]string {
	all := map[string]string{}
	for _, a := range s.Attributes {
		all[string(a.Key)] = a.Value.Emit()
	}
	return all
}

// points lists the points of each metric, as "name attributes count".
func (w *watched) points(t *testing.T) []string {
	t.Helper()
	var list []string
	for _, m := range w.collect(t) {
		switch data := m.Data.(type) {
		case metricdata.Histogram[float64]:
			for _, p := range data.DataPoints {
				list = append(list, fmt.Sprintf("%s %s n=%d", m.Name, p.Attributes.Encoded(attribute.DefaultEncoder()), p.Count))
			}
		case metricdata.Histogram[int64]:
			for _, p := range data.DataPoints {
				list = append(list, fmt.Sprintf("%s %s n=%d sum=%d", m.Name, p.Attributes.Encoded(attribute.DefaultEncoder()), p.Count, p.Sum))
			}
		default:
			t.Errorf("metric %s has data of type %T", m.Name, data)
		}
	}
	slices.Sort(list)
	return list
}

func (w *watched) collect(t *testing.T) []metricdata.Metrics {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := w.metrics.Collect(context.Background(), &all); err != nil {
		t.Fatal(err)
	}
	var list []metricdata.Metrics
	for _, scope := range all.ScopeMetrics {
		list = append(list, scope.Metrics...)
	}
	return list
}
