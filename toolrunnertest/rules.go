package toolrunnertest

import (
	"fmt"
	"slices"
	"strings"
)

// requestRules are the names of the rules of CheckRequest.
func requestRules() []string {
	return []string{
		"body", "model", "max-tokens", "messages-empty", "message-shape", "system-position", "block-shape", "block-role",
		"user-empty", "assistant-empty", "text-empty", "text-whitespace", "trailing-whitespace", "id-format", "id-duplicate",
		"tool-input", "tool-result-missing", "tool-result-unknown", "tool-result-duplicate", "tool-result-order",
		"tool-result-error", "server-result-missing", "thinking", "cache-control-count", "cache-control-place", "tool-name",
		"tool-duplicate", "input-schema", "tool-choice", "compaction",
	}
}

// replyUnused is the rule of a server for a test that its script is used up.
const replyUnused = "reply-unused"

// serverRules are the names of what a server can be allowed to let pass.
func serverRules() []string { return append(requestRules(), replyUnused) }

// runRules are the names of the rules of CheckRun.
func runRules() []string {
	return []string{
		"history-changed", "reply-missing", "reply-changed", "reply-bytes", "container-missing", "container-changed",
		"tools-changed", "system-changed",
	}
}

// checkNames says which name is not one of a rule.
func checkNames(names, rules []string) error {
	for _, name := range names {
		if !slices.Contains(rules, name) {
			return fmt.Errorf("there is no rule %q; the rules are %s", name, strings.Join(rules, ", "))
		}
	}
	return nil
}
