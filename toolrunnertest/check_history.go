package toolrunnertest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// continuation says how well a request continues another.
type continuation struct {
	messages int  // that it begins with
	whole    bool // those are all
	replied  bool // the reply follows, if it has to
}

func (f continuation) better(other continuation) bool {
	switch {
	case f.replied != other.replied:
		return f.replied
	case f.whole != other.whole:
		return f.whole
	}
	return f.messages > other.messages
}

// continues compares by value: whether bytes were changed is for checkHistory to say.
func continues(before, q *Request) continuation {
	old, content := before.outlook()
	messages := q.History()
	var f continuation
	for f.messages < min(len(old), len(messages)) && sameMessage(old[f.messages], messages[f.messages]) {
		f.messages++
	}
	f.whole = f.messages == len(old)
	if !f.whole {
		return f
	}
	f.replied = len(content) == 0
	if rest := messages[f.messages:]; !f.replied && len(rest) > 0 && isAssistant(rest[0]) {
		f.replied = sameBlocks(content, asList(asObject(rest[0])["content"]))
	}
	return f
}

// outlook returns what the next request has to begin with: messages, and the content of the reply.
func (q *Request) outlook() (messages, content []json.RawMessage) {
	messages, content = q.History(), sendable(q.Reply)
	if absent(q.Field("compaction")) {
		return messages, content
	}
	if hasSummary(content) {
		return nil, content
	}
	return messages, nil
}

func isAssistant(message json.RawMessage) bool {
	return asString(asObject(message)["role"]) == "assistant"
}

// waits reports whether a conversation cannot end with the reply to a request.
func waits(q *Request) bool {
	switch asString(asObject(q.Reply)["stop_reason"]) {
	case "pause_turn", "compaction":
		return true
	}
	return slices.ContainsFunc(sendable(q.Reply), func(raw json.RawMessage) bool {
		return asString(asObject(raw)["type"]) == "tool_use"
	})
}

// said reports whether a message of the request is a reply of the run.
func (r *run) said(q *Request) bool {
	return slices.ContainsFunc(q.History(), func(m json.RawMessage) bool {
		content := asList(asObject(m)["content"])
		return isAssistant(m) && len(content) > 0 && slices.ContainsFunc(r.requests, func(before *Request) bool {
			return sameBlocks(sendable(before.Reply), content)
		})
	})
}

func sameReply(a, b *Request) bool { return sameBlocks(sendable(a.Reply), sendable(b.Reply)) }

func sameBlocks(a, b []json.RawMessage) bool { return slices.EqualFunc(a, b, sameMessage) }

// sameMessage compares messages, or blocks, as values without their cache_control.
func sameMessage(a, b json.RawMessage) bool {
	return bytes.Equal(a, b) || sameValue(withoutCacheControl(a), withoutCacheControl(b))
}

// sameBytes compares them as bytes without their cache_control.
func sameBytes(a, b json.RawMessage) bool {
	if bytes.Equal(a, b) {
		return true
	}
	name := []byte("cache_control")
	return (bytes.Contains(a, name) || bytes.Contains(b, name)) && bytes.Equal(withoutCacheControl(a), withoutCacheControl(b))
}

// withoutCacheControl returns the value without cache_control at any depth, but as it is in the input of a call. White
// space between members is lost.
func withoutCacheControl(raw json.RawMessage) json.RawMessage {
	switch {
	case isObject(raw):
		var parts []string
		for _, f := range fieldsOf(string(raw)) {
			value := json.RawMessage(f.value(string(raw)))
			if f.key == "cache_control" {
				continue
			}
			if f.key != "input" {
				value = withoutCacheControl(value)
			}
			parts = append(parts, quote(f.key)+":"+string(value))
		}
		return json.RawMessage("{" + strings.Join(parts, ",") + "}")
	case isList(raw):
		var parts []string
		for _, item := range asList(raw) {
			parts = append(parts, string(withoutCacheControl(item)))
		}
		return json.RawMessage("[" + strings.Join(parts, ",") + "]")
	}
	return raw
}

// checkPair compares a request with the one before it.
func (c *runChecker) checkPair(path string, r *run, q *Request) {
	before := r.last()
	if allows(c.takeovers, q) {
		c.checkKept(path, r, q)
	} else {
		c.checkHistory(path, before, q)
		c.checkBreakpoints(path, before, q)
	}
	if !allows(c.reconfigured, q) {
		for _, field := range []struct {
			name string
			rule Rule
		}{{"tools", RuleToolsChanged}, {"system", RuleSystemChanged}} {
			if !bytes.Equal(before.param(field.name), q.param(field.name)) {
				c.breach(field.rule, path+"."+field.name, "the bytes differ from those of the request before")
			}
		}
	}
	if r.container == "" {
		return
	}
	switch id := containerID(q.Field("container")); id {
	case r.container:
	case "":
		c.breach(RuleContainerMissing, path+".container", "%s is not sent", r.container)
	default:
		c.breach(RuleContainerChanged, path+".container", "%s instead of %s", id, r.container)
	}
}

// containerID reads the id of a container given as a string or as an object.
func containerID(raw json.RawMessage) string {
	if isString(raw) {
		return asString(raw)
	}
	return asString(asObject(raw)["id"])
}

