package toolrunnertest

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Outline tells the messages of a request in a form that people read, one block a line:
//
//	user: How is the weather in Paris?
//	assistant: Let me look.
//	assistant call toolu_1: get_weather {"city":"Paris"}
//	user result toolu_1: 18 degrees
//	user error toolu_2: no such city
//
// Other blocks are told as their type, with their JSON. Line breaks in texts are told as \n.
func (q *Request) Outline() string { return outline(q.History()) }

func outline(messages []json.RawMessage) string {
	var b strings.Builder
	for _, raw := range messages {
		m := asObject(raw)
		role := asString(m["role"])
		if content := m["content"]; isString(content) {
			b.WriteString(role + ": " + oneLine(asString(content)) + "\n")
		} else {
			for _, block := range asList(content) {
				b.WriteString(role + outlineBlock(block) + "\n")
			}
		}
	}
	return b.String()
}

func outlineBlock(raw json.RawMessage) string {
	fields := asObject(raw)
	kind := asString(fields["type"])
	switch kind {
	case "text":
		return ": " + oneLine(asString(fields["text"]))
	case "tool_use", "server_tool_use", "mcp_tool_use":
		name := strings.TrimSuffix(kind, "tool_use") + "call "
		return " " + strings.ReplaceAll(name, "_", " ") + asString(fields["id"]) + ": " + asString(fields["name"]) + " " + compact(fields["input"])
	case "tool_result":
		name := " result "
		if string(fields["is_error"]) == "true" {
			name = " error "
		}
		return name + asString(fields["tool_use_id"]) + ": " + outlineContent(fields["content"])
	case "thinking":
		return " thinking: " + oneLine(asString(fields["thinking"]))
	}
	return " " + kind + ": " + compact(raw)
}

// outlineContent tells the content of a result.
func outlineContent(content json.RawMessage) string {
	if isString(content) {
		return oneLine(asString(content))
	}
	var parts []string
	for _, raw := range asList(content) {
		part := compact(raw)
		if block := asObject(raw); asString(block["type"]) == "text" {
			part = oneLine(asString(block["text"]))
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, " + ")
}

func oneLine(text string) string {
	return strings.NewReplacer("\r", `\r`, "\n", `\n`).Replace(text)
}

func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return oneLine(string(raw))
	}
	return b.String()
}

// WantMessages fails the test where the messages of a request are others than want, which is in the form of
// [Request.Outline], and shows the difference. White space around lines and empty lines do not matter. A line that ends in
// ... is met by any that begins so.
func WantMessages(tb TB, q *Request, want string) {
	tb.Helper()
	if diff := diffLines(trimmed(want), trimmed(q.Outline()), sameStart); diff != "" {
		tb.Errorf("toolrunnertest: messages of the request (-want +got):\n%s", diff)
	}
}

func sameStart(want, got string) bool {
	start, open := strings.CutSuffix(want, "...")
	return want == got || open && strings.HasPrefix(got, start)
}

func trimmed(text string) []string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}
