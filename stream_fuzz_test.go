package toolrunner_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// rulesOfReplies are the rules whose breach a reply itself can bring about:
// blocks that lack what their type has go back as they came.
var rulesOfReplies = []string{"block-shape", "block-role", "thinking", "server-result-missing", "id-format", "cache-control-place", "cache-control-count"}

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

// script makes events out of bytes, and the message that they stand for.
type streamScript struct {
	choices []byte
	events  []string
	blocks  []map[string]any
}

func (s *streamScript) choose(n int) int {
	if len(s.choices) == 0 {
		return 0
	}
	c := s.choices[0]
	s.choices = s.choices[1:]
	return int(c) % n
}

func (s *streamScript) word() string {
	words := []string{"", "a", "é", "😀", "\"", "\\", "\n", "\u2028", "{}", "<b>", "\x7f", "\\u0041", "null", "data: x", "\U0010FFFF"}
	var b strings.Builder
	for range s.choose(4) {
		b.WriteString(words[s.choose(len(words))])
	}
	return b.String()
}

// literals cuts text into string literals, some of them in escapes that may
// part the halves of a surrogate pair.
func (s *streamScript) literals(text string) []string {
	if s.choose(2) == 0 {
		literal, _ := json.Marshal(text)
		return []string{string(literal)}
	}
	units := utf16.Encode([]rune(text))
	var all []string
	for len(units) > 0 {
		n := min(1+s.choose(3), len(units))
		var b strings.Builder
		for _, u := range units[:n] {
			fmt.Fprintf(&b, `\u%04X`, u)
		}
		all = append(all, `"`+b.String()+`"`)
		units = units[n:]
	}
	return all
}

// block adds the events of a block: those of its start, and those that go on
// with it, which may stand between others.
func (s *streamScript) block(index int) (rest []string) {
	grow := func(kind, key, text string) {
		for _, l := range s.literals(text) {
			rest = append(rest, fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"type":"%s_delta","%s":%s}}`, index, kind, key, l))
		}
	}
	var start string
	var block map[string]any
	switch s.choose(4) {
	case 0:
		before, text := s.word(), s.word()
		literal, _ := json.Marshal(before)
		start, block = `{"text":`+string(literal)+`,"type":"text"}`, map[string]any{"type": "text", "text": before + text}
		grow("text", "text", text)
		if s.choose(2) == 1 {
			rest = append(rest, fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"type":"citations_delta","citation":{"n":%d}}}`, index, index))
			block["citations"] = []any{map[string]any{"n": json.Number(fmt.Sprint(index))}}
		}
	case 1:
		thinking, signature := s.word(), s.word()
		start, block = `{"type":"thinking","thinking":"","signature":""}`, map[string]any{"type": "thinking", "thinking": thinking, "signature": signature}
		grow("thinking", "thinking", thinking)
		grow("signature", "signature", signature)
	case 2:
		input := map[string]any{s.word(): s.word(), "n": json.Number("12345678901234567890")}
		text, _ := json.Marshal(input)
		id := fmt.Sprintf("toolu_%d", index)
		start, block = `{"type":"tool_use","id":"`+id+`","name":"act","input":{}}`, map[string]any{"type": "tool_use", "id": id, "name": "act", "input": input}
		grow("input_json", "partial_json", string(text))
	default:
		start, block = `{"type":"holo","x":[1.0,{"y":null}]}`, map[string]any{"type": "holo", "x": []any{json.Number("1.0"), map[string]any{"y": nil}}}
	}
	s.events = append(s.events, evBlock(index, start))
	s.blocks = append(s.blocks, block)
	return append(rest, fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, index))
}

// smallReads returns no more than most bytes at once.
type smallReads struct {
	io.ReadCloser

	most int
}

func (s *smallReads) Read(p []byte) (int, error) { return s.ReadCloser.Read(p[:min(len(p), s.most)]) }

// checkReading checks that neither the reply nor the events depend on which events
// the caller takes, on the size of blocks or on that of reads, and that the events
// that the caller has stay as they were.
func checkReading(t *testing.T, stream, takes []byte, size, most uint8) {
	t.Helper()
	var want []toolrunner.Event
	message, failure := toolrunner.ReadStream(responseOf(stream), 1<<20, func(event func() toolrunner.Event) { want = append(want, event()) })

	response := responseOf(stream)
	response.Body = &smallReads{response.Body, 1 + int(most)}
	taken := make(map[int]toolrunner.Event)
	n := 0
	got, err := toolrunner.ReadStream(response, 1+int(size), func(event func() toolrunner.Event) {
		if len(takes) > 0 && takes[n/8%len(takes)]>>(n%8)&1 == 1 {
			taken[n] = event()
		}
		n++
	})
	if string(got) != string(message) || fmt.Sprint(err) != fmt.Sprint(failure) || n != len(want) {
		t.Errorf("the reply is, after %d events, %s, %v; read as a whole it is, after %d, %s, %v; of %q", n, got, err, len(want), message, failure, stream)
	}
	for i, event := range taken {
		if i >= len(want) || !reflect.DeepEqual(event, want[i]) {
			t.Errorf("event %d became %+v, read as a whole the events are %+v; of %q", i, event, want, stream)
		}
	}
	var wantErr, gotErr *toolrunner.ReplyError
	if errors.As(failure, &wantErr) && errors.As(err, &gotErr) && string(gotErr.Body) != string(wantErr.Body) {
		t.Errorf("the error is about %q, want %q", gotErr.Body, wantErr.Body)
	}
}

