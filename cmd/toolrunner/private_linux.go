package main

import "syscall"

// keepPrivate keeps other processes of the user, such as those that tools start, from
// reading this one's memory and environment, where the key of the API is.
func keepPrivate() {
	const setDumpable = 4 // PR_SET_DUMPABLE
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, setDumpable, 0, 0)
}
