package toolrunner_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

var nameOfATool = regexp.MustCompile(`"name":\s*"[^"]*"`)

// recordedStreams returns the streams of the corpus that hold a reply, by name.
// Their client tools are called act, so that calls with cut arguments show.
func recordedStreams(tb testing.TB) map[string]string {
	tb.Helper()
	streams := map[string]string{}
	for _, body := range recordedBodies(tb) {
		if !body.stream {
			continue
		}
		var b strings.Builder
		for line := range strings.Lines(strings.ReplaceAll(body.text, "\r\n", "\n")) {
			if strings.Contains(line, "content_block_start") && strings.Contains(line, `"tool_use"`) {
				line = nameOfATool.ReplaceAllString(line, `"name":"act"`)
			}
			b.WriteString(line)
		}
		if ends, complete := eventsOf(b.String()); complete > 0 && len(ends) > 1 {
			streams[body.name] = b.String()
		}
	}
	if len(streams) < 100 {
		tb.Errorf("the corpus has %d streams that hold a reply, want 100 or more", len(streams))
	}
	return streams
}

// sampled returns the smallest streams of each origin, which differ in what
// recorded them: n of each, those with calls first.
func sampled(streams map[string]string, n int) []string {
	size := func(name string) int {
		if strings.Contains(streams[name], `"name":"act"`) {
			return len(streams[name])
		}
		return len(streams[name]) + 1<<30
	}
	names := slices.SortedFunc(maps.Keys(streams), func(a, b string) int {
		return cmp.Or(size(a)-size(b), strings.Compare(a, b))
	})
	taken := map[string]int{}
	return slices.DeleteFunc(names, func(name string) bool {
		origin, _, _ := strings.Cut(name, "/")
		taken[origin]++
		return taken[origin] > n
	})
}

// eventsOf returns where each event of a stream ends, and where the reply is
// complete: after the event that brings the stop reason.
func eventsOf(stream string) (ends []int, complete int) {
	at := 0
	for event := range strings.SplitSeq(stream, "\n\n") {
		at = min(at+len(event)+2, len(stream))
		ends = append(ends, at)
		_, data, _ := strings.Cut(event, "data:")
		var e struct {
			Type  string
			Delta struct {
				StopReason string `json:"stop_reason"`
			}
		}
		if json.Unmarshal([]byte(data), &e) == nil && e.Type == "message_delta" && e.Delta.StopReason != "" && complete == 0 {
			complete = at
		}
	}
	return ends, complete
}

// Rows E13, E143, B006, B036, B101: of a recorded stream that is cut anywhere,
// nothing is left, or all of it if the stop reason had come.
func TestRecordedStreamsThatAreCut(t *testing.T) {
	streams := recordedStreams(t)
	step := 17
	if testing.Short() {
		step = 97
	}
	for i, name := range sampled(streams, 1) {
		t.Run(name, func(t *testing.T) {
			stream := streams[name]
			ends, complete := eventsOf(stream)
			cuts := slices.Clone(ends)
			every := step
			if i < 2 {
				every = 1
			}
			for n := 0; n < len(stream); n += every {
				cuts = append(cuts, n)
			}
			whole := newTaped(t, stream)
			if _, err := drain(whole.Runner); err != nil {
				t.Fatalf("AllStreaming() = %v", err)
			}
			reasons := []error{io.EOF, io.ErrUnexpectedEOF}
			for i, n := range cuts {
				r := newTaped(t)
				r.bodies = []io.Reader{io.MultiReader(strings.NewReader(stream[:n]), iotest.ErrReader(reasons[i%2]))}
				_, err := drain(r.Runner)
				if n < complete {
					wantLost(t, r, err)
				} else {
					wantSame(t, whole, r, err)
				}
				if t.Failed() {
					t.Fatalf("the cut was at %d of %d, complete at %d, with %v: ...%s", n, len(stream), complete, reasons[i%2], stream[max(0, n-80):n])
				}
			}
		})
	}
}

// Rows E143, B037, B057: an error after any event is that error, and nothing is
// left of the reply.
func TestRecordedStreamsThatFailInTheMiddle(t *testing.T) {
	const overloaded = `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`
	streams := recordedStreams(t)
	for _, name := range sampled(streams, 2) {
		t.Run(name, func(t *testing.T) {
			stream := streams[name]
			ends, complete := eventsOf(stream)
			for i, end := range ends {
				if end >= complete {
					break
				}
				if testing.Short() && i%7 > 0 {
					continue
				}
				r := newTaped(t, stream[:end]+frames(overloaded)+stream[end:])
				_, err := drain(r.Runner)
				if got := kindOf(err); got != "*anthropic.Error" {
					t.Errorf("the error is a %s: %v, want a *anthropic.Error", got, err)
				}
				wantLost(t, r, err)
				if t.Failed() {
					t.Fatalf("the error came after event %d, at %d", i, end)
				}
			}
		})
	}
}

// Rows B006, B056, B102, E53: recorded streams mean the same in whatever form
// they come.
func TestRecordedStreamsInWhateverFormTheyCome(t *testing.T) {
	streams := recordedStreams(t)
	n := len(streams)
	if testing.Short() {
		n = 1
	}
	for _, name := range sampled(streams, n) {
		t.Run(name, func(t *testing.T) {
			whole := newTaped(t, streams[name])
			if _, err := drain(whole.Runner); err != nil {
				t.Fatalf("AllStreaming() = %v", err)
			}
			for _, form := range bends(streams[name]) {
				r := newTaped(t)
				r.bodies, r.contentType = []io.Reader{form.body}, form.contentType
				_, err := drain(r.Runner)
				wantSame(t, whole, r, err)
				if t.Failed() {
					t.Fatalf("the stream came %s", form.name)
				}
			}
		})
	}
}

// wantSame checks that a run went like another.
func wantSame(t *testing.T, want, got *taped, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("AllStreaming() = %v, want none", err)
	}
	if !slices.EqualFunc(got.requests, want.requests, bytes.Equal) {
		t.Errorf("the requests are %s\nwant %s", got.requests, want.requests)
	}
	sortedWant, sortedGot := slices.Sorted(slices.Values(want.inputs)), slices.Sorted(slices.Values(got.inputs))
	if !slices.Equal(sortedWant, sortedGot) {
		t.Errorf("the tool ran with %q, want %q", sortedGot, sortedWant)
	}
	if got.open != 0 {
		t.Errorf("%d bodies are open, want none", got.open)
	}
}
