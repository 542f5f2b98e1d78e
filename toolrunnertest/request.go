package toolrunnertest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// Request is one request that the server received, with what it answered.
type Request struct {
	Path   string
	Header http.Header
	Body   json.RawMessage // the exact bytes

	// Status is the HTTP status of the answer; 0 as long as there is none.
	Status int
	// Reply is the message that was answered, as a plain reply has it, also where a stream was sent. It is nil if the
	// answer was an error or not a whole message. A reply that the script broke off is here in full.
	Reply json.RawMessage

	broken      bool // the reply did not arrive whole
	position    int  // among those that broke no rule
	refused     bool // it broke one
	joined      *thread
	whole       []json.RawMessage // the conversation, if it continues a thread
	method, uri string            // as in the request line
}

// Field returns a top-level parameter of the body as it was sent, nil if it is absent.
func (q *Request) Field(name string) json.RawMessage {
	return asObject(q.Body)[name]
}

// Messages returns the messages of the body, each as it was sent.
func (q *Request) Messages() []json.RawMessage {
	return asList(q.Field("messages"))
}

// History returns the messages of the conversation: those of the body, and before them, where it continues a thread,
// those that the server has of it. What says something about the request, such as [HasText] and [Request.Outline], goes
// by them.
func (q *Request) History() []json.RawMessage {
	if q.joined != nil {
		return q.whole
	}
	return q.Messages()
}

// param returns a parameter that a thread keeps.
func (q *Request) param(name string) json.RawMessage {
	value := q.Field(name)
	switch {
	case q.joined == nil || !absent(value):
	case name == "system":
		return q.joined.system
	case name == "tools":
		return q.joined.tools
	}
	return value
}

// ToolResult returns the tool_result block for a call, as it was sent, nil if there is none.
func (q *Request) ToolResult(callID string) json.RawMessage {
	for _, m := range q.History() {
		for _, block := range asList(asObject(m)["content"]) {
			fields := asObject(block)
			if asString(fields["type"]) == "tool_result" && asString(fields["tool_use_id"]) == callID {
				return block
			}
		}
	}
	return nil
}

// LastText returns what the last message of the user says, results of tools aside. Several text blocks are joined by line
// breaks.
func (q *Request) LastText() string {
	for _, raw := range slices.Backward(q.History()) {
		if m := asObject(raw); asString(m["role"]) == "user" {
			return textOf(m["content"])
		}
	}
	return ""
}

// ToolResultText returns the text of the result for a call, "" if there is none. Several text blocks are joined by line
// breaks.
func (q *Request) ToolResultText(callID string) string {
	return textOf(asObject(q.ToolResult(callID))["content"])
}

// ToolNames returns the names of the tools that the request offers, in order.
func (q *Request) ToolNames() []string {
	var names []string
	for _, tool := range asList(q.param("tools")) {
		if name := asString(asObject(tool)["name"]); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// Model returns the model that the request names.
func (q *Request) Model() string { return asString(q.Field("model")) }

// Stream reports whether the request asks for an event stream.
func (q *Request) Stream() bool { return string(q.Field("stream")) == "true" }

// textOf returns the text in content, which is a string or a list of blocks.
func textOf(content json.RawMessage) string {
	if isString(content) {
		return asString(content)
	}
	var texts []string
	for _, raw := range asList(content) {
		if block := asObject(raw); asString(block["type"]) == "text" {
			texts = append(texts, asString(block["text"]))
		}
	}
	return strings.Join(texts, "\n")
}

// object is a JSON object. Unlike a struct, it does not take "Role" for "role".
type object map[string]json.RawMessage

// asObject returns nil for what is no object.
func asObject(raw json.RawMessage) object {
	var o object
	if json.Unmarshal(raw, &o) != nil {
		return nil
	}
	return o
}

// asList returns nil for what is no array.
func asList(raw json.RawMessage) []json.RawMessage {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return nil
	}
	return list
}

// asString returns "" for what is no string.
func asString(raw json.RawMessage) string { return unquote(string(raw)) }
