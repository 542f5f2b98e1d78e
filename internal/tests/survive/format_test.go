package survive_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// Snapshots of each version are kept here, and never rewritten: go test -run
// TestSnapshots -update writes those of the last version that are missing.
const (
	snapshotFolder = "testdata/snapshots"
	lastVersion    = "v2"
)

// formatKey is what sealed snapshots there are sealed with.
const formatKey = "not a secret, as it is in a test"

// savedRun is a run that is kept, and what becomes of it once it is resumed.
type savedRun struct {
	name   string
	key    string
	save   func(t *testing.T, p *saver) []byte      // nil: nobody writes it so any more
	goOn   func(t *testing.T, r *toolrunner.Runner) // before the next loop, if anything
	ran    []string                                 // the calls that run then
	want   []string                                 // the shape of the first request after it
	result map[string]string                        // in that request, by call
}

func savedRuns() []savedRun {
	return []savedRun{
		{
			name: "suspended",
			save: func(t *testing.T, p *saver) []byte {
				t.Helper()
				r := p.runner(t, toolrunnertest.Message(toolrunnertest.Say("I pay."), toolrunnertest.Call("toolu_1", "pay", `{"to":"landlord"}`)))
				p.wantSuspended(t, r)
				return snapshotOf(t, r)
			},
			goOn: func(t *testing.T, r *toolrunner.Runner) {
				t.Helper()
				decide(t, r, "toolu_1", toolrunner.Allow().For(r.Pending()[0]))
			},
			ran:    []string{"toolu_1"},
			want:   []string{"user 'pay my bills'", "assistant 'I pay.' call(toolu_1)", "user result(toolu_1)"},
			result: map[string]string{"toolu_1": "ran"},
		},
		{
			name: "decided",
			save: func(t *testing.T, p *saver) []byte {
				t.Helper()
				r := p.runner(t, runtest.Calls("pay", "toolu_1", "toolu_2", "toolu_3", "toolu_4"))
				p.wantSuspended(t, r)
				decide(t, r, "toolu_1", toolrunner.Allow())
				decide(t, r, "toolu_2", toolrunner.AllowInput(json.RawMessage(`{"to":"nobody"}`)))
				decide(t, r, "toolu_3", toolrunner.Deny("too much"))
				return snapshotOf(t, r)
			},
			goOn: func(t *testing.T, r *toolrunner.Runner) {
				t.Helper()
				decide(t, r, "toolu_4", toolrunner.Deny(""))
			},
			ran:  []string{"toolu_1", "toolu_2"},
			want: []string{"user 'pay my bills'", "assistant call(toolu_1) call(toolu_2) call(toolu_3) call(toolu_4)", "user result(toolu_1) result(toolu_2) error(toolu_3) error(toolu_4)"},
			result: map[string]string{
				"toolu_2": `[The user changed the input of this call before it ran. It ran with: {"to":"nobody"}]` + "\nran",
				"toolu_3": "Error: the user declined this call, and it was not run. The reason: too much",
			},
		},
		{
			name: "mid-turn",
			save: func(t *testing.T, p *saver) []byte {
				t.Helper()
				return p.middle(t)
			},
			ran:    []string{"toolu_2", "toolu_4"},
			want:   []string{"user 'pay my bills'", "assistant call(toolu_1) call(toolu_2) call(toolu_3) call(toolu_4)", "user result(toolu_1) result(toolu_2) error(toolu_3) result(toolu_4)", "user 'be quick'"},
			result: map[string]string{"toolu_3": "Error: this call was interrupted while it ran. Whether it took effect is unknown."},
		},
		{
			name: "compacted",
			save: func(t *testing.T, p *saver) []byte {
				t.Helper()
				p.params.Betas = []anthropic.AnthropicBeta{anthropic.AnthropicBetaCompact2026_09_04}
				r := p.runner(t, runtest.Calls("look", "toolu_1"), runtest.SummaryReply("All is paid."), toolrunnertest.Text("done"))
				p.next(t, r)
				if err := r.CompactBeforeNextTurn(runtest.NoCompactionConfig()); err != nil {
					t.Error(err)
				}
				p.complete(t, r)
				return snapshotOf(t, r)
			},
			goOn: func(t *testing.T, r *toolrunner.Runner) {
				t.Helper()
				if err := r.AppendMessages(runtest.User("and now?")); err != nil {
					t.Error(err)
				}
			},
			want: []string{"assistant compaction", "assistant 'done'", "user 'and now?'"},
		},
		{
			name: "taken-over",
			save: func(t *testing.T, p *saver) []byte {
				t.Helper()
				r := p.runner(t, runtest.Calls("look", "toolu_1"))
				turn := p.next(t, r)
				if _, err := turn.Results(t.Context()); err != nil {
					t.Error(err)
				}
				if err := turn.Retry(); err != nil {
					t.Error(err)
				}
				return snapshotOf(t, r)
			},
			want: []string{"user 'pay my bills'"},
		},
		{
			name: "other-tools",
			save: func(t *testing.T, p *saver) []byte {
				t.Helper()
				r := p.runner(t, runtest.Calls("look", "toolu_1"), runtest.Calls("look", "toolu_2"))
				p.next(t, r)
				if err := r.AddTools(p.tool("sell")); err != nil {
					t.Error(err)
				}
				p.next(t, r)
				r.RemoveToolsByNames("pay")
				return snapshotOf(t, r)
			},
			ran:  []string{"toolu_2"},
			want: []string{"user 'pay my bills'", "assistant call(toolu_1)", "user result(toolu_1)", "system addition(sell)", "assistant call(toolu_2)", "user result(toolu_2)", "system removal(pay)"},
		},
		{
			name: "sealed-deltas",
			key:  formatKey,
			save: func(t *testing.T, p *saver) []byte {
				t.Helper()
				var kept []byte
				p.params.SnapshotKey = []byte(formatKey)
				p.params.Checkpoint = func(_ context.Context, delta toolrunner.Delta) error {
					kept = append(kept, delta.Data...)
					return nil
				}
				r := p.runner(t, runtest.Calls("look", "toolu_1"), runtest.Calls("pay", "toolu_2"))
				p.wantSuspended(t, r)
				return kept
			},
			goOn: func(t *testing.T, r *toolrunner.Runner) {
				t.Helper()
				decide(t, r, "toolu_2", toolrunner.Allow())
			},
			ran:  []string{"toolu_2"},
			want: []string{"user 'pay my bills'", "assistant call(toolu_1)", "user result(toolu_1)", "assistant call(toolu_2)", "user result(toolu_2)"},
		},
	}
}

