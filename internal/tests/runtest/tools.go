package runtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"

	"github.com/toolrunner/toolrunner"
)

// Tools turns tools of ours into those that New takes.
func Tools(list ...*toolrunner.Tool) []anthropic.BetaTool {
	all := make([]anthropic.BetaTool, len(list))
	for i, tool := range list {
		all[i] = tool
	}
	return all
}

// Raw is a tool that takes any object.
func Raw(name string, handler toolrunner.Handler) *toolrunner.Tool {
	return toolrunner.NewRawTool(anthropic.BetaToolParam{
		Name: name, InputSchema: anthropic.BetaToolInputSchemaParam{Properties: map[string]any{}},
	}, handler)
}

// Says is a tool that answers each call with a text.
func Says(name, text string) *toolrunner.Tool {
	return Raw(name, func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
		return toolrunner.TextResult(text), nil
	})
}

// Journal is what happened, in order. It may be written from any goroutine.
type Journal struct {
	mu      sync.Mutex
	Entries []string
}

func (j *Journal) Add(format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.Entries = append(j.Entries, fmt.Sprintf(format, args...))
}

// Tool is a tool that notes the id of each call, and answers "ran".
func (j *Journal) Tool(name string) *toolrunner.Tool {
	return Raw(name, func(_ context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
		j.Add("%s", call.ID)
		return toolrunner.TextResult("ran"), nil
	})
}

func (j *Journal) Want(t *testing.T, want ...string) {
	t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	if !slices.Equal(j.Entries, want) {
		t.Errorf("what happened = %q, want %q", j.Entries, want)
	}
}

// WantSorted is want for what may happen in any order.
func (j *Journal) WantSorted(t *testing.T, want ...string) {
	t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	if got := slices.Sorted(slices.Values(j.Entries)); !slices.Equal(got, want) {
		t.Errorf("what happened, sorted = %q, want %q", got, want)
	}
}

// Pause waits as a handler does that ignores its context.
func Pause(d time.Duration) { <-time.After(d) }

// ReadOnly is a tool without side effects.
func ReadOnly(name string, handler toolrunner.Handler) *toolrunner.Tool {
	tool := Raw(name, handler)
	tool.ReadOnly = true
	return tool
}

// Reads is a ReadOnly tool that notes the id of each call, and answers with it.
func (j *Journal) Reads(name string) *toolrunner.Tool {
	return ReadOnly(name, func(_ context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
		j.Add("%s", call.ID)
		return toolrunner.TextResult("read " + call.ID), nil
	})
}

// Waits is a ReadOnly tool whose calls take a time, unless they are cancelled. It
// notes the beginning, and the end or the cause of one that was cancelled.
func (j *Journal) Waits(name string, d time.Duration) *toolrunner.Tool {
	return ReadOnly(name, func(ctx context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
		j.Add("%s", call.ID)
		select {
		case <-time.After(d):
			j.Add("%s ended", call.ID)
			return toolrunner.TextResult("read " + call.ID), nil
		case <-ctx.Done():
			j.Add("%s cancelled", call.ID)
			return nil, context.Cause(ctx)
		}
	})
}

// Clear forgets what happened.
func (j *Journal) Clear() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.Entries = nil
}

// Has reports whether an entry is in the journal.
func (j *Journal) Has(entry string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Contains(j.Entries, entry)
}

// Watch reads the events of a turn up to n of them, all if n is negative, and notes
// each but the deltas, once everything that was set off before has come to rest.
func (j *Journal) Watch(turn *toolrunner.Turn, n int) {
	for e, err := range turn.Events() {
		synctest.Wait()
		if err != nil {
			j.Add("error")
			return
		}
		if e.Type != "content_block_delta" {
			j.Add("%s", shortened(e))
		}
		if n--; n == 0 {
			return
		}
	}
}

// TypedTool is a tool "work" without input.
func TypedTool[Out any](run func() (Out, error)) *toolrunner.Tool {
	return toolrunner.NewTool("work", "", func(context.Context, struct{}) (Out, error) { return run() })
}

// Tally counts how often its tool has run.
type Tally struct{ atomic.Int32 }

// Tool answers each call with "ran" and its number.
func (n *Tally) Tool(name string) *toolrunner.Tool {
	return Raw(name, func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
		return toolrunner.TextResult(fmt.Sprintf("ran %d", n.Add(1))), nil
	})
}

func (n *Tally) Want(t *testing.T, want int32) {
	t.Helper()
	if got := n.Load(); got != want {
		t.Errorf("the tool ran %d times, want %d", got, want)
	}
}

// RawContentBlock is a block of a result with exactly this JSON.
func RawContentBlock(raw string) anthropic.BetaToolResultBlockParamContentUnion {
	return param.Override[anthropic.BetaToolResultBlockParamContentUnion](json.RawMessage(raw))
}

// OtherTool is a tool that is not ours.
type OtherTool struct {
	ToolName string
	Run      func(json.RawMessage) ([]Content, error)
}

func (f *OtherTool) Name() string { return f.ToolName }

func (f *OtherTool) Description() string { return "" }

func (f *OtherTool) InputSchema() anthropic.BetaToolInputSchemaParam {
	return anthropic.BetaToolInputSchemaParam{}
}

func (f *OtherTool) Execute(_ context.Context, in json.RawMessage) ([]Content, error) {
	return f.Run(in)
}

// RepeatableTool is one whose calls may run again, with a result of their own.
func RepeatableTool(name string) *toolrunner.Tool {
	tool := Raw(name, func(_ context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
		if strings.Contains(call.ID, "fail") {
			return nil, errors.New("failed for " + call.ID)
		}
		return toolrunner.TextResult(name + " for " + call.ID), nil
	})
	tool.Idempotent = true
	return tool
}
