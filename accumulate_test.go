package toolrunner_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// Rows B012, B016, B032, B058, B089, B090, B093, B102, B113, B134, B136.
func TestStreamOddities(t *testing.T) {
	call := func(parts ...string) []string {
		events := []string{evStart, evCall}
		for _, p := range parts {
			events = append(events, evInput(0, p))
		}
		return append(events, evEnd0, evCalled, evStop)
	}
	literalDelta := func(kind, key, literal string) string {
		return `{"type":"content_block_delta","index":0,"delta":{"type":"` + kind + `","` + key + `":` + literal + `}}`
	}
	const used = `{"type":"tool_use","id":"toolu_1","name":"act","input":`
	tests := []struct {
		name   string
		events []string
		want   string   // content of the reply as it is sent back
		inputs []string // of the tool
	}{
		{"no input at all is an empty object, E54", call(), `[` + used + `{}}]`, []string{`{}`}},
		{"empty deltas are an empty object, E54", call("", ""), `[` + used + `{}}]`, []string{`{}`}},
		{
			"input is the text as it came, E56", call(`{"b":1.0e2, `, `"a":12345678901234567890,"a`, `b":null}`),
			`[` + used + `{"b":1.0e2, "a":12345678901234567890,"ab":null}}]`,
			[]string{`{"b":1.0e2, "a":12345678901234567890,"ab":null}`},
		},
		{"deltas that repeat each other are appended", call(`{"a":"aa`, `aab`, `"}`), `[` + used + `{"a":"aaaab"}}]`, []string{`{"a":"aaaab"}`}},
		{"escapes are split between deltas", call(`{"a":"\`, `u00e`, `9\ud83d`, `\ude00"}`), `[` + used + `{"a":"\u00e9\ud83d\ude00"}}]`, []string{`{"a":"\u00e9\ud83d\ude00"}`}},
		{
			"a pair of surrogates is split between literals",
			[]string{
				evStart, evCall, evInput(0, `{"a":"`),
				literalDelta("input_json_delta", "partial_json", `"\ud83d"`), literalDelta("input_json_delta", "partial_json", `"\ude00\"}"`), evEnd0, evCalled, evStop,
			},
			`[` + used + `{"a":"😀"}}]`,
			[]string{`{"a":"😀"}`},
		},
		{
			"a pair of surrogates is split in a text",
			[]string{evStart, evText, literalDelta("text_delta", "text", `"\uD83D"`), literalDelta("text_delta", "text", `"\uDE00"`), evEnd0, evEnded, evStop},
			`[{"type":"text","text":"\uD83D\uDE00"}]`, nil,
		},
		{
			"deltas replace the input of the start",
			[]string{evStart, evBlock(0, used+`{"q":"x"}}`), evInput(0, `{"q":`), evInput(0, `"x"}`), evEnd0, evCalled, evStop},
			`[` + used + `{"q":"x"}}]`,
			[]string{`{"q":"x"}`},
		},
		{
			"the input of the start counts without deltas",
			[]string{evStart, evBlock(0, used+`{"q":"x"}}`), evInput(0, ""), evEnd0, evCalled, evStop},
			`[` + used + `{"q":"x"}}]`,
			[]string{`{"q":"x"}`},
		},
		{
			"the start has no input",
			[]string{evStart, evBlock(0, `{"type":"tool_use","id":"toolu_1","name":"act"}`), evInput(0, `{"q":1}`), evEnd0, evCalled, evStop},
			`[` + used + `{"q":1}}]`,
			[]string{`{"q":1}`},
		},
		{
			"the start has its input twice",
			[]string{evStart, evBlock(0, used+`{},"input":{}}`), evInput(0, `{"q":1}`), evEnd0, evCalled, evStop},
			`[` + used + `{"q":1}}]`,
			[]string{`{"q":1}`},
		},
		{"the first index is 1", []string{evStart, evBlock(1, used+`{}}`), evInput(1, `{"q":1}`), evCalled, evStop}, `[` + used + `{"q":1}}]`, []string{`{"q":1}`}},
		{"indexes have a gap, and blocks begin out of order", []string{
			evStart, evBlock(7, used+`{}}`), evBlock(2, `{"type":"text","text":"a"}`),
			evInput(7, `{"q":`), evTextDelta(2, "b"), evInput(7, `1}`), evCalled, evStop,
		}, `[{"type":"text","text":"ab"},` + used + `{"q":1}}]`, []string{`{"q":1}`}},
		{
			"blocks grow side by side",
			[]string{
				evStart, evCall, evBlock(1, `{"type":"tool_use","id":"toolu_2","name":"act","input":{}}`),
				evInput(0, `{"a"`), evInput(1, `{"b"`), evInput(0, `:1}`), evInput(1, `:2}`), evEnd0, `{"type":"content_block_stop","index":1}`, evCalled, evStop,
			},
			`[` + used + `{"a":1}},{"type":"tool_use","id":"toolu_2","name":"act","input":{"b":2}}]`,
			[]string{`{"a":1}`, `{"b":2}`},
		},
		{"message_start comes twice", []string{evStart, evCall, evInput(0, `{"q"`), evStart, evInput(0, `:1}`), evEnd0, evCalled, evStop}, `[` + used + `{"q":1}}]`, []string{`{"q":1}`}},
		{
			"empty deltas do not fit their block",
			[]string{evStart, evText, evInput(0, ""), evDelta(0, "thinking", "thinking", ""), evTextDelta(0, "a"), evEnd0, evEnded, evStop},
			`[{"type":"text","text":"a"}]`, nil,
		},
		{"a thinking block has a signature only", []string{
			evStart, evBlock(0, `{"type":"thinking","thinking":"","signature":""}`), evDelta(0, "signature", "signature", "c2ln"),
			evEnd0, evBlock(1, used+`{}}`), evCalled, evStop,
		}, `[{"type":"thinking","thinking":"","signature":"c2ln"},` + used + `{}}]`, []string{`{}`}},
		{
			"thinking keeps its place and its bytes",
			[]string{
				evStart, evBlock(0, `{"type":"thinking","thinking":""}`), literalDelta("thinking_delta", "thinking", `"<a> \u00e9"`),
				evDelta(0, "signature", "signature", "c2"), evDelta(0, "signature", "signature", "ln"), evBlock(1, `{"type":"redacted_thinking","data":"AAA="}`), evBlock(2, used+`{}}`), evCalled, evStop,
			},
			`[{"type":"thinking","thinking":"<a> \u00e9","signature":"c2ln"},{"type":"redacted_thinking","data":"AAA="},` + used + `{}}]`,
			[]string{`{}`},
		},
		{
			"a block of unknown type stays as it is",
			[]string{evStart, evBlock(0, `{ "type":"holo","x":[1.0, null]}`), evEnd0, evBlock(1, used+`{}}`), evCalled, evStop},
			`[{ "type":"holo","x":[1.0, null]},` + used + `{}}]`,
			[]string{`{}`},
		},
		{
			"text comes before the call",
			[]string{evStart, evText, evTextDelta(0, "a"), evTextDelta(0, "b"), evTextDelta(0, "c"), evBlock(1, used+`{}}`), evInput(1, `{}`), evCalled, evStop},
			`[{"type":"text","text":"abc"},` + used + `{}}]`,
			[]string{`{}`},
		},
		{"empty texts are left out", []string{evStart, evText, evTextDelta(0, ""), evBlock(1, used+`{}}`), evCalled, evStop}, `[` + used + `{}}]`, []string{`{}`}},
		{"a second message_delta has no stop reason", slices.Insert(call(), 4, `{"type":"message_delta","delta":{},"usage":{"output_tokens":13}}`), `[` + used + `{}}]`, []string{`{}`}},
		{"a second message_delta has an empty one", slices.Insert(call(), 4, `{"type":"message_delta","delta":{"stop_reason":""}}`), `[` + used + `{}}]`, []string{`{}`}},
		{"a second message_delta has null", slices.Insert(call(), 4, `{"type":"message_delta","delta":{"stop_reason":null},"usage":null}`), `[` + used + `{}}]`, []string{`{}`}},
		{"the delta of a message_delta is null before", slices.Insert(call(), 3, `{"type":"message_delta","delta":null}`), `[` + used + `{}}]`, []string{`{}`}},
		{
			"citations gather",
			[]string{
				evStart, evBlock(0, `{"type":"text","text":"","citations":null}`), evTextDelta(0, "a"),
				literalDelta("citations_delta", "citation", `{"type":"odd","n":1.0}`), literalDelta("citations_delta", "citation", `{"type":"odd","n":2}`), evEnd0, evEnded, evStop,
			},
			`[{"type":"text","text":"a","citations":[{"type":"odd","n":1.0},{"type":"odd","n":2}]}]`, nil,
		},
		{
			"a compaction comes in a delta",
			[]string{evStart, evBlock(0, `{"type":"compaction","content":null}`), literalDelta("compaction_delta", "content", `"<s>"`), evEnd0, evEnded, evStop},
			`[{"type":"compaction","content":"<s>"}]`, nil,
		},
		{"members after the type of a block come in any order", []string{
			evStart, `{"content_block":` + used + `{}},"index":0,"type":"content_block_start"}`,
			`{"delta":{"partial_json":"{\"q\":1}","type":"input_json_delta"},"index":0,"type":"content_block_delta"}`, evCalled, evStop,
		}, `[` + used + `{"q":1}}]`, []string{`{"q":1}`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newTaped(t, frames(tt.events...))
			if _, err := drain(r.Runner); err != nil {
				t.Fatalf("AllStreaming() = %v", err)
			}
			if tt.inputs == nil { // the run has ended: go on with it
				goOn(t, r)
			}
			slices.Sort(r.inputs)
			if diff := cmp.Diff(tt.inputs, r.inputs); diff != "" {
				t.Errorf("inputs of the tool (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.want, sentReply(t, r, 1)); diff != "" {
				t.Errorf("the reply as it is sent back (-want +got):\n%s", diff)
			}
		})
	}
}

// Rows E55, B008, B036, G15.
func TestInputThatIsNoObjectNeverRuns(t *testing.T) {
	for _, parts := range [][]string{
		{`{"q": Dave}`},
		{`{"a":"x`},
		{`{"a":`, `1`},
		{`{`},
		{`}`},
		{`null`},
		{`nu`, `ll`},
		{`[]`},
		{`12`},
		{`"{}"`},
		{`{} {}`},
		{`{"a":1}}`},
		{` `},
		{"\n"},
		{`{"a":1}`, `{"a":1}`},
		{`{"a":"` + "\n" + `"}`},
		{`{'a':1}`},
		{`{"a":01}`},
		{"{\"a\":\"\x00\"}"},
		{`{"a":1,}`},
		{`\u007b\u007d`},
		{"\uFEFF{}"},
	} {
		t.Run(strings.Join(parts, "|"), func(t *testing.T) {
			events := []string{evStart, evCall}
			for _, p := range parts {
				events = append(events, evInput(0, p))
			}
			r := newTaped(t, frames(append(events, evEnd0, evCalled, evStop)...))
			if turns, err := drain(r.Runner); err != nil || turns != 2 {
				t.Errorf("%d turns and the error %v, want 2 and none", turns, err)
			}
			if len(r.inputs) > 0 {
				t.Errorf("the tool ran with %q, want no run", r.inputs)
			}
			sentReply(t, r, 1)
			q := toolrunnertest.Request{Body: r.requests[1]}
			var result struct {
				IsError bool `json:"is_error"`
				Content []struct{ Text string }
			}
			if err := json.Unmarshal(q.ToolResult("toolu_1"), &result); err != nil {
				t.Fatalf("the result: %v", err)
			}
			if !result.IsError || len(result.Content) != 1 || !strings.Contains(result.Content[0].Text, strings.Join(parts, "")) {
				t.Errorf("the result = %+v, want an error that quotes %q", result, parts)
			}
		})
	}
}

// Rows B092, B093, E144: what is missing or null changes nothing, and counts are
// totals, not sums.
func TestUsageOfAStream(t *testing.T) {
	start := func(usage string) string {
		return `{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","content":[]` + usage + `}}`
	}
	end := func(usage string) string {
		return `{"type":"message_delta","delta":{"stop_reason":"end_turn"}` + usage + `}`
	}
	const nine = `,"usage":{"input_tokens":9,"cache_read_input_tokens":100,"cache_creation_input_tokens":4,"output_tokens":1}`
	tests := []struct {
		name   string
		events []string
		want   toolrunner.Usage
	}{
		{"counts replace counts", []string{start(nine), end(`,"usage":{"output_tokens":12}`)}, toolrunner.Usage{InputTokens: 9, CacheReadInputTokens: 100, CacheCreationInputTokens: 4, OutputTokens: 12}},
		{
			"the later of two wins",
			[]string{start(nine), end(`,"usage":{"output_tokens":12}`), end(`,"usage":{"output_tokens":13,"input_tokens":10}`)},
			toolrunner.Usage{InputTokens: 10, CacheReadInputTokens: 100, CacheCreationInputTokens: 4, OutputTokens: 13},
		},
		{
			"nulls replace nothing",
			[]string{start(nine), end(`,"usage":{"output_tokens":12,"input_tokens":null,"cache_read_input_tokens":null}`)},
			toolrunner.Usage{InputTokens: 9, CacheReadInputTokens: 100, CacheCreationInputTokens: 4, OutputTokens: 12},
		},
		{"a zero is a count", []string{start(nine), end(`,"usage":{"cache_read_input_tokens":0}`)}, toolrunner.Usage{InputTokens: 9, CacheCreationInputTokens: 4, OutputTokens: 1}},
		{"message_delta has none", []string{start(nine), end("")}, toolrunner.Usage{InputTokens: 9, CacheReadInputTokens: 100, CacheCreationInputTokens: 4, OutputTokens: 1}},
		{"message_delta has null", []string{start(nine), end(`,"usage":null`)}, toolrunner.Usage{InputTokens: 9, CacheReadInputTokens: 100, CacheCreationInputTokens: 4, OutputTokens: 1}},
		{"message_start has none", []string{start(""), end(`,"usage":{"output_tokens":12}`)}, toolrunner.Usage{OutputTokens: 12}},
		{"message_start has null", []string{start(`,"usage":null`), end(`,"usage":{"input_tokens":3}`)}, toolrunner.Usage{InputTokens: 3}},
		{"message_start has something else", []string{start(`,"usage":[1]`), end(`,"usage":"x"`)}, toolrunner.Usage{}},
		{"there is none", []string{start(""), end("")}, toolrunner.Usage{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newTaped(t, frames(append(tt.events, evStop)...))
			if _, err := drain(r.Runner); err != nil {
				t.Fatalf("AllStreaming() = %v", err)
			}
			tt.want.Replies = 1
			if diff := cmp.Diff(tt.want, r.Usage()); diff != "" {
				t.Errorf("Usage() (-want +got):\n%s", diff)
			}
			if u := r.LastMessage().Usage; u.InputTokens != tt.want.InputTokens || u.OutputTokens != tt.want.OutputTokens {
				t.Errorf("LastMessage().Usage = %+v, want %+v", u, tt.want)
			}
		})
	}
}
