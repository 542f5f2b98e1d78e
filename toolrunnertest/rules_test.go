package toolrunnertest_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolrunner/toolrunner/toolrunnertest"
)

var ruleName = regexp.MustCompile("(?m)^(?://\t|\\| `)([a-z-]+)[` ]")

// rulesIn returns the names of rules in the part of a file between two texts.
func rulesIn(t *testing.T, path, from, to string) []string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(data), from)
	text, _, _ = strings.Cut(text, to)
	var names []string
	for _, match := range ruleName.FindAllStringSubmatch(text, -1) {
		names = append(names, match[1])
	}
	return names
}

// allowed reports whether a rule can be switched off.
func allowed(rule string, allow func(rule string)) (ok bool) {
	defer func() { ok = recover() == nil }()
	allow(rule)
	return
}

func TestEveryRuleIsDocumentedAndCanBeSwitchedOff(t *testing.T) {
	request := rulesIn(t, "check.go", "// CheckRequest reports", "func CheckRequest")
	run := rulesIn(t, "run.go", "// CheckRun reports", "func CheckRun")
	if len(request) < 30 || len(run) < 8 {
		t.Errorf("the comments name %d and %d rules, want at least 30 and 8: %q %q", len(request), len(run), request, run)
	}
	for _, rule := range request {
		if !allowed(rule, func(rule string) { toolrunnertest.New().Allow(rule) }) {
			t.Errorf("Server.Allow(%q) panics", rule)
		}
	}
	for _, rule := range run {
		if !allowed(rule, func(rule string) { toolrunnertest.Allow(rule) }) {
			t.Errorf("Allow(%q) panics", rule)
		}
	}
	if allowed("no-such-rule", func(rule string) { toolrunnertest.New().Allow(rule) }) || allowed("body", func(rule string) { toolrunnertest.Allow(rule) }) {
		t.Error("a rule that does not exist can be switched off, want a panic")
	}
	page := rulesIn(t, "../docs/testing-with-toolrunnertest.md", "## Rules", "\n## ")
	if diff := cmp.Diff(slices.Concat(request, run), page); diff != "" {
		t.Errorf("rules in the documentation (-comments +page):\n%s", diff)
	}
}
