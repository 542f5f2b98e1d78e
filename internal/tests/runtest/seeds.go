package runtest

import (
	"fmt"
	"os"
	"testing"
)

// seedsVariable names the seeds of random tests, as "FIRST COUNT". .ci/search sets it.
const seedsVariable = "TOOLRUNNER_TEST_SEEDS"

// Seeds returns what random tests begin with: the first n numbers, the same each time,
// unless the environment asks for others. A test says with which of them it failed.
func Seeds(tb testing.TB, n int) []uint64 {
	tb.Helper()
	first := uint64(0)
	if text := os.Getenv(seedsVariable); text != "" {
		if _, err := fmt.Sscan(text, &first, &n); err != nil {
			tb.Fatalf("%s=%q: want two numbers, the first seed and how many: %v", seedsVariable, text, err)
		}
	}
	seeds := make([]uint64, n)
	for i := range seeds {
		seeds[i] = first + uint64(i)
	}
	return seeds
}
