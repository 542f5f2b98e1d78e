package limits_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// Usage may be missing, null or odd, and counts as nothing then (B092).
func TestUsageAddsUpWhatIsThere(t *testing.T) {
	tests := []struct {
		name   string
		usages []string // of the replies; empty: none
		want   toolrunner.Usage
	}{
		{"missing and null", []string{"", "null", "[]", `"x"`, "{}"}, toolrunner.Usage{Replies: 5}},
		{"two replies", []string{
			`{"input_tokens":1,"output_tokens":2,"cache_creation_input_tokens":3,"cache_read_input_tokens":4,"server_tool_use":{"input_tokens":9}}`,
			`{"cache_read_input_tokens":null,"output_tokens":20,"input_tokens":10}`,
		}, toolrunner.Usage{Replies: 2, InputTokens: 11, OutputTokens: 22, CacheCreationInputTokens: 3, CacheReadInputTokens: 4}},
		{"no natural numbers", []string{`{"input_tokens":-1,"output_tokens":1.5,"cache_read_input_tokens":"7","cache_creation_input_tokens":1e3}`}, toolrunner.Usage{Replies: 1}},
		{"too large", []string{`{"input_tokens":123456789012345678901234567890,"output_tokens":9007199254740991}`}, toolrunner.Usage{Replies: 1, OutputTokens: 9007199254740991}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var replies []toolrunnertest.Reply
			for i, usage := range test.usages {
				if usage != "" {
					usage = `,"usage":` + usage
				}
				content, stop := fmt.Sprintf(`{"type":"tool_use","id":"toolu_%d","name":"work","input":{}}`, i), "tool_use"
				if i == len(test.usages)-1 {
					content, stop = `{"type":"text","text":"done"}`, "end_turn"
				}
				replies = append(replies, toolrunnertest.RawJSON(fmt.Sprintf(
					`{"id":"msg_%d","type":"message","role":"assistant","model":"m","content":[%s],"stop_reason":%q,"stop_sequence":null%s}`, i, content, stop, usage)))
			}
			c := runtest.Start(t, runtest.Asking("hi"), runtest.Tools(runtest.Says("work", "ran")), replies...)
			c.Run(t)
			if diff := cmp.Diff(test.want, c.Usage()); diff != "" {
				t.Errorf("Usage() (-want +got):\n%s", diff)
			}
		})
	}
}
