package history

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/toolrunner/toolrunner/internal/wire"
)

// This file reads what the loop needs to know of an encoded content block. Blocks
// of unknown types pass through as they are.

// Types of content blocks that mean something to the loop.
const (
	TypeText         = "text"
	TypeToolUse      = "tool_use"
	TypeToolResult   = "tool_result"
	TypeFallback     = "fallback"
	TypeToolAddition = "tool_addition"
	TypeToolRemoval  = "tool_removal"
	TypeCompaction   = "compaction"

	typeImage         = "image"
	typeThinking      = "thinking"
	typeToolReference = "tool_reference"
)

// Block is an encoded content block and what the loop reads of it.
type Block struct {
	Raw       []byte
	Kind      string
	id        []byte // the literal of the id member, quotes included
	name      string // of the tool that is called
	toolset   string
	input     []byte
	Text      []byte // the literal of the text member
	ToolUseID string // of the call that a result is for
	callerID  string // of the server tool that made a call
	Changes   []Change
}

// Use is a call of a client tool, as the model wrote it.
type Use struct {
	ID, Name, Toolset string
	Input             []byte
	Raw               []byte
}

// Written returns the input, or an empty object in place of none.
func (u Use) Written() []byte {
	if u.Input == nil {
		return []byte("{}")
	}
	return u.Input
}

// Change adds a client tool to those that can be called, or removes it.
type Change struct {
	Name   string
	Add    bool
	Refers bool // to a definition elsewhere
}

// Defines reports whether c defines the tool that it adds.
func (c Change) Defines() bool { return c.Add && !c.Refers }

// Use returns the call that b makes.
func (b *Block) Use() Use {
	id, _ := wire.Unquote(b.id)
	return Use{ID: id, Name: b.name, Toolset: b.toolset, Input: b.input, Raw: b.Raw}
}

// IsServerUse reports whether b calls a tool that the API runs.
func (b *Block) IsServerUse() bool { return b.Kind == "server_tool_use" || b.Kind == "mcp_tool_use" }

// IsServerResult reports whether b is the result of a tool that the API runs.
func (b *Block) IsServerResult() bool {
	return b.ToolUseID != "" && b.Kind != TypeToolResult && strings.HasSuffix(b.Kind, "_tool_result")
}

// IsEmptyText reports whether an encoded block is a text block without text.
func IsEmptyText(raw []byte) bool {
	b, err := ParseBlock(raw)
	return err == nil && b.isEmptyText()
}

// isEmptyText reports whether b is a text block without text, which the API
// sends and refuses.
func (b *Block) isEmptyText() bool { return b.Kind == TypeText && len(b.Text) == len(`""`) }

// IsEmptyError reports whether b is a failed result that says nothing.
func (b *Block) IsEmptyError() bool {
	empty := true
	_ = wire.Members(b.Raw, func(key, value []byte) error {
		if string(key) == "content" {
			empty = saysNothing(value)
		}
		return nil
	})
	return empty && IsFailed(b.Raw)
}

// saysNothing reports whether the content of a result is empty, or of empty texts alone.
func saysNothing(content []byte) bool {
	if len(content) == 0 || content[0] != '[' {
		return string(content) == `""` || string(content) == "null"
	}
	empty := true
	_ = wire.Elements(content, func(raw []byte) error {
		b, err := ParseBlock(raw)
		empty = empty && err == nil && b.isEmptyText()
		return nil
	})
	return empty
}

// IsFailed reports whether an encoded tool_result is one of a failed call.
func IsFailed(result []byte) bool {
	failed := false
	_ = wire.Members(result, func(key, value []byte) error { // it was encoded or read before
		if string(key) == "is_error" {
			failed = string(value) == "true"
		}
		return nil
	})
	return failed
}

// isBlankText reports whether b is a text block of nothing but space.
func (b *Block) isBlankText() bool {
	content, ok := wire.Content(b.Text)
	if !ok || b.Kind != TypeText {
		return false
	}
	if len(content) > 0 && content[0] > ' ' && content[0] < utf8.RuneSelf && content[0] != '\\' {
		return false // a long text need not be unquoted
	}
	return strings.TrimSpace(wire.UnquoteContent(content)) == ""
}

