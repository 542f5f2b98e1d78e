package machine

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
)

// resummed returns a record with other content and the checksum of that.
func resummed(t *testing.T, record []byte, change func(content string) string) []byte {
	t.Helper()
	at := bytes.LastIndex(record, []byte(sumMember))
	if at < 0 {
		t.Fatalf("the record has no checksum: %s", record)
	}
	content := change(string(record[:at]))
	return []byte(content + sumMember + sumOf([]byte(content)) + "\"}\n")
}

func wantRefused(t *testing.T, what string, data []byte) {
	t.Helper()
	_, err := restored(t, data)
	if refused := (*SnapshotError)(nil); !errors.As(err, &refused) {
		t.Errorf("%s: error = %v, want a *SnapshotError", what, err)
	}
}

// manyKinds is a record with every kind of object in it.
func manyKinds(t *testing.T) []byte {
	t.Helper()
	m := startMachine(t, [2]string{`{"type":"tool_use","id":"a","name":"pure","input":{}},{"type":"tool_use","id":"b","name":"pure","input":{}}`, "tool_use"})
	m.RemoveTools([]string{"impure"})
	m.Schedule([]byte(`{"instructions":"be brief"}`))
	r, _ := m.Record(nil, now)
	data, _, err := r.Encode(nil, "")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// A15: the name of a member counts exactly, and once, at each depth.
func TestMembersAreExact(t *testing.T) {
	whole := manyKinds(t)
	if _, err := restored(t, whole); err != nil {
		t.Fatal(err)
	}
	for _, member := range []string{
		`"toolrunner":2`, `"run":`, `"sequence":`, `"state":{`, `"calls":[`, `"messages":[`, `"tools":{`, `"reply":{`, `"id":"a"`, `"iteration":1`, `"usage":{`, `"spent":{`,
		`"replies":1`, `"reason":"tool_use"`, `"sha256":"`, `"name":"pure","sha256"`, `"removed":[`, `"compaction":{`, `"scheduled":{`, `"first":[`, `"sent":{`, `"messages":1`,
	} {
		name, value, _ := strings.Cut(member, ":")
		for what, replacement := range map[string]string{
			"in another case": strings.ToUpper(name[:2]) + name[2:] + ":" + value,
			"twice":           name + `:null,` + member,
			"with another":    `"novelty":null,` + member,
		} {
			wantRefused(t, member+" "+what, resummed(t, whole, func(content string) string {
				if !strings.Contains(content, member) {
					t.Fatalf("there is no %s in %s", member, content)
				}
				return strings.Replace(content, member, replacement, 1)
			}))
		}
	}
	twice := resummed(t, whole, func(content string) string {
		return strings.Replace(content, `"calls":{"pure":2}`, `"calls":{"pure":1,"pure":2}`, 1)
	})
	if !bytes.Contains(twice, []byte(`"pure":1,`)) {
		t.Fatalf("there are no counts of calls in %s", whole)
	}
	wantRefused(t, "a tool that is counted twice", twice)
}

// A10: counts as large as they can be are refused, or stay what they are: the next record
// of such a run can be read.
func TestCountsDoNotWrap(t *testing.T) {
	whole := manyKinds(t)
	taken := 0
	for _, count := range []string{
		`"sequence":`, `"iteration":`, `"replies":`, `"input_tokens":`, `"output_tokens":`, `"cache_creation_input_tokens":`, `"cache_read_input_tokens":`,
		`"elapsed_ns":`, `"pure":`, `"context":`, `"reply":1`, `"spent":{"usage":{"replies":`, `"id":"a","state":"waiting","iteration":`,
	} {
		for _, n := range []int64{maxCount - 1, maxCount, maxCount + 1, maxCount * 1000, math.MaxInt64 - 1, math.MaxInt64} {
			name, _ := strings.CutSuffix(count, "1")
			data := resummed(t, whole, func(content string) string {
				before, after, ok := strings.Cut(content, name)
				if !ok {
					t.Fatalf("there is no %s in %s", name, content)
				}
				return before + name + fmt.Sprint(n) + strings.TrimLeft(after, "0123456789")
			})
			what := fmt.Sprintf("%s%d", name, n)
			m, err := restored(t, data)
			if refused := (*SnapshotError)(nil); err != nil && !errors.As(err, &refused) {
				t.Errorf("%s: error = %v, want a *SnapshotError", what, err)
			}
			if err != nil {
				continue
			}
			taken++
			goOnAndRead(t, m, what)
		}
	}
	if taken == 0 {
		t.Error("every count is refused")
	}
}

// goOnAndRead goes on with a run, and reads what is recorded of it meanwhile, as a whole
// and as deltas.
func goOnAndRead(t *testing.T, m *Machine, what string) {
	t.Helper()
	var deltas []byte
	var saved *Saved
	later := now.Add(time.Hour)
	read := func() {
		t.Helper()
		for _, base := range []*Saved{nil, saved} {
			if base != nil && !m.Changed(base) {
				continue
			}
			r, next := m.Record(base, later)
			data, _, err := r.Encode(nil, "")
			if err != nil {
				t.Fatal(err)
			}
			if base != nil || saved == nil {
				deltas, saved = append(deltas, data...), next
				data = deltas
			}
			if _, err := restored(t, data); err != nil {
				t.Fatalf("%s: the next record cannot be read: %v\n%s", what, err, data)
			}
		}
	}
	m.Enter(now)
	for n := range 3 {
		s := next(m, StepLimits{})
		for s.Kind == Run {
			for _, call := range s.Calls {
				answer(m, call, "x")
				read()
			}
			s = next(m, StepLimits{})
		}
		m.Begin(s)
		if s.Kind != Send {
			m.Failed()
			read()
			continue
		}
		take(t, m, fmt.Sprintf(`{"type":"tool_use","id":"later_%d","name":"pure","input":{}}`, n), "tool_use")
		read()
	}
	if m.Iteration() <= 0 || m.Usage().Replies <= 0 || m.Usage().InputTokens < 0 {
		t.Errorf("%s: the iteration is %d, the usage %+v", what, m.Iteration(), m.Usage())
	}
}

// longRecords returns a whole state and n deltas that change one of many open calls each.
func longRecords(tb testing.TB, n int) []byte {
	tb.Helper()
	var blocks []string
	for i := range n {
		blocks = append(blocks, fmt.Sprintf(`{"type":"tool_use","id":"c%d","name":"pure","input":{}}`, i))
	}
	m := startMachine(tb, [2]string{strings.Join(blocks, ","), "tool_use"})
	var data []byte
	var saved *Saved
	record := func() {
		r, next := m.Record(saved, now)
		encoded, _, err := r.Encode(nil, "")
		if err != nil {
			tb.Fatal(err)
		}
		data, saved = append(data, encoded...), next
	}
	record()
	for _, call := range next(m, StepLimits{}).Calls {
		answer(m, call, "x")
		record()
	}
	return data
}

// A6: a record costs the same, however many there are before it, and however many calls
// are open.
func TestReadingRecordsIsLinear(t *testing.T) {
	cost := func(n int) float64 {
		data := longRecords(t, n)
		return testing.AllocsPerRun(1, func() {
			r, err := ReadRecords(data, nil)
			if err != nil || len(r.Calls) != n {
				t.Fatalf("%d calls, %v", len(r.Calls), err)
			}
		})
	}
	if short, long := cost(100), cost(1000); long > 12*short {
		t.Errorf("10 times as many records cost %.0f allocations in place of %.0f", long, short)
	}
}

// A6: the time for a record must grow neither with their number nor with what follows
// the last one.
func BenchmarkReadRecords(b *testing.B) {
	for _, n := range []int{100, 1_000, 8_000} {
		for name, end := range map[string]string{"": "", " and space": strings.Repeat(" ", 1<<20), " and NUL": strings.Repeat("\x00", 1<<20)} {
			data := append(longRecords(b, n), end...)
			b.Run(fmt.Sprintf("%d records%s", n, name), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := ReadRecords(data, nil); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/record")
			})
		}
	}
}

// Only the last of several records may be cut off, and one that was written to its end
// and damaged then is not taken for one.
func TestDamagedRecordIsNotTakenForATornOne(t *testing.T) {
	var data []byte
	m := newMachine(t, `{"role":"user","content":"hi"}`)
	r, saved := m.Record(nil, now)
	first, mac, err := r.Encode([]byte("key"), "")
	if err != nil {
		t.Fatal(err)
	}
	if err := follow(m, `{"role":"user","content":"more"}`); err != nil {
		t.Fatal(err)
	}
	r, _ = m.Record(saved, now)
	last, _, err := r.Encode([]byte("key"), mac)
	if err != nil {
		t.Fatal(err)
	}
	data = append(bytes.Clone(first), last...)
	for i := range len(data) - 1 {
		for _, b := range []byte(" \n\"{}[],:\\0ax\x00") {
			changed := bytes.Clone(data)
			changed[i] = b
			if b == data[i] {
				continue
			}
			if r, err := ReadRecords(changed, []byte("key")); err == nil {
				t.Errorf("byte %d changed from %q to %q: read up to sequence %d", i, data[i], b, r.Sequence)
			}
		}
	}
}
