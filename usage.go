package toolrunner

// Usage is the cost of all replies of a runner, in tokens as the API counts them.
// Compactions are included.
type Usage struct {
	Replies                  int   // the replies that the totals cover
	InputTokens              int64 // input tokens neither read from nor written to a cache
	OutputTokens             int64
	CacheCreationInputTokens int64 // input tokens written to a cache
	CacheReadInputTokens     int64 // input tokens read from a cache
}