func (c *runChecker) checkHistory(path string, before, q *Request) {
	old, content := before.outlook()
	messages := q.History()
	for i, m := range old {
		at := fmt.Sprintf("%s.messages.%d", path, i)
		if i >= len(messages) {
			c.breach(RuleHistoryChanged, at, "the message of the request before is gone")
			return
		}
		if !sameBytes(m, messages[i]) {
			c.breach(RuleHistoryChanged, at, "the bytes differ from those of the request before: %s instead of %s", messages[i], m)
			break
		}
	}
	if len(content) == 0 {
		return
	}
	at := fmt.Sprintf("%s.messages.%d", path, len(old))
	if len(messages) <= len(old) || !isAssistant(messages[len(old)]) {
		if !before.broken {
			c.breach(RuleReplyMissing, at, "the reply of the request before is not sent")
		}
		return
	}
	c.checkReplay(at, content, asList(asObject(messages[len(old)])["content"]), before.Stream())
}

// sendable returns the blocks of a reply that the API takes back: all but empty texts.
func sendable(reply json.RawMessage) []json.RawMessage {
	return slices.DeleteFunc(asList(asObject(reply)["content"]), func(raw json.RawMessage) bool {
		block := asObject(raw)
		return asString(block["type"]) == "text" && asString(block["text"]) == ""
	})
}

// hasSummary reports whether the blocks of a reply stand for the history that was to be compacted.
func hasSummary(content []json.RawMessage) bool {
	return slices.ContainsFunc(content, func(raw json.RawMessage) bool {
		block := asObject(raw)
		return asString(block["type"]) == "compaction" && asString(block["content"]) != ""
	})
}

func (c *runChecker) checkReplay(path string, want, got []json.RawMessage, streamed bool) {
	if len(got) != len(want) {
		c.breach(RuleReplyChanged, path, "%d blocks instead of the reply's %d", len(got), len(want))
		return
	}
	for i := range want {
		at := fmt.Sprintf("%s.content.%d", path, i)
		if !sameMessage(want[i], got[i]) {
			c.breach(RuleReplyChanged, at, "%s instead of %s", got[i], want[i])
		} else {
			c.checkBytes(at, want[i], got[i], streamed)
		}
	}
}

func (c *runChecker) checkBytes(path string, want, got json.RawMessage, streamed bool) {
	if c.valuesOnly {
		return
	}
	if block := asObject(want); streamed {
		switch kind := asString(block["type"]); {
		case strings.HasSuffix(kind, "tool_use"):
			path += ".input"
			want, got = block["input"], asObject(got)["input"]
		case kind == "text" || kind == "thinking":
			return
		}
	}
	if !sameBytes(want, got) {
		c.breach(RuleReplyBytes, path, "%s instead of %s", got, want)
	}
}

// checkKept checks what a history that was put in place has of the replies before it: thinking, by its signature, and
// calls, by their ids.
func (c *runChecker) checkKept(path string, r *run, q *Request) {
	type sent struct {
		block    json.RawMessage
		streamed bool
	}
	replies := map[string]sent{}
	for _, before := range r.requests {
		for _, block := range sendable(before.Reply) {
			if key := blockKey(block); key != "" {
				replies[key] = sent{block, before.Stream()}
			}
		}
	}
	for i, m := range q.History() {
		if !isAssistant(m) {
			continue
		}
		for j, block := range asList(asObject(m)["content"]) {
			key := blockKey(block)
			reply, known := replies[key]
			at := fmt.Sprintf("%s.messages.%d.content.%d", path, i, j)
			switch {
			case key == "" || !known:
			case sameMessage(reply.block, block):
				c.checkBytes(at, reply.block, block, reply.streamed)
			case strings.HasPrefix(key, "signature "):
				c.breach(RuleReplyChanged, at, "%s instead of %s", block, reply.block)
			}
		}
	}
}

// blockKey is what a block is known by, "" if it has nothing of the kind.
func blockKey(raw json.RawMessage) string {
	block := asObject(raw)
	kind := asString(block["type"])
	switch id, signature := asString(block["id"]), asString(block["signature"]); {
	case kind == "thinking" && signature != "":
		return "signature " + signature
	case strings.HasSuffix(kind, "tool_use") && id != "":
		return "id " + id
	}
	return ""
}

// checkBreakpoints checks that a cached history is still cached. A breakpoint may move on; that a request has none where the
// one before it had, or later, gives the cache up.
func (c *runChecker) checkBreakpoints(path string, before, q *Request) {
	if !absent(before.Field("compaction")) || !absent(q.Field("compaction")) || !absent(q.Field("cache_control")) {
		return
	}
	was, is := lastBreakpoint(before.History()), lastBreakpoint(q.History())
	if is < was {
		c.breach(RuleCacheControlLost, fmt.Sprintf("%s.messages.%d", path, was), "the request before has a cache_control here, and this one has none here or later")
	}
}

// lastBreakpoint returns the last message with a cache_control, -1 if there is none.
func lastBreakpoint(messages []json.RawMessage) int {
	for i, m := range slices.Backward(messages) {
		c := &checker{}
		c.countBlocks("", asObject(m)["content"])
		if c.cached > 0 {
			return i
		}
	}
	return -1
}
