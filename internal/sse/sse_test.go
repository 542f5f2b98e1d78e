package sse_test

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/toolrunner/toolrunner/internal/sse"
)

const blockSize = 32 << 10

type event struct{ Name, Data string }

func read(t *testing.T, src io.Reader) ([]event, error) {
	t.Helper()
	return readBlocks(t, src, blockSize)
}

func readBlocks(t *testing.T, src io.Reader, size int) ([]event, error) {
	t.Helper()
	r := sse.NewReader(src, size)
	var events []event
	for range 1_000_000 {
		e, err := r.Next()
		if err != nil {
			return events, err
		}
		events = append(events, event{string(e.Name), string(e.Data)})
	}
	t.Fatal("the stream does not end")
	return nil, nil
}

func TestEventsAreReadWhateverTheirForm(t *testing.T) {
	tests := []struct {
		name, stream string
		want         []event
	}{
		{"empty", "", nil},
		{"one", "event: a\ndata: 1\n\n", []event{{"a", "1"}}},
		{"no space after the colon", "event:a\ndata:1\n\n", []event{{"a", "1"}}},
		{"one space only is left out", "data:  1\n\n", []event{{"", " 1"}}},
		{"CRLF", "event: a\r\ndata: 1\r\n\r\nevent: b\r\ndata: 2\r\n\r\n", []event{{"a", "1"}, {"b", "2"}}},
		{"CR", "event: a\rdata: 1\r\rdata: 2\r\r", []event{{"a", "1"}, {"", "2"}}},
		{"mixed ends", "data: 1\r\n\ndata: 2\n\rdata: 3\r\r\n", []event{{"", "1"}, {"", "2"}, {"", "3"}}},
		{"no event field", "data: {\"type\":\"x\"}\n\n", []event{{"", `{"type":"x"}`}}},
		{"comments and unknown fields", ": hi\nid: 7\nretry: 3\ndata: 1\n: again\n\n", []event{{"", "1"}}},
		{"several data lines", "data: 1\ndata: 2\ndata\n\n", []event{{"", "1\n2\n"}}},
		{"data without a colon", "data\n\ndata\ndata\n\n", []event{{"", ""}, {"", "\n"}}},
		{"an event without data is none", "event: a\n\ndata: 1\n\n", []event{{"", "1"}}},
		{"the name is of its event only", "event: a\n\nevent: b\ndata: 1\n\n", []event{{"b", "1"}}},
		{"empty lines between", "\n\ndata: 1\n\n\n\ndata: 2\n\n", []event{{"", "1"}, {"", "2"}}},
		{"cut off in the last event", "data: 1\n\ndata: 2\n", []event{{"", "1"}}},
		{"cut off after a CR", "data: 1\r\n\r", []event{{"", "1"}}},
		{"byte order mark", "\uFEFFdata: 1\n\n", []event{{"", "1"}}},
		{"byte order mark in front of a name", "\uFEFFevent: a\ndata: 1\n\n", []event{{"a", "1"}}},
		{"byte order mark later on", "event: a\ndata: 1\n\n\uFEFFdata: 2\n\n", []event{{"a", "1"}}},
		{"names that begin alike", "event: a\ndata: 1\n\nevent: ab\ndata: 2\n\nevent: a\ndata: 3\n\n", []event{{"a", "1"}, {"ab", "2"}, {"a", "3"}}},
		{"more than one event in the usual form", "event: a\ndata: 1\ndata: 2\n\nevent: a\ndata: 3\nevent: b\n\n", []event{{"a", "1\n2"}, {"b", "3"}}},
		{"a CR in an event of the usual form", "event: a\ndata: 1\n\nevent: a\ndata: 2\r3\n\nevent: a\ndata: 4\n\n", []event{{"a", "1"}, {"a", "2"}, {"a", "4"}}},
		{"empty data", "event: a\ndata: \n\nevent:\ndata: 1\n\nevent: \ndata: 2\n\n", []event{{"a", ""}, {"", "1"}, {"", "2"}}},
		{"more than one block", "data: " + strings.Repeat("x", 100_000) + "\n\ndata: 2\n\n", []event{{"", strings.Repeat("x", 100_000)}, {"", "2"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for kind, src := range map[string]io.Reader{
				"at once":      strings.NewReader(tt.stream),
				"byte by byte": iotest.OneByteReader(strings.NewReader(tt.stream)),
				"data and end": iotest.DataErrReader(strings.NewReader(tt.stream)),
			} {
				got, err := read(t, src)
				if !errors.Is(err, io.EOF) {
					t.Errorf("%s: error %v, want io.EOF", kind, err)
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("%s: events (-want +got):\n%s", kind, diff)
				}
			}
			for size := 1; size < 40; size++ {
				got, _ := readBlocks(t, strings.NewReader(tt.stream), size)
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Fatalf("in blocks of %d: events (-want +got):\n%s", size, diff)
				}
			}
		})
	}
}

