package requests_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

type (
	object = map[string]any
	list   = []any
)

// msg is a message of a request, read by hand.
type msg struct {
	role   string
	blocks []object
	only   bool // options alone
}

func parse(body []byte) object {
	var q object
	if err := json.Unmarshal(body, &q); err != nil {
		panic(err)
	}
	return q
}

func str(v any) string { s, _ := v.(string); return s }

func messagesOf(q object) []msg {
	var all []msg
	raws, _ := q["messages"].(list)
	for _, raw := range raws {
		o, _ := raw.(object)
		m := msg{role: str(o["role"])}
		switch content := o["content"].(type) {
		case string:
			m.blocks = []object{{"type": "text", "text": content}}
		case list:
			for _, b := range content {
				block, _ := b.(object)
				m.blocks = append(m.blocks, block)
			}
		}
		m.only = m.role == "system" && len(m.blocks) == 0 && o["output_config"] != nil
		all = append(all, m)
	}
	return all
}

func kindOf(b object) string { return str(b["type"]) }

func isServerUse(b object) bool {
	return kindOf(b) == "server_tool_use" || kindOf(b) == "mcp_tool_use"
}

func isServerResult(b object) bool {
	return kindOf(b) != "tool_result" && strings.HasSuffix(kindOf(b), "_tool_result")
}

// turn is what the API takes for one message of a role: those in a row are joined.
type turn struct {
	role  string
	parts []msg
}

func (t turn) blocks() []object {
	var all []object
	for _, m := range t.parts {
		all = append(all, m.blocks...)
	}
	return all
}

func turnsOf(messages []msg) []turn {
	var turns []turn
	for _, m := range messages {
		if m.only {
			continue
		}
		if n := len(turns); n > 0 && turns[n-1].role == m.role {
			turns[n-1].parts = append(turns[n-1].parts, m)
			continue
		}
		turns = append(turns, turn{m.role, []msg{m}})
	}
	return turns
}

// hanging returns the uses of server tools that have no result up to the end.
func hanging(messages []msg) []object {
	var open []object
	for _, m := range messages {
		for _, b := range m.blocks {
			switch {
			case kindOf(b) == "fallback":
				open = nil
			case isServerUse(b):
				open = append(open, b)
			case isServerResult(b):
				open = slices.DeleteFunc(open, func(use object) bool { return use["id"] == b["tool_use_id"] })
			}
		}
	}
	return open
}

// resultOf is what the work of a server tool comes to.
func resultOf(use object) string {
	id, name := str(use["id"]), str(use["name"])
	switch {
	case kindOf(use) == "mcp_tool_use":
		return fmt.Sprintf(`{"type":"mcp_tool_result","tool_use_id":%q,"is_error":false,"content":[{"type":"text","text":"ok"}]}`, id)
	case strings.HasPrefix(name, "tool_search"):
		return fmt.Sprintf(`{"type":"tool_search_tool_result","tool_use_id":%q,"content":{"type":"tool_search_tool_search_result","tool_references":[]}}`, id)
	case name == "web_search":
		return fmt.Sprintf(`{"type":"web_search_tool_result","tool_use_id":%q,"content":[]}`, id)
	}
	return fmt.Sprintf(`{"type":"%s_tool_result","tool_use_id":%q,"content":{"type":"%s_result"}}`, name, id, name)
}

var idPattern = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)

// refusal says why the API would refuse a request, in the words of public reports, or
// returns "".
func refusal(body []byte) string {
	q := parse(body)
	messages := messagesOf(q)
	for _, rule := range []func(object, []msg) string{ruleEmpty, ruleResults, ruleServer, ruleSystem, ruleThinking, ruleInputs, ruleCache, ruleTools} {
		if fault := rule(q, messages); fault != "" {
			return fault
		}
	}
	return ""
}

