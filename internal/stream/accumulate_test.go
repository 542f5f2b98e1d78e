package stream

import (
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolrunner/toolrunner/internal/wire"
)

// Each stream is odd in a way that a server or a proxy is known for, and makes the
// content of the message that it means (B012, B016, B032, B058, B089, B090, B093,
// B102, B113, B134, B136).
func TestOddStreamsMakeTheMessageThatTheyMean(t *testing.T) {
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
		want   string // content of the message
	}{
		{"no input at all is an empty object, E54", call(), `[` + used + `{}}]`},
		{"empty deltas are an empty object, E54", call("", ""), `[` + used + `{}}]`},
		{
			"input is the text as it came, E56", call(`{"b":1.0e2, `, `"a":12345678901234567890,"a`, `b":null}`),
			`[` + used + `{"b":1.0e2, "a":12345678901234567890,"ab":null}}]`,
		},
		{"deltas that repeat each other are appended", call(`{"a":"aa`, `aab`, `"}`), `[` + used + `{"a":"aaaab"}}]`},
		{"escapes are split between deltas", call(`{"a":"\`, `u00e`, `9\ud83d`, `\ude00"}`), `[` + used + `{"a":"\u00e9\ud83d\ude00"}}]`},
		{
			"a pair of surrogates is split between literals",
			[]string{
				evStart, evCall, evInput(0, `{"a":"`),
				literalDelta("input_json_delta", "partial_json", `"\ud83d"`), literalDelta("input_json_delta", "partial_json", `"\ude00\"}"`), evEnd0, evCalled, evStop,
			},
			`[` + used + `{"a":"😀"}}]`,
		},
		{
			"a pair of surrogates is split in a text",
			[]string{evStart, evText, literalDelta("text_delta", "text", `"\uD83D"`), literalDelta("text_delta", "text", `"\uDE00"`), evEnd0, evEnded, evStop},
			`[{"type":"text","text":"\uD83D\uDE00"}]`,
		},
		{
			"deltas replace the input of the start",
			[]string{evStart, evBlock(0, used+`{"q":"x"}}`), evInput(0, `{"q":`), evInput(0, `"x"}`), evEnd0, evCalled, evStop},
			`[` + used + `{"q":"x"}}]`,
		},
		{
			"the input of the start counts without deltas",
			[]string{evStart, evBlock(0, used+`{"q":"x"}}`), evInput(0, ""), evEnd0, evCalled, evStop},
			`[` + used + `{"q":"x"}}]`,
		},
		{"white space counts as no delta, W10", []string{evStart, evBlock(0, used+`{"q":"x"}}`), evInput(0, " "), evInput(0, "\n"), evEnd0, evCalled, evStop}, `[` + used + `{"q":"x"}}]`},
		{"white space, and the start has no input, W10", []string{evStart, evBlock(0, `{"type":"tool_use","id":"toolu_1","name":"act"}`), evInput(0, " "), evEnd0, evCalled, evStop}, `[` + used + `{}}]`},
		{"white space, and the start has null, W10", []string{evStart, evBlock(0, used+`null}`), evInput(0, " "), evEnd0, evCalled, evStop}, `[` + used + `{}}]`},
		{"white space, and the start has an empty text, W10", []string{evStart, evBlock(0, used+`""}`), evInput(0, " "), evEnd0, evCalled, evStop}, `[` + used + `{}}]`},
		{
			"the start has no input",
			[]string{evStart, evBlock(0, `{"type":"tool_use","id":"toolu_1","name":"act"}`), evInput(0, `{"q":1}`), evEnd0, evCalled, evStop},
			`[` + used + `{"q":1}}]`,
		},
		{
			"the start has its input twice",
			[]string{evStart, evBlock(0, used+`{},"input":{}}`), evInput(0, `{"q":1}`), evEnd0, evCalled, evStop},
			`[` + used + `{"q":1}}]`,
		},
		{"the first index is 1", []string{evStart, evBlock(1, used+`{}}`), evInput(1, `{"q":1}`), evCalled, evStop}, `[` + used + `{"q":1}}]`},
		{"indexes have a gap, and blocks begin out of order", []string{
			evStart, evBlock(7, used+`{}}`), evBlock(2, `{"type":"text","text":"a"}`),
			evInput(7, `{"q":`), evTextDelta(2, "b"), evInput(7, `1}`), evCalled, evStop,
		}, `[{"type":"text","text":"ab"},` + used + `{"q":1}}]`},
		{
			"blocks grow side by side",
			[]string{
				evStart, evCall, evBlock(1, `{"type":"tool_use","id":"toolu_2","name":"act","input":{}}`),
				evInput(0, `{"a"`), evInput(1, `{"b"`), evInput(0, `:1}`), evInput(1, `:2}`), evEnd0, `{"type":"content_block_stop","index":1}`, evCalled, evStop,
			},
			`[` + used + `{"a":1}},{"type":"tool_use","id":"toolu_2","name":"act","input":{"b":2}}]`,
		},
		{"message_start comes twice", []string{evStart, evCall, evInput(0, `{"q"`), evStart, evInput(0, `:1}`), evEnd0, evCalled, evStop}, `[` + used + `{"q":1}}]`},
		{
			"empty deltas do not fit their block",
			[]string{evStart, evText, evInput(0, ""), evDelta(0, "thinking", "thinking", ""), evTextDelta(0, "a"), evEnd0, evEnded, evStop},
			`[{"type":"text","text":"a"}]`,
		},
		{"a thinking block has a signature only", []string{
			evStart, evBlock(0, `{"type":"thinking","thinking":"","signature":""}`), evDelta(0, "signature", "signature", "c2ln"),
			evEnd0, evBlock(1, used+`{}}`), evCalled, evStop,
		}, `[{"type":"thinking","thinking":"","signature":"c2ln"},` + used + `{}}]`},
		{
			"thinking keeps its place and its bytes",
			[]string{
				evStart, evBlock(0, `{"type":"thinking","thinking":""}`), literalDelta("thinking_delta", "thinking", `"<a> \u00e9"`),
				evDelta(0, "signature", "signature", "c2"), evDelta(0, "signature", "signature", "ln"), evBlock(1, `{"type":"redacted_thinking","data":"AAA="}`), evBlock(2, used+`{}}`), evCalled, evStop,
			},
			`[{"type":"thinking","thinking":"<a> \u00e9","signature":"c2ln"},{"type":"redacted_thinking","data":"AAA="},` + used + `{}}]`,
		},
		{
			"a block of unknown type stays as it is",
			[]string{evStart, evBlock(0, `{ "type":"holo","x":[1.0, null]}`), evEnd0, evBlock(1, used+`{}}`), evCalled, evStop},
			`[{ "type":"holo","x":[1.0, null]},` + used + `{}}]`,
		},
		{
			"text comes before the call",
			[]string{evStart, evText, evTextDelta(0, "a"), evTextDelta(0, "b"), evTextDelta(0, "c"), evBlock(1, used+`{}}`), evInput(1, `{}`), evCalled, evStop},
			`[{"type":"text","text":"abc"},` + used + `{}}]`,
		},
		{"a second message_delta has no stop reason", slices.Insert(call(), 4, `{"type":"message_delta","delta":{},"usage":{"output_tokens":13}}`), `[` + used + `{}}]`},
		{"a second message_delta has an empty one", slices.Insert(call(), 4, `{"type":"message_delta","delta":{"stop_reason":""}}`), `[` + used + `{}}]`},
		{"a second message_delta has null", slices.Insert(call(), 4, `{"type":"message_delta","delta":{"stop_reason":null},"usage":null}`), `[` + used + `{}}]`},
		{"the delta of a message_delta is null before", slices.Insert(call(), 3, `{"type":"message_delta","delta":null}`), `[` + used + `{}}]`},
		{
			"citations gather",
			[]string{
				evStart, evBlock(0, `{"type":"text","text":"","citations":null}`), evTextDelta(0, "a"),
				literalDelta("citations_delta", "citation", `{"type":"odd","n":1.0}`), literalDelta("citations_delta", "citation", `{"type":"odd","n":2}`), evEnd0, evEnded, evStop,
			},
			`[{"type":"text","text":"a","citations":[{"type":"odd","n":1.0},{"type":"odd","n":2}]}]`,
		},
		{
			"a compaction comes in a delta",
			[]string{evStart, evBlock(0, `{"type":"compaction","content":null}`), literalDelta("compaction_delta", "content", `"<s>"`), evEnd0, evEnded, evStop},
			`[{"type":"compaction","content":"<s>"}]`,
		},
		{"members after the type of a block come in any order", []string{
			evStart, `{"content_block":` + used + `{}},"index":0,"type":"content_block_start"}`,
			`{"delta":{"partial_json":"{\"q\":1}","type":"input_json_delta"},"index":0,"type":"content_block_delta"}`, evCalled, evStop,
		}, `[` + used + `{"q":1}}]`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			message, err := accumulate(responseOf([]byte(frames(tt.events...))))
			if err != nil {
				t.Fatal(err)
			}
			o, err := wire.ReadObject(message)
			if err != nil {
				t.Fatalf("%s: %v", message, err)
			}
			if diff := cmp.Diff(tt.want, string(o.Get("content"))); diff != "" {
				t.Errorf("the content (-want +got):\n%s", diff)
			}
		})
	}
}

// Row B088: the cost of a call grows with its length, not with its square.
func TestAccumulatorIsLinear(t *testing.T) {
	cost := func(deltas int) uint64 {
		delta := `data: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"aaaaaaaaaaaaaaaaaaaa"}}` + "\n\n"
		stream := frames(evStart, evCall, evInput(0, `{"a":"`)) + strings.Repeat(delta, deltas) + frames(evInput(0, `"}`), evEnd0, evCalled, evStop)
		response := responseOf([]byte(stream))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		raw, err := accumulate(response)
		runtime.ReadMemStats(&after)
		if err != nil || len(raw) < 20*deltas {
			t.Fatalf("accumulate() = %d bytes, %v", len(raw), err)
		}
		return after.TotalAlloc - before.TotalAlloc
	}
	small, large := cost(20_000), cost(80_000)
	if large > 6*small {
		t.Errorf("80,000 deltas allocate %d bytes, 20,000 %d; want at most six times as many", large, small)
	}
}
