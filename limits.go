package toolrunner

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/toolrunner/toolrunner/internal/machine"
)

// Limits limits what one run may use, beside Params.MaxIterations. Zero means no limit.
//
// When a total reaches its limit, the run ends between turns with [OutcomeLimitReached].
// The tools of the last turn have then run and their results are in the history, even if
// that exceeded the limit. Raise the limit to let the run go on, or append a message of
// the user to begin the next run, which counts from zero. A resumed run goes on counting.
type Limits struct {
	// InputTokens limits the input tokens of all requests in the run, including cache
	// reads and writes.
	InputTokens int64
	// OutputTokens limits the output tokens of all replies in the run.
	OutputTokens int64
	// TotalTokens limits the sum of both. All three include compactions.
	TotalTokens int64
	// Duration limits the time of the run: requests, tools and the loop body. Time between
	// loops, such as while the run is suspended, does not count. Duration interrupts
	// nothing; for that, give the context a deadline.
	Duration time.Duration
	// ToolCalls limits how often the model may call a tool, by name. Calls that are not
	// run count. The run ends after the turn in which a tool reaches its limit.
	ToolCalls map[string]int
	// EachTool is the limit of ToolCalls for each tool that is not named there.
	EachTool int
	// FailedCalls limits the calls that fail in a row, in the model's order. A call fails
	// if its result is a failed one, whatever the reason; denied calls count. Calls are
	// counted while FailedCalls is set.
	FailedCalls int
	// ReplyBytes limits the bytes of one response of the API, decompressed: of a reply, and of
	// a stream with all its events. A longer one is not read any further, and the run fails with
	// a *[ReplyError]. Zero means 64 MiB, negative means no limit.
	ReplyBytes int64
}

const defaultReplyBytes = 64 << 20

// inside returns the limits as the machine has them.
func (l *Limits) inside() machine.Limits {
	return machine.Limits{
		InputTokens: l.InputTokens, OutputTokens: l.OutputTokens, TotalTokens: l.TotalTokens, Duration: l.Duration,
		ToolCalls: l.ToolCalls, EachTool: l.EachTool, FailedCalls: l.FailedCalls,
	}
}

// replyBytes returns how many bytes a response may have; 0: any number.
func (l *Limits) replyBytes() int64 { return max(0, cmp.Or(l.ReplyBytes, defaultReplyBytes)) }

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

// Usage is the cost of all replies of a runner, in tokens as the API counts them.
// Compactions are included.
type Usage struct {
	Replies                  int   // the replies that the totals cover
	InputTokens              int64 // input tokens neither read from nor written to a cache
	OutputTokens             int64
	CacheCreationInputTokens int64 // input tokens written to a cache
	CacheReadInputTokens     int64 // input tokens read from a cache
}
