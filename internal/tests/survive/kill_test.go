package survive_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/google/go-cmp/cmp"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// What TestProcessThatIsKilled gets from the environment.
const (
	crashFolder = "TOOLRUNNER_TEST_CRASH_FOLDER"
	crashAPI    = "TOOLRUNNER_TEST_CRASH_API"
	// crashTimes says how often TestKilledRunsComeBack kills; 12 by default.
	crashTimes = "TOOLRUNNER_TEST_CRASHES"
)

// TestProcessThatIsKilled is the program that TestKilledRunsComeBack runs in processes
// of their own. It writes to standard error whenever it is about to do something, and
// when it has done it.
func TestProcessThatIsKilled(t *testing.T) {
	folder := os.Getenv(crashFolder)
	if folder == "" {
		t.Skip("not in a process of its own")
	}
	file, err := toolrunner.OpenFileCheckpoint(filepath.Join(folder, "run"))
	if err != nil {
		t.Fatal(err)
	}
	around := func(do func() error) error {
		fmt.Fprint(os.Stderr, ".")
		err := do()
		fmt.Fprint(os.Stderr, ".")
		return err
	}
	params := toolrunner.Params{
		SnapshotKey: []byte("0123456789abcdef"),
		Checkpoint: func(ctx context.Context, delta toolrunner.Delta) error {
			return around(func() error { return file.Append(ctx, delta) })
		},
	}
	client := anthropic.NewClient(option.WithBaseURL(os.Getenv(crashAPI)), option.WithAPIKey("test"), option.WithMaxRetries(0))
	r, err := runtest.StartOrResume(&client, runtest.EffectLog(folder).Tools(around), params, file.Snapshot())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.RunToCompletion(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "history"), runtest.HistoryOf(t, r).Body, 0o600); err != nil {
		t.Fatal(err)
	}
}

// killedAfter runs the program, and kills it once it has written so much, and
// then some time has passed. It reports whether the program was done before.
func killedAfter(t *testing.T, folder, api string, written int, then time.Duration) (done bool) {
	t.Helper()
	program := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestProcessThatIsKilled$")
	program.Env = append(os.Environ(), crashFolder+"="+folder, crashAPI+"="+api)
	var out bytes.Buffer
	program.Stdout = &out
	trace, err := program.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	if n, _ := io.CopyN(io.Discard, trace, int64(written)); n == int64(written) {
		<-time.After(then)
		_ = program.Process.Kill() // it may be done
	}
	_, _ = io.Copy(io.Discard, trace)
	err = program.Wait()
	if program.ProcessState.Exited() && err != nil {
		t.Fatalf("the program failed: %v\n%s", err, out.Bytes())
	}
	return err == nil
}

// E224, B049, B124: a run of 20 turns is killed wherever it is, again and again, and
// comes to its end; every effect is had once.
func TestKilledRunsComeBack(t *testing.T) {
	times := 12
	if n, err := strconv.Atoi(os.Getenv(crashTimes)); err == nil {
		times = n
	}
	seed := runtest.Seeds(t, 1)[0]
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	const turns, most = 20, 400 // what a run of so many turns writes, or a bit less
	plan := runtest.TaskModel{Turns: turns, Tools: []string{"book", "look"}}
	r, _ := runThroughDeaths(t, plan, runtest.EffectLog(t.TempDir()), toolrunner.Params{})
	want := string(runtest.HistoryOf(t, r).Body)
	for round := 0; times > 0; round++ {
		repeatable := round%2 == 0
		if plan.Tools = []string{"book", "look"}; !repeatable {
			plan.Tools = append(plan.Tools, "pay")
		}
		srv := toolrunnertest.NewServer(t, plan.Replies(100*turns)...)
		srv.Ignore("reply-unused")
		api, err := srv.Listen()
		if err != nil {
			t.Fatal(err)
		}
		l, killed := runtest.EffectLog(t.TempDir()), 0
		for ; !killedAfter(t, string(l), api, random.IntN(most/2), time.Duration(random.Int64N(int64(3*time.Millisecond)))); killed++ {
			times--
		}
		got, err := os.ReadFile(filepath.Join(string(l), "history"))
		if err != nil {
			t.Fatal(err)
		}
		wantOnce(t, plan, l, &toolrunnertest.Request{Body: got}, killed)
		if diff := cmp.Diff(want, string(got)); repeatable && diff != "" {
			t.Errorf("killed %d times: history (-want +got):\n%s", killed, diff)
		}
	}
}
