package toolrunner

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolrunner/toolrunner/internal/wire"
)

// What is read in one go is what the walk over the event's members reads.
func FuzzDeltaForm(f *testing.F) {
	for _, data := range []string{
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a \"word\" \u00e9"}}`,
		`{"type":"content_block_delta","index":12,"delta":{"type":"input_json_delta","partial_json":"{\"a\":"}}`,
		`{"type":"content_block_delta","index":999999,"delta":{"type":"thinking_delta","thinking":""}}`,
		`{"type":"content_block_delta","index":1000000,"delta":{"type":"text_delta","text":"x"}}`,
		`{"type":"content_block_delta","index":01,"delta":{"type":"text_delta","text":"x"}}`,
		`{"type":"content_block_delta","index":,"delta":{"type":"text_delta","text":"x"}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x","text":"y"}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"},"index":1}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"}} `,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"}}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"x"}}`,
		`{"index":0,"type":"content_block_delta","delta":{"type":"text_delta","text":"x"}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":null}}`,
		"{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"\x01\"}}",
	} {
		f.Add([]byte(data))
	}
	const head = `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"`
	for _, lines := range [][]string{
		{head + `a"}}`, head + `b \"c\""}}`, head + `"}}`, head + `d"}}`},
		{head + `a"}}`, head + `b"},"index":1}`, head + `c"}}`},
		{head + `a"}}`, head + `b","text":"c"}}`, head + `d"}}`},
		{head + `a"}}`, head, head + `b"}}`},
		{head + `a"}}`, `{"type":"ping"}`, head + `b"}}`, `{"type":"content_block_start","index":0,"content_block":{"type":"text"},"x":1}`, head + `c"}}`},
		{head + `a"}}`, strings.Replace(head, "0", "1", 1) + `b"}}`, strings.ReplaceAll(head, "text", "thinking") + `c"}}`, head + `d"}}`},
	} {
		f.Add([]byte(strings.Join(lines, "\n")))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var fast streamEvent // goes from line to line
		for line := range bytes.SplitSeq(bytes.Clone(data), []byte("\n")) {
			before := fast
			if !fast.readDeltaForm(line) {
				if diff := diffEvents(before, fast); diff != "" {
					t.Errorf("%s is not of the form, and yet something was read of it (-want +got):\n%s", line, diff)
				}
				if err := fast.walk(nil, line); err != nil {
					return // the end of its stream
				}
			}
			var slow streamEvent
			if err := slow.walk(nil, bytes.Clone(line)); err != nil {
				t.Fatalf("%s was read in one go, but %v", line, err)
			}
			if diff := diffEvents(slow, fast); diff != "" {
				t.Errorf("%s reads in another way in %s (-walk +in one go):\n%s", line, data, diff)
			}
			for i := range line {
				line[i] = '#' // events are written over
			}
		}
	})
}

// diffEvents compares events, but for what they hold for the next one.
func diffEvents(want, got streamEvent) string {
	want.head, got.head = deltaHead{}, deltaHead{}
	if reflect.DeepEqual(want, got) {
		return ""
	}
	return cmp.Diff(want, got, cmp.AllowUnexported(streamEvent{}, deltaHead{}, wire.Member{}))
}
