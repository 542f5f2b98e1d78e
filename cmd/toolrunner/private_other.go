//go:build !linux

package main

// keepPrivate does nothing: only Linux shows a process's environment to others.
func keepPrivate() {}
