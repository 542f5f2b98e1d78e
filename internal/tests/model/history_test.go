package model

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// history is the model of the messages: the items that the next request must hold.
// Its parts are in the order of the request.
type history struct {
	base   []item // what the last request held: Retry goes back to it
	reply  []item // of its reply
	placed []item // by Replace, in the place of the reply
	tail   []item // follow-ups that no request has held yet

	loose bool // it is not known whether the reply was recorded
	moved bool // a takeover or a compaction has changed what was sent

	sent []json.RawMessage // the messages of the last request, up to its last reply
}

func (h *history) clone() history {
	c := *h
	c.base, c.reply, c.placed, c.tail = slices.Clone(h.base), slices.Clone(h.reply), slices.Clone(h.placed), slices.Clone(h.tail)
	return c
}

func (h *history) must() []item { return concat(h.base, h.reply, h.placed) }

// has reports whether the conversation holds an item, or will.
func (h *history) has(token string) bool {
	return slices.ContainsFunc(concat(h.must(), h.tail), func(i item) bool { return i.token == token })
}

func (h *history) set(items []item) {
	*h = history{base: items, moved: true}
}

func (h *history) replace(items []item) {
	h.reply, h.placed, h.moved, h.loose = nil, items, true, false
}

func (h *history) retry() { h.replace(nil) }

// compacted: a summary stands for all that the request to compact held.
func (h *history) compacted() {
	h.base, h.reply, h.placed, h.moved = nil, nil, nil, true
}

// receive checks that a request holds what it must, in order, and takes it for what
// comes next is checked against.
func (h *history) receive(q *request) (kind, detail string) {
	seen := itemsOf(q.Messages)
	if kind, detail := h.check(q, seen); kind != "" {
		return kind, fmt.Sprintf("%s\nseen %v\nmust %v\ntail %v", detail, seen, h.must(), h.tail)
	}
	h.base, h.reply, h.placed, h.loose = seen, nil, nil, false
	h.tail = slices.DeleteFunc(h.tail, func(i item) bool { return slices.Contains(seen, i) })
	if kind, detail := h.checkPrefix(q); kind != "" {
		return kind, detail
	}
	if !isSummary(q) { // its prompt is not of the conversation
		h.moved, h.sent = false, q.raws[:lastReply(q.Messages)]
	}
	return "", ""
}

func (h *history) check(q *request, seen []item) (kind, detail string) {
	wanted := concat(h.must(), h.tail)
	for i, it := range seen {
		if slices.Contains(seen[:i], it) && count(wanted, it) < 2 {
			return "history/doubled", it.token + " goes out twice"
		}
	}
	if h.loose {
		return "", ""
	}
	must, tail := talk(h.must()), talk(h.tail)
	got := talk(seen)
	if len(got) < len(must) || !slices.Equal(got[:len(must)], must) {
		return "history/changed", "the request does not go on where the conversation stood"
	}
	got = got[len(must):]
	if len(got) > len(tail) || !slices.Equal(got, tail[:len(got)]) {
		return "history/follow-up", "the request holds other follow-ups, or in another order"
	}
	held := len(hanging(q.Messages)) > 0 || q.Messages[len(q.Messages)-1].Role == "assistant"
	if len(got) < len(tail) && !held {
		return "history/follow-up-late", "the request leaves a follow-up out"
	}
	for _, it := range h.must() {
		if it.role == "system" && !slices.Contains(seen, it) {
			return "history/system-lost", it.token + " is gone"
		}
	}
	return "", ""
}

func count(items []item, one item) (n int) {
	for _, it := range items {
		if it == one {
			n++
		}
	}
	return n
}

// talk is what the user and the assistant say. What the system says may go out later,
// as the API does not take it everywhere.
func talk(items []item) []item {
	return slices.DeleteFunc(slices.Clone(items), func(i item) bool { return i.role == "system" })
}

// checkPrefix: what was sent goes out again byte for byte. The last reply may change:
// work of the server that it left unfinished goes.
func (h *history) checkPrefix(q *request) (kind, detail string) {
	if h.moved {
		return "", ""
	}
	for i, was := range h.sent {
		if i >= len(q.raws) || !bytes.Equal(was, q.raws[i]) {
			return "history/bytes", fmt.Sprintf("messages.%d was sent as %s", i, was)
		}
	}
	return "", ""
}

// lastReply is the index of the last message of the assistant, or that of the system
// messages at the end: those of the user may go before them until a reply has come.
func lastReply(messages []message) int {
	for i, m := range slices.Backward(messages) {
		if m.Role == "assistant" {
			return i
		}
	}
	n := len(messages)
	for n > 0 && messages[n-1].Role == "system" {
		n--
	}
	return n
}
