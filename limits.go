package toolrunner

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// Limits bounds what one run may use, beside Params.MaxIterations. Once a total has
// reached its limit, the run ends between turns with [OutcomeLimitReached]: the tools
// of the last turn have run and their results are in the history, also if that went
// beyond the limit. Raising it lets the run go on. The next run of the runner begins
// from nothing; one that is resumed goes on counting. Zero: no limit.
type Limits struct {
	// InputTokens bounds what requests held, read from and written to the cache
	// included.
	InputTokens int64
	// OutputTokens bounds what replies held.
	OutputTokens int64
	// TotalTokens bounds both together. All three include compactions.
	TotalTokens int64
	// Duration bounds the time that the run has taken: requests, tools and the loop
	// body, but not the time in which nobody loops over it, such as while it is
	// suspended. It interrupts nothing; for that, give the context a deadline.
	Duration time.Duration
	// ToolCalls limits how often the model may call a tool, by name. Calls that are not
	// run count. The run ends after the turn in which a tool reaches its limit.
	ToolCalls map[string]int
	// EachTool is the limit of ToolCalls for each tool that is not named there.
	EachTool int
	// FailedCalls bounds how many calls may fail one after the other, in the order
	// of the model: calls with failed results, whatever the reason, denied ones
	// included. They are counted while it is set.
	FailedCalls int
}

// validate names the first limit that makes no sense.
func (l *Limits) validate() error {
	for _, field := range []struct {
		name  string
		value int64
	}{
		{"InputTokens", l.InputTokens},
		{"OutputTokens", l.OutputTokens},
		{"TotalTokens", l.TotalTokens},
		{"Duration", int64(l.Duration)},
		{"EachTool", int64(l.EachTool)},
		{"FailedCalls", int64(l.FailedCalls)},
	} {
		if field.value < 0 {
			return fmt.Errorf("Params.Limits.%s is %d; use 0 for no limit, or a positive number", field.name, field.value)
		}
	}
	if len(l.ToolCalls) == 0 { // sorting nothing allocates
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(l.ToolCalls)) {
		if name == "" {
			return fmt.Errorf("Params.Limits.ToolCalls has an empty name; use EachTool for the tools that are not named")
		}
		if n := l.ToolCalls[name]; n <= 0 {
			return fmt.Errorf("Params.Limits.ToolCalls[%q] is %d; use a positive number, or leave it out", name, n)
		}
	}
	return nil
}
