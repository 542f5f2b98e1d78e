package faults_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2/option"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// hurdle is something in the way of a request, once.
type hurdle struct {
	name   string
	params func(p *toolrunner.Params, once func() bool)

	ended     bool // the context has ended
	senseless bool // the parameters make no sense
}

// hurdles keep a request from going out: they come before it begins, or between its
// beginning and the first byte.
func hurdles() []hurdle {
	return []hurdle{
		{name: "a context that has ended", ended: true},
		{name: "a checkpoint that fails", params: func(p *toolrunner.Params, once func() bool) {
			p.Checkpoint = func(context.Context, toolrunner.Delta) error {
				if once() {
					return errors.New("the disk is full")
				}
				return nil
			}
		}},
		{name: "a checkpoint that panics", params: func(p *toolrunner.Params, once func() bool) {
			p.Checkpoint = func(context.Context, toolrunner.Delta) error { panicOnce(once); return nil }
		}},
		{name: "a logger that panics", params: func(p *toolrunner.Params, once func() bool) {
			p.Logger = slog.New(logFunc(func(slog.Record) { panicOnce(once) }))
		}},
		{name: "a request option that panics", params: func(p *toolrunner.Params, once func() bool) {
			p.RequestOptions = []option.RequestOption{option.WithMiddleware(func(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
				panicOnce(once)
				return next(req)
			})}
		}},
		{name: "middleware that fails", params: func(p *toolrunner.Params, once func() bool) {
			p.RequestOptions = []option.RequestOption{option.WithMaxRetries(0), option.WithMiddleware(func(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
				if once() {
					return nil, errors.New("no signature")
				}
				return next(req)
			})}
		}},
		{name: "parameters that make no sense", senseless: true},
	}
}

func panicOnce(once func() bool) {
	if once() {
		panic("out of order")
	}
}

// stumble is a conversation whose first loop has met a hurdle.
func stumble(t *testing.T, h hurdle, before func(c *runtest.Conversation), replies ...toolrunnertest.Reply) *runtest.Conversation {
	t.Helper()
	met := h.params == nil
	params := toolrunner.Params{}
	if h.params != nil {
		h.params(&params, func() bool {
			first := !met
			met = true
			return first
		})
	}
	c, _ := start(t, params, replies...)
	before(c)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if h.ended {
		cancel()
	}
	if h.senseless {
		c.Params.MaxTokens = -1
	}
	func() {
		defer func() { _ = recover() }()
		wantErr(t, "the first loop", c.Play(ctx, nil))
	}()
	if !met {
		t.Fatal("the hurdle was not met")
	}
	c.Params.MaxTokens = 100
	if got := c.IterationCount(); got != 0 {
		t.Errorf("IterationCount() = %d for a request that never went out, want 0", got)
	}
	if got := c.Outcome(); got != toolrunner.OutcomeFailed {
		t.Errorf("Outcome() = %v, want failed", got)
	}
	return c
}

// F3: whatever keeps a request from going out, a compaction that was scheduled happens
// once, in the next loop.
func TestScheduledCompactionOutlivesARequestThatNeverWentOut(t *testing.T) {
	for _, h := range hurdles() {
		t.Run(h.name, func(t *testing.T) {
			c := stumble(t, h, func(c *runtest.Conversation) {
				mustDo(t, "CompactBeforeNextTurn()", c.CompactBeforeNextTurn(runtest.NoCompactionConfig()))
			}, runtest.SummaryReply("so far"), toolrunnertest.Text("done"))
			mustDo(t, "AppendMessages()", c.AppendMessages(runtest.User("go on")))
			if got := strings.Join(runtest.Shape(runtest.Encoded(t, c.Messages())), "; "); got != "user 'hi'; user 'go on'" {
				t.Errorf("Messages() = %s, want the follow-up in it", got)
			}
			mustDo(t, "the second loop", c.Play(t.Context(), nil))
			mustDo(t, "a loop after the end", c.Play(t.Context(), nil))
			compactions := 0
			for _, q := range c.Server.Requests() {
				if q.Field("compaction") != nil {
					compactions++
				}
			}
			if compactions != 1 {
				t.Errorf("%d compactions went out, want 1", compactions)
			}
			if got := c.IterationCount(); got != 1 {
				t.Errorf("IterationCount() = %d, want 1: a compaction does not count", got)
			}
		})
	}
}

