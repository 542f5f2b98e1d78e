package tools_test

import (
	"context"
	"sync"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// Whoever sees a call sees its block, whatever way the call comes to them.
func TestCallsHaveTheirBlockForWhoeverSeesThem(t *testing.T) {
	type place struct{ Name string }
	var seen []*toolrunner.Call
	see := func(call *toolrunner.Call) { seen = append(seen, call) }
	typed := func(run func(context.Context)) *toolrunner.Tool {
		return toolrunner.NewTool("work", "", func(ctx context.Context, _ place) (string, error) {
			run(ctx)
			return "", nil
		})
	}
	nothing := func(context.Context) {}
	tests := []struct {
		name string
		tool func() anthropic.BetaTool
		with func(*toolrunner.Params)
		body func(*toolrunner.Turn)
	}{
		{name: "a typed tool that asks its context", tool: func() anthropic.BetaTool {
			return typed(func(ctx context.Context) {
				call, _ := toolrunner.CallFrom(ctx)
				see(call)
			})
		}},
		{name: "goroutines of a typed tool that ask at once", tool: func() anthropic.BetaTool {
			return typed(func(ctx context.Context) {
				var wait sync.WaitGroup
				calls := make([]*toolrunner.Call, 4)
				for i := range calls {
					wait.Go(func() { calls[i], _ = toolrunner.CallFrom(ctx) })
				}
				wait.Wait()
				seen = append(seen, calls...)
			})
		}},
		{name: "a handler around that of a typed tool", tool: func() anthropic.BetaTool {
			tool := typed(nothing)
			inner := tool.Handler
			tool.Handler = func(ctx context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
				see(call)
				return inner(ctx, call)
			}
			return tool
		}},
		{name: "a raw tool", tool: func() anthropic.BetaTool {
			return runtest.Raw("work", func(_ context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
				see(call)
				return &toolrunner.Result{}, nil
			})
		}},
		{name: "middleware", tool: func() anthropic.BetaTool { return typed(nothing) }, with: func(p *toolrunner.Params) {
			p.Middleware = []toolrunner.Middleware{func(next toolrunner.Handler) toolrunner.Handler {
				return func(ctx context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
					see(call)
					return next(ctx, call)
				}
			}}
		}},
		{name: "an approver", tool: func() anthropic.BetaTool { return typed(nothing) }, with: func(p *toolrunner.Params) {
			p.Approve = func(_ context.Context, call *toolrunner.Call) (toolrunner.Decision, error) {
				see(call)
				return toolrunner.Allow(), nil
			}
		}},
		{name: "the loop body", tool: func() anthropic.BetaTool { return typed(nothing) }, body: func(turn *toolrunner.Turn) {
			seen = append(seen, turn.Calls()...)
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			seen = nil
			var params toolrunner.Params
			if tt.with != nil {
				tt.with(&params)
			}
			d := runtest.StartUnchecked(t, params, []anthropic.BetaTool{tt.tool()},
				toolrunnertest.Message(toolrunnertest.Call("a", "work", `{"Name":"Rome"}`)), toolrunnertest.Text("done"))
			if err := d.Play(t.Context(), func(turn *toolrunner.Turn) {
				if tt.body != nil {
					tt.body(turn)
				}
			}); err != nil {
				t.Fatal(err)
			}
			if len(seen) == 0 {
				t.Fatal("nobody saw the call")
			}
			for _, call := range seen {
				const want = `{"type":"tool_use","id":"a","name":"work","input":{"Name":"Rome"}}`
				if call.Block.ID != "a" || call.Block.Name != "work" || call.Block.RawJSON() != want {
					t.Errorf("Block = %s, want %s", call.Block.RawJSON(), want)
				}
			}
		})
	}
}
