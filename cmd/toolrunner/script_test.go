package main

import (
	"bufio"
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rogpeppe/go-internal/testscript"
)

// The scripts use the program as a user does, in a process of its own.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: *update,
		Setup: func(env *testscript.Env) error {
			env.Setenv("ANTHROPIC_API_KEY", "sk-of-the-test")
			env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
			env.Setenv("GORACE", "atexit_sleep_ms=0")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"serve": serve, "served": served, "serve-mcp": serveMCP, "exits": exits, "mask": mask,
		},
	})
}

// mocking is "toolrunner mock" as a script uses it.
type mocking struct {
	command *exec.Cmd
	log     bytes.Buffer
}

// serve begins to play a conversation, and points ANTHROPIC_BASE_URL to it.
func serve(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: serve FILE")
	}
	m := &mocking{command: exec.Command("toolrunner", "mock", ts.MkAbs(args[0]), "-once")}
	m.command.Stderr = &m.log
	out, err := m.command.StdoutPipe()
	ts.Check(err)
	ts.Check(m.command.Start())
	ts.Defer(func() {
		if m.command.ProcessState == nil {
			_ = m.command.Process.Kill()
			_ = m.command.Wait()
		}
	})
	url, err := bufio.NewReader(out).ReadString('\n')
	ts.Check(err)
	ts.Setenv("ANTHROPIC_BASE_URL", strings.TrimSpace(url))
	ts.SetCmd("served", func(ts *testscript.TestScript, _ bool, _ []string) { m.served(ts) })
}

// served fails the script unless the conversation was had to its end, and each
// request was what it wanted.
func (m *mocking) served(ts *testscript.TestScript) {
	if err := m.command.Process.Signal(os.Interrupt); err != nil && !errors.Is(err, os.ErrProcessDone) {
		ts.Fatalf("%v", err)
	}
	err := m.command.Wait()
	ts.Logf("[mock]\n%s", m.log.String())
	ts.Check(err)
	if !strings.HasSuffix(m.log.String(), " replies left: 0\n") {
		ts.Fatalf("replies are left")
	}
}

func served(ts *testscript.TestScript, _ bool, _ []string) { ts.Fatalf("nothing is served") }

// exits runs a program that has to end with an exit code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND...")
	}
	code, failed := 0, (*exec.ExitError)(nil)
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &failed) {
		code = failed.ExitCode()
	} else {
		ts.Check(err)
	}
	if got := strconv.Itoa(code); got != args[0] {
		ts.Fatalf("the exit code is %s, want %s", got, args[0])
	}
}

// serveMCP serves notes over HTTP to those who know the token, and puts the URL
// into a variable.
func serveMCP(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: serve-mcp http|sse TOKEN VARIABLE")
	}
	notes := func(*http.Request) *mcp.Server { return newNotes(args[0]) }
	var handler http.Handler = mcp.NewStreamableHTTPHandler(notes, nil)
	if args[0] == "sse" {
		handler = mcp.NewSSEHandler(notes, nil)
	}
	server := httptest.NewServer(onlyWith("Authorization", "Bearer "+args[1], handler))
	ts.Defer(func() {
		server.CloseClientConnections()
		server.Close()
	})
	ts.Setenv(args[2], server.URL)
}

// mask prints a file of events without what differs from run to run.
func mask(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: mask FILE")
	}
	_, err := ts.Stdout().Write(tookJSON.ReplaceAll([]byte(ts.ReadFile(args[0])), []byte(`"duration_ms":0`)))
	ts.Check(err)
}

var tookJSON = regexp.MustCompile(`"duration_ms":\d+`)