// Each snapshot that was ever written can be resumed.
func TestSnapshotsOfAllVersionsCanBeResumed(t *testing.T) {
	for _, version := range []string{"v1", lastVersion} {
		for _, run := range savedRuns() {
			if version == lastVersion && run.save == nil {
				continue
			}
			t.Run(version+" "+run.name, func(t *testing.T) { resumeSaved(t, version, run) })
		}
	}
}

func resumeSaved(t *testing.T, version string, run savedRun) {
	t.Helper()
	p := newSaver(t)
	path := filepath.Join(snapshotFolder, version, run.name+".jsonl")
	snapshot, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && *update && version == lastVersion {
		snapshot = run.save(t, newSaver(t))
		err = os.WriteFile(path, snapshot, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	p.params.SnapshotKey = []byte(run.key)
	p.params.Messages = nil
	r, err := toolrunner.Resume(&p.client.Beta.Messages, append(p.tools(), p.tool("sell")), p.params, snapshot)
	if err != nil {
		t.Fatalf("Resume() error = %v", err)
	}
	if run.goOn != nil {
		run.goOn(t, r)
	}
	p.srv.Add(toolrunnertest.Text("done"))
	p.complete(t, r)
	p.ran.WantSorted(t, run.ran...)
	request := p.srv.Requests()[0]
	if diff := cmp.Diff(run.want, runtest.Shape(request.Messages())); diff != "" {
		t.Errorf("messages of the first request (-want +got):\n%s", diff)
	}
	for id, want := range run.result {
		if got := request.ToolResultText(id); got != want {
			t.Errorf("the result of %s = %q, want %q", id, got, want)
		}
	}
}

// The same runs are saved as they were: a reader of a version refuses members that it
// does not know, so whatever is new needs a new version. What differs from run to run does not count: ids, times, digests, how many steps
// it took.
func TestSnapshotsAreWrittenAsInTheLastVersion(t *testing.T) {
	for _, run := range savedRuns() {
		t.Run(run.name, func(t *testing.T) {
			if run.save == nil {
				return
			}
			want := readFile(t, filepath.Join(snapshotFolder, lastVersion, run.name+".jsonl"))
			got := run.save(t, newSaver(t))
			if diff := cmp.Diff(string(withoutIDs(want)), string(withoutIDs(got))); diff != "" {
				t.Errorf("the snapshot (-want +got):\n%s", diff)
			}
		})
	}
}

var changing = regexp.MustCompile(`("(?:run|sha256|mac|sum)":)"[^"]*"|("(?:sequence|after|elapsed_ns)":)\d+`)

// withoutIDs returns a snapshot without what differs from run to run.
func withoutIDs(snapshot []byte) []byte { return changing.ReplaceAll(snapshot, []byte(`$1${2}0`)) }

// saver makes runs to save, and to resume.
type saver struct {
	srv    *toolrunnertest.Server
	client anthropic.Client
	params toolrunner.Params
	ran    runtest.Journal
}

func newSaver(t *testing.T) *saver {
	t.Helper()
	srv := toolrunnertest.NewServer(t)
	p := &saver{srv: srv, client: srv.Client(), params: runtest.Asking("pay my bills")}
	p.params.Approve = func(_ context.Context, call *toolrunner.Call) (toolrunner.Decision, error) {
		if call.Name == "pay" {
			return toolrunner.Suspend(), nil
		}
		return toolrunner.Allow(), nil
	}
	return p
}

func (p *saver) tool(name string) *toolrunner.Tool { return p.ran.Tool(name) }

// tools returns one that only reads, and three that do not.
func (p *saver) tools() []anthropic.BetaTool {
	look := p.tool("look")
	look.ReadOnly = true
	return runtest.Tools(look, p.tool("pay"), p.tool("send"))
}

func (p *saver) runner(t *testing.T, replies ...toolrunnertest.Reply) *toolrunner.Runner {
	t.Helper()
	return p.runnerWith(t, p.tools(), replies...)
}

func (p *saver) runnerWith(t *testing.T, tools []anthropic.BetaTool, replies ...toolrunnertest.Reply) *toolrunner.Runner {
	t.Helper()
	p.srv.Add(replies...)
	r, err := toolrunner.New(&p.client.Beta.Messages, tools, p.params)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// middle returns the state in the middle of a turn: of its calls one has its result,
// two have started, and one has not; a follow-up waits.
func (p *saver) middle(t *testing.T) []byte {
	t.Helper()
	var r *toolrunner.Runner
	var kept []byte
	saved := make(chan struct{})
	look := runtest.Raw("look", func(_ context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
		if call.ID == "toolu_2" {
			<-saved
		}
		return toolrunner.TextResult("ran"), nil
	})
	look.ReadOnly = true
	send := runtest.Raw("send", func(_ context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
		if call.ID == "toolu_3" {
			kept = snapshotOf(t, r)
			close(saved)
		}
		return toolrunner.TextResult("ran"), nil
	})
	p.params.MaxConcurrency = 2
	r = p.runnerWith(t, runtest.Tools(look, p.tool("pay"), send), toolrunnertest.Message(
		toolrunnertest.Call("toolu_1", "look", `{}`), toolrunnertest.Call("toolu_2", "look", `{}`),
		toolrunnertest.Call("toolu_3", "send", `{}`), toolrunnertest.Call("toolu_4", "send", `{}`)))
	turn := p.next(t, r)
	if err := r.AppendMessages(runtest.User("be quick")); err != nil {
		t.Error(err)
	}
	if _, err := turn.Results(t.Context()); err != nil {
		t.Error(err)
	}
	return kept
}

func (p *saver) next(t *testing.T, r *toolrunner.Runner) *toolrunner.Turn {
	t.Helper()
	turn, err := r.Next(t.Context())
	if err != nil {
		t.Fatalf("Next() error = %v", err)
	}
	return turn
}

func (p *saver) complete(t *testing.T, r *toolrunner.Runner) {
	t.Helper()
	if _, err := r.RunToCompletion(t.Context()); err != nil {
		t.Fatalf("RunToCompletion() error = %v", err)
	}
}

func (p *saver) wantSuspended(t *testing.T, r *toolrunner.Runner) {
	t.Helper()
	_, err := r.RunToCompletion(t.Context())
	if suspended := (*toolrunner.SuspendedError)(nil); !errors.As(err, &suspended) {
		t.Fatalf("RunToCompletion() error = %v, want a *SuspendedError", err)
	}
}

func snapshotOf(t *testing.T, r *toolrunner.Runner) []byte {
	t.Helper()
	snapshot, err := r.Snapshot()
	if err != nil {
		t.Errorf("Snapshot() error = %v", err)
	}
	return snapshot
}

func decide(t *testing.T, r *toolrunner.Runner, id string, d toolrunner.Decision) {
	t.Helper()
	if err := r.Decide(id, d); err != nil {
		t.Errorf("Decide(%q, %v) error = %v", id, d, err)
	}
}

// The files and the runs are the same, so that no file goes untested.
func TestSnapshotFilesAreAllResumed(t *testing.T) {
	files, err := filepath.Glob(snapshotFolder + "/*/*")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, run := range savedRuns() {
		want = append(want, filepath.Join(snapshotFolder, "v1", run.name+".jsonl"))
		if run.save != nil {
			want = append(want, filepath.Join(snapshotFolder, lastVersion, run.name+".jsonl"))
		}
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, files); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	for _, file := range files {
		if !bytes.HasPrefix(readFile(t, file), []byte(`{"toolrunner":`+filepath.Base(filepath.Dir(file))[1:]+`,`)) {
			t.Errorf("%s has another version", file)
		}
	}
}

var update = flag.Bool("update", false, "write the kept snapshots that are missing")
