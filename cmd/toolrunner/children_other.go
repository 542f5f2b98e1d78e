//go:build !unix

package main

import "os/exec"

func inGroup(*exec.Cmd) {}

// endGroup kills the process; there are no groups.
func endGroup(command *exec.Cmd, kill bool) {
	if kill && command.Process != nil {
		_ = command.Process.Kill()
	}
}
