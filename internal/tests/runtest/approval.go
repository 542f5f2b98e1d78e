package runtest

import (
	"context"
	"strings"

	"github.com/toolrunner/toolrunner"
)

// ByID decides on each call by its id; the others are allowed.
func ByID(decisions map[string]toolrunner.Decision) toolrunner.Approver {
	return func(_ context.Context, call *toolrunner.Call) (toolrunner.Decision, error) {
		if d, ok := decisions[call.ID]; ok {
			return d, nil
		}
		return toolrunner.Allow(), nil
	}
}

// Suspending suspends the calls with these ids.
func Suspending(ids ...string) toolrunner.Approver {
	decisions := make(map[string]toolrunner.Decision)
	for _, id := range ids {
		decisions[id] = toolrunner.Suspend()
	}
	return ByID(decisions)
}

// IDsOf lists the ids of calls, with spaces between them.
func IDsOf(calls []*toolrunner.Call) string {
	ids := make([]string, len(calls))
	for i, call := range calls {
		ids[i] = call.ID
	}
	return strings.Join(ids, " ")
}
