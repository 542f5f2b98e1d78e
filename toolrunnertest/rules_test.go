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

var (
	ruleConstant = regexp.MustCompile(`(?m)^\tRule\w+ +Rule = "([a-z-]+)"`)
	ruleRow      = regexp.MustCompile("(?m)^\\| `([a-z-]+)` ")
)

// namesIn returns what a pattern finds in a file.
func namesIn(t *testing.T, path string, pattern *regexp.Regexp) []string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, page, found := strings.Cut(string(data), "\n## Rules")
	if found {
		data = []byte(page)
	}
	var names []string
	for _, match := range pattern.FindAllStringSubmatch(string(data), -1) {
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

func TestEveryRuleIsDocumentedAndCanBeIgnored(t *testing.T) {
	all := namesIn(t, "check_rules.go", ruleConstant)
	split := slices.Index(all, "history-changed")
	if split < 40 || len(all)-split < 8 {
		t.Fatalf("check_rules.go has %d rules, the first of CheckRun at %d: %q", len(all), split, all)
	}
	ofServer := func(rule string) { toolrunnertest.NewServer(nil).Ignore(toolrunnertest.Rule(rule)) }
	ofRun := func(rule string) { toolrunnertest.Ignore(toolrunnertest.Rule(rule)) }
	for i, rule := range all {
		if got, want := allowed(rule, ofServer), i < split; got != want {
			t.Errorf("Server.Ignore(%q) works = %v, want %v", rule, got, want)
		}
		if got, want := allowed(rule, ofRun), i >= split; got != want {
			t.Errorf("Ignore(%q) works = %v, want %v", rule, got, want)
		}
	}
	if allowed("no-such-rule", ofServer) || allowed("no-such-rule", ofRun) {
		t.Error("a rule that does not exist can be ignored, want a panic")
	}
	if diff := cmp.Diff(all, namesIn(t, "../docs/guide/testing.md", ruleRow)); diff != "" {
		t.Errorf("rules in the documentation (-constants +page):\n%s", diff)
	}
}
