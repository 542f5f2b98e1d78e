package model

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// request is a request body, read by hand: nothing here trusts the library.
type request struct {
	Stream     bool              `json:"stream"`
	Compaction json.RawMessage   `json:"compaction"`
	Tools      []json.RawMessage `json:"tools"`
	Messages   []message         `json:"messages"`
	System     json.RawMessage   `json:"system"`
	Thread     *struct {
		Type     string `json:"type"`
		Previous string `json:"previous_message_id"`
	} `json:"thread"`

	raws     []json.RawMessage // the messages as they were sent
	toolsRaw json.RawMessage
	body     []byte
	joined   *thread // that the request continued
}

type message struct {
	Role   string `json:"role"`
	Blocks blocks `json:"content"`
}

type block struct {
	Type      string          `json:"type"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Text      string          `json:"text"`
	ToolUseID string          `json:"tool_use_id"`
	IsError   bool            `json:"is_error"`
	Input     json.RawMessage `json:"input"`
	Content   json.RawMessage `json:"content"`
	Caller    struct {
		ToolID string `json:"tool_id"`
	} `json:"caller"`
	Tool struct {
		Name       string `json:"name"`
		Definition struct {
			Name string `json:"name"`
		} `json:"definition"`
	} `json:"tool"`
}

type blocks []block

func (b *blocks) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		*b = blocks{{Type: "text"}}
		return json.Unmarshal(data, &(*b)[0].Text)
	}
	return json.Unmarshal(data, (*[]block)(b))
}

func parseRequest(body []byte) (*request, error) {
	q := &request{body: body}
	var raws struct {
		Messages []json.RawMessage
		Tools    json.RawMessage
	}
	if err := json.Unmarshal(body, q); err != nil {
		return nil, err
	}
	err := json.Unmarshal(body, &raws)
	q.raws, q.toolsRaw = raws.Messages, raws.Tools
	return q, err
}

func (b block) isServerUse() bool { return b.Type == "server_tool_use" || b.Type == "mcp_tool_use" }

func (b block) isServerResult() bool {
	return b.Type != "tool_result" && strings.HasSuffix(b.Type, "_tool_result")
}

// resultText is the text of a tool_result.
func (b block) resultText() string {
	var inner blocks
	if json.Unmarshal(b.Content, &inner) != nil {
		return ""
	}
	var text strings.Builder
	for _, c := range inner {
		text.WriteString(c.Text)
	}
	return text.String()
}

// number is what tells the calls of the server apart: each has its own.
func number(input json.RawMessage) int {
	var in struct{ N int }
	_ = json.Unmarshal(input, &in) // what has no number is no call of ours
	return in.N
}

// onlyResults reports whether a message holds results of client tools, and
// nothing else.
func (m message) onlyResults() bool {
	for _, b := range m.Blocks {
		if b.Type != "tool_result" {
			return false
		}
	}
	return m.Role == "user" && len(m.Blocks) > 0
}

// hanging returns the ids of the server's calls that wait for their result at the
// end of messages.
func hanging(messages []message) []string {
	var ids []string
	for _, m := range messages {
		for _, b := range m.Blocks {
			switch {
			case b.Type == "fallback": // what comes before belongs to an attempt that is over
				ids = nil
			case b.isServerUse():
				ids = append(ids, b.ID)
			case b.isServerResult():
				for i, id := range ids {
					if id == b.ToolUseID {
						ids = concat(ids[:i], ids[i+1:])
						break
					}
				}
			}
		}
	}
	return ids
}

// item is a thing in a history that no other thing is equal to.
type item struct{ token, role string }

var token = regexp.MustCompile(`^\s*([uasm]\d+)\b`)

// itemsOf returns the items of messages: their texts, and the calls in them.
func itemsOf(messages []message) []item {
	var items []item
	for _, m := range messages {
		for _, b := range m.Blocks {
			if b.Type == "text" {
				if found := token.FindStringSubmatch(b.Text); found != nil {
					items = append(items, item{found[1], m.Role})
				}
			}
			if b.Type == "tool_use" {
				if n := number(b.Input); n != 0 {
					items = append(items, item{fmt.Sprint("c", n), m.Role})
				}
			}
		}
	}
	return items
}

// read reads messages of the SDK.
func read(params []anthropic.BetaMessageParam) []message {
	messages := make([]message, len(params))
	for i, p := range params {
		data, err := p.MarshalJSON()
		if err == nil {
			err = json.Unmarshal(data, &messages[i])
		}
		if err != nil {
			panic(fmt.Sprintf("message %d: %v", i, err))
		}
	}
	return messages
}

// breach returns the first rule of the API that a request breaks.
func (q *request) breach() (kind, detail string) {
	if err := toolrunnertest.CheckRequest(q.body); err != nil {
		rule := toolrunnertest.Breaches(err)[0]
		return "request/" + string(rule.Rule), rule.String()
	}
	for _, rule := range []struct {
		kind  string
		check func(messages []message) string
	}{
		{"request/system-followed", checkSystem},
		{"request/server-use-followed", checkHanging},
		{"request/server-result-unknown", checkServerResults},
		{"request/caller-unknown", checkCallers},
	} {
		if detail := rule.check(q.Messages); detail != "" {
			return rule.kind, detail
		}
	}
	return "", ""
}

// checkSystem: a system message precedes an assistant message or ends the list, and
// is not first; several in a row count as one. The API says so; row R1.
func checkSystem(messages []message) string {
	for i, m := range messages {
		if m.Role != "system" {
			continue
		}
		if i == 0 {
			return "messages.0 is a system message"
		}
		if i+1 < len(messages) && messages[i+1].Role == "user" {
			return fmt.Sprintf("messages.%d is a system message that a user message follows", i)
		}
	}
	return ""
}

// checkHanging: while the API's own call waits for its result, nothing follows but
// the results of client calls, and then the reply that begins with it; row W1.
func checkHanging(messages []message) string {
	for i, m := range messages {
		if m.Role != "assistant" || i+1 == len(messages) || !slices.ContainsFunc(hanging(messages[:i+1]), func(id string) bool {
			return !abandoned(id, m, messages[i+1])
		}) {
			continue
		}
		next := i + 1
		if messages[next].Role == "system" { // the API takes one behind its own call, and goes on with that
			continue
		}
		if messages[next].Role != "assistant" {
			if !messages[next].onlyResults() {
				return fmt.Sprintf("messages.%d follows a call of the server that has no result yet, and holds other things than results", next)
			}
			next++
		}
		if next < len(messages) && messages[next].Role != "assistant" {
			return fmt.Sprintf("messages.%d follows a call of the server that has no result yet", next)
		}
	}
	return ""
}

// abandoned reports whether code at the server has made calls, none of which was run:
// its reply has ended, and it will never go on; row F10 has it stay.
func abandoned(id string, reply, results message) bool {
	made := false
	for _, b := range reply.Blocks {
		if b.Caller.ToolID != id {
			continue
		}
		made = true
		if !slices.ContainsFunc(results.Blocks, func(r block) bool { return r.ToolUseID == b.ID && r.IsError }) {
			return false
		}
	}
	return made
}

// checkServerResults: the result of a server's call has its call before it; row F30.
func checkServerResults(messages []message) string {
	uses := map[string]bool{}
	for i, m := range messages {
		for _, b := range m.Blocks {
			if b.isServerUse() {
				uses[b.ID] = true
			}
			if b.isServerResult() && !uses[b.ToolUseID] {
				return fmt.Sprintf("messages.%d has the result of %s, whose call is nowhere before", i, b.ToolUseID)
			}
		}
	}
	return ""
}

// checkCallers: the code that makes a call is in the history; row F10.
func checkCallers(messages []message) string {
	uses := map[string]bool{}
	for i, m := range messages {
		for _, b := range m.Blocks {
			if b.isServerUse() {
				uses[b.ID] = true
			}
			if id := b.Caller.ToolID; id != "" && !uses[id] {
				return fmt.Sprintf("messages.%d has a call by %s, which is nowhere before", i, id)
			}
		}
	}
	return ""
}
