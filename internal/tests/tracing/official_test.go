package tracing_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/google/go-cmp/cmp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// officialNames are the official runner's spans beside ours.
var officialNames = map[string]string{
	"anthropic.messages.tool_runner": "invoke_agent", "anthropic.custom_tool_use weather": "execute_tool weather",
	"anthropic.custom_tool_use broken": "execute_tool broken",
}

// On one script, this runner and the official one make the same spans but for their names:
// whatever attribute the official one sets, ours has with the same value.
func TestSpansHaveWhatTheOfficialRunnersHave(t *testing.T) {
	t.Run("plain", func(t *testing.T) { compareWithOfficial(t, false) })
	t.Run("streamed", func(t *testing.T) { compareWithOfficial(t, true) })
}

func compareWithOfficial(t *testing.T, streaming bool) {
	t.Helper()
	script := []toolrunnertest.Reply{
		toolrunnertest.Message(toolrunnertest.Call("a", "weather", `{}`), toolrunnertest.Call("b", "broken", `{}`)),
		toolrunnertest.Text("so"),
	}
	tools := runtest.Tools(runtest.Says("weather", "mild"), runtest.Raw("broken", func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
		return nil, runtest.ErrBroken
	}))
	w := watch(t, toolrunner.Params{MaxConcurrency: 1}, tools, script...)
	w.Streaming = streaming
	w.MustPlay(t, nil)

	spans := tracetest.NewInMemoryExporter()
	tracers := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))
	srv := toolrunnertest.NewServer(t, script...)
	client := srv.Client(option.WithTracerProvider(tracers), option.WithOpenTelemetryConversationID("c-1"))
	params := anthropic.BetaToolRunnerParams{
		BetaMessageNewParams: anthropic.BetaMessageNewParams{Model: "claude-test", MaxTokens: 100, Messages: []anthropic.BetaMessageParam{runtest.User("hi")}},
	}
	if streaming {
		for events, err := range client.Beta.Messages.NewToolRunnerStreaming(tools, params).AllStreaming(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			for _, err := range events {
				if err != nil {
					t.Fatal(err)
				}
			}
		}
	} else if _, err := client.Beta.Messages.NewToolRunner(tools, params).RunToCompletion(t.Context()); err != nil {
		t.Fatal(err)
	}
	ours, theirs := attributesByName(w.spans), attributesByName(spans)
	if diff := cmp.Diff(slices.Sorted(maps.Keys(theirs)), slices.Sorted(maps.Keys(ours))); diff != "" {
		t.Fatalf("names (-official +ours):\n%s", diff)
	}
	for name, want := range theirs {
		for key, value := range want {
			switch {
			case key == "status", strings.HasPrefix(key, "gen_ai."), strings.HasPrefix(key, "anthropic."), key == "error.type":
				differs := slices.Contains([]string{"anthropic.request.id", "gen_ai.response.id", "gen_ai.response.time_to_first_chunk", "anthropic.beta"}, key)
				if got := ours[name][key]; got != value && !differs || got == "" && key != "anthropic.beta" {
					t.Errorf("%s: %s = %q, and the official runner has %q", name, key, ours[name][key], value)
				}
			}
		}
	}
}

// attributesByName lists the attributes and the status of spans; of those with one name the
// last one's.
func attributesByName(spans *tracetest.InMemoryExporter) map[string]map[string]string {
	all := map[string]map[string]string{}
	for _, s := range spans.GetSpans() {
		name := s.Name
		if other, ok := officialNames[name]; ok {
			name = other
		}
		all[name] = attributesOf(s)
		all[name]["status"] = status(s.Status)
	}
	return all
}
