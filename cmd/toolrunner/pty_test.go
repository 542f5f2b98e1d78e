//go:build unix

package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/toolrunner/toolrunner/internal/question"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// typist is a user at a terminal in which the program runs.
type typist struct {
	t       *testing.T
	command *exec.Cmd
	screen  *os.File
	seen    bytes.Buffer
	read    int // of what was seen, up to here
}

// sit starts the program in a terminal. change, if not nil, changes what is started.
func sit(t *testing.T, server *toolrunnertest.Server, change func(*exec.Cmd), args ...string) *typist {
	t.Helper()
	url, err := server.Listen()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), "toolrunner", append([]string{"run"}, args...)...)
	command.Dir = t.TempDir()
	command.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "TERM=xterm", "GORACE=atexit_sleep_ms=0",
		"ANTHROPIC_API_KEY=sk-of-the-test", "ANTHROPIC_BASE_URL=" + url,
	}
	attributes := &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 1} // stdout
	if change != nil {
		change(command)
	}
	screen, err := pty.StartWithAttrs(command, &pty.Winsize{Rows: 24, Cols: 80}, attributes)
	if err != nil {
		t.Fatal(err)
	}
	y := &typist{t: t, command: command, screen: screen}
	t.Cleanup(func() {
		screen.Close()
		if command.ProcessState == nil {
			_ = command.Process.Kill()
			_ = command.Wait()
		}
	})
	return y
}

// sees waits for a text to appear, after what was seen before.
func (y *typist) sees(text string) {
	y.t.Helper()
	buffer := make([]byte, 4096)
	for {
		if at := strings.Index(y.seen.String()[y.read:], text); at >= 0 {
			y.read += at + len(text)
			return
		}
		n, err := y.screen.Read(buffer)
		y.seen.Write(buffer[:n])
		if n == 0 && err != nil {
			y.t.Fatalf("%q does not appear after\n%q\nbut\n%q", text, y.seen.String()[:y.read], y.seen.String()[y.read:])
		}
	}
}

func (y *typist) types(text string) {
	y.t.Helper()
	if _, err := y.screen.WriteString(text); err != nil {
		y.t.Fatal(err)
	}
}

// leaves waits for the end of the program and returns all that was seen.
func (y *typist) leaves(code int) string {
	y.t.Helper()
	buffer := make([]byte, 4096)
	for {
		n, err := y.screen.Read(buffer)
		y.seen.Write(buffer[:n])
		if n == 0 && err != nil { // EIO, when the last process has closed the terminal
			break
		}
	}
	var failed *exec.ExitError
	if err := y.command.Wait(); err != nil && !errors.As(err, &failed) {
		y.t.Fatal(err)
	}
	if got := y.command.ProcessState.ExitCode(); got != code {
		y.t.Errorf("the exit code is %d, want %d; the terminal shows\n%q", got, code, y.seen.String())
	}
	return y.seen.String()
}

// writes is a reply that calls the tool write, once for each file.
func writes(files ...string) toolrunnertest.Reply {
	blocks := []toolrunnertest.Block{toolrunnertest.Say("I write.")}
	for _, file := range files {
		blocks = append(blocks, toolrunnertest.Call("toolu_"+file, "write", `{"file_path":"`+file+`","content":"one\ntwo\u001b[2J\n"}`))
	}
	return toolrunnertest.Message(blocks...)
}

const choices = "[y]es, [n]o REASON, [a]lways write: "

func TestTerminalShowsColoursAndAsks(t *testing.T) {
	server := toolrunnertest.NewServer(t, writes("a"), toolrunnertest.Text("\x1b[2JDone.").Expect(toolrunnertest.HasResult("toolu_a", "")))
	y := sit(t, server, nil, "Write.", "-tools", "write")
	y.sees("I write.\r\n\r\n\r\n\x1b[7m" + question.Fence + "\x1b[0m\r\nwrite with 49 bytes of input:\r\n" +
		"  \"file_path\": \"a\"\r\n  \"content\": \r\n  | \"one\\n\r\n  | two\\u001b[2J\\n\"\r\nRun write with 49 bytes of input? " + choices)
	y.types("y\n")
	y.sees("\x1b[32mok ")
	y.sees("\x1b[36mwrite\x1b[0m {\"file_path\":\"a\"")
	y.sees("\r\n\r\n␛[2JDone.\r\n\r\n\x1b[2mcompleted: 2 turns, 1 call,")
	if shown := y.leaves(exitOK); strings.Contains(shown, "\x1b[2J") || strings.Contains(shown, "sk-of-the-test") {
		t.Errorf("the terminal was cleared, or shows the key:\n%q", shown)
	}
	if got, err := os.ReadFile(filepath.Join(y.command.Dir, "a")); err != nil || string(got) != "one\ntwo\x1b[2J\n" {
		t.Errorf("the file holds %q, %v", got, err)
	}
}

