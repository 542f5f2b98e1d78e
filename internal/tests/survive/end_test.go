package survive_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// A4: a checkpoint that hangs, and honours its context, does not keep a run alive for ever
// once the run's time is over: at its end, and for a result that came with the end.
func TestTheEndOfARunIsBounded(t *testing.T) {
	for name, hangs := range map[string]func(saved int, ctx context.Context) bool{
		"the end": func(_ int, ctx context.Context) bool { return ctx.Done() != nil && deadlineOf(ctx) <= 31*time.Second },
		"always":  func(saved int, _ context.Context) bool { return saved > 3 },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				saved := 0
				var cause error
				params := toolrunner.Params{Checkpoint: func(ctx context.Context, _ toolrunner.Delta) error {
					if saved++; hangs(saved, ctx) {
						<-ctx.Done()
						cause = context.Cause(ctx)
						return cause
					}
					return nil
				}}
				slow := runtest.Raw("slow", func(ctx context.Context, _ *toolrunner.Call) (*toolrunner.Result, error) {
					<-ctx.Done() // a result at the last moment
					return toolrunner.TextResult("ok"), nil
				})
				c := runtest.StartUnchecked(t, params, runtest.Tools(slow), toolrunnertest.Message(toolrunnertest.Call("a", "slow", `{}`)))
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				began := time.Now()
				_, err := c.TryRun(ctx, nil)
				if took := time.Since(began); err == nil || took > 3*time.Minute {
					t.Errorf("the run ended after %v with %v", took, err)
				}
				if cause == nil || !strings.Contains(cause.Error(), "longer than 30s") {
					t.Errorf("the checkpoint's context ended for %v, want what took too long", cause)
				}
			})
		})
	}
}

func deadlineOf(ctx context.Context) time.Duration {
	at, ok := ctx.Deadline()
	if !ok {
		return time.Hour
	}
	return time.Until(at)
}
