package stream

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// members returns n members of an object.
func members(n int) string {
	var s strings.Builder
	for i := range n {
		fmt.Fprintf(&s, `,"k%d":0`, i)
	}
	return s.String()[1:]
}

// A stream of a server that means harm costs no more than its length: there are
// bounds on what would be looked through again and again (A6).
func TestMessageIsBounded(t *testing.T) {
	blocks := func(n int) []string {
		events := []string{evStart}
		for i := range n {
			events = append(events, evBlock(n-1-i, `{"type":"text","text":""}`))
		}
		return events
	}
	tests := []struct {
		name   string
		events []string
		want   string
	}{
		{"message_delta with many members", []string{evStart, `{"type":"message_delta","delta":{` + members(120_000) + `}}`}, "the message has more than 256 members"},
		{"message_delta with many members beside its delta", []string{evStart, `{"type":"message_delta","delta":{},` + members(120_000) + `}`}, "the message has more than 256 members"},
		{"message_delta with a large usage", []string{evStart, `{"type":"message_delta","delta":{},"usage":{` + members(120_000) + `}}`}, "its usage has more than 256 members"},
		{"message_start with many members", []string{`{"type":"message_start","message":{` + members(120_000) + `}}`}, "the message has more than 256 members"},
		{"message_start with a large usage", []string{`{"type":"message_start","message":{"usage":{` + members(120_000) + `}}}`}, "its usage has more than 256 members"},
		{
			"a delta that replaces many members",
			[]string{evStart, evBlock(0, `{"type":"compaction","content":null}`), `{"type":"content_block_delta","index":0,"delta":{"type":"compaction_delta",` + members(120_000) + `}}`},
			"the block has more than 256 members",
		},
		{"many blocks", blocks(maxBlocks + 1), "the message has more than 10000 content blocks"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := accumulate(responseOf([]byte(frames(tt.events...))))
			var format *FormatError
			if !errors.As(err, &format) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("the error is %T: %.300v, want a *FormatError with %q", err, err, tt.want)
			}
		})
	}
	if _, err := accumulate(responseOf([]byte(frames(append(blocks(maxBlocks), evTextDelta(7, "a"), evEnded, evStop)...)))); err != nil {
		t.Errorf("a message with %d blocks fails: %v", maxBlocks, err)
	}
}

// The time for a delta must not grow with the number of blocks (A6).
func BenchmarkDeltasToAnEarlierBlock(b *testing.B) {
	for _, blocks := range []int{10, 100, maxBlocks} {
		events := []string{evStart}
		for i := range blocks {
			events = append(events, evBlock(i, `{"type":"text","text":""}`))
		}
		stream := []byte(frames(events...) + strings.Repeat(frames(evTextDelta(blocks/2, "a")), 50_000) + frames(evEnded, evStop))
		b.Run(fmt.Sprintf("%d blocks", blocks), func(b *testing.B) {
			b.SetBytes(int64(len(stream)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := accumulate(responseOf(stream)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
