package toolrunnertest

import (
	"encoding/json"
	"strconv"
	"strings"
)

// accumulate returns the message that a stream carries, as a plain reply would have it: nil if the stream ends before the
// stop reason, fails, or is no stream of the Messages API. It never changes a byte that no delta brings.
func accumulate(stream string) json.RawMessage {
	a := accumulator{}
	for _, data := range dataOf(stream) {
		event := asObject(json.RawMessage(data))
		if !a.add(event) {
			return nil
		}
		if asString(event["type"]) == "message_stop" {
			break
		}
	}
	if !a.stopped {
		return nil
	}
	content := make([]string, len(a.blocks))
	for i, b := range a.blocks {
		content[i] = b.complete()
	}
	return json.RawMessage(set(a.message, "content", "["+strings.Join(content, ",")+"]"))
}

// dataOf returns the data of each event of a stream.
func dataOf(stream string) []string {
	var events, data []string
	for line := range strings.Lines(stream) {
		line = strings.TrimRight(line, "\r\n")
		if value, ok := strings.CutPrefix(line, "data:"); ok {
			data = append(data, strings.TrimPrefix(value, " "))
		} else if line == "" && len(data) > 0 {
			events = append(events, strings.Join(data, "\n"))
			data = nil
		}
	}
	return events
}

type accumulator struct {
	message string
	blocks  []*partialBlock
	stopped bool
}

// add reports whether the stream can still become a message.
func (a *accumulator) add(event object) bool {
	switch asString(event["type"]) {
	case "message_start":
		a.message = string(event["message"])
	case "content_block_start":
		a.blocks = append(a.blocks, &partialBlock{start: string(event["content_block"]), added: map[string]string{}})
	case "content_block_delta":
		index, err := strconv.Atoi(string(event["index"]))
		if err != nil || index < 0 || index >= len(a.blocks) {
			return false
		}
		a.blocks[index].add(asObject(event["delta"]))
	case "message_delta":
		a.message = overlay(a.message, string(event["delta"]))
		if usage, ok := asObject(json.RawMessage(a.message))["usage"]; ok {
			a.message = set(a.message, "usage", overlay(string(usage), string(event["usage"])))
		}
		a.stopped = !absent(asObject(event["delta"])["stop_reason"])
	case "error":
		return false
	}
	return true
}

// partialBlock is a content block while its deltas arrive.
type partialBlock struct {
	start     string
	added     map[string]string // text added to a field
	citations []string
}

func (b *partialBlock) add(delta object) {
	switch asString(delta["type"]) {
	case "text_delta":
		b.added["text"] += asString(delta["text"])
	case "thinking_delta":
		b.added["thinking"] += asString(delta["thinking"])
	case "signature_delta":
		b.added["signature"] += asString(delta["signature"])
	case "input_json_delta":
		b.added["input"] += asString(delta["partial_json"])
	case "citations_delta":
		b.citations = append(b.citations, string(delta["citation"]))
	case "compaction_delta":
		b.added["content"] += asString(delta["content"])
		b.added["encrypted_content"] += asString(delta["encrypted_content"])
	}
}

func (b *partialBlock) complete() string {
	block := b.start
	for _, key := range []string{"text", "thinking", "signature", "content", "encrypted_content"} {
		if text := b.added[key]; text != "" {
			block = set(block, key, quote(unquote(string(asObject(json.RawMessage(b.start))[key]))+text))
		}
	}
	if input := b.added["input"]; json.Valid([]byte(input)) {
		block = set(block, "input", input)
	}
	if len(b.citations) > 0 {
		block = set(block, "citations", "["+strings.Join(b.citations, ",")+"]")
	}
	return block
}

// overlay gives a JSON object the fields of another.
func overlay(raw, changes string) string {
	for _, f := range fieldsOf(changes) {
		raw = set(raw, f.key, f.value(changes))
	}
	return raw
}

// set gives a field of a JSON object a value, at its place if it has one, else at the end.
func set(raw, key, value string) string {
	changed, was := Block{raw: raw}.with(map[string]string{key: value})
	if _, ok := was[key]; ok {
		return changed
	}
	open, ok := strings.CutSuffix(strings.TrimSpace(raw), "}")
	if !ok {
		return raw
	}
	if len(fieldsOf(raw)) > 0 {
		open += ","
	}
	return open + quote(key) + ":" + value + "}"
}
