package survive_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// recorded plays a run and returns what it has kept, delta by delta.
func recorded(t *testing.T, params toolrunner.Params) []toolrunner.Delta {
	t.Helper()
	var deltas deltaLog
	plan := runtest.TaskModel{Turns: 2, Tools: []string{"book", "pay"}}
	srv := toolrunnertest.NewServer(t, plan.Replies(3)...)
	client := srv.Client()
	params.Checkpoint = deltas.keep
	if params.MaxConcurrency == 0 {
		params.MaxConcurrency = 1
	}
	r, err := runtest.StartOrResume(&client, runtest.EffectLog(t.TempDir()).Tools(func(effect func() error) error { return effect() }), params, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.RunToCompletion(t.Context()); err != nil {
		t.Fatal(err)
	}
	return deltas
}

// joined returns deltas as they are kept in a file.
func joined(deltas []toolrunner.Delta) []byte {
	var data []byte
	for _, d := range deltas {
		data = append(data, d.Data...)
	}
	return data
}

// E224: whatever a crash leaves of the last delta is not taken for one.
func TestTornDeltaIsLeftOut(t *testing.T) {
	deltas := recorded(t, toolrunner.Params{})
	srv := toolrunnertest.NewServer(t)
	client := srv.Client()
	tools := runtest.EffectLog("").Tools(nil)
	for n := 1; n < len(deltas); n++ {
		whole, last := joined(deltas[:n]), deltas[n].Data
		step := 1
		if n > 1 && n < len(deltas)-1 {
			step = 31
		}
		for cut := 0; cut < len(last)-2; cut += step { // what ends in } is whole
			r, err := runtest.StartOrResume(&client, tools, toolrunner.Params{}, append(bytes.Clone(whole), last[:cut]...))
			if err != nil {
				t.Fatalf("delta %d cut at %d: %v", n, cut, err)
			}
			if got := sequenceOf(t, r); got != deltas[n-1].Sequence+1 {
				t.Fatalf("delta %d cut at %d: the sequence is %d, want one more than %d", n, cut, got, deltas[n-1].Sequence)
			}
		}
	}
}

func sequenceOf(t *testing.T, r *toolrunner.Runner) int64 {
	t.Helper()
	snapshot, err := r.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	var state struct{ Sequence int64 }
	if err := json.Unmarshal(snapshot, &state); err != nil {
		t.Fatal(err)
	}
	return state.Sequence
}

// A file is cut off where the torn delta begins, and goes on from there.
func TestTornDeltaIsCutOff(t *testing.T) {
	deltas := recorded(t, toolrunner.Params{})
	path := filepath.Join(t.TempDir(), "run")
	for _, n := range []int{2, len(deltas)} {
		whole, last := string(joined(deltas[:n-1])), string(deltas[n-1].Data)
		for _, cut := range []int{0, 1, 10, 20, len(last) / 2, len(last) - 3, len(last) - 2, len(last) - 1} {
			for _, tail := range []string{"", "\x00", strings.Repeat("\x00", 4096)} {
				writeFile(t, path, whole+last[:cut]+tail)
				want := whole
				if cut == len(last)-1 { // all but the line feed
					want += last[:cut]
				}
				file, err := toolrunner.OpenFileCheckpoint(path)
				if err != nil {
					t.Fatalf("delta %d cut at %d: OpenFileCheckpoint() error = %v", n, cut, err)
				}
				if got := file.Snapshot(); string(got) != want {
					t.Fatalf("delta %d cut at %d: Snapshot() =\n%s\nwant\n%s", n, cut, got, want)
				}
				if got := string(file.Torn()); got != (whole + last[:cut])[len(want):] {
					t.Fatalf("delta %d cut at %d: Torn() = %s", n, cut, got)
				}
				if got := string(readFile(t, path)); got != want {
					t.Fatalf("delta %d cut at %d: the file holds\n%s\nwant\n%s", n, cut, got, want)
				}
				if cut < len(last)-1 {
					if err := file.Append(t.Context(), deltas[n-1]); err != nil {
						t.Fatalf("delta %d cut at %d: Append() error = %v", n, cut, err)
					}
					want += last
				}
				if got := string(readFile(t, path)); got != want {
					t.Fatalf("delta %d cut at %d: after Append() the file holds\n%s", n, cut, got)
				}
				if err := errors.Join(file.Close(), file.Close()); err != nil {
					t.Error(err)
				}
			}
		}
	}
}

// A5: a file whose only record is cut off was not left by a crash, as the first record
// gets there at once: it is a copy that was cut off, and a run that began again would do
// everything a second time. It is refused, and nothing of it is changed.
func TestOnlyRecordThatIsTornIsRefused(t *testing.T) {
	deltas := recorded(t, toolrunner.Params{})
	path := filepath.Join(t.TempDir(), "run")
	for name, record := range map[string][]byte{"a first one": deltas[0].Data, "a later one": deltas[2].Data, "a sealed one": recorded(t, toolrunner.Params{SnapshotKey: []byte(sealKey)})[0].Data} {
		for cut := 1; cut < len(record)-1; cut++ {
			for _, tail := range []string{"", "\x00", "\n"} {
				torn := string(record[:cut]) + tail
				writeFile(t, path, torn)
				file, err := toolrunner.OpenFileCheckpoint(path)
				if refused := (*toolrunner.SnapshotError)(nil); !errors.As(err, &refused) {
					t.Fatalf("OpenFileCheckpoint() of %s cut at %d = %v, %v, want a *SnapshotError", name, cut, file, err)
				}
				if got := string(readFile(t, path)); got != torn {
					t.Fatalf("%s cut at %d was changed to\n%s", name, cut, got)
				}
				wantRefused(t, "", []byte(torn), name+" cut off")
			}
		}
	}
	writeFile(t, path, strings.Repeat("\x00", 100)) // something was there
	if _, err := toolrunner.OpenFileCheckpoint(path); err == nil {
		t.Error("a file of NUL bytes is taken for a new one")
	}
}

// A6: space at the end is passed over once, not once for each record.
func TestSpaceAtTheEndIsNothing(t *testing.T) {
	whole := joined(recorded(t, toolrunner.Params{}))
	path := filepath.Join(t.TempDir(), "run")
	for _, space := range []string{" ", "\n\n", "\t\r\n" + strings.Repeat(" ", 1000)} {
		if _, err := takeUp(t, "", append(bytes.Clone(whole), space...)); err != nil {
			t.Errorf("Resume() with %q at the end: error = %v", space, err)
		}
		writeFile(t, path, string(whole)+space)
		file, err := toolrunner.OpenFileCheckpoint(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(readFile(t, path)); got != string(whole) || file.Torn() != nil {
			t.Errorf("the file holds\n%s\nTorn() = %q", got, file.Torn())
		}
		if err := file.Close(); err != nil {
			t.Error(err)
		}
	}
	writeFile(t, path, " \n")
	file, err := toolrunner.OpenFileCheckpoint(path)
	if err != nil || file.Snapshot() != nil {
		t.Errorf("OpenFileCheckpoint() of space = %v, %v, want a new file", file, err)
	}
	defer file.Close()
}

// What is no delta is left alone: it may be somebody's.
func TestFileOfOthersIsLeftAlone(t *testing.T) {
	whole := string(joined(recorded(t, toolrunner.Params{})))
	path := filepath.Join(t.TempDir(), "run")
	for _, tail := range []string{
		"hello", "{", `{"x":1}`, `{"x`, `[`, `"`, `[1,2]`, "0", "\x00{", "\nhello\n", "null", `{"toolrunner":3}`,
		`{"toolrunner":null}`, `{"toolrunner":"1"}`, `{"toolrunner":1e0}`, "}", "\ufeff", "{\"toolrunner\" :1",
	} {
		for _, head := range []string{"", whole} {
			if tail == "{" {
				continue // it may be torn
			}
			writeFile(t, path, head+tail)
			_, err := toolrunner.OpenFileCheckpoint(path)
			var refused *toolrunner.SnapshotError
			if !errors.As(err, &refused) {
				t.Errorf("OpenFileCheckpoint() of a file that ends in %q: error = %v, want a *SnapshotError", tail, err)
			}
			if got := string(readFile(t, path)); got != head+tail {
				t.Errorf("a file that ends in %q was changed to\n%s", tail, got)
			}
		}
	}
}

// A file has one run in it, and each delta follows the one before.
func TestFileTakesOnlyWhatFollows(t *testing.T) {
	deltas, others := recorded(t, toolrunner.Params{}), recorded(t, toolrunner.Params{})
	path := filepath.Join(t.TempDir(), "run")
	file, err := toolrunner.OpenFileCheckpoint(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for i, d := range deltas {
		for name, wrong := range map[string][]toolrunner.Delta{
			"a delta again": deltas[:i], "one too early": deltas[i+1:], "one of another run": others[min(1, i):],
		} {
			for _, w := range wrong {
				if i == 0 && w.Full {
					continue
				}
				if err := file.Append(t.Context(), w); err == nil {
					t.Fatalf("Append() takes %s (%d after %d) in the place of delta %d", name, w.Sequence, w.After, i)
				}
			}
		}
		if err := file.Append(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(string(joined(deltas)), string(readFile(t, path))); diff != "" {
		t.Errorf("the file (-want +got):\n%s", diff)
	}
}

// P4, A8: one has a file at a time, and what others write without asking is noticed.
func TestSecondWriterFails(t *testing.T) {
	deltas := recorded(t, toolrunner.Params{})
	path := filepath.Join(t.TempDir(), "run")
	first, err := toolrunner.OpenFileCheckpoint(path)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	wantInUse := func() {
		t.Helper()
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				if _, err := toolrunner.OpenFileCheckpoint(path); err == nil || !strings.Contains(err.Error(), "is in use") {
					t.Errorf("the second OpenFileCheckpoint() error = %v", err)
				}
			})
		}
		wg.Wait()
	}
	wantInUse()
	for _, d := range deltas[:3] {
		if err := first.Append(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		wantInUse()
	}
	written := string(joined(deltas[:3])) + "\n"
	writeFile(t, path, written)
	if err := first.Append(t.Context(), deltas[3]); err == nil || !strings.Contains(err.Error(), "somebody else") {
		t.Errorf("Append() to a file that somebody has written to: error = %v", err)
	}
	if got := string(readFile(t, path)); got != written {
		t.Errorf("the file holds\n%s", got)
	}
}

// A8: a file that was removed or replaced is an error, and what was to be saved is saved
// where the run goes on.
func TestFileThatIsReplacedIsNoticed(t *testing.T) {
	for name, replaced := range map[string]bool{"removed": false, "replaced": true} {
		path := filepath.Join(t.TempDir(), "run")
		file, err := toolrunner.OpenFileCheckpoint(path)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		var ran runtest.Journal
		params := runtest.Asking("hi")
		params.Checkpoint = file.Append
		c := runtest.Start(t, params, runtest.Tools(ran.Tool("work")), runtest.Calls("work", "a"), toolrunnertest.Text("done"))
		for range c.All(t.Context()) {
			break
		}
		kept := path + "-kept"
		if err := os.Rename(path, kept); err != nil {
			t.Fatal(err)
		}
		if replaced {
			writeFile(t, path, string(readFile(t, kept)))
		}
		for range 2 {
			if _, err := c.RunToCompletion(t.Context()); err == nil || !strings.Contains(err.Error(), "checkpoint failed") {
				t.Errorf("%s: RunToCompletion() error = %v", name, err)
			}
		}
		ran.Want(t)
		if err := os.Rename(kept, path); err != nil {
			t.Fatal(err)
		}
		c.Run(t)
		ran.Want(t, "a")
	}
}

// Rough edge "a checkpoint file only grows": a run that is taken up replaces what is in
// its file by its whole state.
func TestFileDoesNotGrowWithEachResume(t *testing.T) {
	for _, key := range []string{"", sealKey} {
		path := filepath.Join(t.TempDir(), "run")
		srv := toolrunnertest.NewServer(t)
		srv.Otherwise(toolrunnertest.Text("done"))
		client := srv.Client()
		first := 0
		for n := range 50 {
			file, err := toolrunner.OpenFileCheckpoint(path)
			if err != nil {
				t.Fatal(err)
			}
			params := toolrunner.Params{Checkpoint: file.Append}
			if key != "" {
				params.SnapshotKey = []byte(key)
			}
			r, err := runtest.StartOrResume(&client, nil, params, file.Snapshot())
			if err != nil {
				t.Fatal(err)
			}
			if n > 0 && r.AppendMessages(runtest.User("more")) != nil {
				t.Fatal("AppendMessages() has an error")
			}
			if _, err := r.RunToCompletion(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := file.Close(); err != nil {
				t.Fatal(err)
			}
			if n == 0 {
				first = len(readFile(t, path))
			}
			if got, most := len(readFile(t, path)), (n+2)*first; got > most {
				t.Fatalf("resumed %d times, the file has %d bytes, want at most %d", n, got, most)
			}
		}
	}
}

func TestFileErrorsAreReturned(t *testing.T) {
	if _, err := toolrunner.OpenFileCheckpoint(t.TempDir()); err == nil {
		t.Error("OpenFileCheckpoint() of a folder has no error")
	}
	file, err := toolrunner.OpenFileCheckpoint(filepath.Join(t.TempDir(), "run"))
	if err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	if err := file.Append(t.Context(), recorded(t, toolrunner.Params{})[0]); err == nil {
		t.Errorf("Append() to a closed file has no error")
	}
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func readFile(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
