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

// directive reports whether the message sets options alone; such a one may stand anywhere.
func (m message) directive() bool { return m.role == "system" && m.empty && m.configures }

func (c *checker) checkMessages(raw json.RawMessage) {
	if !isList(raw) {
		c.breach(RuleMessagesEmpty, "messages", "Field required")
		return
	}
	var messages []message
	for i, m := range asList(raw) {
		messages = append(messages, c.readMessage(fmt.Sprintf("messages.%d", i), m))
	}
	if len(messages) == 0 {
		c.breach(RuleMessagesEmpty, "messages", "at least one message is required")
		return
	}
	ids := map[string]string{}
	var turn []block // of the assistant messages right before
	for i, m := range messages {
		c.checkContent(m, i == len(messages)-1)
		if m.role != "assistant" {
			clear(ids)
		}
		for _, b := range m.blocks {
			c.checkBlock(m.role, b)
			if b.isCall() && m.role == "assistant" {
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
	c.checkPositions(messages)
	c.checkServerCalls(messages)
}

func (c *checker) readMessage(path string, raw json.RawMessage) message {
	m := message{path: path}
	fields := asObject(raw)
	if fields == nil {
		c.breach(RuleMessageShape, path, "Input should be an object")
		return m
	}
	m.role = asString(fields["role"])
	switch m.role {
	case "user", "assistant", "system":
	default:
		c.breach(RuleMessageShape, path+".role", "Input should be 'user', 'assistant' or 'system'")
	}
	m.configures = !absent(fields["output_config"])
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
				c.breach(RuleBlockShape, at, "Input should be an object with a type")
			}
			m.blocks = append(m.blocks, b)
		}
		m.empty = len(m.blocks) == 0
	default:
		c.breach(RuleMessageShape, path+".content", "Field required")
	}
	return m
}

// checkContent checks what a message says as a whole. Its rules differ by role: a table of probes of the API has them.
func (c *checker) checkContent(m message, last bool) {
	switch {
	case m.empty && m.role == "user":
		c.breach(RuleUserEmpty, m.path, "user messages must have non-empty content")
	case m.empty && m.role == "assistant" && !last:
		c.breach(RuleAssistantEmpty, m.path, "all messages must have non-empty content except for the optional final assistant message")
	case m.empty && m.role == "system" && !m.configures:
		c.breach(RuleTextEmpty, m.path, "text content blocks must be non-empty")
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
		c.breach(RuleTextWhitespace, m.path, "text content blocks must contain non-whitespace text")
	case last && m.role == "assistant" && final.kind == "text" && strings.TrimRightFunc(text, unicode.IsSpace) != text:
		c.breach(RuleTrailingWhitespace, m.path, "final assistant content cannot end with trailing whitespace")
	}
}

// checkPositions checks what stands before and after the messages that cannot stand anywhere. Those that set options
// alone do not count.
func (c *checker) checkPositions(messages []message) {
	messages = slices.DeleteFunc(slices.Clone(messages), message.directive)
	for i, m := range messages {
		next := ""
		if i+1 < len(messages) {
			next = messages[i+1].role
		}
		switch m.role {
		case "assistant":
			if n := len(m.blocks); n > 0 && next != "assistant" && m.blocks[n-1].kind == "thinking" {
				c.breach(RuleThinkingFinal, m.path, "The final block in an assistant message cannot be `thinking`.")
			}
		case "system":
			switch {
			case i == 0:
				c.breach(RuleSystemPosition, m.path, "role 'system' cannot be first; use the top-level system parameter")
			case messages[i-1].role == "assistant" && !endsInServerTool(messages[i-1]):
				c.breach(RuleSystemPosition, m.path, "role 'system' must follow a 'user' message or a server tool's result")
			case next == "user":
				c.breach(RuleSystemPosition, m.path, "role 'system' must precede an 'assistant' message or end the array")
			}
		}
	}
}

// endsInServerTool reports whether the last block is a call that the API runs, or the result of one.
func endsInServerTool(m message) bool {
	if len(m.blocks) == 0 {
		return false
	}
	last := m.blocks[len(m.blocks)-1]
	return last.isServerCall() || last.isServerResult()
}
