//go:build unix

package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// CM1: a secret in a URL is blotted out as it stands there, and decoded, also where it is
// not the whole query.
func TestSecretsOfURLsAreBlottedOutInBothForms(t *testing.T) {
	var hidden secrets
	hidden.addServer(&server{URL: "https://me:p%40ss%2Fword-1@mcp.example/s/9f8e7d6c%2D5b4a39281706/mcp?token=one%2Fsecret%2B1&region=eu-central-1"})
	for _, secret := range []string{"p%40ss%2Fword-1", "p@ss/word-1", "9f8e7d6c%2D5b4a39281706", "9f8e7d6c-5b4a39281706", "one%2Fsecret%2B1", "one/secret+1"} {
		if got := hidden.hide("x " + secret + " y"); got != "x [secret] y" {
			t.Errorf("%q is shown as %q", secret, got)
		}
	}
}

// A3: what searches files does not show the file of -mcp either, under whatever name.
func TestSearchLeavesTheFileOfServersAlone(t *testing.T) {
	const servers = `{"mcpServers": {"notes": {"command": "mcpserver", "args": ["x"], "env": {"PIN": "hush-1234-hush"}}}}`
	inputs := map[string]string{
		"the folder":             `{"pattern":"hush"}`,
		"the file":               `{"pattern":"hush","path":"servers.json"}`,
		"a link":                 `{"pattern":"hush","path":"soft"}`,
		"a key in other letters": `{"pattern":"hush","PATH":"servers.json"}`,
	}
	for name, input := range inputs {
		t.Run(name, func(t *testing.T) {
			server := toolrunnertest.NewServer(t, toolrunnertest.Message(toolrunnertest.Call("toolu_a", "grep", input)), toolrunnertest.Text("Done."))
			y := sit(t, server, func(c *exec.Cmd) {
				path := func(name string) string { return filepath.Join(c.Dir, name) }
				for name, text := range map[string]string{"servers.json": servers, "open.txt": "no hush here: servers.json:1:hush\n"} {
					if err := os.WriteFile(path(name), []byte(text), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				if err := os.Link(path("servers.json"), path("hard")); err != nil {
					t.Fatal(err)
				}
				if err := os.Symlink("servers.json", path("soft")); err != nil {
					t.Fatal(err)
				}
			}, "Find it.", "-tools", "grep", "-mcp", "servers.json")
			y.leaves(exitOK)
			got := server.Requests()[1].ToolResultText("toolu_a")
			if strings.Contains(got, "hush-1234-hush") {
				t.Errorf("the model reads %s", got)
			}
			if name == "the folder" && !strings.Contains(got, "open.txt:1:no hush here: servers.json:1:hush") {
				t.Errorf("the model reads %s, want the line of the open file", got)
			}
		})
	}
}

// P10, CM2: the end of the terminal ends the run as a signal by hand does, with its servers.
func TestHangUpEndsTheRun(t *testing.T) {
	if signal.Ignored(syscall.SIGHUP) {
		t.Skip("the test runs under nohup, or the like, and so would the command")
	}
	command, _, stderr := reading(t, "toolrunner", "run", "Review:", "-")
	_ = command.Process.Signal(syscall.SIGHUP)
	_ = command.Wait()
	if code := command.ProcessState.ExitCode(); code != exitInterrupted {
		t.Errorf("the exit code is %d, want %d: %s", code, exitInterrupted, stderr)
	}
}

// A signal that is ignored when the command begins, as by nohup, stays ignored.
func TestIgnoredSignalsStayIgnored(t *testing.T) {
	for name, signal := range map[string]os.Signal{"HUP": syscall.SIGHUP, "INT": os.Interrupt} {
		t.Run(name, func(t *testing.T) {
			server := toolrunnertest.NewServer(t, toolrunnertest.Text("Done."))
			url, err := server.Listen()
			if err != nil {
				t.Fatal(err)
			}
			command, in, stderr := reading(t, "sh", "-c", `trap "" `+name+`; exec toolrunner run Review: - -base-url `+url)
			_ = command.Process.Signal(signal)
			_ = in.Close()
			if err := command.Wait(); err != nil {
				t.Errorf("the command has ended with %v: %s", err, stderr)
			}
		})
	}
}

// reading starts a command, and returns once it reads its input.
func reading(t *testing.T, name string, args ...string) (*exec.Cmd, io.WriteCloser, *bytes.Buffer) {
	t.Helper()
	command := exec.CommandContext(t.Context(), name, args...)
	command.Env = append(os.Environ(), "ANTHROPIC_API_KEY=sk-of-the-test", "HOME="+t.TempDir())
	in, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	command.Stderr = &stderr
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(in, strings.Repeat("x", 1<<20)); err != nil { // more than a pipe holds
		t.Fatal(err)
	}
	return command, in, &stderr
}

// A2: a terminal that something has left in raw mode still takes answers, whose end is then
// a carriage return, and what was typed before the question does not answer it.
func TestQuestionsAtARawTerminal(t *testing.T) {
	if _, err := exec.LookPath("stty"); err != nil {
		t.Skip(err)
	}
	working, typed := make(chan struct{}), make(chan struct{})
	first := toolrunnertest.Func(func(*toolrunnertest.Request) toolrunnertest.Reply {
		close(working)
		<-typed
		return writes("a")
	})
	server := toolrunnertest.NewServer(t, first, toolrunnertest.Text("Done.").Expect(toolrunnertest.HasResult("toolu_a", "not now")))
	y := sit(t, server, nil, "Write.", "-tools", "write")
	<-working
	raw := exec.CommandContext(t.Context(), "stty", "raw", "-echo")
	raw.Stdin = y.screen
	if out, err := raw.CombinedOutput(); err != nil {
		t.Fatalf("stty: %v %s", err, out)
	}
	y.types("y\ry\n")
	close(typed)
	y.sees(choices)
	y.types("n not now\r")
	y.sees("Done.")
	y.leaves(exitOK)
}
