package toolrunnertest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// message is a message taken apart. String content is one text block.
type message struct {
	path       string
	role       string
	blocks     []block
	empty      bool // content is "" or []
	configures bool // it has an output_config
}

type block struct {
	path   string
	kind   string
	fields object
}

// afterSeam returns the blocks after the last fallback block: calls before it belong to an attempt that is over, and have no
// results.
func afterSeam(blocks []block) []block {
	for i, b := range slices.Backward(blocks) {
		if b.kind == "fallback" {
			return blocks[i+1:]
		}
	}
	return blocks
}

func (b block) id() string { return asString(b.fields["id"]) }

// isCall reports whether the block is a call of any kind.
func (b block) isCall() bool {
	return b.kind == "tool_use" || b.isServerCall()
}

func (b block) isServerCall() bool {
	return b.kind == "server_tool_use" || b.kind == "mcp_tool_use"
}

// isServerResult reports whether the block is what the API itself puts after a server call.
func (b block) isServerResult() bool {
	return b.kind != "tool_result" && strings.HasSuffix(b.kind, "_tool_result")
}

func (c *checker) checkMessages(raw json.RawMessage) {
	if !isList(raw) {
		c.breach("messages-empty", "messages", "Field required")
		return
	}
	var messages []message
	for i, m := range asList(raw) {
		messages = append(messages, c.readMessage(fmt.Sprintf("messages.%d", i), m))
	}
	if len(messages) == 0 {
		c.breach("messages-empty", "messages", "at least one message is required")
		return
	}
	ids := map[string]string{}
	var turn []block // of the assistant messages right before
	for i, m := range messages {
		if m.role == "system" && i > 0 && messages[i-1].role == "assistant" {
			c.breach("system-position", m.path, "a system message may not directly follow an assistant message")
		}
		c.checkContent(m, i == len(messages)-1)
		for _, b := range m.blocks {
			c.checkBlock(m.role, b)
			if b.isCall() {
				c.checkCall(b, ids)
			}
		}
		if m.role == "assistant" {
			turn = append(turn, afterSeam(m.blocks)...)
			continue
		}
		c.checkResults(turn, m.blocks)
		turn = nil
	}
	c.checkResults(turn, nil)
	c.checkServerCalls(messages)
}

func (c *checker) readMessage(path string, raw json.RawMessage) message {
	m := message{path: path}
	fields := asObject(raw)
	if fields == nil {
		c.breach("message-shape", path, "Input should be an object")
		return m
	}
	m.role = asString(fields["role"])
	switch m.role {
	case "user", "assistant", "system":
	default:
		c.breach("message-shape", path+".role", "Input should be 'user', 'assistant' or 'system'")
	}
	m.configures = fields["output_config"] != nil
	content := fields["content"]
	switch {
	case isString(content):
		text := asString(content)
		m.empty = text == ""
		if !m.empty {
			m.blocks = []block{{path + ".content", "text", object{"text": content}}}
		}
	case isList(content):
		for i, raw := range asList(content) {
			at := fmt.Sprintf("%s.content.%d", path, i)
			b := block{path: at, fields: asObject(raw)}
			b.kind = asString(b.fields["type"])
			if b.kind == "" {
				c.breach("block-shape", at, "Input should be an object with a type")
			}
			m.blocks = append(m.blocks, b)
		}
		m.empty = len(m.blocks) == 0
	default:
		c.breach("message-shape", path+".content", "Field required")
	}
	return m
}

// checkContent checks what a message says as a whole. Its rules differ by role (B044).
func (c *checker) checkContent(m message, last bool) {
	switch {
	case m.empty && m.role == "user":
		c.breach("user-empty", m.path, "user messages must have non-empty content")
	case m.empty && m.role == "assistant" && !last:
		c.breach("assistant-empty", m.path, "all messages must have non-empty content except for the optional final assistant message")
	case m.empty && m.role == "system" && !m.configures:
		c.breach("text-empty", m.path, "text content blocks must be non-empty")
	}
	if len(m.blocks) == 0 {
		return
	}
	blank := true
	for _, b := range m.blocks {
		text := asString(b.fields["text"])
		blank = blank && b.kind == "text" && text != "" && strings.TrimSpace(text) == ""
	}
	final := m.blocks[len(m.blocks)-1]
	text := asString(final.fields["text"])
	switch {
	case blank:
		c.breach("text-whitespace", m.path, "text content blocks must contain non-whitespace text")
	case last && m.role == "assistant" && final.kind == "text" && strings.TrimRightFunc(text, unicode.IsSpace) != text:
		c.breach("trailing-whitespace", m.path, "final assistant content cannot end with trailing whitespace")
	}
}

// checkBlock checks a block by itself.
func (c *checker) checkBlock(role string, b block) {
	wants := ""
	switch {
	case b.kind == "text":
		c.checkText(b.path, b.fields)
	case b.kind == "tool_result":
		wants = "user"
		c.checkResult(b)
	case b.kind == "thinking" || b.kind == "redacted_thinking":
		wants = "assistant"
		c.checkThinking(b)
	case b.isCall() || b.isServerResult():
		wants = "assistant"
	}
	if wants != "" && role != wants {
		c.breach("block-role", b.path, "%s blocks are not permitted in %s messages", b.kind, role)
	}
}

