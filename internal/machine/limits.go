package machine

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/toolrunner/toolrunner/internal/history"
	"github.com/toolrunner/toolrunner/internal/wire"
)

// Limits is what one run may use: the fields of the public type of that name.
type Limits struct {
	InputTokens  int64
	OutputTokens int64
	TotalTokens  int64
	Duration     time.Duration
	ToolCalls    map[string]int
	EachTool     int
	FailedCalls  int
}

// spending is what a run has used so far.
type spending struct {
	usage   Usage
	calls   map[string]int // by tool
	failing int            // calls that failed since one did not
	elapsed time.Duration  // up to since
	since   time.Time      // zero while nobody loops over the run
}

// start starts the clock, if it does not run.
func (s *spending) start(now time.Time) {
	if s.since.IsZero() {
		s.since = now
	}
}

// pause stops the clock.
func (s *spending) pause(now time.Time) { s.elapsed, s.since = s.time(now), time.Time{} }

// time returns how long the run has taken.
func (s *spending) time(now time.Time) time.Duration {
	if s.since.IsZero() {
		return s.elapsed
	}
	if took := now.Sub(s.since); took < maxElapsed-s.elapsed {
		return s.elapsed + took
	}
	return maxElapsed
}

// limitReached returns the end of a run that has used what it may, while there is
// something to send.
func (m *Machine) limitReached(l StepLimits) (Step, bool) {
	s := &m.s
	if !s.needsReply {
		return Step{}, false
	}
	if l.MaxIterations > 0 && s.iteration >= l.MaxIterations {
		return Step{Kind: End, Outcome: history.OutcomeMaxIterations}, true
	}
	if reached := s.spent.reached(&l.Limits, l.Now); reached != "" {
		return Step{Kind: End, Outcome: history.OutcomeLimitReached, Limit: reached}, true
	}
	return Step{}, false
}

// reached says which limit has been reached, or returns "".
func (s *spending) reached(l *Limits, now time.Time) string {
	input := s.usage.AllInput()
	for _, tokens := range []struct {
		name       string
		limit, has int64
	}{
		{"InputTokens", l.InputTokens, input},
		{"OutputTokens", l.OutputTokens, s.usage.OutputTokens},
		{"TotalTokens", l.TotalTokens, sum(input, s.usage.OutputTokens)},
		{"FailedCalls", int64(l.FailedCalls), int64(s.failing)},
	} {
		if tokens.limit > 0 && tokens.has >= tokens.limit {
			return fmt.Sprintf("Limits.%s is %d, and the run has had %d", tokens.name, tokens.limit, tokens.has)
		}
	}
	if took := s.time(now); l.Duration > 0 && took >= l.Duration {
		return fmt.Sprintf("Limits.Duration is %v, and the run has taken %v", l.Duration, took)
	}
	if len(l.ToolCalls) == 0 && l.EachTool == 0 {
		return ""
	}
	for _, name := range slices.Sorted(maps.Keys(s.calls)) {
		limit, named := l.ToolCalls[name]
		switch {
		case named && s.calls[name] >= limit:
			return fmt.Sprintf("Limits.ToolCalls allows %d calls of %q, and the run has had %d", limit, name, s.calls[name])
		case !named && l.EachTool > 0 && s.calls[name] >= l.EachTool:
			return fmt.Sprintf("Limits.EachTool is %d, and the run has had %d calls of %q", l.EachTool, s.calls[name], name)
		}
	}
	return ""
}

// spend counts what a reply has cost.
func (s *state) spend(object []byte) {
	u := UsageOf(object)
	s.usage.plus(u)
	s.spent.usage.plus(u)
}

// countCalls counts the calls of a reply, by tool.
func (s *state) countCalls(uses []history.Use) {
	if len(uses) == 0 {
		return
	}
	if s.spent.calls == nil {
		s.spent.calls = make(map[string]int)
	}
	for i := range uses {
		s.spent.calls[uses[i].Name] = more(s.spent.calls[uses[i].Name])
	}
}

// countFailed counts how many of the last calls have failed.
func (s *state) countFailed() {
	for _, call := range s.open {
		if s.spent.failing = more(s.spent.failing); !history.IsFailed(call.resultBlock()) {
			s.spent.failing = 0
		}
	}
}

