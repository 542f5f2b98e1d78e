package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
)

// errInterrupted is why the context of an interrupted subcommand has ended.
var errInterrupted = errors.New("interrupted")

// interrupts returns the signals by which a user, or the end of the terminal, ends a
// program. One that was ignored when the program began, as by nohup, stays ignored.
func interrupts() <-chan os.Signal {
	signals := make(chan os.Signal, 2)
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			signal.Notify(signals, s)
		}
	}
	return signals
}

// interruptible returns a context that the first of signals cancels. The second
// one has no patience left: end is called.
func interruptible(ctx context.Context, signals <-chan os.Signal, end func()) context.Context {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		<-signals
		cancel(errInterrupted)
		<-signals
		end()
	}()
	return ctx
}
