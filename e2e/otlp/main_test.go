package main

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	colmetric "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	coltrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// collector takes what exporters send over OTLP and HTTP.
type collector struct {
	mu      sync.Mutex
	spans   []*tracepb.Span
	metrics []string
	faults  []error
}

func (c *collector) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	reply, err := c.take(q)
	if err != nil {
		c.faults = append(c.faults, err)
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	out, err := proto.Marshal(reply)
	if err != nil {
		c.faults = append(c.faults, err)
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
	_, _ = w.Write(out)
}

func (c *collector) take(q *http.Request) (proto.Message, error) {
	var body io.Reader = q.Body
	if q.Header.Get("Content-Encoding") == "gzip" {
		plain, err := gzip.NewReader(body)
		if err != nil {
			return nil, err
		}
		body = plain
	}
	data, err := io.ReadAll(body)
	if err != nil {
		return nil, err
	}
	if q.URL.Path == "/v1/traces" {
		var sent coltrace.ExportTraceServiceRequest
		if err := proto.Unmarshal(data, &sent); err != nil {
			return nil, err
		}
		for _, resource := range sent.GetResourceSpans() {
			for _, scope := range resource.GetScopeSpans() {
				c.spans = append(c.spans, scope.GetSpans()...)
			}
		}
		return &coltrace.ExportTraceServiceResponse{}, nil
	}
	var sent colmetric.ExportMetricsServiceRequest
	if err := proto.Unmarshal(data, &sent); err != nil {
		return nil, err
	}
	for _, resource := range sent.GetResourceMetrics() {
		for _, scope := range resource.GetScopeMetrics() {
			for _, m := range scope.GetMetrics() {
				c.metrics = append(c.metrics, m.GetName())
			}
		}
	}
	return &colmetric.ExportMetricsServiceResponse{}, nil
}

// What the program connects arrives at a collector: one trace, and each metric.
func TestACollectorGetsTheRun(t *testing.T) {
	var c collector
	srv := httptest.NewServer(&c)
	defer srv.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", srv.URL)
	if err := run(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, err := range c.faults {
		t.Error(err)
	}
	var names []string
	parents := map[string]string{}
	ids := map[string]string{}
	for _, s := range c.spans {
		names = append(names, s.GetName())
		ids[string(s.GetSpanId())] = s.GetName()
		if string(s.GetTraceId()) != string(c.spans[0].GetTraceId()) {
			t.Errorf("%s is in a trace of its own", s.GetName())
		}
	}
	for _, s := range c.spans {
		parents[s.GetName()] = ids[string(s.GetParentSpanId())]
	}
	slices.Sort(names)
	if want := []string{"anthropic.messages.create", "anthropic.messages.create", "execute_tool get_weather", "invoke_agent"}; !slices.Equal(names, want) {
		t.Errorf("spans = %q, want %q", names, want)
	}
	for child, parent := range map[string]string{"execute_tool get_weather": "invoke_agent", "anthropic.messages.create": "invoke_agent", "invoke_agent": ""} {
		if parents[child] != parent {
			t.Errorf("%s is a child of %q, want %q", child, parents[child], parent)
		}
	}
	slices.Sort(c.metrics)
	want := []string{"gen_ai.client.operation.duration", "gen_ai.client.token.usage", "gen_ai.execute_tool.duration", "gen_ai.invoke_agent.duration"}
	if !slices.Equal(c.metrics, want) {
		t.Errorf("metrics = %q, want %q", c.metrics, want)
	}
}