// Usage is what replies have cost: the fields of the public type of that name.
type Usage struct {
	Replies                  int
	InputTokens              int64
	OutputTokens             int64
	CacheCreationInputTokens int64
	CacheReadInputTokens     int64
}

// maxCount bounds counters, far beyond what a run can use: they stay exact in JSON,
// and cannot overflow.
const (
	maxCount   = 1 << 53
	maxSteps   = min(maxCount, math.MaxInt) // of what is counted one by one
	maxElapsed = maxCount * time.Microsecond
)

// more returns n plus one, up to the bound.
func more(n int) int { return min(n, maxSteps-1) + 1 }

// sum adds counts, up to the bound.
func sum(counts ...int64) int64 {
	var total int64
	for _, n := range counts {
		total = min(total+n, maxCount)
	}
	return total
}

// AllInput returns the input tokens, those read from and written to caches included.
func (u *Usage) AllInput() int64 {
	return sum(u.InputTokens, u.CacheReadInputTokens, u.CacheCreationInputTokens)
}

// plus adds the totals of o.
func (u *Usage) plus(o Usage) {
	u.Replies = int(min(sum(int64(u.Replies), int64(o.Replies)), maxSteps))
	u.InputTokens = sum(u.InputTokens, o.InputTokens)
	u.OutputTokens = sum(u.OutputTokens, o.OutputTokens)
	u.CacheCreationInputTokens = sum(u.CacheCreationInputTokens, o.CacheCreationInputTokens)
	u.CacheReadInputTokens = sum(u.CacheReadInputTokens, o.CacheReadInputTokens)
}

// UsageOf returns what the usage object of one reply says.
func UsageOf(object []byte) Usage {
	var u Usage
	u.add(object)
	return u
}

// add adds the usage object of one reply. Counts that are missing, null or no
// integers count as zero: not every server sends them.
func (u *Usage) add(object []byte) {
	u.Replies = more(u.Replies)
	u.addTokens(object)
	u.addCompactions(object)
}

// addTokens adds what the object says at its top.
func (u *Usage) addTokens(object []byte) {
	if len(object) == 0 || object[0] != '{' {
		return
	}
	// The object is a part of a reply that was walked over before, so it is valid.
	_ = wire.Members(object, func(key, value []byte) error {
		switch string(key) {
		case "input_tokens":
			u.InputTokens = sum(u.InputTokens, count(value))
		case "output_tokens":
			u.OutputTokens = sum(u.OutputTokens, count(value))
		case "cache_creation_input_tokens":
			u.CacheCreationInputTokens = sum(u.CacheCreationInputTokens, count(value))
		case "cache_read_input_tokens":
			u.CacheReadInputTokens = sum(u.CacheReadInputTokens, count(value))
		}
		return nil
	})
}

// addCompactions adds the iterations that compacted: the API leaves them out of the
// counts at the top.
func (u *Usage) addCompactions(object []byte) {
	eachIteration(object, func(kind string, iteration []byte) {
		if kind == history.TypeCompaction {
			u.addTokens(iteration)
		}
	})
}

// eachIteration calls f with the type and the usage of each iteration of a usage object.
func eachIteration(object []byte, f func(kind string, iteration []byte)) {
	if len(object) == 0 || object[0] != '{' {
		return
	}
	_ = wire.Members(object, func(key, value []byte) error {
		if string(key) != "iterations" || len(value) == 0 || value[0] != '[' {
			return nil
		}
		return wire.Elements(value, func(iteration []byte) error {
			f(wire.ObjectMember(iteration, "type"), iteration)
			return nil
		})
	})
}

// contextTokens returns how many tokens the context of a reply had when it was
// complete.
func contextTokens(object []byte) int64 {
	var u Usage
	u.addTokens(object)
	return sum(u.AllInput(), u.OutputTokens)
}

// count returns the value of a JSON number that is a natural number below 2^53, else
// zero.
func count(value []byte) int64 {
	var n int64
	for _, c := range value {
		if c < '0' || c > '9' || n > maxCount/10 {
			return 0
		}
		n = n*10 + int64(c-'0')
	}
	return n
}
