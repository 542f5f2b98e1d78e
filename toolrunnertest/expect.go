package toolrunnertest

import (
	"fmt"
	"slices"
	"strings"
)

// Condition tells what is wrong with a request, nil if it is as it should be. It may run more than once for a request,
// and for several requests at once.
type Condition func(*Request) error

// Expect demands that the request which gets this reply meets all the conditions. One that does not is answered 400,
// fails the test, and leaves the reply for the next request.
func (r Reply) Expect(conditions ...Condition) Reply {
	r.expect = append(slices.Clip(r.expect), conditions...)
	return r
}

// When keeps this reply for the first request that meets all the conditions; others get the replies after it. With it a
// script can answer several agents at once, whose requests come in any order.
func (r Reply) When(conditions ...Condition) Reply {
	r.when = append(slices.Clip(r.when), conditions...)
	return r
}

// HasText is met by a request whose last message of the user says something that contains text. See [Request.LastText].
func HasText(text string) Condition {
	return func(q *Request) error { return contains("the last text of the user", q.LastText(), text) }
}

// HasResult is met by a request that has a result for a call, whose text contains text.
func HasResult(callID, text string) Condition {
	return func(q *Request) error {
		if q.ToolResult(callID) == nil {
			return fmt.Errorf("there is no result for the call %s", callID)
		}
		return contains("the result of "+callID, q.ToolResultText(callID), text)
	}
}

// HasModel is met by a request for this model.
func HasModel(model string) Condition {
	return func(q *Request) error {
		if got := q.Model(); got != model {
			return fmt.Errorf("the model is %q, want %q", got, model)
		}
		return nil
	}
}

// HasTool is met by a request that offers a tool of this name.
func HasTool(name string) Condition {
	return func(q *Request) error {
		if names := q.ToolNames(); !slices.Contains(names, name) {
			return fmt.Errorf("the tools offered are %q, want %q among them", names, name)
		}
		return nil
	}
}

// Nth is met by the requests at these positions, counted from 0, among those that broke no rule.
func Nth(positions ...int) Condition {
	return func(q *Request) error {
		if !slices.Contains(positions, q.position) {
			return fmt.Errorf("it is request %d, want one of %v", q.position, positions)
		}
		return nil
	}
}

func contains(what, got, want string) error {
	if strings.Contains(got, want) {
		return nil
	}
	return fmt.Errorf("%s is %q, want it to contain %q", what, got, want)
}

// choose returns the reply to request n, or says why there is none; unmet, if the request is not what a reply expects.
func choose(script []*Reply, q *Request, n int) (reply *Reply, unmet bool, problem string) {
	if len(script) == 0 {
		return nil, false, fmt.Sprintf("the script has no reply left for request %d", n)
	}
	var reason error
	for _, reply := range script {
		if err := met(reply.when, q); err != nil {
			if reason == nil {
				reason = err
			}
			continue
		}
		if err := met(reply.expect, q); err != nil {
			return nil, true, fmt.Sprintf("request %d is not what the script expects: %v", n, err)
		}
		return reply, false, ""
	}
	return nil, false, fmt.Sprintf("no reply of the script is for request %d: %v", n, reason)
}

func met(conditions []Condition, q *Request) error {
	for _, condition := range conditions {
		seen := *q
		if err := condition(&seen); err != nil {
			return err
		}
	}
	return nil
}
