package runtest

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner/toolrunnertest"
)

func Encoded(t *testing.T, messages []anthropic.BetaMessageParam) []json.RawMessage {
	t.Helper()
	raws := make([]json.RawMessage, len(messages))
	for i, m := range messages {
		var err error
		if raws[i], err = m.MarshalJSON(); err != nil {
			t.Fatalf("message %d cannot be encoded: %v", i, err)
		}
	}
	return raws
}

type wireBlock struct {
	Type      string          `json:"type"`
	ID        string          `json:"id"`
	Text      string          `json:"text"`
	ToolUseID string          `json:"tool_use_id"`
	IsError   json.RawMessage `json:"is_error"`
	Content   json.RawMessage `json:"content"`
	Tool      struct {
		Name       string `json:"name"`
		Definition struct {
			Name string `json:"name"`
		} `json:"definition"`
	} `json:"tool"`
}

func WireBlocks(content json.RawMessage) []wireBlock {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return []wireBlock{{Type: "text", Text: text}}
	}
	var blocks []wireBlock
	_ = json.Unmarshal(content, &blocks) // what is no list has no blocks
	return blocks
}

// Shape tells messages in short: "user result(a) 'text'".
func Shape(messages []json.RawMessage) []string {
	var lines []string
	for _, raw := range messages {
		var m struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		}
		_ = json.Unmarshal(raw, &m) // the server has checked it
		words := []string{m.Role}
		for _, b := range WireBlocks(m.Content) {
			words = append(words, b.short())
		}
		lines = append(lines, strings.Join(words, " "))
	}
	return lines
}

func (b wireBlock) short() string {
	switch b.Type {
	case "text":
		return "'" + b.Text + "'"
	case "tool_use":
		return "call(" + b.ID + ")"
	case "tool_result":
		if string(b.IsError) == "true" {
			return "error(" + b.ToolUseID + ")"
		}
		return "result(" + b.ToolUseID + ")"
	case "tool_addition", "tool_removal":
		return strings.TrimPrefix(b.Type, "tool_") + "(" + b.Tool.Name + b.Tool.Definition.Name + ")"
	}
	return b.Type
}

// ResultText is the text of a call's result in a request, and whether it failed.
func ResultText(t *testing.T, q *toolrunnertest.Request, callID string) (text string, failed bool) {
	t.Helper()
	var b wireBlock
	if err := json.Unmarshal(q.ToolResult(callID), &b); err != nil {
		t.Fatalf("there is no result for %q in %s", callID, q.Body)
	}
	for _, c := range WireBlocks(b.Content) {
		text += c.Text
	}
	return text, string(b.IsError) == "true"
}

func WantFailure(t *testing.T, q *toolrunnertest.Request, callID, want string) {
	t.Helper()
	if text, failed := ResultText(t, q, callID); !failed || text != want {
		t.Errorf("the result of %s = %q, failed %v; want %q, failed", callID, text, failed, want)
	}
}

func WantSuccess(t *testing.T, q *toolrunnertest.Request, callID, want string) {
	t.Helper()
	if text, failed := ResultText(t, q, callID); failed || text != want {
		t.Errorf("the result of %s = %q, failed %v; want %q, not failed", callID, text, failed, want)
	}
}

// RawContent is the content of a message, as it was sent.
func RawContent(t *testing.T, message json.RawMessage) json.RawMessage {
	t.Helper()
	var m struct {
		Content json.RawMessage `json:"content"`
	}
	if err := json.Unmarshal(message, &m); err != nil {
		t.Fatalf("%s is no message: %v", message, err)
	}
	return m.Content
}