// ParseBlocks reads content, which is an array of blocks or a string, and valid
// JSON.
func ParseBlocks(content []byte) ([]Block, error) {
	if len(content) > 0 && content[0] == '"' {
		return []Block{{Raw: textBlock(content), Kind: TypeText, Text: content}}, nil
	}
	blocks := make([]Block, 0, 2)
	err := wire.KnownElements(content, func(value []byte) error {
		b, err := ParseBlock(value)
		if err != nil {
			return fmt.Errorf("content[%d]: %w", len(blocks), err)
		}
		blocks = append(blocks, b)
		return nil
	})
	return blocks, err
}

// textBlock returns the text block of a string literal.
func textBlock(literal []byte) []byte {
	return append(append([]byte(`{"type":"text","text":`), literal...), '}')
}

// ParseBlock reads a block, which is valid JSON.
func ParseBlock(raw []byte) (Block, error) {
	b := Block{Raw: raw}
	if string(raw) == "null" {
		return b, errors.New("it is a union of which no field is set; set one, such as OfText")
	}
	err := wire.KnownMembers(raw, func(key, value []byte) error {
		switch string(key) {
		case "type":
			b.Kind, _ = wire.Unquote(value)
		case "id":
			b.id = value
		case "name":
			b.name, _ = wire.Unquote(value)
		case "toolset_name":
			b.toolset, _ = wire.Unquote(value)
		case "input":
			b.input = value
		case "text":
			b.Text = value
		case "tool_use_id":
			b.ToolUseID, _ = wire.Unquote(value)
		case "caller":
			b.callerID = wire.ObjectMember(value, "tool_id")
		}
		return nil
	})
	if err == nil && b.Kind == "" {
		err = errors.New("the block has no type")
	}
	switch b.Kind {
	case TypeToolAddition, TypeToolRemoval:
		b.Changes = appendChange(nil, raw)
	case TypeCompaction:
		b.Changes = compactedChanges(raw)
	}
	return b, err
}

// appendChange appends what a tool_addition or tool_removal block does to a
// client tool.
func appendChange(changes []Change, raw []byte) []Change {
	c := Change{Add: wire.ObjectMember(raw, "type") == TypeToolAddition}
	_ = wire.Members(raw, func(key, value []byte) error {
		if string(key) == "tool" {
			c.Name, c.Refers = changedTool(value), wire.ObjectMember(value, "type") == typeToolReference
		}
		return nil
	})
	if c.Name == "" {
		return changes
	}
	return append(changes, c)
}

// EachToolChange calls visit with the blocks that a compaction block stands for.
func (b *Block) EachToolChange(visit func(Block)) {
	_ = wire.Members(b.Raw, func(key, value []byte) error { // it was read before
		if string(key) != "tool_changes" || len(value) == 0 || value[0] != '[' {
			return nil
		}
		return wire.Elements(value, func(raw []byte) error {
			if change, err := ParseBlock(raw); err == nil {
				visit(change)
			}
			return nil
		})
	})
}

// compactedChanges returns the changes that a compaction block stands for.
func compactedChanges(raw []byte) []Change {
	var changes []Change
	_ = wire.Members(raw, func(key, value []byte) error {
		if string(key) != "tool_changes" || len(value) == 0 || value[0] != '[' {
			return nil
		}
		return wire.Elements(value, func(change []byte) error {
			if len(change) > 0 && change[0] == '{' {
				changes = appendChange(changes, change)
			}
			return nil
		})
	})
	return changes
}

// changedTool returns the name of the client tool that a tool_addition or
// tool_removal is about, or "" for tools that run at the server.
func changedTool(tool []byte) string {
	switch wire.ObjectMember(tool, "type") {
	case typeToolReference:
		return wire.ObjectMember(tool, "name")
	case "tool_definition":
		var name string
		_ = wire.Members(tool, func(key, value []byte) error {
			if string(key) == "definition" {
				name = wire.ObjectMember(value, "name")
			}
			return nil
		})
		return name
	}
	return ""
}

// legalName replaces what neither an id nor a name may hold.
func legalName(text string) string {
	return strings.Map(func(c rune) rune {
		if isLegalRune(c) {
			return c
		}
		return '_'
	}, text)
}

// isLegal reports whether text holds only what an id and a name may hold.
func isLegal(text string) bool {
	return strings.IndexFunc(text, func(c rune) bool { return !isLegalRune(c) }) < 0
}

func isLegalRune(c rune) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}

// IsToolName reports whether the Messages API accepts name as that of a tool.
func IsToolName(name string) bool { return name != "" && len(name) <= 128 && isLegal(name) }

// AppendText appends the text block of text.
func AppendText(dst []byte, text string) []byte {
	dst = append(dst, `{"type":"text","text":`...)
	return append(wire.AppendString(dst, text), '}')
}
