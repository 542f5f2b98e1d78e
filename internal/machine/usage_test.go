package machine

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// B092: usage may be missing, null or odd, and is then nothing.
func TestUsageAddsUpWhatIsThere(t *testing.T) {
	for _, tt := range []struct {
		name   string
		usages []string
		want   Usage
	}{
		{"none", nil, Usage{}},
		{"missing and null", []string{"", "null", "[]", `"x"`, "{}"}, Usage{Replies: 5}},
		{"two replies", []string{
			`{"input_tokens":1,"output_tokens":2,"cache_creation_input_tokens":3,"cache_read_input_tokens":4,"server_tool_use":{"input_tokens":9}}`,
			`{"cache_read_input_tokens":null,"output_tokens":20,"input_tokens":10}`,
		}, Usage{Replies: 2, InputTokens: 11, OutputTokens: 22, CacheCreationInputTokens: 3, CacheReadInputTokens: 4}},
		{"no natural numbers", []string{`{"input_tokens":-1,"output_tokens":1.5,"cache_read_input_tokens":"7","cache_creation_input_tokens":1e3}`}, Usage{Replies: 1}},
		{"too large", []string{`{"input_tokens":123456789012345678901234567890,"output_tokens":9007199254740991}`}, Usage{Replies: 1, OutputTokens: 9007199254740991}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got Usage
			for _, u := range tt.usages {
				got.add([]byte(u))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("usage (-want +got):\n%s", diff)
			}
		})
	}
}
