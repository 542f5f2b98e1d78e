package tracing_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// The metrics of the conventions: required attributes, and nothing that makes a series of
// its own for each run.
func TestMetricsOfARun(t *testing.T) {
	broken := runtest.Raw("broken", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) { return nil, runtest.ErrBroken })
	w := watch(t, toolrunner.Params{}, runtest.Tools(broken),
		toolrunnertest.Message(toolrunnertest.Call("a", "broken", `{}`)).Usage(10, 5).CacheUsage(3, 4).Model("claude-test-1"),
		toolrunnertest.Status(400, "invalid_request_error", "no"))
	if _, err := w.TryRun(t.Context(), nil); err == nil {
		t.Fatal("the run did not fail")
	}
	want := []string{
		"gen_ai.client.operation.duration error.type=invalid_request_error,gen_ai.operation.name=chat,gen_ai.provider.name=anthropic,gen_ai.request.model=claude-test n=1",
		"gen_ai.client.operation.duration gen_ai.operation.name=chat,gen_ai.provider.name=anthropic,gen_ai.request.model=claude-test,gen_ai.response.model=claude-test-1 n=1",
		"gen_ai.client.token.usage gen_ai.operation.name=chat,gen_ai.provider.name=anthropic,gen_ai.request.model=claude-test,gen_ai.response.model=claude-test-1,gen_ai.token.type=input n=1 sum=17",
		"gen_ai.client.token.usage gen_ai.operation.name=chat,gen_ai.provider.name=anthropic,gen_ai.request.model=claude-test,gen_ai.response.model=claude-test-1,gen_ai.token.type=output n=1 sum=5",
		"gen_ai.execute_tool.duration error.type=tool_error,gen_ai.tool.name=broken,gen_ai.tool.type=function n=1",
		"gen_ai.invoke_agent.duration error.type=invalid_request_error,gen_ai.request.model=claude-test n=1",
	}
	if diff := cmp.Diff(want, w.points(t)); diff != "" {
		t.Errorf("points (-want +got):\n%s", diff)
	}
}

// The buckets are those that the conventions name.
func TestBucketsOfMetrics(t *testing.T) {
	w := watch(t, toolrunner.Params{}, runtest.Tools(runtest.Says("tool", "ok")), toolrunnertest.Message(toolrunnertest.Call("a", "tool", `{}`)), toolrunnertest.Text("so"))
	w.Run(t)
	seconds := []float64{0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92}
	want := map[string][]float64{
		"gen_ai.client.operation.duration": seconds,
		"gen_ai.execute_tool.duration":     seconds,
		"gen_ai.invoke_agent.duration":     {0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 102.4, 204.8, 409.6},
		"gen_ai.client.token.usage":        {1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864},
	}
	units := map[string]string{"gen_ai.client.token.usage": "{token}"}
	got := map[string][]float64{}
	for _, m := range w.collect(t) {
		switch data := m.Data.(type) {
		case metricdata.Histogram[float64]:
			got[m.Name] = data.DataPoints[0].Bounds
		case metricdata.Histogram[int64]:
			got[m.Name] = data.DataPoints[0].Bounds
		}
		if unit := units[m.Name]; m.Unit != unit && (unit != "" || m.Unit != "s") {
			t.Errorf("%s has the unit %q", m.Name, m.Unit)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("bounds (-want +got):\n%s", diff)
	}
}