func TestAnswersAtTheTerminal(t *testing.T) {
	tests := []struct {
		name  string
		files []string
		typed []string // after each question
		want  []toolrunnertest.Condition
		made  []string
	}{
		{
			"no, and why",
			[]string{"a"},
			[]string{"no use another name\n"},
			[]toolrunnertest.Condition{toolrunnertest.HasResult("toolu_a", "The reason: use another name")},
			nil,
		},
		{
			"something else is asked again",
			[]string{"a"},
			[]string{"\n", "yes please\n", "sure\n", "Y\n"},
			nil,
			[]string{"a"},
		},
		{
			"always",
			[]string{"a", "b", "c"},
			[]string{"n\n", "always\n"},
			[]toolrunnertest.Condition{toolrunnertest.HasResult("toolu_a", "declined")},
			[]string{"b", "c"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server := toolrunnertest.NewServer(t, writes(tt.files...), toolrunnertest.Text("Done.").Expect(tt.want...))
			y := sit(t, server, nil, "Write.", "-tools", "write")
			for _, line := range tt.typed {
				y.sees(choices)
				y.types(line)
			}
			y.sees("Done.")
			y.leaves(exitOK)
			for _, file := range tt.files {
				_, err := os.Stat(filepath.Join(y.command.Dir, file))
				if made := err == nil; made != slices.Contains(tt.made, file) {
					t.Errorf("file %s was written: %t", file, made)
				}
			}
		})
	}
}

func TestTerminalIsAskedWhereThePromptIsPipedIn(t *testing.T) {
	server := toolrunnertest.NewServer(t, writes("a").Expect(toolrunnertest.HasText("Write from a pipe.")), toolrunnertest.Text("Done."))
	y := sit(t, server, func(c *exec.Cmd) {
		c.Stdin = strings.NewReader("Write from a pipe.")
	}, "-tools", "write")
	y.sees(choices)
	y.types("y\n")
	y.sees("Done.")
	y.leaves(exitOK)
}

func TestNoColorIsRespected(t *testing.T) {
	server := toolrunnertest.NewServer(t, writes("a"), toolrunnertest.Text("Done."))
	y := sit(t, server, func(c *exec.Cmd) { c.Env = append(c.Env, "NO_COLOR=1") }, "Write.", "-tools", "write", "-yes")
	if shown := y.leaves(exitOK); strings.Contains(shown, "\x1b[3") || !strings.Contains(shown, "ok ") {
		t.Errorf("the terminal shows\n%q", shown)
	}
}

// unanswered is a reply that nobody gets, and a channel that is closed when it is
// asked for.
func unanswered() (toolrunnertest.Reply, <-chan struct{}) {
	ask := make(chan struct{})
	return toolrunnertest.Func(func(*toolrunnertest.Request) toolrunnertest.Reply {
		close(ask)
		return toolrunnertest.Text("Too late.").Delay(time.Hour)
	}), ask
}

func TestSuspendedCallsAreDecidedOnLater(t *testing.T) {
	const later = "[y]es, [n]o REASON, [a]lways write, [s]uspend: "
	home := atHome(t.TempDir())
	file := filepath.Join(t.TempDir(), "run.json")
	server := toolrunnertest.NewServer(t, writes("a", "b"), toolrunnertest.Text("Done.").Expect(
		toolrunnertest.HasResult("toolu_a", "not that one"), toolrunnertest.HasResult("toolu_b", "")))
	y := sit(t, server, home, "Write.", "-tools", "write", "-session", file)
	for range 2 {
		y.sees(later)
		y.types("s\n")
	}
	y.sees("suspended ")
	y.sees("suspended ")
	y.sees("the run waits for you to decide on 2 calls; go on with -session " + file)
	y.leaves(exitStopped)

	y = sit(t, server, home, "-session", file)
	y.sees("which is not among the tools; give the -mcp and -tools that the run began with")
	y.leaves(exitFailed)

	y = sit(t, server, home, "-tools", "write", "-session", file)
	y.sees("  \"file_path\": \"a\"\r\n")
	y.sees(later)
	y.types("no not that one\n")
	y.sees("denied ")
	y.sees("  \"file_path\": \"b\"\r\n")
	y.sees(later)
	y.types("y\n")
	y.sees("ok ")
	y.sees("Done.")
	y.leaves(exitOK)
}

