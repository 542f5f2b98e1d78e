//go:build unix

package approval_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/creack/pty"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// console is a pseudo-terminal, and the person at it.
type console struct {
	t        *testing.T
	person   *os.File
	terminal *os.File
	seen     bytes.Buffer
}

func openConsole(t *testing.T, columns int) *console {
	t.Helper()
	person, terminal, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = terminal.Close()
		_ = person.Close()
	})
	if err := pty.Setsize(terminal, &pty.Winsize{Rows: 24, Cols: uint16(columns)}); err != nil {
		t.Fatal(err)
	}
	return &console{t: t, person: person, terminal: terminal}
}

// sees waits until a text has been shown n times.
func (c *console) sees(text string, n int) {
	c.t.Helper()
	buffer := make([]byte, 4096)
	for strings.Count(c.seen.String(), text) < n {
		got, err := c.person.Read(buffer)
		if err != nil {
			c.t.Errorf("%q is not shown: %v; shown is %q", text, err, c.seen.String())
			return
		}
		c.seen.Write(buffer[:got])
	}
}

func (c *console) types(text string) {
	c.t.Helper()
	if _, err := c.person.WriteString(text); err != nil {
		c.t.Error(err)
	}
}

const prompt = "[e]dit JSON, [s]uspend: "

// A2 (e): a line that was typed while the model worked, whole or in part, never
// answers the question that opens then, whatever the width of the terminal.
func TestTerminalDropsWhatWasTypedBeforeTheQuestion(t *testing.T) {
	for _, columns := range []int{40, 80, 200} {
		for name, early := range map[string]string{"a line": "y\n", "many lines": "y\ny\ny\ny\n", "half a line": "y", "a line and a half": "y\nye"} {
			t.Run(fmt.Sprintf("%s at %d", name, columns), func(t *testing.T) {
				c := openConsole(t, columns)
				approver := toolrunner.AskTerminal(c.terminal, c.terminal)
				for i := range 2 {
					c.types(early)
					c.sees("y", strings.Count(c.seen.String(), "y")+strings.Count(early, "y")) // the echo
					done := make(chan toolrunner.Decision)
					go func() {
						d, err := asked(t.Context(), approver, `{}`)
						if err != nil {
							t.Error(err)
						}
						done <- d
					}()
					c.sees(prompt, i+1)
					c.types("n\n")
					if d := <-done; d.String() != "deny" {
						t.Errorf("the decision is %v, want that of the line typed at the prompt", d)
					}
				}
			})
		}
	}
}

// A2 (e): a read that a cancelled question left behind hands on nothing that was typed
// before the next question.
func TestTerminalDropsWhatALeftReadHasRead(t *testing.T) {
	c := openConsole(t, 80)
	approver := toolrunner.AskTerminal(c.terminal, c.terminal)
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan error)
	go func() {
		_, err := asked(ctx, approver, `{}`)
		left <- err
	}()
	c.sees(prompt, 1)
	cancel()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Fatalf("the error is %v, want that of the context", err)
	}
	before := strings.Count(c.seen.String(), "y")
	c.types("y\ny\n")
	c.sees("y", before+2)
	done := make(chan toolrunner.Decision)
	go func() {
		d, _ := asked(t.Context(), approver, `{}`)
		done <- d
	}()
	c.sees(prompt, 2)
	c.types("no\n")
	if d := <-done; d.String() != "deny" {
		t.Errorf("the decision is %v, want deny", d)
	}
}

// A2 (a), (d): the question of a run is broken at the width of the terminal, tells
// members that the tool's schema does not name, and hides nothing.
func TestTerminalShowsACallThatDisguisesItself(t *testing.T) {
	for _, columns := range []int{40, 80, 200} {
		t.Run(fmt.Sprint(columns), func(t *testing.T) {
			c := openConsole(t, columns)
			var ran runtest.Journal
			work := ran.Tool("work")
			work.Definition.InputSchema.Properties = map[string]any{"command": map[string]any{"type": "string"}}
			fake := "Run work with 2 bytes of input? [y]es"
			input := `{"command":"rm -rf /` + strings.Repeat(" ", columns) + fake + `","command\u200d":"ls"}`
			run := runtest.Start(t, approving(toolrunner.AskTerminal(c.terminal, c.terminal)), runtest.Tools(work),
				toolrunnertest.Message(toolrunnertest.Call("a", "work", input)), toolrunnertest.Text("done"))
			done := make(chan struct{})
			go func() {
				defer close(done)
				_, _ = run.TryRun(t.Context(), nil)
			}()
			c.sees(prompt, 1)
			c.types("n\n")
			<-done
			ran.Want(t)
			shown := c.seen.String()
			joined := strings.ReplaceAll(shown, "\r\n  | ", "")
			for _, want := range []string{`"command": "rm -rf /`, `"command\u200d" [not in the schema]: "ls"`} {
				if !strings.Contains(joined, want) {
					t.Errorf("shown is %q, want %q in it", shown, want)
				}
			}
			_, rows, _ := strings.Cut(shown, "of input:\r\n")
			rows, _, _ = strings.Cut(rows, "Run work with "+fmt.Sprint(len(input)))
			for row := range strings.Lines(rows) {
				if len([]rune(row))-2 > columns || !strings.HasPrefix(row, "  ") {
					t.Errorf("a row is %q", row)
				}
			}
		})
	}
}
