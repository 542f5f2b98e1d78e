//go:build unix

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// CM1: what an MCP server is given in confidence is blotted out wherever it stands: by
// ${VAR}, in a path, in an argument.
func TestSecretsOfServersAreFoundByPlaceNameAndLooks(t *testing.T) {
	var hidden secrets
	hidden.addServer(&server{
		given: []string{"value-of-a-variable"},
		Args:  []string{"--api-key", "argument-of-a-flag", "TOKEN=argument-assigned", "a1b2c3d4e5f6a7b8", "@scope/server-filesystem2", "https://x.example/k3yInThePath0fAnArgument/mcp"},
		URL:   "https://t0ken0fTheUserName1@mcp.example/s/9f8e7d6c5b4a39281706/mcp",
	})
	for _, secret := range []string{
		"value-of-a-variable", "argument-of-a-flag", "argument-assigned", "a1b2c3d4e5f6a7b8", "k3yInThePath0fAnArgument", "t0ken0fTheUserName1", "9f8e7d6c5b4a39281706",
	} {
		if got := hidden.hide("x " + secret + " y"); got != "x [secret] y" {
			t.Errorf("%q is shown as %q", secret, got)
		}
	}
	const open = "@scope/server-filesystem2 mcp.example https://x.example"
	if got := hidden.hide(open); got != open {
		t.Errorf("%q is shown as %q", open, got)
	}
}

// A13: a secret that JSON writes with escapes is blotted out of events as well; MW2: the
// longest first.
func TestSecretsInEscapesAreBlottedOutOfEvents(t *testing.T) {
	hidden := &secrets{}
	hidden.Add(`pass"word\with<escapes>`, "pass-word", "pass-word-longer")
	var out bytes.Buffer
	s := script{&out, io.Discard, hidden}
	input := `{"a\u002d":"p\u0061ss\u0022word\\with\u003cescapes\u003e","b":"pass\u002dword-longer","c":1,"d":"\u003c"}`
	if err := s.print(callStarted{1, "toolu_1", "read", []byte(input), time.Time{}}); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), `{"type":"call_started","turn":1,"id":"toolu_1","name":"read","input":{"a\u002d":"[secret]","b":"[secret]","c":1,"d":"\u003c"}}`+"\n"; got != want {
		t.Errorf("the event is\n%s\nwant\n%s", got, want)
	}
}

// MW1: a secret that comes in parts is not printed in parts; what only looked like the
// beginning of one is.
func TestASecretInPartsIsBlottedOutOfEvents(t *testing.T) {
	hidden := &secrets{}
	hidden.Add("secret-of-the-test")
	var out bytes.Buffer
	s := script{&out, io.Discard, hidden}
	for _, e := range []event{
		textAdded{1, "a sec"},
		textAdded{1, "ret-of-"},
		textAdded{1, "the-test b"},
		textAdded{1, " secre"},
		blockEnded{},
		thinkingAdded{1, "secret-of"},
		thinkingAdded{1, "-the-test"},
		textAdded{1, "s"},
		textAdded{1, "o"},
		textAdded{1, "s"},
		turnStarted{2},
	} {
		if err := s.print(e); err != nil {
			t.Fatal(err)
		}
	}
	want := `{"type":"text","turn":1,"text":"a "}
{"type":"text","turn":1,"text":"[secret] b"}
{"type":"text","turn":1,"text":" "}
{"type":"text","turn":1,"text":"secre"}
{"type":"thinking","turn":1,"text":"[secret]"}
{"type":"text","turn":1,"text":"so"}
{"type":"text","turn":1,"text":"s"}
{"type":"turn_started","turn":2}
`
	if got := out.String(); got != want {
		t.Errorf("the events are\n%s\nwant\n%s", got, want)
	}
}

// A13: what tools start cannot read the key in the environment of the command.
func TestTheKeyIsOutOfReachOfTools(t *testing.T) {
	if _, err := os.Stat("/proc/self/environ"); err != nil || os.Geteuid() == 0 {
		t.Skip("needs /proc, and a user who is not root")
	}
	call := toolrunnertest.Message(toolrunnertest.Call("toolu_a", "bash", `{"command":"tr '\\0' '\\n' </proc/$PPID/environ | grep -c ANTHROPIC_API"}`))
	y := sit(t, toolrunnertest.NewServer(t, call, toolrunnertest.Text("Done.").Expect(toolrunnertest.HasResult("toolu_a", "denied"))), nil, "Go.", "-tools", "bash", "-yes")
	y.leaves(exitOK)
}

