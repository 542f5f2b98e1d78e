package toolrunner

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// What a run uses reaches this file; whether that is too much leaves it.

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
	// ToolCalls bounds how often the model calls a tool, by name; calls that are not
	// run count. The empty name stands for each tool that is not named.
	ToolCalls map[string]int
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
		if n := l.ToolCalls[name]; n <= 0 {
			return fmt.Errorf("Params.Limits.ToolCalls[%q] is %d; use a positive number, or leave it out", name, n)
		}
	}
	return nil
}

// spending is what a run has used so far.
type spending struct {
	usage   Usage
	calls   map[string]int // by tool
	failing int            // calls that failed since one did not
	elapsed time.Duration  // up to since
	since   time.Time      // zero while nobody loops over the run
}

// run starts the clock, if it does not run.
func (s *spending) run(now time.Time) {
	if s.since.IsZero() {
		s.since = now
	}
}

// pause stops the clock.
func (s *spending) pause(now time.Time) {
	s.elapsed, s.since = s.time(now), time.Time{}
}

// time returns how long the run has taken.
func (s *spending) time(now time.Time) time.Duration {
	if s.since.IsZero() {
		return s.elapsed
	}
	return s.elapsed + now.Sub(s.since)
}

// call counts a call of a tool.
func (s *spending) call(name string) {
	if s.calls == nil {
		s.calls = make(map[string]int)
	}
	s.calls[name]++
}

// reached says which limit has been reached, or returns "".
func (s *spending) reached(l *Limits, now time.Time) string {
	input := s.usage.InputTokens + s.usage.CacheReadInputTokens + s.usage.CacheCreationInputTokens
	for _, tokens := range []struct {
		name       string
		limit, has int64
	}{
		{"InputTokens", l.InputTokens, input},
		{"OutputTokens", l.OutputTokens, s.usage.OutputTokens},
		{"TotalTokens", l.TotalTokens, input + s.usage.OutputTokens},
		{"FailedCalls", int64(l.FailedCalls), int64(s.failing)},
	} {
		if tokens.limit > 0 && tokens.has >= tokens.limit {
			return fmt.Sprintf("Limits.%s is %d, and the run has had %d", tokens.name, tokens.limit, tokens.has)
		}
	}
	if took := s.time(now); l.Duration > 0 && took >= l.Duration {
		return fmt.Sprintf("Limits.Duration is %v, and the run has taken %v", l.Duration, took)
	}
	if len(l.ToolCalls) == 0 {
		return ""
	}
	for _, name := range slices.Sorted(maps.Keys(s.calls)) {
		limit, named := l.ToolCalls[name]
		if !named {
			limit = l.ToolCalls[""]
		}
		if limit > 0 && s.calls[name] >= limit {
			return fmt.Sprintf("Limits.ToolCalls allows %d calls of %q, and the run has had %d", limit, name, s.calls[name])
		}
	}
	return ""
}
