//go:build unix

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// atHome starts a program whose user's folders are in home.
func atHome(home string) func(*exec.Cmd) {
	return func(c *exec.Cmd) { c.Env = append(c.Env, "HOME="+home) }
}

// P4: a second process on one session is refused with the pid of the first, before it
// reads or sends anything, and the first goes on.
func TestSecondProcessOnASessionIsRefused(t *testing.T) {
	home := atHome(t.TempDir())
	begun, go1 := make(chan struct{}), make(chan struct{})
	slow := toolrunnertest.Func(func(*toolrunnertest.Request) toolrunnertest.Reply {
		close(begun)
		<-go1
		return toolrunnertest.Text("Done.")
	})
	server := toolrunnertest.NewServer(t, slow, toolrunnertest.Text("Again."))
	first := sit(t, server, home, "Go.", "-session", "work")
	<-begun
	second := sit(t, server, home, "And I.", "-session", "work")
	second.sees(fmt.Sprintf("-session work: it is in use by the process %d: wait for it to end", first.command.Process.Pid))
	second.leaves(exitFailed)
	close(go1)
	first.sees("Done.")
	first.leaves(exitOK)
	third := sit(t, server, home, "And I.", "-session", "work")
	third.sees("Again.")
	third.leaves(exitOK)
}

// A3: a run does not write to a file that has taken the place of its session.
func TestSessionThatIsReplacedEndsTheRun(t *testing.T) {
	file := filepath.Join(t.TempDir(), "run")
	replace := toolrunnertest.Message(toolrunnertest.Call("toolu_a", "bash", `{"command":"mv `+file+` `+file+`.old; echo hello >`+file+`"}`))
	y := sit(t, toolrunnertest.NewServer(t, replace), nil, "Go.", "-tools", "bash", "-yes", "-session", file)
	y.sees("the checkpoint failed")
	y.sees("somebody else has replaced it")
	y.leaves(exitFailed)
	if got, err := os.ReadFile(file); string(got) != "hello\n" {
		t.Errorf("the file that took its place holds %q, %v, want what it had", got, err)
	}
}

// A8: a session that others could read is closed to them when it is opened.
func TestSessionIsForItsUserAlone(t *testing.T) {
	file := filepath.Join(t.TempDir(), "run")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	y := sit(t, toolrunnertest.NewServer(t, toolrunnertest.Text("Done.")), nil, "Go.", "-session", file)
	y.leaves(exitOK)
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the mode is %v, %v, want 0600", info.Mode(), err)
	}
}

func TestSessionsFollowTheUsersFolders(t *testing.T) {
	f, err := userFolders(noEnv("HOME", "/home/ann", "XDG_STATE_HOME", "/state", "XDG_CONFIG_HOME", "relative"))
	if f.state != "/state/toolrunner" || f.config != "/home/ann/.config/toolrunner" || err != nil {
		t.Errorf("the folders are %+v, %v", f, err)
	}
	if _, err := userFolders(noEnv()); err == nil || !strings.Contains(err.Error(), "HOME") {
		t.Errorf("the error is %v, want one that names HOME", err)
	}
}
