package network_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// What a request must hold to, written from the rules and not from the code.

type requestBody struct {
	Stream   bool
	System   json.RawMessage
	Tools    []json.RawMessage
	Messages []messageBody
}

type messageBody struct {
	Role    string
	Content []json.RawMessage
}

type blockBody struct {
	Type      string
	ID        string
	Name      string
	Text      *string
	Input     json.RawMessage
	ToolUseID string `json:"tool_use_id"`
	IsError   bool   `json:"is_error"`
	Content   json.RawMessage
}

func (m *messageBody) UnmarshalJSON(data []byte) error {
	var raw struct {
		Role    string
		Content json.RawMessage
	}
	if err := json.Unmarshal(data, &raw); err != nil {
		return err
	}
	m.Role = raw.Role
	if len(raw.Content) > 0 && raw.Content[0] == '"' {
		m.Content = []json.RawMessage{json.RawMessage(`{"type":"text","text":` + string(raw.Content) + `}`)}
		return nil
	}
	return json.Unmarshal(raw.Content, &m.Content)
}

func (m *messageBody) blocks() []blockBody {
	blocks := make([]blockBody, len(m.Content))
	for i, raw := range m.Content {
		_ = json.Unmarshal(raw, &blocks[i])
	}
	return blocks
}

// replies returns how many of the messages are replies.
func (r *requestBody) replies() int {
	n := 0
	for _, m := range r.Messages {
		if m.Role == "assistant" {
			n++
		}
	}
	return n
}

// requestChecker notes each breach of the rules.
type requestChecker struct {
	sent     map[string]bool // blocks of replies
	last     []messageBody   // of the request before
	lastHead string          // its tools and system
	takeover bool            // the history may change
	strange  bool            // assistant messages may be the caller's
	breaches []string
}

func (c *requestChecker) breach(format string, args ...any) {
	c.breaches = append(c.breaches, fmt.Sprintf(format, args...))
}

func (c *requestChecker) remember(reply string) {
	var message messageBody
	_ = json.Unmarshal([]byte(reply), &message)
	for _, raw := range message.Content {
		c.sent[string(raw)] = true
	}
}

var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,128}$`)

func (c *requestChecker) check(n int, r *requestBody) {
	c.checkHead(n, r)
	ids := make(map[string]bool)
	var open []string
	for i := range r.Messages {
		m := &r.Messages[i]
		at := fmt.Sprintf("request %d, message %d (%s)", n, i, m.Role)
		if m.Role != "assistant" {
			c.checkAnswers(at, m, open)
			open = nil
		} else if len(open) > 0 && !c.strange {
			c.breach("%s: the calls %q before it have no result", at, open)
		}
		if m.Role == "assistant" {
			open = append(open, c.checkReply(at, m, ids, i == len(r.Messages)-1)...)
		}
		c.checkText(at, m, i == len(r.Messages)-1)
	}
	if len(open) > 0 {
		c.breach("request %d ends with the open calls %q", n, open)
	}
	if !c.takeover {
		for i := range c.last {
			if i >= len(r.Messages) || !slices.EqualFunc(c.last[i].Content, r.Messages[i].Content, slices.Equal) {
				c.breach("request %d: message %d is not what it was before", n, i)
				break
			}
		}
	}
	c.last = r.Messages
}

func (c *requestChecker) checkHead(n int, r *requestBody) {
	head := string(r.System) + fmt.Sprintf("%s", r.Tools)
	if c.lastHead != "" && head != c.lastHead {
		c.breach("request %d: system or tools have changed", n)
	}
	c.lastHead = head
	names := make(map[string]bool)
	for _, raw := range r.Tools {
		var tool struct{ Name string }
		_ = json.Unmarshal(raw, &tool)
		if names[tool.Name] || !toolName.MatchString(tool.Name) {
			c.breach("request %d: the tool name %q is illegal or taken", n, tool.Name)
		}
		names[tool.Name] = true
	}
	controls := strings.Count(head, `"cache_control"`)
	for _, m := range r.Messages {
		for _, raw := range m.Content {
			controls += strings.Count(string(raw), `"cache_control"`)
		}
	}
	if controls > 4 {
		c.breach("request %d has %d cache_control", n, controls)
	}
}

// checkAnswers checks that a message answers the open calls, first of all, and no
// others.
func (c *requestChecker) checkAnswers(at string, m *messageBody, open []string) {
	left := slices.Clone(open)
	other := false
	for i, b := range m.blocks() {
		if b.Type != "tool_result" {
			other = true
			continue
		}
		found := slices.Index(left, b.ToolUseID)
		switch {
		case m.Role != "user":
			c.breach("%s: block %d is a result", at, i)
		case other:
			c.breach("%s: block %d is a result after other content", at, i)
		case found < 0:
			c.breach("%s: block %d answers %q, which is not open", at, i, b.ToolUseID)
		default:
			left = slices.Delete(left, found, found+1)
		}
		if b.IsError && (len(b.Content) == 0 || string(b.Content) == "[]" || string(b.Content) == "null") {
			c.breach("%s: block %d is an error without content", at, i)
		}
	}
	if len(left) > 0 {
		c.breach("%s: no result for %q", at, left)
	}
}

// checkReply checks an assistant message and returns the calls in it.
func (c *requestChecker) checkReply(at string, m *messageBody, ids map[string]bool, last bool) (open []string) {
	pending := make(map[string]bool)
	for i, b := range m.blocks() {
		if !c.strange && !c.sent[string(m.Content[i])] {
			c.breach("%s: block %d is not as it came: %.200s", at, i, m.Content[i])
		}
		switch {
		case b.Type == "fallback":
			open = nil
		case b.Type == "tool_use" || b.Type == "server_tool_use":
			if ids[b.ID] || !toolName.MatchString(b.ID) || !toolName.MatchString(b.Name) {
				c.breach("%s: block %d has the id %q and the name %.200q", at, i, b.ID, b.Name)
			}
			ids[b.ID] = true
			if len(b.Input) == 0 || b.Input[0] != '{' {
				c.breach("%s: block %d has the input %.100s", at, i, b.Input)
			}
			if b.Type == "tool_use" {
				open = append(open, b.ID)
			} else {
				pending[b.ID] = true
			}
		case b.ToolUseID != "":
			delete(pending, b.ToolUseID)
		}
	}
	if len(pending) > 0 && !last {
		c.breach("%s: server tools without a result: %v", at, pending)
	}
	return open
}

func (c *requestChecker) checkText(at string, m *messageBody, last bool) {
	if len(m.Content) == 0 {
		c.breach("%s has no content", at)
	}
	blank := true
	for i, b := range m.blocks() {
		if b.Type != "text" {
			blank = false
			continue
		}
		if b.Text == nil || *b.Text == "" {
			c.breach("%s: block %d is an empty text", at, i)
			continue
		}
		blank = blank && strings.TrimSpace(*b.Text) == ""
		if last && m.Role == "assistant" && i == len(m.Content)-1 && strings.TrimSpace(*b.Text) != strings.TrimLeft(*b.Text, " \n\t") {
			c.breach("%s ends in space", at)
		}
	}
	if blank {
		c.breach("%s is blank", at)
	}
}
