package toolrunner_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// hasty is params under which ReadOnly tools start while replies stream.
func hasty() toolrunner.Params {
	params := asking("hi")
	params.EagerTools = true
	return params
}

// readOnly is a tool without side effects.
func readOnly(name string, handler toolrunner.Handler) *toolrunner.Tool {
	tool := raw(name, handler)
	tool.ReadOnly = true
	return tool
}

// reads is a ReadOnly tool that notes the id of each call, and answers with it.
func (j *journal) reads(name string) *toolrunner.Tool {
	return readOnly(name, func(_ context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
		j.add("%s", call.ID)
		return toolrunner.TextResult("read " + call.ID), nil
	})
}

// waits is a ReadOnly tool whose calls take a time, unless they are cancelled. It
// notes the beginning, and the end or the cause of one that was cancelled.
func (j *journal) waits(name string, d time.Duration) *toolrunner.Tool {
	return readOnly(name, func(ctx context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
		j.add("%s", call.ID)
		select {
		case <-time.After(d):
			j.add("%s ended", call.ID)
			return toolrunner.TextResult("read " + call.ID), nil
		case <-ctx.Done():
			j.add("%s cancelled", call.ID)
			return nil, context.Cause(ctx)
		}
	})
}

// clear forgets what happened.
func (j *journal) clear() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.entries = nil
}

// has reports whether an entry is in the journal.
func (j *journal) has(entry string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Contains(j.entries, entry)
}

// watch reads the events of a turn up to n of them, all if n is negative, and notes
// each but the deltas, once everything that was set off before has come to rest.
func (j *journal) watch(turn *toolrunner.Turn, n int) {
	for e, err := range turn.Events() {
		synctest.Wait()
		if err != nil {
			j.add("error")
			return
		}
		if e.Type != "content_block_delta" {
			j.add("%s", shortened(e))
		}
		if n--; n == 0 {
			return
		}
	}
}

// shortened describes an event, such as "start 1".
func shortened(e toolrunner.Event) string {
	name := strings.TrimPrefix(strings.TrimPrefix(e.Type, "content_block_"), "message_")
	if strings.HasPrefix(e.Type, "message_") {
		return "message " + name
	}
	return name + " " + string(rune('0'+e.Index))
}

// stream goes through the loop under AllStreaming, gives each turn to body, which
// may be nil, and returns the error that ended it.
func (c *conversation) stream(ctx context.Context, body func(turn *toolrunner.Turn)) error {
	for turn, err := range c.AllStreaming(ctx) {
		if err != nil {
			return err
		}
		if body != nil {
			body(turn)
		}
	}
	return nil
}

// mustStream is stream for a run without an error.
func (c *conversation) mustStream(t *testing.T, body func(turn *toolrunner.Turn)) {
	t.Helper()
	if err := c.stream(t.Context(), body); err != nil {
		t.Fatalf("AllStreaming() error = %v", err)
	}
}

// blocks is a reply of calls, given as "id tool" or "id tool input", and of other
// blocks, given as "text" and "fallback".
func blocks(list ...string) toolrunnertest.Reply {
	all := make([]toolrunnertest.Block, len(list))
	for i, b := range list {
		switch parts := strings.SplitN(b, " ", 3); {
		case b == "text":
			all[i] = toolrunnertest.Say("so")
		case b == "fallback":
			all[i] = toolrunnertest.RawBlock(`{"type":"fallback","from":{"model":"a"},"to":{"model":"b"}}`)
		case len(parts) == 3:
			all[i] = toolrunnertest.Call(parts[0], parts[1], parts[2])
		default:
			all[i] = toolrunnertest.Call(parts[0], parts[1], `{}`)
		}
	}
	return toolrunnertest.Message(all...).Chunk(0)
}

// eventCount returns how many events a reply has as a stream, without the ping.
func eventCount(t *testing.T, reply toolrunnertest.Reply) int {
	t.Helper()
	stream := streamOf(t, reply)
	return strings.Count(stream, "event: ") - strings.Count(stream, "event: ping")
}

// bubble runs a test whose goroutines must all have ended when it has.
func bubble(t *testing.T, name string, test func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
}

func wantCause(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("error = %v, want one that wraps %v", err, want)
	}
}
