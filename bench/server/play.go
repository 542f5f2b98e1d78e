package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/toolrunner/toolrunner/bench/internal/script"
)

// play is a script with its answers, by turn.
type play struct {
	script  script.Script
	plain   [][]byte
	streams [][]byte
}

const usage = `{"input_tokens":1234,"cache_creation_input_tokens":0,"cache_read_input_tokens":56789,"output_tokens":128,"service_tier":"standard"}`

func newPlay(s script.Script) *play {
	p := &play{script: s}
	if s.Stream != "" {
		p.addStream(longReply(s), s.Delta)
		if s.Stream != "input" {
			return p
		}
		p.addStream(reply{stop: "end_turn", blocks: []block{{kind: "text", body: "Done."}}}, s.Delta)
		return p
	}
	for turn := 1; turn < s.Turns; turn++ {
		r := reply{turn: turn, stop: "tool_use", blocks: []block{{kind: "text", body: fmt.Sprintf("Next I look at part %d.", turn)}}}
		for call := range s.Parallel {
			input := fmt.Sprintf(`{"path":"src/part_%d.go","n":%d}`, turn, call)
			r.blocks = append(r.blocks, block{"tool_use", fmt.Sprintf("toolu_%d_%d", turn, call), fmt.Sprintf("work_%d", call%10), input})
		}
		p.addStream(r, 24)
	}
	p.addStream(reply{turn: s.Turns, stop: "end_turn", blocks: []block{{kind: "text", body: "Done."}}}, 24)
	return p
}

// longReply is the reply that is long.
func longReply(s script.Script) reply {
	text := Prose(s.Size)
	switch s.Stream {
	case "thinking":
		return reply{stop: "end_turn", blocks: []block{{kind: "thinking", body: text}, {kind: "text", body: "Done."}}}
	case "input":
		lines := encode(strings.SplitAfter(text, "\n"))
		return reply{turn: 1, stop: "tool_use", blocks: []block{{"tool_use", "toolu_1_0", "take", `{"lines":` + lines + `}`}}}
	default:
		return reply{stop: "end_turn", blocks: []block{{kind: "text", body: text}}}
	}
}

// Prose returns text of a size, in lines as a model writes them.
func Prose(size int) string {
	const line = "The function \"walk\" visits each member of the tree once, and keeps a path.\n"
	return strings.Repeat(line, size/len(line)+1)[:size]
}

type reply struct {
	turn   int
	stop   string
	blocks []block
}

type block struct{ kind, id, name, body string }

func (p *play) addStream(r reply, delta int) {
	id := fmt.Sprintf("msg_%d", r.turn)
	content := make([]string, len(r.blocks))
	for i, b := range r.blocks {
		content[i] = b.json(b.body)
	}
	p.plain = append(p.plain, fmt.Appendf(nil,
		`{"id":%q,"type":"message","role":"assistant","model":"claude-sonnet-5-5","content":[%s],"stop_reason":%q,"stop_sequence":null,"usage":%s}`,
		id, strings.Join(content, ","), r.stop, usage))

	var s bytes.Buffer
	event := func(name, format string, args ...any) {
		fmt.Fprintf(&s, "event: %s\ndata: {\"type\":%q,%s}\n\n", name, name, fmt.Sprintf(format, args...))
	}
	event("message_start", `"message":{"id":%q,"type":"message","role":"assistant","model":"claude-sonnet-5-5","content":[],"stop_reason":null,"stop_sequence":null,"usage":%s}`, id, usage)
	for i, b := range r.blocks {
		event("content_block_start", `"index":%d,"content_block":%s`, i, b.json(""))
		for rest := b.body; rest != ""; {
			n := min(delta, len(rest))
			event("content_block_delta", `"index":%d,"delta":%s`, i, b.delta(rest[:n]))
			rest = rest[n:]
		}
		if b.kind == "thinking" {
			event("content_block_delta", `"index":%d,"delta":{"type":"signature_delta","signature":"c2lnbmF0dXJl"}`, i)
		}
		event("content_block_stop", `"index":%d`, i)
	}
	event("message_delta", `"delta":{"stop_reason":%q,"stop_sequence":null},"usage":{"output_tokens":128}`, r.stop)
	s.WriteString("event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n")
	p.streams = append(p.streams, s.Bytes())
}

// json returns the block with a body.
func (b block) json(body string) string {
	switch b.kind {
	case "thinking":
		signature := ""
		if body != "" {
			signature = "c2lnbmF0dXJl"
		}
		return fmt.Sprintf(`{"type":"thinking","thinking":%s,"signature":%q}`, encode(body), signature)
	case "tool_use":
		if body == "" {
			body = "{}"
		}
		return fmt.Sprintf(`{"type":"tool_use","id":%q,"name":%q,"input":%s}`, b.id, b.name, body)
	default:
		return fmt.Sprintf(`{"type":"text","text":%s}`, encode(body))
	}
}

func (b block) delta(part string) string {
	switch b.kind {
	case "thinking":
		return fmt.Sprintf(`{"type":"thinking_delta","thinking":%s}`, encode(part))
	case "tool_use":
		return fmt.Sprintf(`{"type":"input_json_delta","partial_json":%s}`, encode(part))
	default:
		return fmt.Sprintf(`{"type":"text_delta","text":%s}`, encode(part))
	}
}

// encode encodes as the API does, without escapes for HTML.
func encode(v any) string {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err)
	}
	return strings.TrimSpace(out.String())
}
