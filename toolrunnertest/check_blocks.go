package toolrunnertest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

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

// checkBlock checks a block by itself.
func (c *checker) checkBlock(role string, b block) {
	wants := ""
	switch {
	case b.kind == "text":
		c.checkText(b.path, b.fields)
	case b.kind == "tool_result":
		wants = "user"
		c.checkResult(b)
	case b.kind == "image":
		wants = "user"
		c.checkImage(b)
	case b.kind == "document":
		c.checkDocument(b)
	case b.kind == "thinking" || b.kind == "redacted_thinking":
		wants = "assistant"
		c.checkThinking(b)
	case b.isCall() || b.isServerResult():
		wants = "assistant"
	}
	switch {
	case role == "system" && b.kind != "text" && b.kind != "tool_addition" && b.kind != "tool_removal" && b.kind != "":
		c.breach(RuleBlockRole, b.path, "`%s` blocks are not permitted in `system` messages: they have `text`, `tool_addition` and `tool_removal` alone", b.kind)
	case wants != "" && role != wants:
		c.breach(RuleBlockRole, b.path, "`%s` blocks can only be in `%s` messages", b.kind, wants)
	}
}

func (c *checker) checkText(path string, block object) {
	switch {
	case !isString(block["text"]):
		c.breach(RuleBlockShape, path+".text", "Field required")
	case asString(block["text"]) == "":
		c.breach(RuleTextEmpty, path, "text content blocks must be non-empty")
	}
}

// checkSource checks the source of an image or a document, which has one of these types with this member, and returns it.
func (c *checker) checkSource(b block, types map[string]string) object {
	source := asObject(b.fields["source"])
	kind := asString(source["type"])
	member, known := types[kind]
	switch {
	case kind == "":
		c.breach(RuleBlockShape, b.path+".source", "Field required")
	case !known:
		c.breach(RuleBlockShape, b.path+".source", "Input tag '%s' found using 'type' does not match any of the expected tags", kind)
	case absent(source[member]) || kind != "content" && !isString(source[member]):
		c.breach(RuleBlockShape, fmt.Sprintf("%s.source.%s.%s", b.path, kind, member), "Field required")
	}
	return source
}

func (c *checker) checkDocument(b block) {
	c.checkSource(b, map[string]string{"base64": "data", "text": "data", "content": "content", "url": "url", "file": "file_id"})
}

func (c *checker) checkImage(b block) {
	source := c.checkSource(b, map[string]string{"base64": "data", "url": "url", "file": "file_id"})
	if asString(source["type"]) != "base64" {
		return
	}
	switch media := asString(source["media_type"]); media {
	case "image/jpeg", "image/png", "image/gif", "image/webp":
	default:
		c.breach(RuleImageType, b.path+".source.base64.media_type", "Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp', got %q", media)
	}
}

func (c *checker) checkResult(b block) {
	if !isString(b.fields["tool_use_id"]) {
		c.breach(RuleBlockShape, b.path+".tool_use_id", "Field required")
	}
	if raw := b.fields["is_error"]; !absent(raw) && !isBool(raw) {
		c.breach(RuleBlockShape, b.path+".is_error", "Input should be a valid boolean")
	}
	content := b.fields["content"]
	if !absent(content) && !isString(content) && !isList(content) {
		c.breach(RuleBlockShape, b.path+".content", "Input should be a string or a list of blocks")
	}
	empty := asString(content) == ""
	for i, raw := range asList(content) {
		inner := block{path: fmt.Sprintf("%s.content.%d", b.path, i), fields: asObject(raw)}
		inner.kind = asString(inner.fields["type"])
		c.checkInner(inner)
		empty = empty && inner.kind == "text" && asString(inner.fields["text"]) == ""
	}
	if empty && string(b.fields["is_error"]) == "true" {
		c.breach(RuleToolResultError, b.path, "content cannot be empty if `is_error` is true")
	}
}

// checkInner checks a block of a tool_result.
func (c *checker) checkInner(b block) {
	switch {
	case b.kind == "":
		c.breach(RuleBlockShape, b.path, "Input should be an object with a type")
	case b.kind == "text":
		if !isString(b.fields["text"]) { // it may be empty
			c.breach(RuleBlockShape, b.path+".text", "Field required")
		}
	case b.kind == "image":
		c.checkImage(b)
	case b.kind == "document":
		c.checkDocument(b)
	case b.kind == "tool_result" || b.isCall() || b.isServerResult() || b.kind == "thinking" || b.kind == "redacted_thinking":
		c.breach(RuleBlockRole, b.path, "`%s` blocks are not permitted in a `tool_result`", b.kind)
	}
}

func (c *checker) checkThinking(b block) {
	if b.kind == "redacted_thinking" {
		if asString(b.fields["data"]) == "" {
			c.breach(RuleThinking, b.path+".data", "Field required")
		}
		return
	}
	if !isString(b.fields["thinking"]) {
		c.breach(RuleThinking, b.path+".thinking", "Field required")
	}
	if asString(b.fields["signature"]) == "" {
		c.breach(RuleThinking, b.path+".signature", "Field required")
	}
}

// checkCall checks a call by itself and against the calls before it in its turn; ids says where those are.
func (c *checker) checkCall(b block, ids map[string]string) {
	id := b.id()
	if !legalID(id) {
		c.breach(RuleIDFormat, b.path+".id", "String should match pattern '^[a-zA-Z0-9_-]+$', got %q", id)
	}
	if first, ok := ids[id]; ok {
		c.breach(RuleIDDuplicate, b.path, "`tool_use` ids must be unique: %s is also the id of %s", id, first)
	} else {
		ids[id] = b.path
	}
	if asString(b.fields["name"]) == "" {
		c.breach(RuleBlockShape, b.path+".name", "String should have at least 1 character")
	}
	if !isObject(b.fields["input"]) {
		c.breach(RuleToolInput, b.path+".input", "Input should be an object")
	}
}

// checkReferences checks that each tool_reference in what a tool has found names a tool of the request. Of a toolset the
// request does not tell the names.
func (c *checker) checkReferences(messages json.RawMessage, tools toolNames) {
	if tools.open {
		return
	}
	for i, raw := range asList(messages) {
		for j, raw := range asList(asObject(raw)["content"]) {
			found := asObject(raw)
			references := asList(found["content"])
			if asString(found["type"]) == "tool_search_tool_result" {
				references = asList(asObject(found["content"])["tool_references"])
			}
			for _, raw := range references {
				reference := asObject(raw)
				name := asString(reference["tool_name"])
				if asString(reference["type"]) == "tool_reference" && !tools.known[name] {
					c.breach(RuleToolReference, fmt.Sprintf("messages.%d.content.%d", i, j), "Tool reference '%s' not found in available tools", name)
				}
			}
		}
	}
}