func (c *checker) checkResult(b block) {
	if !isString(b.fields["tool_use_id"]) {
		c.breach("block-shape", b.path+".tool_use_id", "Field required")
	}
	content := b.fields["content"]
	if !absent(content) && !isString(content) && !isList(content) {
		c.breach("block-shape", b.path+".content", "Input should be a string or a list of blocks")
	}
	empty := asString(content) == ""
	for i, raw := range asList(content) {
		inner := asObject(raw)
		kind := asString(inner["type"])
		if kind == "" {
			c.breach("block-shape", fmt.Sprintf("%s.content.%d", b.path, i), "Input should be an object with a type")
		}
		empty = empty && kind == "text" && asString(inner["text"]) == ""
	}
	if empty && string(b.fields["is_error"]) == "true" {
		c.breach("tool-result-error", b.path, "content cannot be empty if `is_error` is true")
	}
}

func (c *checker) checkThinking(b block) {
	if b.kind == "redacted_thinking" {
		if asString(b.fields["data"]) == "" {
			c.breach("thinking", b.path+".data", "Field required")
		}
		return
	}
	if !isString(b.fields["thinking"]) {
		c.breach("thinking", b.path+".thinking", "Field required")
	}
	if asString(b.fields["signature"]) == "" {
		c.breach("thinking", b.path+".signature", "Field required")
	}
}

// checkCall checks a call by itself and against the calls before it; ids says where those are.
func (c *checker) checkCall(b block, ids map[string]string) {
	id := b.id()
	if !legalID(id) {
		c.breach("id-format", b.path+".id", "String should match pattern '^[a-zA-Z0-9_-]+$', got %q", id)
	}
	if first, ok := ids[id]; ok {
		c.breach("id-duplicate", b.path, "`tool_use` ids must be unique: %s is also the id of %s", id, first)
	} else {
		ids[id] = b.path
	}
	if asString(b.fields["name"]) == "" {
		c.breach("block-shape", b.path+".name", "String should have at least 1 character")
	}
	if !isObject(b.fields["input"]) {
		c.breach("tool-input", b.path+".input", "Input should be an object")
	}
}

// checkResults checks that a message begins with the results of the calls in the assistant turn before it. The API joins
// the messages of an assistant turn, but all results are in the one message right after it (B041, B077).
func (c *checker) checkResults(turn, blocks []block) {
	answered := map[string]bool{}
	for _, b := range turn {
		if b.kind == "tool_use" {
			answered[b.id()] = false
		}
	}
	other := false
	for _, b := range blocks {
		if b.kind != "tool_result" {
			other = true
			continue
		}
		id := asString(b.fields["tool_use_id"])
		again, known := answered[id]
		switch {
		case !known:
			c.breach("tool-result-unknown", b.path, "unexpected `tool_use_id` found in `tool_result` blocks: %s. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.", id)
			continue
		case again:
			c.breach("tool-result-duplicate", b.path, "each tool_use must have a single result. Found multiple `tool_result` blocks with id: %s", id)
		case other:
			c.breach("tool-result-order", b.path, "messages following `tool_use` blocks must begin with a matching number of `tool_result` blocks")
		}
		answered[id] = true
	}
	c.checkAnswered(turn, answered)
}

func (c *checker) checkAnswered(turn []block, answered map[string]bool) {
	var missing []string
	path := ""
	for _, b := range turn {
		id := b.id()
		if b.kind != "tool_use" || answered[id] {
			continue
		}
		answered[id] = true // it may stand there twice
		missing = append(missing, id)
		if path == "" {
			path, _, _ = strings.Cut(b.path, ".content")
		}
	}
	if len(missing) > 0 {
		c.breach("tool-result-missing", path, "`tool_use` ids were found without `tool_result` blocks immediately after: %s. Each `tool_use` block must have a corresponding `tool_result` block in the next message.", strings.Join(missing, ", "))
	}
}

// checkServerCalls checks that each call that the API ran itself has its result in the same assistant turn: the same
// message, or the ones that continue it after a pause. The last turn is still being continued; and a turn with a tool_use
// may wait for the answer to that before the API goes on with its own call, as code that calls tools does.
func (c *checker) checkServerCalls(messages []message) {
	pending := map[string]block{}
	var order []string
	for i, m := range messages {
		if m.role != "assistant" {
			continue
		}
		waits := false
		for _, b := range m.blocks {
			switch {
			case b.isServerCall():
				pending[b.id()] = b
				order = append(order, b.id())
			case b.isServerResult():
				delete(pending, asString(b.fields["tool_use_id"]))
			case b.kind == "tool_use":
				waits = true
			}
		}
		last := i == len(messages)-1
		if waits || last || messages[i+1].role == "assistant" {
			continue
		}
		for _, id := range order {
			if b, ok := pending[id]; ok {
				c.breach("server-result-missing", b.path, "`%s` with id %s was found without a corresponding result block", b.kind, id)
				delete(pending, id)
			}
		}
		order = nil
	}
}
