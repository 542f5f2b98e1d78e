package toolrunnertest_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolrunner/toolrunner/toolrunnertest"
)

const compacting = `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"hi"}],"compaction":{"type":"summarize"}`

func TestRequestsToCompactHaveNothingThatShapesAReply(t *testing.T) {
	tests := []struct{ name, body, path string }{
		{name: "alone", body: `}`},
		{name: "context management", body: `,"context_management":{"edits":[]}}`, path: "context_management"},
		{name: "stop sequences", body: `,"stop_sequences":["x"]}`, path: "stop_sequences"},
		{name: "output format", body: `,"output_format":{"type":"json_schema"}}`, path: "output_format"},
		{name: "format", body: `,"output_config":{"format":{"type":"json_schema"}}}`, path: "output_config.format"},
		{name: "effort", body: `,"output_config":{"effort":"low"}}`},
		{name: "fallback", body: `,"fallbacks":[{},{"output_config":{"format":{}}}]}`, path: "fallbacks.1.output_config.format"},
		{name: "any tool", body: `,"tools":[{"type":"x","name":"y"}],"tool_choice":{"type":"any"}}`, path: "tool_choice"},
		{name: "a tool", body: `,"tools":[{"type":"x","name":"y"}],"tool_choice":{"type":"tool","name":"y"}}`, path: "tool_choice"},
		{name: "tools as it likes", body: `,"tools":[{"type":"x","name":"y"}],"tool_choice":{"type":"auto"}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var want []string
			if tt.path != "" {
				want = []string{"compaction " + tt.path}
			}
			var got []string
			for _, b := range toolrunnertest.Breaches(toolrunnertest.CheckRequest([]byte(compacting + tt.body))) {
				got = append(got, string(b.Rule)+" "+b.Path)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("breaches of %s (-want +got):\n%s", tt.body, diff)
			}
		})
	}
}

func TestARunGoesOnFromTheSummary(t *testing.T) {
	const (
		hi      = `{"role":"user","content":"hi"}`
		summary = `{"type":"compaction","content":"s"}`
		failed  = `{"type":"compaction","content":null}`
	)
	tests := []struct{ name, reply, next, rule string }{
		{name: "from the summary", reply: summary, next: `{"role":"assistant","content":[` + summary + `]}`},
		{name: "with the history left in", reply: summary, next: hi, rule: "reply-missing"},
		{name: "from a changed summary", reply: summary, next: `{"role":"assistant","content":[{"type":"compaction","content":"t"}]}`, rule: "reply-changed"},
		{name: "from the history, as there is none", reply: failed, next: hi},
		{name: "from no summary", reply: failed, next: `{"role":"assistant","content":[` + failed + `]}`, rule: "history-changed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			requests := []*toolrunnertest.Request{
				{Body: json.RawMessage(`{"messages":[` + hi + `],"compaction":{"type":"summarize"}}`), Status: 200, Reply: json.RawMessage(`{"content":[` + tt.reply + `]}`)},
				{Body: json.RawMessage(`{"messages":[` + tt.next + `]}`), Status: 200},
			}
			var got strings.Builder
			for _, b := range toolrunnertest.Breaches(toolrunnertest.CheckRun(requests)) {
				got.WriteString(string(b.Rule))
			}
			if got.String() != tt.rule {
				t.Errorf("CheckRun() breaks %q, want %q", got.String(), tt.rule)
			}
		})
	}
}
