// Package work is what every Go peer has in common: what it is asked to do, the
// tools of the conversation, and the measuring.
package work

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Tools is how many tools a conversation has. A definition is about 1 KB.
const Tools = 10

// Prompt is what a conversation begins with.
const Prompt = "Look at all parts of the program, one after the other, and say what they do."

// System is the system prompt.
var System = strings.Repeat("You look at programs with the tools that you have, and say what you see. ", 14)

// Input is what a tool is called with.
type Input struct {
	Path string `json:"path"`
	N    int    `json:"n"`
}

// Lines is what the tool is called with that takes a long input.
type Lines struct {
	Lines []string `json:"lines"`
}

// Name returns the name of tool i.
func Name(i int) string { return fmt.Sprintf("work_%d", i) }

// Description returns the description of tool i.
func Description(i int) string {
	return fmt.Sprintf("Tool %d. ", i) + strings.Repeat("It reads a part of the program and returns it as text, with its lines as they are. ", 6)
}

// Schema returns the input schema of tool i.
func Schema(i int) []byte {
	return fmt.Appendf(nil, `{"type":"object","properties":{"path":{"type":"string","description":"The path of the part, from the folder of the program. It has slashes, and no dots."},`+
		`"n":{"type":"integer","description":"How many parts were looked at before this one by tool %d, beginning with zero."},`+
		`"note":{"type":"string","description":"What is to be kept in mind about this part, in a sentence or two."}},"required":["path","n"]}`, i)
}

// LinesSchema is the input schema of the tool "take".
const LinesSchema = `{"type":"object","properties":{"lines":{"type":"array","items":{"type":"string"}}},"required":["lines"]}`

// Result returns the text of results, of a size, in lines as programs have them.
func Result(size int) string {
	const line = "\tif err := visit(node, \"child\", depth+1); err != nil { return fmt.Errorf(\"walk: %w\", err) }\n"
	return strings.Repeat(line, size/len(line)+1)[:size]
}

// Run is what a tool does.
func Run(in Input, result string) (string, error) {
	if in.Path == "" {
		return "", fmt.Errorf("the path is missing")
	}
	return result, nil
}

// Take is what the tool "take" does.
func Take(in Lines) string { return fmt.Sprintf("%d lines", len(in.Lines)) }

// Body is the request without its messages, for a peer that prepares its bytes.
func Body(job *Job) []byte {
	type tool struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		InputSchema json.RawMessage `json:"input_schema"`
	}
	var tools []tool
	for i := range Tools {
		tools = append(tools, tool{Name(i), Description(i), Schema(i)})
	}
	if job.Stream != "" {
		tools = append(tools, tool{"take", "Takes lines.", json.RawMessage(LinesSchema)})
	}
	body, err := json.Marshal(map[string]any{
		"model": Model, "max_tokens": MaxTokens, "stream": job.Stream != "", "tools": tools,
		"system": []any{map[string]any{"type": "text", "text": System}},
	})
	if err != nil {
		panic(err)
	}
	return body
}

// Continuing is the beginning of a request that continues a message thread, up to the id.
func Continuing(job *Job) []byte {
	return fmt.Appendf(nil, `{"model":%q,"max_tokens":%d,"stream":%v,"thread":{"type":"continue","previous_message_id":"`, Model, MaxTokens, job.Stream != "")
}

// ThreadsBeta is what requests of a thread name.
const ThreadsBeta = "message-threads-2026-08-12"

// Model and MaxTokens go with every request.
const (
	Model     = "claude-sonnet-5-5"
	MaxTokens = 8192
)
