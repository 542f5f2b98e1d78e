package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
)

// account prints a run as it happens.
type account struct {
	mu    sync.Mutex // guards the rest: handlers finish on their own goroutines
	paper *paper
	begin time.Time

	numbers map[string]int // of calls, by id
	open    []string       // calls of the turn that nothing was said about yet
	failed  int
	spans   []span // of the turn's handlers
}

type span struct{ begin, end time.Time }

func newAccount(p *paper) *account {
	return &account{paper: p, begin: time.Now(), numbers: map[string]int{}}
}

func (a *account) opening(title, prompt string) {
	a.paper.line(dim, "")
	a.paper.write(dim, title)
	a.paper.blank()
	a.paper.line(bold, "> ")
	a.paper.write(bold, prompt)
	a.paper.end()
}

// turn prints a turn while it streams. An error of the stream ends the run too.
func (a *account) turn(t *toolrunner.Turn) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.paper.blank()
	a.paper.line(bold, fmt.Sprintf("turn %d", t.Iteration()))
	for event, err := range t.Events() {
		if err != nil {
			break
		}
		a.event(event)
	}
	a.paper.end()
	for _, call := range t.Calls() {
		a.open = append(a.open, call.ID)
	}
}

func (a *account) event(e toolrunner.Event) {
	switch e.Type {
	case "content_block_start":
		union, err := e.Union()
		if err != nil {
			return
		}
		if use := union.ContentBlock; use.Type == "tool_use" {
			a.numbers[use.ID] = len(a.numbers) + 1
			a.paper.line(plain, a.label(use.ID))
			a.paper.write(cyan, use.Name)
			a.paper.write(plain, " ")
			return
		}
		a.paper.line(plain, "  ")
	case "content_block_delta":
		a.paper.write(plain, e.Text)
		a.paper.write(dim, e.Thinking)
		a.paper.write(plain, e.PartialJSON)
	case "content_block_stop":
		a.paper.end()
	}
}

func (a *account) label(callID string) string { return fmt.Sprintf("  [%d] ", a.numbers[callID]) }

// watch prints what a handler came back with, and after how long.
func (a *account) watch(next toolrunner.Handler) toolrunner.Handler {
	return func(ctx context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
		s := span{begin: time.Now()}
		result, err := next(ctx, call)
		s.end = time.Now()
		if ctx.Err() != nil {
			return result, err
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		a.spans = append(a.spans, s)
		took := seconds(s.end.Sub(s.begin))
		if err != nil {
			a.failed++
			a.outcome(call.ID, red, "failed, "+took, err.Error())
		} else {
			a.outcome(call.ID, green, "ok, "+took, contentText(result.Content))
		}
		return result, err
	}
}

func (a *account) outcome(callID string, look style, outcome, text string) {
	a.open = slices.DeleteFunc(a.open, func(id string) bool { return id == callID })
	a.paper.line(plain, a.label(callID))
	a.paper.write(look, outcome+":")
	a.paper.write(plain, " "+text)
	a.paper.end()
}

// settle prints what became of the calls whose input the runner did not let
// through to a handler, and how long the others took together.
func (a *account) settle(history []anthropic.BetaMessageParam) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, id := range slices.Clone(a.open) {
		if text, ok := answer(history, id); ok {
			a.failed++
			a.outcome(id, red, "not run", strings.TrimPrefix(text, "Error: "))
		}
	}
	a.compare()
	a.open, a.spans = nil, nil
}

// compare prints what running calls side by side has saved, if they took any time.
func (a *account) compare() {
	if len(a.spans) < 2 {
		return
	}
	begin, end, sum := a.spans[0].begin, a.spans[0].end, time.Duration(0)
	for _, s := range a.spans {
		sum += s.end.Sub(s.begin)
		if s.begin.Before(begin) {
			begin = s.begin
		}
		if s.end.After(end) {
			end = s.end
		}
	}
	if took := end.Sub(begin); took >= 10*time.Millisecond {
		a.paper.line(plain, "      ")
		a.paper.write(dim, fmt.Sprintf("%d at once in %s; one by one it would have been %s", len(a.spans), seconds(took), seconds(sum)))
		a.paper.end()
	}
}

// answer returns the text of the result of a call.
func answer(history []anthropic.BetaMessageParam, callID string) (string, bool) {
	for _, message := range history {
		if message.OfUser == nil {
			continue
		}
		for _, block := range message.OfUser.Content {
			if r := block.OfToolResult; r != nil && r.ToolUseID == callID {
				return contentText(r.Content), true
			}
		}
	}
	return "", false
}

func contentText(content []anthropic.BetaToolResultBlockParamContentUnion) string {
	var text strings.Builder
	for _, c := range content {
		if c.OfText != nil {
			text.WriteString(c.OfText.Text)
		}
	}
	return text.String()
}

func (a *account) closing(r *toolrunner.Runner) {
	usage := r.Usage()
	a.paper.blank()
	a.paper.line(dim, "")
	a.paper.write(dim, fmt.Sprintf("%s: %d turns, %d calls (%d failed), %d tokens in, %d out, %s",
		r.Outcome(), r.IterationCount(), len(a.numbers), a.failed, usage.InputTokens, usage.OutputTokens, seconds(time.Since(a.begin))))
	a.paper.end()
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.2fs", d.Seconds()) }
