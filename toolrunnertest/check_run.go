package toolrunnertest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
)

// RunOption loosens [CheckRun] where the program under test had leave to depart from the rules.
type RunOption func(*runChecker)

// Takeover allows the messages of these requests, counted from 0, to be other than a continuation of what came before:
// the history was replaced or compacted there.
func Takeover(requests ...int) RunOption {
	return func(c *runChecker) { c.takeovers = append(c.takeovers, requests...) }
}

// Reconfigured allows the tools and the system prompt to change at these requests, counted from 0.
func Reconfigured(requests ...int) RunOption {
	return func(c *runChecker) { c.reconfigured = append(c.reconfigured, requests...) }
}

// ValuesOnly compares replayed blocks as JSON values. Without it their bytes are compared wherever the client knows them:
// all of a plain reply, and of a stream the inputs of calls and the blocks that come whole.
func ValuesOnly() RunOption {
	return func(c *runChecker) { c.valuesOnly = true }
}

// Allow switches rules of CheckRun off, by name. It panics on a name that is none of them.
func Allow(rules ...string) RunOption {
	if err := checkNames(rules, runRules()); err != nil {
		panic("toolrunnertest: " + err.Error())
	}
	return func(c *runChecker) { c.allowed = append(c.allowed, rules...) }
}

// CheckRun reports whether the requests of one run carry the conversation faithfully. The API does not enforce this, but
// prompt caches, signatures and containers depend on it. The error is a [*RunError] that holds every breach; their paths
// begin with the request's number, counted from 0.
//
// A request to compact is a turn like any other, but if its reply has a summary, that reply is the history from then on,
// and otherwise it is not part of it.
//
//	history-changed   the messages of a request begin with those of the request before, byte for byte
//	reply-missing     the next message is the reply, if it arrived whole and has content
//	reply-changed     it has the reply's blocks, without the empty texts: as JSON values, each number with its digits
//	reply-bytes       and as bytes; see ValuesOnly
//	container-missing once a reply has named a container, requests carry one
//	container-changed and the same one, unless an earlier request had already chosen another
//	tools-changed     the tools are the same, byte for byte
//	system-changed    the system prompt is the same, byte for byte
//
// Requests that were refused as invalid are left out.
func CheckRun(requests []*Request, options ...RunOption) error {
	c := &runChecker{}
	for _, option := range options {
		option(c)
	}
	var before *Request
	for i, q := range requests {
		if q.Status == http.StatusBadRequest {
			continue
		}
		if before != nil {
			c.checkPair(i, before, q)
		}
		c.learnContainer(q)
		before = q
	}
	c.breaches = slices.DeleteFunc(c.breaches, func(b Breach) bool { return slices.Contains(c.allowed, b.Rule) })
	if len(c.breaches) > 0 {
		return &BreachError{c.breaches}
	}
	return nil
}

type runChecker struct {
	checker
	takeovers, reconfigured []int
	allowed                 []string
	valuesOnly              bool
	container               string // that requests have to carry
}

// checkPair compares a request with the one before it. What it finds says which option allows it.
func (c *runChecker) checkPair(i int, before, q *Request) {
	first := len(c.breaches)
	path := fmt.Sprintf("requests.%d", i)
	if !slices.Contains(c.takeovers, i) {
		c.checkHistory(path, before, q)
	}
	if !slices.Contains(c.reconfigured, i) {
		for _, name := range []string{"tools", "system"} {
			if !bytes.Equal(before.Field(name), q.Field(name)) {
				c.breach(name+"-changed", path+"."+name, "the bytes differ from those of the request before")
			}
		}
	}
	c.checkContainer(path, q)
	for j := first; j < len(c.breaches); j++ {
		b := &c.breaches[j]
		b.Text += " (" + remedy(b.Rule, i) + " allows it)"
	}
}

// remedy is the option that lets a rule be broken at a request.
func remedy(rule string, request int) string {
	switch rule {
	case "history-changed", "reply-missing", "reply-changed":
		return fmt.Sprintf("Takeover(%d)", request)
	case "tools-changed", "system-changed":
		return fmt.Sprintf("Reconfigured(%d)", request)
	case "reply-bytes":
		return "ValuesOnly()"
	}
	return fmt.Sprintf("Allow(%q)", rule)
}

func (c *runChecker) checkContainer(path string, q *Request) {
	if c.container == "" {
		return
	}
	switch id := containerID(q.Field("container")); id {
	case c.container:
	case "":
		c.breach("container-missing", path+".container", "%s is not sent", c.container)
	default:
		c.breach("container-changed", path+".container", "%s instead of %s", id, c.container)
	}
}

func (c *runChecker) learnContainer(q *Request) {
	if id := containerID(q.Field("container")); id != "" {
		c.container = id
	} else if id := containerID(asObject(q.Reply)["container"]); id != "" {
		c.container = id
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
	old, messages := before.Messages(), q.Messages()
	content := sendable(before.Reply)
	if !absent(before.Field("compaction")) {
		if hasSummary(content) {
			old = nil
		} else {
			content = nil
		}
	}
	for i, m := range old {
		at := fmt.Sprintf("%s.messages.%d", path, i)
		if i >= len(messages) {
			c.breach("history-changed", at, "the message of the request before is gone")
			return
		}
		if !bytes.Equal(m, messages[i]) {
			c.breach("history-changed", at, "the bytes differ from those of the request before: %s instead of %s", messages[i], m)
			break
		}
	}
	if len(content) == 0 {
		return
	}
	at := fmt.Sprintf("%s.messages.%d", path, len(old))
	var next object
	if len(messages) > len(old) {
		next = asObject(messages[len(old)])
	}
	if asString(next["role"]) != "assistant" {
		if !before.broken {
			c.breach("reply-missing", at, "the reply of the request before is not sent")
		}
		return
	}
	c.checkReplay(at, content, asList(next["content"]), before.Stream())
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
		c.breach("reply-changed", path, "%d blocks instead of the reply's %d", len(got), len(want))
		return
	}
	for i := range want {
		at := fmt.Sprintf("%s.content.%d", path, i)
		if !sameValue(want[i], got[i]) {
			c.breach("reply-changed", at, "%s instead of %s", got[i], want[i])
		} else if !c.valuesOnly {
			c.checkBytes(at, want[i], got[i], streamed)
		}
	}
}

func (c *runChecker) checkBytes(path string, want, got json.RawMessage, streamed bool) {
	if block := asObject(want); streamed {
		switch kind := asString(block["type"]); {
		case strings.HasSuffix(kind, "tool_use"):
			path += ".input"
			want, got = block["input"], asObject(got)["input"]
		case kind == "text" || kind == "thinking":
			return
		}
	}
	if !bytes.Equal(want, got) {
		c.breach("reply-bytes", path, "%s instead of %s", got, want)
	}
}

// sameValue compares JSON values. Numbers are the same if their texts are; the order of keys does not matter.
func sameValue(a, b json.RawMessage) bool {
	return reflect.DeepEqual(value(a), value(b))
}

func value(raw json.RawMessage) any {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return string(raw)
	}
	return v
}
