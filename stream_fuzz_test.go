package toolrunner_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// rulesOfReplies are the rules whose breach a reply itself can bring about:
// blocks that lack what their type has go back as they came.
var rulesOfReplies = []toolrunnertest.Rule{"block-shape", "block-role", "thinking", "server-result-missing", "id-format", "cache-control-place", "cache-control-count", "server-result-unknown", "tool-reference"}

// FuzzStream checks that no stream makes the runner panic or hang, run a call
// whose input is no complete object, or send a request that the API refuses.
func FuzzStream(f *testing.F) {
	for _, s := range []string{
		callStream, finalStream, strings.ReplaceAll(callStream, "\n", "\r\n"), callStream[:len(callStream)/2],
		frames(evStart, evCall, evInput(0, "{"), `{"type":"error","error":{"type":"api_error","message":"No"}}`),
		frames(evStart, evCall, evInput(0, "null"), evEnd0, evCalled, evStop),
		frames(evStart, evBlock(0, `{"type":"compaction","content":null}`), `{"type":"content_block_delta","index":0,"delta":{"type":"compaction_delta","content":"a"}}`, evEnded),
		frames(evStart, evText, evTextDelta(0, " "), evEnded, evStop), callReply, `{"error":{"message":"No"}}`,
	} {
		f.Add([]byte(s), false)
		f.Add([]byte(s), true)
	}
	if _, ok := corpusRoot(); ok {
		streams := recordedStreams(f)
		for _, name := range sampled(streams, 1) {
			f.Add([]byte(streams[name]), false)
		}
	}
	f.Fuzz(func(t *testing.T, body []byte, plain bool) {
		r := newTaped(t, string(body))
		if plain {
			r.contentType = "application/json"
		}
		_, first := drain(r.Runner)
		for _, input := range r.inputs {
			var object map[string]json.RawMessage
			if err := json.Unmarshal([]byte(input), &object); err != nil || object == nil {
				t.Errorf("the tool ran with %q, want an object", input)
			}
		}
		if first != nil && len(r.inputs) > 0 {
			t.Errorf("the tool ran with %q although the run failed: %v", r.inputs, first)
		}
		goOn(t, r)
		if r.Outcome() != toolrunner.OutcomeCompleted || r.open != 0 {
			t.Errorf("Outcome() = %v with %d bodies open, want completed and none", r.Outcome(), r.open)
		}
		for i, q := range r.requests {
			for _, b := range toolrunnertest.Breaches(toolrunnertest.CheckRequest(q)) {
				if !slices.Contains(rulesOfReplies, b.Rule) {
					t.Errorf("request %d breaks %s: %s\n%s", i, b.Rule, b, q)
				}
			}
		}
	})
}

// Rows B056, B088: 20,000 events in one write, and lines of any length.
func TestStreamOfAnySize(t *testing.T) {
	many := []string{evStart, evCall, evInput(0, `{"a":"`)}
	for range 20_000 {
		many = append(many, evInput(0, "ab"))
	}
	long := strings.Repeat("x", 40<<20)
	if testing.Short() {
		long = long[:2<<20]
	}
	tests := []struct{ name, stream, want string }{
		{"many events", frames(append(many, evInput(0, `"}`), evEnd0, evCalled, evStop)...), `{"a":"` + strings.Repeat("ab", 20_000) + `"}`},
		{"a delta of 300 KB", frames(evStart, evCall, evInput(0, `{"a":"`+long[:300<<10]+`"}`), evEnd0, evCalled, evStop), `{"a":"` + long[:300<<10] + `"}`},
		{"a delta of 40 MB", frames(evStart, evCall, evInput(0, `{"a":"`+long+`"}`), evEnd0, evCalled, evStop), `{"a":"` + long + `"}`},
		{"a block of 40 MB", frames(evStart, evBlock(1, `{"type":"holo","x":"`+long+`"}`), evCall, evEnd0, evCalled, evStop), `{}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newTaped(t, tt.stream)
			if err := exhaust(r.AllStreaming(context.Background())); err != nil {
				t.Fatalf("AllStreaming() = %v", err)
			}
			if len(r.inputs) != 1 || r.inputs[0] != tt.want || len(r.requests) != 2 {
				t.Errorf("the tool ran %d times in %d requests, want once with %d bytes", len(r.inputs), len(r.requests), len(tt.want))
			}
		})
	}
}
