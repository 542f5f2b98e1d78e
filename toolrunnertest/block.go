package toolrunnertest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// Block is one content block of a scripted message. It is immutable; build it with [Say], [Call], [Thinking] and their
// kin, or with [RawBlock].
type Block struct {
	raw   string // the block in a plain reply
	kind  string
	input string // of a call: its input as scripted, valid JSON or not
}

// Say is a text block.
func Say(text string) Block {
	return RawBlock(`{"type":"text","text":` + quote(text) + `}`)
}

// Call is a tool_use block. The input is sent exactly as given, byte for byte. Input that is not valid JSON, such as a
// call cut off by max_tokens, is streamed as given too; a plain reply cannot carry it and has {} in its place. Empty
// input streams no text at all and is {} in a plain reply.
func Call(id, name, input string) Block {
	return callBlock("tool_use", id, name, input)
}

// ServerToolUse is a server_tool_use block: a call that the API itself runs. Input as for [Call].
func ServerToolUse(id, name, input string) Block {
	return callBlock("server_tool_use", id, name, input)
}

// Thinking is a thinking block. The text may be empty, as it is for models that omit it; the signature then still counts.
func Thinking(text, signature string) Block {
	return RawBlock(`{"type":"thinking","thinking":` + quote(text) + `,"signature":` + quote(signature) + `}`)
}

// RedactedThinking is a redacted_thinking block.
func RedactedThinking(data string) Block {
	return RawBlock(`{"type":"redacted_thinking","data":` + quote(data) + `}`)
}

// Compaction is a compaction block, with which the API answers a request to compact: it stands for all that was summarized.
// An empty summary is one that failed: its content is null.
func Compaction(summary string) Block {
	content := "null"
	if summary != "" {
		content = quote(summary)
	}
	return RawBlock(`{"type":"compaction","content":` + content + `,"encrypted_content":null}`)
}

// RawBlock is the block with exactly this JSON: a server tool's result, a block type that no SDK knows, a known one with
// unusual fields. Text, thinking, calls and compactions are streamed as deltas, every other type comes whole. The JSON is
// not checked.
func RawBlock(raw string) Block {
	b := Block{raw: raw}
	for _, f := range fieldsOf(raw) {
		switch f.key {
		case "type":
			b.kind = unquote(f.value(raw))
		case "input":
			b.input = f.value(raw)
		}
	}
	return b
}

func callBlock(kind, id, name, input string) Block {
	input = validUTF8(input)
	sent := input
	if !json.Valid([]byte(input)) {
		sent = "{}"
	}
	b := RawBlock(`{"type":"` + kind + `","id":` + quote(id) + `,"name":` + quote(name) + `,"input":` + sent + `}`)
	b.input = input
	return b
}

// start returns the block as content_block_start has it, and the deltas that complete it, of at most size bytes each.
func (b Block) start(size int) (string, []string) {
	switch b.kind {
	case "text":
		return b.startOfText(size)
	case "thinking":
		start, was := b.with(map[string]string{"thinking": `""`, "signature": `""`})
		deltas := chunkDeltas("thinking_delta", "thinking", unquote(was["thinking"]), size)
		if signature := unquote(was["signature"]); signature != "" {
			deltas = append(deltas, delta("signature_delta", "signature", quote(signature)))
		}
		return start, deltas
	case "tool_use", "server_tool_use", "mcp_tool_use":
		start, _ := b.with(map[string]string{"input": "{}"})
		deltas := []string{delta("input_json_delta", "partial_json", `""`)}
		return start, append(deltas, chunkDeltas("input_json_delta", "partial_json", b.input, size)...)
	case "compaction":
		start, was := b.with(map[string]string{"content": "null"})
		return start, []string{delta("compaction_delta", "content", cmp.Or(was["content"], "null"))}
	default:
		return b.raw, nil
	}
}

func (b Block) startOfText(size int) (string, []string) {
	start, was := b.with(map[string]string{"text": `""`, "citations": "[]"})
	var citations []json.RawMessage
	if json.Unmarshal([]byte(was["citations"]), &citations) != nil || len(citations) == 0 {
		start, was = b.with(map[string]string{"text": `""`})
	}
	deltas := chunkDeltas("text_delta", "text", unquote(was["text"]), size)
	for _, c := range citations {
		deltas = append(deltas, delta("citations_delta", "citation", string(c)))
	}
	return start, deltas
}

// with returns the block's JSON with new values in place of old ones, all other bytes unchanged, and the old values.
func (b Block) with(values map[string]string) (string, map[string]string) {
	var out strings.Builder
	was := map[string]string{}
	done := 0
	for _, f := range fieldsOf(b.raw) {
		if value, ok := values[f.key]; ok {
			was[f.key] = f.value(b.raw)
			out.WriteString(b.raw[done:f.start])
			out.WriteString(value)
			done = f.end
		}
	}
	out.WriteString(b.raw[done:])
	return out.String(), was
}

func delta(kind, key, value string) string {
	return `{"type":"` + kind + `","` + key + `":` + value + `}`
}

func chunkDeltas(kind, key, text string, size int) []string {
	var deltas []string
	for _, chunk := range chunks(text, size) {
		deltas = append(deltas, delta(kind, key, quote(chunk)))
	}
	return deltas
}

// chunks cuts text into pieces of at most size bytes, never inside a character; a character longer than size is a piece.
func chunks(text string, size int) []string {
	var pieces []string
	for text != "" {
		end := 0
		for end < len(text) {
			_, width := utf8.DecodeRuneInString(text[end:])
			if end > 0 && end+width > size {
				break
			}
			end += width
		}
		pieces = append(pieces, text[:end])
		text = text[end:]
	}
	return pieces
}

// field is where a top-level value of a JSON object stands.
type field struct {
	key        string
	start, end int
}

func (f field) value(raw string) string { return raw[f.start:f.end] }

// fieldsOf lists the top-level fields of a JSON object in order; of anything else, none.
func fieldsOf(raw string) []field {
	dec := json.NewDecoder(strings.NewReader(raw))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	var fields []field
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil
		}
		var value json.RawMessage
		if dec.Decode(&value) != nil {
			return nil
		}
		name, _ := key.(string)
		end := int(dec.InputOffset())
		fields = append(fields, field{name, end - len(value), end})
	}
	return fields
}

// validUTF8 replaces what JSON cannot carry.
func validUTF8(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// quote encodes a string as the API does: nothing escaped that need not be.
func quote(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(validUTF8(s)) != nil {
		return `""`
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func unquote(raw string) string {
	var s string
	if json.Unmarshal([]byte(raw), &s) != nil {
		return ""
	}
	return s
}
