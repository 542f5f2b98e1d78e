package toolrunner

import (
	"testing"

	"github.com/google/go-cmp/cmp"
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
	f.Fuzz(func(t *testing.T, data []byte) {
		var fast, slow streamEvent
		if !fast.readDeltaForm(data) {
			if diff := cmp.Diff(streamEvent{}, fast, cmp.AllowUnexported(streamEvent{}, member{})); diff != "" {
				t.Errorf("%s is not of the form, and yet something was read (-want +got):\n%s", data, diff)
			}
			return
		}
		if err := slow.walk(nil, data); err != nil {
			t.Fatalf("%s was read in one go, but %v", data, err)
		}
		if diff := cmp.Diff(slow, fast, cmp.AllowUnexported(streamEvent{}, member{})); diff != "" {
			t.Errorf("%s reads in another way (-walk +in one go):\n%s", data, diff)
		}
	})
}