func ruleEmpty(_ object, messages []msg) string {
	if len(messages) == 0 {
		return "at least one message is required"
	}
	for i, m := range messages {
		blank := len(m.blocks) > 0
		for j, b := range m.blocks {
			text := str(b["text"])
			if kindOf(b) == "" {
				return fmt.Sprintf("messages.%d.content.%d has no type", i, j)
			}
			if kindOf(b) == "text" && text == "" {
				return fmt.Sprintf("messages.%d.content.%d: text content blocks must be non-empty", i, j)
			}
			blank = blank && kindOf(b) == "text" && strings.TrimSpace(text) == ""
		}
		last := i == len(messages)-1
		switch {
		case blank:
			return fmt.Sprintf("messages.%d: text content blocks must contain non-whitespace text", i)
		case len(m.blocks) == 0 && !m.only && (m.role != "assistant" || !last):
			return fmt.Sprintf("messages.%d: must have non-empty content", i)
		case last && m.role == "assistant" && len(m.blocks) > 0:
			final := m.blocks[len(m.blocks)-1]
			if text := str(final["text"]); kindOf(final) == "text" && strings.TrimSpace(text) != text && strings.TrimRight(text, " \t\r\n") != text {
				return "final assistant content cannot end with trailing whitespace"
			}
		}
	}
	return ""
}

// ruleResults: each tool_use is answered exactly once in the directly following user
// message, results first.
func ruleResults(_ object, messages []msg) string {
	turns := turnsOf(messages)
	for i, t := range turns {
		ids, seen := map[string]bool{}, map[string]bool{}
		if i > 0 && turns[i-1].role == "assistant" {
			for _, b := range turns[i-1].blocks() {
				if kindOf(b) == "fallback" {
					clear(ids)
				}
				if kindOf(b) == "tool_use" {
					ids[str(b["id"])] = true
				}
			}
		}
		for p, m := range t.parts {
			other := false
			for _, b := range m.blocks {
				if kindOf(b) != "tool_result" {
					other = true
					continue
				}
				id := str(b["tool_use_id"])
				switch {
				case t.role != "user":
					return "tool_result in a message of the " + t.role
				case !ids[id] || p > 0:
					return "unexpected tool_use_id " + id
				case seen[id]:
					return "each tool_use must have a single result: " + id
				case other:
					return "results do not come first"
				}
				seen[id] = true
			}
		}
		if len(seen) < len(ids) {
			return fmt.Sprintf("tool_use ids were found without tool_result blocks immediately after: %v but for %v", ids, seen)
		}
	}
	if n := len(turns); turns[n-1].role == "assistant" {
		for _, b := range slices.Backward(turns[n-1].blocks()) {
			if kindOf(b) == "fallback" {
				break
			}
			if kindOf(b) == "tool_use" {
				return "the request ends with tool_use " + str(b["id"])
			}
		}
	}
	return ""
}

// ruleServer: a server tool's use has its result in the same assistant turn, or its turn
// is the last; or results of client calls, and nothing else, come in between.
func ruleServer(_ object, messages []msg) string {
	turns := turnsOf(messages)
	var open []string
	for i, t := range turns {
		if t.role != "assistant" {
			if len(open) == 0 {
				continue
			}
			if t.role == "system" && i == len(turns)-1 {
				continue
			}
			if t.role == "system" && turns[i-1].role == "assistant" && turns[i+1].role == "assistant" {
				continue
			}
			for _, b := range t.blocks() {
				if kindOf(b) != "tool_result" {
					return fmt.Sprintf("%s waits for its result, and %s (%s) follows", open[0], t.role, kindOf(b))
				}
			}
			continue
		}
		callers := map[string]bool{}
		for _, b := range t.blocks() {
			switch id := str(b["id"]); {
			case kindOf(b) == "fallback":
				open = nil
			case isServerUse(b):
				if slices.Contains(open, id) {
					return "server tool id twice: " + id
				}
				open = append(open, id)
			case isServerResult(b):
				at := slices.Index(open, str(b["tool_use_id"]))
				if at < 0 {
					return "unexpected tool_use_id in " + kindOf(b)
				}
				open = slices.Delete(open, at, at+1)
			case kindOf(b) == "tool_use":
				caller, _ := b["caller"].(object)
				callers[str(caller["tool_id"])] = true
			}
		}
		if i+1 < len(turns) && len(open) > 0 {
			calls := slices.ContainsFunc(t.blocks(), func(b object) bool { return kindOf(b) == "tool_use" })
			if !calls && turns[i+1].role != "system" {
				return "tool use " + open[0] + " was found without a corresponding result block"
			}
		}
	}
	return ""
}
