package model

import (
	"fmt"
	"slices"
	"strings"
)

// call is the model of one call that the server has made, or that was given.
type call struct {
	n        int
	id, tool string
	input    string

	whole   bool // its arguments arrived
	stopped bool // its reply stopped for its calls
	given   bool // the program has put it into the history
	dropped bool // a takeover has left it out, or its reply was lost
	early   bool // it may start before its reply is complete

	decision string // empty: none
	hand     string // the text of the result that the program gave
	started  int
	running  bool
	returned bool
	texts    []string // what its result must contain: one of these. None: any
	original []string // the same, before the loop body changed it
	edited   bool
	failed   bool // the result must say that it failed
	blurred  bool // it ended while the run was cancelled: either may go out
}

func (c *call) repeatable() bool { return c.tool == "look" || c.tool == "again" }

// refusal says why a call must not start now, if it must not.
func (c *call) refusal(asks bool) string {
	switch {
	case !c.whole:
		return "call/cut-off: its arguments were cut off"
	case c.returned && !c.blurred:
		return "call/twice: it has run"
	case c.started > 0 && !c.repeatable():
		return "call/twice: it has started before, and may not repeat"
	case c.hand != "":
		return "call/answered: the program has answered it"
	case c.dropped:
		return "call/dropped: a takeover has left it out"
	case c.decision == "deny":
		return "call/denied: it was denied"
	case c.decision == "suspend":
		return "call/undecided: it waits for a decision"
	case asks && c.decision == "":
		return "call/unasked: nobody was asked"
	case !c.stopped && !c.given && !c.early:
		return "call/unstopped: its reply did not stop for its calls"
	}
	return ""
}

// wants is the input that the handler must get.
func (c *call) wants() string {
	if c.decision == "change" {
		return changed(c.n)
	}
	return c.input
}

func changed(n int) string { return fmt.Sprintf(`{"n":%d,"changed":true}`, n) }

// decide takes note of a decision that counts.
func (c *call) decide(decision string) {
	if c.decision == "" || c.decision == "suspend" || c.decision == "unsure" {
		c.decision = decision
	}
}

// edit takes note of a result that the loop body has changed.
func (c *call) edit(text string) {
	if !c.edited {
		c.original = c.texts
	}
	c.texts, c.failed, c.edited = []string{text}, false, true
}

// check says what is wrong with the result that goes out for a call.
func (c *call) check(text string, failed bool) (kind, detail string) {
	said := fmt.Sprintf("call %d (%s %s) goes out with %q, failed: %v", c.n, c.id, c.tool, text, failed)
	known := c.returned || c.hand != "" || c.edited
	switch {
	case c.blurred || c.early && !c.stopped:
		return "", ""
	case known && !slices.ContainsFunc(c.texts, func(want string) bool { return strings.Contains(text, want) }):
		return "result/other", fmt.Sprintf("%s; want one of %q", said, c.texts)
	case known && c.failed && !failed:
		return "result/success", said + "; it failed"
	case !known && !failed:
		return "result/invented", said + "; it has no result"
	case !known && c.started > 0 && strings.Contains(text, "not run"):
		return "result/not-run", said + "; it has started"
	}
	return "", ""
}

// calls are the calls of a world, by number.
type calls []*call //nolint:recvcheck // only add changes the slice itself

func (all calls) get(n int) *call {
	if n < 1 || n > len(all) {
		return nil
	}
	return all[n-1]
}

func (all *calls) add(c call) *call {
	c.n = len(*all) + 1
	c.input = fmt.Sprintf(`{"n":%d}`, c.n)
	*all = append(*all, &c)
	return &c
}

func (all calls) clone() calls {
	c := make(calls, len(all))
	for i, one := range all {
		copied := *one
		c[i] = &copied
	}
	return c
}

// takenOver: the history is another one now. Calls that are not in it are dropped, and
// results that the body changed may go out as they were before.
func (all calls) takenOver(h *history) {
	for _, c := range all {
		if h.has(fmt.Sprint("c", c.n)) {
			c.given, c.dropped = true, false
		} else {
			c.dropped = true
		}
		if c.edited && c.started == 0 {
			c.blurred = true // it may be answered again
		} else if c.edited {
			c.texts = concat(c.texts, c.original)
		}
	}
}

// checkResults checks the results in a request.
func (all calls) checkResults(q *request) (kind, detail string) {
	numbers, times := map[string]int{}, map[int]int{}
	for _, m := range q.Messages {
		for _, b := range m.Blocks {
			if b.Type == "tool_use" {
				times[number(b.Input)]++
			}
		}
	}
	for _, m := range q.Messages {
		for _, b := range m.Blocks {
			switch b.Type {
			case "tool_use":
				numbers[b.ID] = number(b.Input)
				if times[number(b.Input)] > 1 { // the program has put it there twice, and it runs once
					numbers[b.ID] = 0
				}
			case "tool_result":
				if c := all.get(numbers[b.ToolUseID]); c != nil {
					if kind, detail := c.check(b.resultText(), b.IsError); kind != "" {
						return kind, detail
					}
				}
			}
		}
	}
	return "", ""
}
