package corpus_test

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/toolrunner/toolrunner/internal/tests/runtest"
)

// Rows E13, E143, B006, B036, B101: of a recorded stream that is cut anywhere,
// nothing is left, or all of it if the stop reason had come.
func TestRecordedStreamsThatAreCut(t *testing.T) {
	streams := runtest.RecordedStreams(t)
	step := 17
	if testing.Short() {
		step = 97
	}
	for i, name := range runtest.Sampled(streams, 1) {
		t.Run(name, func(t *testing.T) {
			stream := streams[name]
			ends, complete := runtest.EventsOf(stream)
			cuts := slices.Clone(ends)
			every := step
			if i < 2 {
				every = 1
			}
			for n := 0; n < len(stream); n += every {
				cuts = append(cuts, n)
			}
			whole := runtest.NewTaped(t, stream)
			if _, err := runtest.Drain(whole.Runner); err != nil {
				t.Fatalf("AllStreaming() = %v", err)
			}
			reasons := []error{io.EOF, io.ErrUnexpectedEOF}
			for i, n := range cuts {
				r := runtest.NewTaped(t)
				r.Bodies = []io.Reader{io.MultiReader(strings.NewReader(stream[:n]), iotest.ErrReader(reasons[i%2]))}
				_, err := runtest.Drain(r.Runner)
				if n < complete {
					runtest.WantLost(t, r, err)
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
	streams := runtest.RecordedStreams(t)
	for _, name := range runtest.Sampled(streams, 2) {
		t.Run(name, func(t *testing.T) {
			stream := streams[name]
			ends, complete := runtest.EventsOf(stream)
			for i, end := range ends {
				if end >= complete {
					break
				}
				if testing.Short() && i%7 > 0 {
					continue
				}
				r := runtest.NewTaped(t, stream[:end]+runtest.Frames(overloaded)+stream[end:])
				_, err := runtest.Drain(r.Runner)
				if got := runtest.KindOf(err); got != "*anthropic.Error" {
					t.Errorf("the error is a %s: %v, want a *anthropic.Error", got, err)
				}
				runtest.WantLost(t, r, err)
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
	streams := runtest.RecordedStreams(t)
	n := len(streams)
	if testing.Short() {
		n = 1
	}
	for _, name := range runtest.Sampled(streams, n) {
		t.Run(name, func(t *testing.T) {
			whole := runtest.NewTaped(t, streams[name])
			if _, err := runtest.Drain(whole.Runner); err != nil {
				t.Fatalf("AllStreaming() = %v", err)
			}
			for _, form := range runtest.StreamForms(streams[name]) {
				r := runtest.NewTaped(t)
				r.Bodies, r.ContentType = []io.Reader{form.Body}, form.ContentType
				_, err := runtest.Drain(r.Runner)
				wantSame(t, whole, r, err)
				if t.Failed() {
					t.Fatalf("the stream came %s", form.Name)
				}
			}
		})
	}
}

// wantSame checks that a run went like another.
func wantSame(t *testing.T, want, got *runtest.Taped, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("AllStreaming() = %v, want none", err)
	}
	if !slices.EqualFunc(got.Requests, want.Requests, bytes.Equal) {
		t.Errorf("the requests are %s\nwant %s", got.Requests, want.Requests)
	}
	sortedWant, sortedGot := slices.Sorted(slices.Values(want.Inputs)), slices.Sorted(slices.Values(got.Inputs))
	if !slices.Equal(sortedWant, sortedGot) {
		t.Errorf("the tool ran with %q, want %q", sortedGot, sortedWant)
	}
	if got.Open != 0 {
		t.Errorf("%d bodies are open, want none", got.Open)
	}
}
