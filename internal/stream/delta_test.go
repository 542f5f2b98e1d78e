package stream

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolrunner/toolrunner/internal/wire"
)

// FuzzDeltaForm checks that readDeltaForm reads a delta as walk does.
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
		var fast Event // reads each line in turn
		for line := range bytes.SplitSeq(bytes.Clone(data), []byte("\n")) {
			before := fast
			if !fast.readDeltaForm(line) {
				if diff := diffEvents(before, fast); diff != "" {
					t.Errorf("%s is not of the form, but the event has changed (-want +got):\n%s", line, diff)
				}
				if err := fast.walk(nil, line); err != nil {
					return // the end of its stream
				}
			}
			var slow Event
			if err := slow.walk(nil, bytes.Clone(line)); err != nil {
				t.Fatalf("%s was read as a delta form, but walk fails: %v", line, err)
			}
			if diff := diffEvents(slow, fast); diff != "" {
				t.Errorf("%s reads differently in %s (-walk +readDeltaForm):\n%s", line, data, diff)
			}
			for i := range line {
				line[i] = '#' // its reader overwrites events
			}
		}
	})
}

// diffEvents compares events apart from their heads, which are for the next event.
func diffEvents(want, got Event) string {
	want.head, got.head = deltaHead{}, deltaHead{}
	if reflect.DeepEqual(want, got) {
		return ""
	}
	return cmp.Diff(want, got, cmp.AllowUnexported(Event{}, deltaHead{}, wire.Member{}))
}
