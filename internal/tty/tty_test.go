//go:build unix

package tty_test

import (
	"bufio"
	"os"
	"testing"

	"github.com/creack/pty"

	"github.com/toolrunner/toolrunner/internal/tty"
)

func TestSizeOfATerminal(t *testing.T) {
	keyboard, terminal, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer keyboard.Close()
	defer terminal.Close()
	if err := pty.Setsize(terminal, &pty.Winsize{Rows: 24, Cols: 40}); err != nil {
		t.Fatal(err)
	}
	if columns, rows, err := tty.Size(terminal); columns != 40 || rows != 24 || err != nil {
		t.Errorf("Size = %d, %d, %v, want 40, 24", columns, rows, err)
	}
}

func TestAFileIsNoTerminal(t *testing.T) {
	for _, path := range []string{os.DevNull, t.TempDir()} {
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if _, _, err := tty.Size(file); err == nil {
			t.Errorf("Size of %s has no error, want one", path)
		}
		tty.Drop(file)
	}
	if _, _, err := tty.Size(nil); err == nil {
		t.Error("Size of no file has no error, want one")
	}
}

// A2 (e): what was typed before is gone, also a line that has no end yet.
func TestDropDiscardsWhatWasTyped(t *testing.T) {
	keyboard, terminal, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer keyboard.Close()
	defer terminal.Close()
	if _, err := keyboard.WriteString("early\nhalf"); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(keyboard).ReadString('\n'); err != nil { // the echo: it has arrived
		t.Fatal(err)
	}
	tty.Drop(terminal)
	if _, err := keyboard.WriteString("late\n"); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(terminal).ReadString('\n'); line != "late\n" || err != nil {
		t.Errorf("read is %q, %v, want what was typed after Drop", line, err)
	}
}