// F3: SetMessages and CompactBeforeNextTurn work after a request that never went out, to
// compact or not.
func TestTakeoverWorksAfterARequestThatNeverWentOut(t *testing.T) {
	for _, h := range hurdles() {
		for _, compacts := range []bool{false, true} {
			name := h.name
			if compacts {
				name += ", to compact"
			}
			t.Run(name, func(t *testing.T) {
				c := stumble(t, h, func(c *runtest.Conversation) {
					if compacts {
						mustDo(t, "CompactBeforeNextTurn()", c.CompactBeforeNextTurn(runtest.NoCompactionConfig()))
					}
				}, runtest.SummaryReply("so far"), toolrunnertest.Text("done"))
				mustDo(t, "SetMessages()", c.SetMessages(runtest.User("anew")))
				mustDo(t, "CompactBeforeNextTurn()", c.CompactBeforeNextTurn(runtest.NoCompactionConfig()))
				mustDo(t, "the second loop", c.Play(t.Context(), nil))
				c.WantRequests(t, 2)
				c.WantRequest(t, 0, "user 'anew'")
				if got := c.IterationCount(); got != 1 {
					t.Errorf("IterationCount() = %d, want 1", got)
				}
			})
		}
	}
}

// F3: an automatic compaction that never went out, of either kind, is still due.
func TestAutomaticCompactionThatNeverWentOutIsStillDue(t *testing.T) {
	for name, client := range map[string]*toolrunner.ClientCompaction{"by the API": nil, "by the runner": {}} {
		t.Run(name, func(t *testing.T) {
			failing := false
			params := toolrunner.Params{AutoCompact: toolrunner.AutoCompact{Threshold: 1000, Client: client}}
			params.RequestOptions = []option.RequestOption{option.WithMiddleware(func(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
				panicOnce(func() bool { return failing })
				return next(req)
			})}
			second := runtest.SummaryReply("so far")
			if client != nil {
				second = toolrunnertest.Text("so far")
			}
			c, _ := start(t, params, callOf("a").Usage(2000, 1), second, toolrunnertest.Text("done"))
			func() {
				defer func() { _ = recover() }()
				_ = c.Play(t.Context(), func(*toolrunner.Turn) { failing = true })
			}()
			failing = false
			mustDo(t, "the second loop", c.Play(t.Context(), nil))
			c.WantRequests(t, 3)
			if got := len(c.Request(t, 2).Messages()); got != 1 {
				t.Errorf("the last request has %d messages, want the summary alone", got)
			}
		})
	}
}

// F3: a compaction that went out and failed is not tried again, as is documented.
func TestCompactionThatFailedIsNotTriedAgain(t *testing.T) {
	c, _ := start(t, toolrunner.Params{RequestOptions: []option.RequestOption{option.WithMaxRetries(0)}},
		toolrunnertest.Status(500, "api_error", "down"), toolrunnertest.Text("done"))
	mustDo(t, "CompactBeforeNextTurn()", c.CompactBeforeNextTurn(runtest.NoCompactionConfig()))
	wantErr(t, "the first loop", c.Play(t.Context(), nil))
	mustDo(t, "SetMessages()", c.SetMessages(runtest.User("anew")))
	mustDo(t, "the second loop", c.Play(t.Context(), nil))
	if c.Request(t, 1).Field("compaction") != nil {
		t.Error("the compaction went out twice")
	}
}

// After a compaction nothing of it is left under way, and the sequence of snapshots has
// grown: a store keeps the newer one (changed by hand once, and no test noticed).
func TestNothingOfACompactionIsLeftUnderWay(t *testing.T) {
	sequence := func(c *runtest.Conversation) int {
		data, err := c.Snapshot()
		mustDo(t, "Snapshot()", err)
		var head struct{ Sequence int }
		mustDo(t, "Unmarshal()", json.Unmarshal(data, &head))
		return head.Sequence
	}
	for _, summary := range []toolrunnertest.Reply{runtest.SummaryReply("so far"), toolrunnertest.Text("no summary")} {
		c, _ := start(t, toolrunner.Params{}, summary, toolrunnertest.Text("done"))
		mustDo(t, "CompactBeforeNextTurn()", c.CompactBeforeNextTurn(runtest.NoCompactionConfig()))
		before := sequence(c)
		for _, err := range c.All(t.Context()) {
			mustDo(t, "All()", err)
			break
		}
		if after := sequence(c); after <= before {
			t.Errorf("the sequence is %d after a compaction and %d before, want it to grow", after, before)
		}
		mustDo(t, "SetMessages()", c.SetMessages(runtest.User("anew")))
		mustDo(t, "CompactBeforeNextTurn()", c.CompactBeforeNextTurn(runtest.NoCompactionConfig()))
		c.Server.Add(toolrunnertest.Text("done"))
		c.MustPlay(t, nil)
		if c.Request(t, 1).Field("compaction") == nil {
			t.Error("the second compaction did not go out")
		}
	}
}
