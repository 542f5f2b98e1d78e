package toolrunner_test

import (
	"testing"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
)

// What the tests of streams share with those in internal/tests.

const callReply = runtest.CallReply

func corpusRoot() (string, bool) { return runtest.CorpusRoot() }

func recordedStreams(tb testing.TB) map[string]string {
	tb.Helper()
	return runtest.RecordedStreams(tb)
}

func sampled(streams map[string]string, n int) []string { return runtest.Sampled(streams, n) }

func exhaust(turns func(func(*toolrunner.Turn, error) bool)) error { return runtest.Exhaust(turns) }
