package survive_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
)

// keptRuns are what is kept of runs: one whole state, and deltas after it, sealed and not.
func keptRuns(t *testing.T) map[string]keptRun {
	t.Helper()
	kept := make(map[string]keptRun)
	for name, key := range map[string]string{"plain": "", "sealed": sealKey} {
		params := toolrunner.Params{}
		if key != "" {
			params.SnapshotKey = []byte(key)
		}
		deltas := recorded(t, params)
		kept[name] = keptRun{key: key, records: [][]byte{deltas[0].Data, deltas[1].Data, deltas[2].Data, deltas[3].Data}}
		r, err := takeUp(t, key, joined(deltas[:4]))
		if err != nil {
			t.Fatal(err)
		}
		whole, err := r.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		kept[name+" at once"] = keptRun{key: key, records: [][]byte{whole}}
	}
	return kept
}

type keptRun struct {
	key     string
	records [][]byte
}

// states returns the conversation that each of the first records make.
func (k keptRun) states(t *testing.T) []string {
	t.Helper()
	var states []string
	for n := range k.records {
		states = append(states, k.conversation(t, bytes.Join(k.records[:n+1], nil)))
	}
	return states
}

// conversation returns what a run that is resumed goes on with, or "" if it is refused.
func (k keptRun) conversation(t *testing.T, data []byte) string {
	t.Helper()
	r, err := takeUp(t, k.key, data)
	if refused := (*toolrunner.SnapshotError)(nil); err != nil && !errors.As(err, &refused) {
		t.Fatalf("Resume() error = %v, want a *SnapshotError\n%s", err, data)
	}
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%s %s %v %d", r.ConversationID(), runtest.HistoryOf(t, r).Body, r.Outcome(), r.IterationCount())
}

// A15: no change of a single byte gives another conversation, or one that is missing its
// end: it is refused. What is cut off is refused, or an earlier state.
func TestChangedByteIsNoticed(t *testing.T) {
	for name, kept := range keptRuns(t) {
		t.Run(name, func(t *testing.T) {
			whole, states := bytes.Join(kept.records, nil), kept.states(t)
			for i := range len(whole) - 1 { // the last line feed says nothing
				for n, b := range []byte{whole[i] ^ 1, whole[i] ^ ' ', ' ', '"', '}'} {
					if b == whole[i] || n > 0 && i%7 != 0 {
						continue
					}
					changed := bytes.Clone(whole)
					changed[i] = b
					if got := kept.conversation(t, changed); got != "" {
						t.Fatalf("byte %d of %d changed from %q to %q: it is resumed as\n%s", i, len(whole), whole[i], b, got)
					}
				}
			}
			wantPrefixes(t, kept, whole, states, 1)
		})
	}
}

// wantPrefixes checks what is made of the first bytes of a file, every few of them.
func wantPrefixes(t *testing.T, kept keptRun, whole []byte, states []string, step int) {
	t.Helper()
	end, n := 0, -1 // of the last whole record, and its number
	for cut := 0; cut < len(whole); cut += step {
		for n+1 < len(kept.records) && cut >= end+len(kept.records[n+1])-1 { // all but the line feed
			n++
			end += len(kept.records[n])
		}
		want := ""
		if n >= 0 {
			want = states[n]
		}
		if got := kept.conversation(t, whole[:cut]); got != want {
			t.Fatalf("the first %d bytes of %d are resumed as\n%s\nwant\n%s", cut, len(whole), got, want)
		}
	}
}

// The same for changes at random, of one byte or of many: whatever is taken is a state
// that there was.
func TestRandomDamageIsNoticed(t *testing.T) {
	for name, kept := range keptRuns(t) {
		t.Run(name, func(t *testing.T) {
			whole := bytes.Join(kept.records, nil)
			known := map[string]bool{"": true}
			for _, state := range kept.states(t) {
				known[state] = true
			}
			for _, seed := range runtest.Seeds(t, 500) {
				random := rand.New(rand.NewPCG(seed, 15))
				if got := kept.conversation(t, damaged(random, whole)); !known[got] {
					t.Fatalf("seed %d: it is resumed as\n%s", seed, got)
				}
			}
		})
	}
}

// damaged returns data with something changed, left out, doubled or moved.
func damaged(random *rand.Rand, data []byte) []byte {
	data = bytes.Clone(data)
	at := func() int { return random.IntN(len(data)) }
	from, to := at(), at()
	from, to = min(from, to), min(max(from, to), min(from, to)+1+random.IntN(64))
	switch random.IntN(6) {
	case 0:
		data[at()] = byte(random.UintN(256))
	case 1:
		data[at()] ^= 1 << random.UintN(8)
	case 2:
		copy(data[from:to], bytes.Repeat([]byte{0}, 64)) // a block that never reached the disk
	case 3:
		data = append(data[:from:from], data[to:]...)
	case 4:
		data = append(data[:to:to], data[from:]...)
	default:
		copy(data[from:to], data[at():])
	}
	return data
}