// interruptions are the ways to interrupt. What the program writes at once after a
// key was pressed may be lost: the terminal throws away what waits to be shown.
var interruptions = []struct {
	name      string
	interrupt func(*typist)
	shown     bool // what the program writes then
}{
	{"a key", func(y *typist) { y.types("\x03") }, false},
	{"a signal", func(y *typist) { _ = y.command.Process.Signal(os.Interrupt) }, true},
	{"another signal", func(y *typist) { _ = y.command.Process.Signal(syscall.SIGTERM) }, true},
}

func TestInterruptEndsTheRun(t *testing.T) {
	for _, by := range interruptions {
		t.Run(by.name, func(t *testing.T) {
			never, ask := unanswered()
			y := sit(t, toolrunnertest.NewServer(t, never), nil, "Wait.")
			<-ask
			by.interrupt(y)
			if by.shown {
				y.sees("interrupted: ending the run; interrupt again to end at once\r\n")
				y.sees("interrupted: 0 turns, 0 calls,")
			}
			y.leaves(exitInterrupted)
		})
	}
}

func TestInterruptEndsAQuestion(t *testing.T) {
	for _, by := range interruptions {
		t.Run(by.name, func(t *testing.T) {
			y := sit(t, toolrunnertest.NewServer(t, writes("a")), nil, "Write.", "-tools", "write")
			y.sees(choices)
			by.interrupt(y)
			if by.shown {
				y.sees("cancelled ")
				y.sees("interrupted: 1 turn, 1 call,")
			}
			y.leaves(exitInterrupted)
			if _, err := os.Stat(filepath.Join(y.command.Dir, "a")); err == nil {
				t.Error("the file was written")
			}
		})
	}
}

func TestSecondInterruptDoesNotWait(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	servers := filepath.Join(t.TempDir(), "servers.json")
	text := `{"mcpServers": {"notes": {"command": "mcpserver", "args": ["stubborn"], "env": {"STAY_WITH": "` + listener.Addr().String() + `"}}}}`
	if err := os.WriteFile(servers, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	never, ask := unanswered()
	y := sit(t, toolrunnertest.NewServer(t, never), nil, "Wait.", "-mcp", servers)
	<-ask
	y.types("\x03")
	stays, err := listener.Accept() // by the server, which was told to end
	if err != nil {
		t.Fatal(err)
	}
	defer stays.Close() // ends it
	if _, err := bufio.NewReader(stays).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	y.types("\x03")
	if err := y.command.Wait(); y.command.ProcessState.ExitCode() != exitInterrupted {
		t.Errorf("the program ended with %v, want exit code %d", err, exitInterrupted)
	}
}

func TestColoursAreForTerminalsWhoseUserWantsThem(t *testing.T) {
	other, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	defer tty.Close()
	tests := []struct {
		name string
		env  func(string) string
		want bool
	}{
		{"a terminal", noEnv("TERM", "xterm"), true},
		{"NO_COLOR", noEnv("TERM", "xterm", "NO_COLOR", "1"), false},
		{"an empty NO_COLOR", noEnv("TERM", "xterm", "NO_COLOR", ""), true},
		{"a dumb terminal", noEnv("TERM", "dumb"), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := wantsColours(tty, tt.env); got != tt.want {
				t.Errorf("wantsColours = %t, want %t", got, tt.want)
			}
		})
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	for name, w := range map[string]io.Writer{"a buffer": &bytes.Buffer{}, "another device": null} {
		if wantsColours(w, noEnv("TERM", "xterm")) {
			t.Errorf("wantsColours of %s = true, want false", name)
		}
	}
}
