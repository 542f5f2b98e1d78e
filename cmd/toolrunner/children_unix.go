//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// inGroup has a process lead a group of its own, in which its children are.
func inGroup(command *exec.Cmd) {
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

// endGroup tells a group to end, or kills it.
func endGroup(command *exec.Cmd, kill bool) {
	signal := syscall.SIGTERM
	if kill {
		signal = syscall.SIGKILL
	}
	if command.Process != nil {
		_ = syscall.Kill(-command.Process.Pid, signal)
	}
}
