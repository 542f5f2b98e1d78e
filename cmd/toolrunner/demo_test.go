package main

import (
	"bytes"
	"context"
	"flag"
	"io"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/toolrunner/toolrunner/toolrunnertest"
)

var update = flag.Bool("update", false, "rewrite testdata")

// noEnv is an environment with these variables, given as name, value, ...
func noEnv(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i+1 < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func TestDemoShowsTheWholeRun(t *testing.T) {
	const golden = "testdata/demo.txt"
	synctest.Test(t, func(t *testing.T) {
		var out, errs bytes.Buffer
		if code := run(t.Context(), []string{"demo"}, nil, &out, &errs, noEnv()); code != exitOK {
			t.Fatalf("exit code = %d, want %d; stderr:\n%s", code, exitOK, &errs)
		}
		if *update {
			if err := os.WriteFile(golden, out.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), out.String()); diff != "" {
			t.Errorf("output (-want +got):\n%s", diff)
		}
	})
}

func TestFastDemoTellsTheSameStory(t *testing.T) {
	var out, errs bytes.Buffer
	if code := run(t.Context(), []string{"demo", "-fast"}, nil, &out, &errs, noEnv()); code != exitOK {
		t.Fatalf("exit code = %d, want %d; stderr:\n%s", code, exitOK, &errs)
	}
	for _, want := range []string{
		`[3] failed, `, `did you mean "Tromsø"?`, `[4] not run: invalid input`, `[6] ok, `,
		"completed: 3 turns, 7 calls (2 failed)",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output lacks %q:\n%s", want, &out)
		}
	}
}

func TestDemoEndsWhenItIsInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // which fails if a goroutine stays
		ctx, cancel := context.WithCancel(t.Context())
		out := &trap{text: "[2] daylight", spring: cancel}
		var errs bytes.Buffer
		if code := run(ctx, []string{"demo"}, nil, out, &errs, noEnv()); code != exitInterrupted {
			t.Errorf("exit code = %d, want %d", code, exitInterrupted)
		}
		if got, want := errs.String(), "toolrunner demo: interrupted\n"; got != want {
			t.Errorf("stderr = %q, want %q", got, want)
		}
		if got := out.written.String(); strings.Contains(got, "turn 2") || !strings.HasSuffix(got, "\n") {
			t.Errorf("the output goes on, or ends within a line:\n%s", got)
		}
	})
}

// trap is a writer that springs when a text has been written.
type trap struct {
	written bytes.Buffer
	text    string
	spring  func()
}

func (w *trap) Write(p []byte) (int, error) {
	n, err := w.written.Write(p)
	if strings.Contains(w.written.String(), w.text) {
		w.spring()
	}
	return n, err
}

func TestDemoFailsWhenTheOutputDoes(t *testing.T) {
	reader, writer := io.Pipe()
	reader.Close()
	var errs bytes.Buffer
	if code := run(t.Context(), []string{"demo", "-fast"}, nil, writer, &errs, noEnv()); code != exitFailed {
		t.Errorf("exit code = %d, want %d", code, exitFailed)
	}
}

func TestLiveDemoTalksToTheAPIThatTheEnvironmentNames(t *testing.T) {
	server := toolrunnertest.NewServer(t, demoScript(pace{})...)
	url, err := server.Listen()
	if err != nil {
		t.Fatal(err)
	}
	env := noEnv("ANTHROPIC_API_KEY", "secret", "ANTHROPIC_BASE_URL", url)
	var out, errs bytes.Buffer
	if code := run(t.Context(), []string{"demo", "-live", "-model", "claude-test"}, nil, &out, &errs, env); code != exitOK {
		t.Fatalf("exit code = %d, want %d; stderr:\n%s", code, exitOK, &errs)
	}
	if !strings.HasPrefix(out.String(), "The model is claude-test.\n") {
		t.Errorf("the output does not name the model:\n%s", &out)
	}
	if strings.Contains(out.String(), "secret") {
		t.Errorf("the output holds the key:\n%s", &out)
	}
	requests := server.Requests()
	if err := toolrunnertest.CheckRun(requests); err != nil {
		t.Error(err)
	}
	for i, q := range requests {
		if got := q.Header.Get("Authorization"); got != "Bearer secret" || q.Model() != "claude-test" {
			t.Errorf("request %d: key %q, model %q", i, got, q.Model())
		}
	}
}

func TestLiveDemoReportsWhatTheAPISays(t *testing.T) {
	server := toolrunnertest.NewServer(t, toolrunnertest.Status(401, "authentication_error", "invalid x-api-key"))
	url, err := server.Listen()
	if err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	code := run(t.Context(), []string{"demo", "-live"}, nil, &out, &errs, noEnv("ANTHROPIC_API_KEY", "wrong", "ANTHROPIC_BASE_URL", url))
	if code != exitFailed || !strings.Contains(errs.String(), "invalid x-api-key") {
		t.Errorf("exit code = %d, want %d; stderr:\n%s", code, exitFailed, &errs)
	}
}
