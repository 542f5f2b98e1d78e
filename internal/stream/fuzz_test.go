package stream

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
)

// streamScript makes events out of bytes, and the content blocks that they stand for.
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

// literals cuts text into string literals. Some consist of escapes, and may split
// a surrogate pair.
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

// block adds the start event of a block and returns the events that go on with it,
// which may come between events of other blocks.
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

// kept is an event that the caller has kept.
type kept struct {
	Type                  string
	Index                 int
	Text, Thinking, Input string
	Data                  []byte
}

func keep(r *Reader) kept {
	r.Keep()
	e := r.Last()
	k := kept{Type: e.Type, Index: e.Index, Data: e.Data}
	k.Text, k.Thinking, k.Input = e.Added()
	return k
}

// smallReads returns at most most bytes at once.
type smallReads struct {
	io.ReadCloser

	most int
}

func (s *smallReads) Read(p []byte) (int, error) { return s.ReadCloser.Read(p[:min(len(p), s.most)]) }

// checkReading checks that the message and the events do not depend on which events
// the caller keeps, on the size of blocks or on the size of reads, and that kept
// events do not change.
func checkReading(t *testing.T, stream, keeps []byte, size, most uint8) {
	t.Helper()
	var want []kept
	message, failure := readAll(responseOf(stream), 1<<20, func(r *Reader) { want = append(want, keep(r)) })

	response := responseOf(stream)
	response.Body = &smallReads{response.Body, 1 + int(most)}
	some := make(map[int]kept)
	n := 0
	got, err := readAll(response, 1+int(size), func(r *Reader) {
		if len(keeps) > 0 && keeps[n/8%len(keeps)]>>(n%8)&1 == 1 {
			some[n] = keep(r)
		}
		n++
	})
	if string(got) != string(message) || fmt.Sprint(err) != fmt.Sprint(failure) || n != len(want) {
		t.Errorf("the message is, after %d events, %s, %v; read as a whole it is, after %d, %s, %v; of %q", n, got, err, len(want), message, failure, stream)
	}
	for i, event := range some {
		if i >= len(want) || !reflect.DeepEqual(event, want[i]) {
			t.Errorf("event %d became %+v, read as a whole the events are %+v; of %q", i, event, want, stream)
		}
	}
	var wantErr, gotErr *FormatError
	if errors.As(failure, &wantErr) && errors.As(err, &gotErr) && string(gotErr.Body) != string(wantErr.Body) {
		t.Errorf("the error is about %q, want %q", gotErr.Body, wantErr.Body)
	}
}

// FuzzReading checks that reading does not depend on who reads, for any bytes.
func FuzzReading(f *testing.F) {
	streams := []string{
		callStream, textStream, strings.ReplaceAll(callStream, "\n", "\r\n"),
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
		raw, err := accumulate(responseOf(stream))
		checkReading(t, stream, s.choices, uint8(s.choose(256)), uint8(s.choose(256)))
		if err != nil {
			t.Fatalf("accumulate() = %v of %q", err, s.events)
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
