package toolrunnertest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// refuse says how the API refuses a request, nil if it does not.
func (s *Server) refuse(q *Request) *failure {
	switch {
	case s.replaying:
		return nil
	case q.Path != "/v1/messages":
		return &failure{code: http.StatusNotFound, kind: "not_found_error", message: "there is no " + q.Path}
	case q.method != http.MethodPost:
		return &failure{code: http.StatusMethodNotAllowed, kind: "invalid_request_error", message: q.method + " is not allowed"}
	}
	if refusal := s.joinThread(q); refusal != nil {
		return refusal
	}
	breaches := append(checkHeader(q.Header), Breaches(CheckRequest(q.wholeBody()))...)
	breaches = s.judged(q, breaches)
	if len(breaches) == 0 {
		return nil
	}
	refusal := &failure{code: http.StatusBadRequest, kind: "invalid_request_error", message: (&BreachError{breaches}).Error()}
	if breaches[0].Rule == RuleKey {
		refusal.code, refusal.kind = http.StatusUnauthorized, "authentication_error"
	}
	return refusal
}

// judged leaves out the breaches that do not count: of rules that are off, and those that a header or an earlier reply
// makes right.
func (s *Server) judged(q *Request, breaches []Breach) []Breach {
	if !strings.Contains(q.betas(), "mcp-client-2025-04-04") { // the form of that time has no toolsets
		breaches = append(breaches, unusedServers(asObject(q.Body))...)
	}
	paused := s.pausedMessages(q)
	interleaved := strings.Contains(q.betas(), "interleaved-thinking")
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(breaches, func(b Breach) bool {
		switch {
		case b.Rule == RuleToolResultMissing && slices.Contains(paused, b.Path):
			return true
		case b.Rule == RuleThinkingBudget && b.Path == thinkingBudgetPath && interleaved:
			return true
		}
		return slices.Contains(s.ignored, b.Rule)
	})
}

// betas returns what the request names in its beta headers.
func (q *Request) betas() string { return strings.Join(q.Header.Values("Anthropic-Beta"), ",") }

// checkHeader checks what the API wants of every request beside its body.
func checkHeader(header http.Header) []Breach {
	c := &checker{}
	if header.Get("X-Api-Key") == "" && header.Get("Authorization") == "" {
		c.breach(RuleKey, "", "x-api-key header is required")
	}
	if header.Get("Anthropic-Version") == "" {
		c.breach(RuleVersion, "", "anthropic-version: header is required")
	}
	return c.breaches
}

// unusedServers are the MCP servers without a toolset.
func unusedServers(request object) []Breach {
	c := &checker{}
	used := map[string]bool{}
	for _, raw := range asList(request["tools"]) {
		used[asString(asObject(raw)["mcp_server_name"])] = true
	}
	for i, raw := range asList(request["mcp_servers"]) {
		if name := asString(asObject(raw)["name"]); !used[name] {
			c.breach(RuleMCPServer, fmt.Sprintf("mcp_servers.%d", i), "MCP server '%s' is defined but not referenced by any `mcp_toolset` in `tools`.", name)
		}
	}
	return c.breaches
}

// pausedMessages returns the paths of the messages at the end of a request that are replies which this server paused: they
// are sent back as they are, unanswered calls included, and the API goes on.
func (s *Server) pausedMessages(q *Request) []string {
	var paths []string
	messages := q.History()
	for i, raw := range slices.Backward(messages) {
		m := asObject(raw)
		if asString(m["role"]) != "assistant" || !s.paused(asList(m["content"])) {
			break
		}
		paths = append(paths, fmt.Sprintf("messages.%d", i))
	}
	return paths
}

// paused reports whether the server has answered with this content and stopped for it to be sent back.
func (s *Server) paused(content []json.RawMessage) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.requests, func(q *Request) bool {
		reason := asString(asObject(q.Reply)["stop_reason"])
		if reason != "pause_turn" && reason != "compaction" {
			return false
		}
		return slices.EqualFunc(sendable(q.Reply), content, func(a, b json.RawMessage) bool {
			return sameValue(withoutCacheControl(a), withoutCacheControl(b))
		})
	})
}
