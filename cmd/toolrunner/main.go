// Command toolrunner is the tool runner at a terminal: it runs an agent, shows a
// demo and serves scripted conversations. Run it without arguments for its
// subcommands.
package main

import (
	"context"
	"os"
)

func main() {
	keepPrivate()
	ctx, endServers := withChildren(context.Background())
	ctx = interruptible(ctx, interrupts(), func() {
		endServers()
		os.Exit(exitInterrupted)
	})
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Getenv))
}
