package model

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// reply is what a step of the site "reply" says: "STOP +FLAG ...: BLOCK, ...", or
// "http CODE". The blocks:
//
//	text             a text that no other reply has
//	blank            a text of white space
//	call ID TOOL     a call of a client tool
//	cut ID TOOL      a call whose arguments were cut off
//	code ID TOOL     a call by code that runs at the server and waits for it
//	srv              a call of a server tool, with its result
//	hang             a call of a server tool that has no result yet
//	think            a thinking block
//	fallback         the seam where another model has gone on
//	novel            a block of a type that nobody knows
//
// The flags say how it is sent: "+split" in small deltas, "+ping" with pings and
// unknown events, "+short" as a stream that ends before the stop reason,
// "+nostop" as one that ends right after it, "+big" with a usage that compacts.
type reply struct {
	id     string
	stop   string
	flags  []string
	blocks []string
}

func parseReply(do string) reply {
	head, tail, _ := strings.Cut(do, ":")
	words := strings.Fields(head)
	r := reply{stop: "end_turn"}
	for i, word := range words {
		switch {
		case word == "http" && i+1 < len(words):
			return reply{stop: head}
		case strings.HasPrefix(word, "+"):
			r.flags = append(r.flags, word)
		default:
			r.stop = word
		}
	}
	for block := range strings.SplitSeq(tail, ",") {
		if block = strings.TrimSpace(block); block != "" {
			r.blocks = append(r.blocks, block)
		}
	}
	return r
}

func (r reply) String() string {
	head := strings.Join(append([]string{r.stop}, r.flags...), " ")
	return head + ": " + strings.Join(r.blocks, ", ")
}

func (r reply) has(flag string) bool {
	return slices.Contains(r.flags, flag)
}

// cut reports whether the arguments of a call were cut off, which the history does not hold
// as they came.
func (r reply) cut() bool {
	return slices.ContainsFunc(r.blocks, func(b string) bool { return strings.HasPrefix(b, "cut") })
}

// part is a block of a reply on the wire: as it is in a plain reply, and as a
// stream has it.
type part struct {
	whole  string
	start  string   // empty: whole
	deltas []string // each with its type
}

// text, input and thinking return the parts that stream as deltas.
func textPart(text string, split bool) part {
	p := part{whole: fmt.Sprintf(`{"type":"text","text":%q}`, text), start: `{"type":"text","text":""}`}
	for _, piece := range pieces(text, split) {
		p.deltas = append(p.deltas, fmt.Sprintf(`{"type":"text_delta","text":%q}`, piece))
	}
	return p
}

func thinkingPart() part {
	return part{
		whole:  `{"type":"thinking","thinking":"hm","signature":"c2ln"}`,
		start:  `{"type":"thinking","thinking":"","signature":""}`,
		deltas: []string{`{"type":"thinking_delta","thinking":"hm"}`, `{"type":"signature_delta","signature":"c2ln"}`},
	}
}

// callPart is a call with these arguments; a plain reply cannot carry those that
// are no JSON, and has none.
func callPart(head, input string, split bool) part {
	p := part{whole: head + `,"input":` + input + `}`, start: head + `,"input":{}}`}
	if !json.Valid([]byte(input)) {
		p.whole = p.start
	}
	for _, piece := range pieces(input, split) {
		p.deltas = append(p.deltas, fmt.Sprintf(`{"type":"input_json_delta","partial_json":%q}`, piece))
	}
	return p
}

func pieces(text string, split bool) []string {
	if !split || len(text) < 4 {
		return []string{text}
	}
	return []string{text[:2], "", text[2:3], text[3:]}
}

// message is the plain reply.
func (r reply) message(parts []part) string {
	whole := make([]string, len(parts))
	for i, p := range parts {
		whole[i] = p.whole
	}
	return fmt.Sprintf(`{"id":%q,"type":"message","role":"assistant","model":"m","content":[%s],"stop_reason":%s,"stop_sequence":null,"usage":%s}`,
		r.id, strings.Join(whole, ","), r.stopJSON(), r.usage())
}

func (r reply) stopJSON() string {
	if r.stop == "null" {
		return "null"
	}
	return `"` + r.stop + `"`
}

func (r reply) usage() string {
	if r.has("+big") {
		return `{"input_tokens":2000,"output_tokens":5}`
	}
	return `{"input_tokens":10,"output_tokens":5}`
}

// stream is the same as events. It reports whether the message is complete.
func (r reply) stream(parts []part) (events string, complete bool) {
	var b strings.Builder
	send := func(kind, data string) { fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", kind, data) }
	odd := func() {
		if r.has("+ping") {
			send("ping", `{"type":"ping"}`)
			send("novel_event", `{"type":"novel_event","x":1}`)
		}
	}
	send("message_start", `{"type":"message_start","message":{"id":"`+r.id+`","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":`+r.usage()+`}}`)
	odd()
	for i, p := range parts {
		start := p.start
		if start == "" {
			start = p.whole
		}
		send("content_block_start", fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, i, start))
		for _, d := range p.deltas {
			send("content_block_delta", fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":%s}`, i, d))
		}
		if i == len(parts)-1 && r.has("+short") {
			return b.String(), false
		}
		send("content_block_stop", fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, i))
		odd()
	}
	if r.has("+short") {
		return b.String(), false
	}
	send("message_delta", fmt.Sprintf(`{"type":"message_delta","delta":{"stop_reason":%s,"stop_sequence":null},"usage":%s}`, r.stopJSON(), r.usage()))
	if !r.has("+nostop") {
		odd()
		send("message_stop", `{"type":"message_stop"}`)
	}
	return b.String(), !r.has("+nostop") || r.stopJSON() != "null"
}
