package main

import (
	"context"
	"errors"
	"os"
	"testing"
	"testing/synctest"
)

func TestFirstInterruptCancelsAndTheSecondEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		signals := make(chan os.Signal)
		ended := false
		ctx := interruptible(t.Context(), signals, func() { ended = true })
		if ctx.Err() != nil {
			t.Fatal("the context has ended before a signal came")
		}
		signals <- os.Interrupt
		<-ctx.Done()
		if !errors.Is(context.Cause(ctx), errInterrupted) || ended {
			t.Errorf("after one signal: cause %v, ended %t; want %v and false", context.Cause(ctx), ended, errInterrupted)
		}
		signals <- os.Interrupt
		synctest.Wait()
		if !ended {
			t.Error("the second signal did not end the process")
		}
	})
}
