package telemetry

import (
	"testing"

	"go.opentelemetry.io/otel"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	tracenoop "go.opentelemetry.io/otel/trace/noop"
)

// Where nobody looks, a run costs nothing: neither with the providers that OpenTelemetry's
// API begins with, whose package this names, nor with those that do nothing.
func TestNobodyLooking(t *testing.T) {
	for name, p := range map[string]Providers{
		"none registered": {},
		"given":           {Tracer: otel.GetTracerProvider(), Meter: otel.GetMeterProvider()},
		"noop":            {Tracer: tracenoop.NewTracerProvider(), Meter: metricnoop.NewMeterProvider()},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			run := p.Begin(ctx, RunStart{Model: "m"})
			if run != nil {
				t.Fatal("a run begins")
			}
			allocs := testing.AllocsPerRun(100, func() {
				run := p.Begin(ctx, RunStart{Model: "m"})
				_ = run.Context(ctx)
				run.Event(ctx, "x")
				run.Request(nil, 1, "turn")
				run.RequestEnded(ctx, RequestEnd{})
				_, call := run.StartCall(ctx, CallStart{})
				call.End(ctx, CallEnd{})
				run.End(ctx, RunEnd{})
			})
			if allocs > 0 {
				t.Errorf("a run allocates %v times", allocs)
			}
		})
	}
}

// Trace and parseTrace are the two ends of a link; what is no trace is none.
func TestTracesAreReadBack(t *testing.T) {
	for _, text := range []string{
		"", "x", "0123456789abcdef0123456789abcdef-0123456789abcdef-1",
		"00000000000000000000000000000000-0123456789abcdef-01", "0123456789abcdef0123456789abcdef-0000000000000000-01",
		"0123456789abcdef0123456789abcdef-0123456789abcdeg-01", "0123456789abcdef0123456789abcdeg-0123456789abcdef-01",
	} {
		if _, ok := parseTrace(text); ok {
			t.Errorf("%q is taken for a trace", text)
		}
	}
	const text = "0123456789abcdef0123456789abcdef-0123456789abcdef-01"
	sc, ok := parseTrace(text)
	if !ok || (&Run{identity: sc}).Trace() != text {
		t.Errorf("%q is read as %v, %v", text, sc, ok)
	}
	if (*Run)(nil).Trace() != "" || (&Run{}).Trace() != "" {
		t.Error("a run without a span has a trace")
	}
}

func TestContentOfResults(t *testing.T) {
	for _, test := range []struct{ name, content, want string }{
		{"text", `[{"type":"text","text":"a"}]`, `[{"text":"a","type":"text"}]`},
		{"a string", `"a"`, `[{"text":"a","type":"text"}]`},
		{"search results", `[{"type":"search_result","title":"t","encrypted_content":"x"}]`, `[{"title":"t","type":"search_result"}]`},
		{"a document", `[{"type":"document","source":{"data":"x"}}]`, `[{"type":"document"}]`},
		{"no object", `[1]`, `[null]`},
		{"no list", `5`, `[]`},
	} {
		if got, dropped := shown([]byte(test.content), 1000); got != test.want || dropped {
			t.Errorf("%s: %s, %v, want %s", test.name, got, dropped, test.want)
		}
	}
}
