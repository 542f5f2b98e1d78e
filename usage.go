package toolrunner

import (
	"github.com/toolrunner/toolrunner/internal/wire"

	"github.com/toolrunner/toolrunner/internal/history"
)

// Usage is what the replies of a runner have cost, in tokens as the API counts
// them, compactions included.
type Usage struct {
	Replies                  int   // replies that the totals are over
	InputTokens              int64 // those that no cache had to do with
	OutputTokens             int64
	CacheCreationInputTokens int64 // input that was written to a cache
	CacheReadInputTokens     int64 // input that came from one
}

// plus adds the totals of o.
func (u *Usage) plus(o Usage) {
	u.Replies += o.Replies
	u.InputTokens += o.InputTokens
	u.OutputTokens += o.OutputTokens
	u.CacheCreationInputTokens += o.CacheCreationInputTokens
	u.CacheReadInputTokens += o.CacheReadInputTokens
}

// add adds the usage object of one reply. Counts that are missing, null or no
// integers count as zero: not every server sends them.
func (u *Usage) add(object []byte) {
	u.Replies++
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
			u.InputTokens += count(value)
		case "output_tokens":
			u.OutputTokens += count(value)
		case "cache_creation_input_tokens":
			u.CacheCreationInputTokens += count(value)
		case "cache_read_input_tokens":
			u.CacheReadInputTokens += count(value)
		}
		return nil
	})
}

// addCompactions adds the iterations that compacted: the API leaves them out of
// the counts at the top.
func (u *Usage) addCompactions(object []byte) {
	if len(object) == 0 || object[0] != '{' {
		return
	}
	_ = wire.Members(object, func(key, value []byte) error {
		if string(key) != "iterations" || len(value) == 0 || value[0] != '[' {
			return nil
		}
		return wire.Elements(value, func(iteration []byte) error {
			if wire.ObjectMember(iteration, "type") == history.TypeCompaction {
				u.addTokens(iteration)
			}
			return nil
		})
	})
}

// count returns the value of a JSON number that is a natural number below 2^53,
// else zero.
func count(value []byte) int64 {
	var n int64
	for _, c := range value {
		if c < '0' || c > '9' || n > 1<<53/10 {
			return 0
		}
		n = n*10 + int64(c-'0')
	}
	return n
}