// CM2: the first signal ends a command that reads its prompt.
func TestInterruptEndsReadingThePrompt(t *testing.T) {
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		command, _, stderr := reading(t, "toolrunner", "run", "Review:", "-")
		_ = command.Process.Signal(signal)
		_ = command.Wait()
		if code := command.ProcessState.ExitCode(); code != exitInterrupted || !strings.Contains(stderr.String(), "interrupted") {
			t.Errorf("after %v the exit code is %d, want %d: %s", signal, code, exitInterrupted, stderr.String())
		}
	}
}

// CM3: "--" that is the value of a flag does not end the flags.
func TestTerminatorThatIsAValueIsOne(t *testing.T) {
	tests := []struct {
		args   string
		system string
		prompt string
		json   bool
	}{
		{"-system -- hello -json", "--", "hello", true},
		{"-json -- -hello", "", "-hello", true},
		{"hello -- -json", "", "", false}, // two prompts
		{"-json -system=x -- -hello", "x", "-hello", true},
		{"-yes=true -- -hello", "", "-hello", false},
	}
	for _, tt := range tests {
		var stderr bytes.Buffer
		o, err := parseRun(&terminal{err: &stderr, out: io.Discard, env: noEnv()}, strings.Fields(tt.args))
		if tt.prompt == "" {
			if err == nil {
				t.Errorf("%s: no error", tt.args)
			}
			continue
		}
		if err != nil || o.system != tt.system || o.prompt != tt.prompt || o.json != tt.json {
			t.Errorf("%s: %+v, %v, %s", tt.args, o, err, stderr.String())
		}
	}
}

// CM4: servers whose tools would have one prefix are refused, as a rule for one would
// hold for the other.
func TestServersWithOnePrefixAreRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "servers.json")
	for _, names := range [][2]string{{"a.b", "a_b"}, {"A", "a"}} {
		text := fmt.Sprintf(`{"mcpServers":{%q:{"command":"x"},%q:{"command":"x"}}}`, names[0], names[1])
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readServers(file, noEnv()); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q and %q would both name their tools", names[0], names[1])) {
			t.Errorf("%q: the error is %v", names, err)
		}
	}
}

// P7: without a key nothing is sent, and the message says so.
func TestNoKeyIsSaidAtOnce(t *testing.T) {
	home := t.TempDir()
	t.Setenv("ANTHROPIC_CONFIG_DIR", home)
	var stderr bytes.Buffer
	if code := run(t.Context(), []string{"run", "Hi."}, nil, io.Discard, &stderr, noEnv("HOME", home)); code != exitUsage || !strings.Contains(stderr.String(), "there is no key of the API") {
		t.Errorf("the exit code is %d: %s", code, stderr.String())
	}
}

// P10: what an MCP command has started ends with the run, a stubborn server within 2 s.
func TestServersEndWithTheirChildren(t *testing.T) {
	for name, script := range map[string]string{
		"a child that stays":   `sleep 100 & echo $! >child; exec mcpserver x`,
		"a stubborn shell":     `trap '' TERM INT HUP; (trap '' TERM INT HUP; sleep 100) & echo $! >child; mcpserver x; sleep 100; sleep 100`,
		"a shell that waits":   `sleep 100 & echo $! >child; mcpserver x; sleep 100`,
		"one that never spoke": `echo $$ >child; exit 3`,
	} {
		t.Run(name, func(t *testing.T) {
			var dir string
			y := sit(t, toolrunnertest.NewServer(nil, toolrunnertest.Text("Done.")), func(c *exec.Cmd) {
				dir = c.Dir
				text := fmt.Sprintf(`{"mcpServers": {"notes": {"command": "sh", "args": ["-c", %q]}}}`, script)
				if err := os.WriteFile(filepath.Join(dir, "servers.json"), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}, "Go.", "-mcp", "servers.json")
			begin := time.Now()
			if strings.Contains(name, "never") {
				y.leaves(exitFailed)
			} else {
				y.sees("Done.")
				begin = time.Now()
				y.leaves(exitOK)
			}
			if took := time.Since(begin); took > 10*time.Second { // 2 s on a machine that is not busy
				t.Errorf("the servers took %v to end", took)
			}
			text, err := os.ReadFile(filepath.Join(dir, "child"))
			if err != nil {
				t.Fatal(err)
			}
			child, err := strconv.Atoi(strings.TrimSpace(string(text)))
			if err != nil {
				t.Fatal(err)
			}
			for range 1000 { // it is killed, and reaped by somebody else
				if state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", child)); err != nil || bytes.Contains(state, []byte(") Z ")) {
					return
				}
				<-time.After(time.Millisecond)
			}
			t.Errorf("the child %d still runs", child)
		})
	}
}