// FuzzReading checks that a stream of any bytes is the same, whoever reads it.
func FuzzReading(f *testing.F) {
	streams := []string{
		callStream, finalStream, strings.ReplaceAll(callStream, "\n", "\r\n"),
		frames(evStart, evCall, evInput(0, "{"), `{"type":"error","error":{"type":"api_error","message":"No"}}`),
		frames(evStart, evText, evTextDelta(0, "a"), evTextDelta(0, "b"), `{"type":"content_block_delta","index":0,"delta":{"type":"citations_delta","citation":{"n":1}}}`,
			evTextDelta(0, "c"), evBlock(1, `{"type":"compaction","content":null}`), `{"type":"content_block_delta","index":1,"delta":{"type":"compaction_delta","content":"d"}}`,
			`{"type":"message_delta","delta":{"stop_reason":"end_turn","x":{"y":1}},"usage":{"output_tokens":3},"z":[2]}`, evStop),
		frames(evStart, evText, evTextDelta(1, "there is no such block")), frames(evStart, evText, evTextDelta(0, "cut off")),
	}
	for _, stream := range streams {
		f.Add([]byte(stream), []byte{0}, uint8(100), uint8(30))
		f.Add([]byte(stream), []byte{0b0110_1001, 0}, uint8(255), uint8(255))
		f.Add([]byte(stream), []byte{0xff}, uint8(0), uint8(0))
	}
	f.Fuzz(checkReading)
}

// FuzzAccumulate compares the accumulator with what the events were made from,
// as encoding/json reads it.
func FuzzAccumulate(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{3, 0, 1, 2, 3, 1, 2, 1, 2, 0, 3, 1, 3, 1, 1, 0, 2, 1})
	f.Add([]byte("two calls, side by side, and some thinking about it all"))
	f.Add([]byte{2, 2, 3, 3, 3, 3, 1, 3, 3, 1, 0, 0, 0, 2, 3, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1})
	f.Fuzz(func(t *testing.T, choices []byte) {
		s := &streamScript{choices: choices, events: []string{evStart}}
		var open [][]string
		for i := range s.choose(5) {
			open = append(open, s.block(i))
			for s.choose(3) > 0 { // some events of some block
				if b := &open[s.choose(len(open))]; len(*b) > 0 {
					s.events = append(s.events, (*b)[0])
					*b = (*b)[1:]
				}
				if len(s.choices) == 0 {
					break
				}
			}
		}
		s.events = append(append(s.events, slices.Concat(open...)...), evCalled, evStop)
		stream := []byte(frames(s.events...))
		raw, err := toolrunner.Accumulate(responseOf(stream))
		checkReading(t, stream, s.choices, uint8(s.choose(256)), uint8(s.choose(256)))
		if err != nil {
			t.Fatalf("Accumulate() = %v of %q", err, s.events)
		}
		got, err := decodeObject(raw)
		if err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		content := []any{}
		for _, b := range s.blocks {
			content = append(content, b)
		}
		want := map[string]any{
			"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-test", "content": content, "stop_reason": "tool_use", "stop_sequence": nil,
			"usage": map[string]any{"input_tokens": json.Number("9"), "cache_read_input_tokens": json.Number("100"), "output_tokens": json.Number("12")},
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("of %q (-want +got):\n%s", s.events, cmp.Diff(want, got))
		}
	})
}

// Row B088: the cost of a call grows with its length, not with its square.
func TestAccumulatorIsLinear(t *testing.T) {
	cost := func(deltas int) uint64 {
		delta := `data: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"aaaaaaaaaaaaaaaaaaaa"}}` + "\n\n"
		stream := frames(evStart, evCall, evInput(0, `{"a":"`)) + strings.Repeat(delta, deltas) + frames(evInput(0, `"}`), evEnd0, evCalled, evStop)
		response := responseOf([]byte(stream))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		raw, err := toolrunner.Accumulate(response)
		runtime.ReadMemStats(&after)
		if err != nil || len(raw) < 20*deltas {
			t.Fatalf("Accumulate() = %d bytes, %v", len(raw), err)
		}
		return after.TotalAlloc - before.TotalAlloc
	}
	small, large := cost(20_000), cost(80_000)
	if large > 6*small {
		t.Errorf("80,000 deltas allocate %d bytes, 20,000 %d; want at most six times as many", large, small)
	}
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
