package toolrunner

// Usage is what the replies of a runner have cost, in tokens as the API counts
// them, compactions included.
type Usage struct {
	Replies                  int   // replies that the totals are over
	InputTokens              int64 // those that no cache had to do with
	OutputTokens             int64
	CacheCreationInputTokens int64 // input that was written to a cache
	CacheReadInputTokens     int64 // input that came from one
}