func TestTheSourcesErrorComesThroughAfterItsEvents(t *testing.T) {
	broken := errors.New("broken")
	got, err := read(t, io.MultiReader(strings.NewReader("data: 1\n\ndata: 2"), iotest.ErrReader(broken)))
	if !errors.Is(err, broken) {
		t.Errorf("error %v, want the source's", err)
	}
	if diff := cmp.Diff([]event{{"", "1"}}, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestWhatIsKeptIsNeverWrittenAgain(t *testing.T) {
	var stream bytes.Buffer
	var want []string
	for i := range 5000 {
		text := strings.Repeat(string(rune('a'+i%26)), 1+i%60)
		want = append(want, text)
		stream.WriteString("data: " + text + "\n\n")
	}
	r := sse.NewReader(&stream, blockSize)
	var kept [][]byte
	for {
		e, err := r.Next()
		if err != nil {
			break
		}
		r.Keep()
		kept = append(kept, e.Data)
	}
	if len(kept) != len(want) {
		t.Fatalf("%d events, want %d", len(kept), len(want))
	}
	for i, data := range kept {
		if string(data) != want[i] {
			t.Fatalf("event %d was overwritten: %q, want %q", i, data, want[i])
		}
	}
}

// A block is written again unless an event in it was kept.
func TestEventsThatNobodyKeepsTakeNoMemory(t *testing.T) {
	stream := strings.Repeat("event: a\ndata: "+strings.Repeat("x", 100)+"\n\n", 50_000) + strings.Repeat("data: 1\r\ndata: 2\r\n\r\n", 50_000)
	r := sse.NewReader(strings.NewReader(stream), blockSize/8) // blocks grow to eight times that
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	n := 0
	for {
		if _, err := r.Next(); err != nil {
			break
		}
		n++
	}
	runtime.ReadMemStats(&after)
	if allocated := after.TotalAlloc - before.TotalAlloc; n != 100_000 || allocated > 1<<20 {
		t.Errorf("reading %d events in %d bytes allocates %d, want 100,000 events and at most 1 MB", n, len(stream), allocated)
	}
}

// B088, kind l: one long line in small reads costs what its bytes cost.
func TestALongLineIsScannedOnce(t *testing.T) {
	const size = 4 << 20
	src := io.MultiReader(strings.NewReader("data: "), &smallReads{strings.NewReader(strings.Repeat("y", size)), 64}, strings.NewReader("\n\n"))
	got, err := read(t, src)
	if !errors.Is(err, io.EOF) || len(got) != 1 || len(got[0].Data) != size {
		t.Fatalf("%d events, error %v", len(got), err)
	}
}

type smallReads struct {
	src  io.Reader
	most int
}

func (s *smallReads) Read(p []byte) (int, error) { return s.src.Read(p[:min(len(p), s.most)]) }

func FuzzReader(f *testing.F) {
	f.Add([]byte("event: a\r\ndata: 1\r\rdata: 2\n\n"))
	f.Add([]byte("data: 1\r\n\r"))
	f.Add([]byte("\uFEFFdata\n\n"))
	f.Fuzz(func(t *testing.T, stream []byte) {
		whole, err := read(t, bytes.NewReader(stream))
		if !errors.Is(err, io.EOF) {
			t.Fatalf("error %v", err)
		}
		parts, _ := read(t, iotest.OneByteReader(bytes.NewReader(stream)))
		if diff := cmp.Diff(whole, parts); diff != "" {
			t.Errorf("read byte by byte, %q differs:\n%s", stream, diff)
		}
		for size := 1; size < 64; size += 1 + size/4 {
			small, err := readBlocks(t, bytes.NewReader(stream), size)
			if diff := cmp.Diff(whole, small); diff != "" || !errors.Is(err, io.EOF) {
				t.Errorf("read in blocks of %d, %q ends with %v and differs:\n%s", size, stream, err, diff)
			}
		}
		normal := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(stream))
		lf, _ := read(t, strings.NewReader(normal))
		if diff := cmp.Diff(whole, lf); diff != "" {
			t.Errorf("with LF, %q differs:\n%s", stream, diff)
		}
	})
}

// What is read does not depend on which events are kept, on the size of blocks or on
// that of reads, and what is kept stays as it was.
func FuzzKeep(f *testing.F) {
	usual := strings.Repeat("event: delta\ndata: {\"text\":\"abc\"}\n\n", 5)
	for _, stream := range []string{usual, strings.ReplaceAll(usual, "\n", "\r\n"), usual + "data: 1\ndata: 2\n\n: x\nevent: b\n\n" + usual} {
		f.Add([]byte(stream), []byte{0}, uint8(40), uint8(7))
		f.Add([]byte(stream), []byte{0b1010_0100}, uint8(64), uint8(255))
		f.Add([]byte(stream), []byte{0xff}, uint8(16), uint8(1))
	}
	f.Fuzz(func(t *testing.T, stream, keep []byte, size, chunk uint8) {
		want, _ := read(t, bytes.NewReader(stream))
		r := sse.NewReader(&smallReads{bytes.NewReader(stream), 1 + int(chunk)}, 1+int(size))
		kept := make(map[int]sse.Event)
		for i := 0; ; i++ {
			e, err := r.Next()
			if err != nil {
				if i != len(want) || !errors.Is(err, io.EOF) {
					t.Errorf("%d events and %v, want %d and io.EOF", i, err, len(want))
				}
				break
			}
			if i >= len(want) || (event{string(e.Name), string(e.Data)}) != want[i] {
				t.Fatalf("event %d is %q %q; read as a whole, there are %q", i, e.Name, e.Data, want)
			}
			if len(keep) > 0 && keep[i/8%len(keep)]>>(i%8)&1 == 1 {
				r.Keep()
				kept[i] = e
			}
		}
		for i, e := range kept {
			if (event{string(e.Name), string(e.Data)}) != want[i] {
				t.Errorf("event %d, which was kept, became %q %q, want %q", i, e.Name, e.Data, want[i])
			}
		}
	})
}
