package main

import (
	"context"
	"os/exec"
	"sync"
	"time"
)

// The processes of MCP servers end with the run, and what they have started with them.

const (
	askAfter  = 700 * time.Millisecond  // after the end of its input, a server is told to end
	killAfter = 1400 * time.Millisecond // and killed
)

// children are the processes that were started and not ended yet.
type children struct {
	mu      sync.Mutex // guards running
	running map[*exec.Cmd]bool
}

type childrenKey struct{}

// withChildren returns a context whose servers are ended by end, if nothing else has.
func withChildren(ctx context.Context) (_ context.Context, end func()) {
	c := &children{running: make(map[*exec.Cmd]bool)}
	return context.WithValue(ctx, childrenKey{}, c), c.kill
}

// started takes note of a process whose group is to be ended.
func started(ctx context.Context, command *exec.Cmd) {
	if c, ok := ctx.Value(childrenKey{}).(*children); ok {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.running[command] = true
	}
}

// kill ends all that is left.
func (c *children) kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for command := range c.running {
		endGroup(command, true)
	}
}

// endWith calls hangUp, which ends the input of a process and waits for it, and ends
// the process and its children if they do not end by themselves.
func endWith(command *exec.Cmd, hangUp func() error) {
	if command == nil {
		_ = hangUp()
		return
	}
	ask := time.AfterFunc(askAfter, func() { endGroup(command, false) })
	kill := time.AfterFunc(killAfter, func() { endGroup(command, true) })
	_ = hangUp()
	ask.Stop()
	kill.Stop()
	endGroup(command, true) // what the process has left
}
