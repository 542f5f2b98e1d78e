package toolrunnertest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// CheckRequest reports whether the Messages API accepts a request body, as far as the body alone can tell. The error is
// a [*RequestError] that holds every breach.
//
// Unknown parameters and unknown block types are accepted. The rules:
//
//	body                  the body is a JSON object
//	model                 model is given
//	max-tokens            max_tokens is an integer above 0
//	messages-empty        there are messages
//	message-shape         a message is an object with a legal role and a content of text or blocks
//	system-position       a system message does not directly follow an assistant message
//	block-shape           a block is an object with a type and the fields of that type
//	block-role            a block stands in a message of a role that may have it
//	user-empty            user content is not empty
//	assistant-empty       assistant content is empty at most in the last message
//	text-empty            no text block is empty; in a tool_result it may be
//	text-whitespace       a message is not white space alone
//	trailing-whitespace   a last assistant message does not end in white space
//	id-format             ids consist of letters, digits, _ and -
//	id-duplicate          no two calls of a conversation have the same id
//	tool-input            the input of a call is an object
//	tool-result-missing   each tool_use is answered in the message right after it
//	tool-result-unknown   each tool_result answers a tool_use of the message before it
//	tool-result-duplicate a tool_use is answered once
//	tool-result-order     tool_result blocks come before all other blocks
//	tool-result-error     a tool_result with is_error has content
//	server-result-missing a call that the API runs has its result in the same assistant turn, unless that turn is last or
//	                      waits for a tool_use of its own
//	thinking              a thinking block has its thinking and its signature, a redacted one its data
//	cache-control-count   there are at most 4 cache_control
//	cache-control-place   none is on a thinking block or an empty text
//	tool-name             tools have names of 1 to 128 letters, digits, _ and -
//	tool-duplicate        no two tools have the same name
//	input-schema          input_schema is an object of type object without oneOf, anyOf, allOf and $ref at the top
//	tool-choice           tool_choice fits the tools
//	compaction            a request to compact has none of the parameters that shape a reply
func CheckRequest(body []byte) error {
	c := &checker{}
	request := asObject(body)
	if request == nil {
		c.breach("body", "", "the body is not a JSON object")
		return c.err()
	}
	if asString(request["model"]) == "" {
		c.breach("model", "model", "Field required")
	}
	c.checkMaxTokens(request["max_tokens"])
	c.checkTools(request)
	c.checkSystem(request["system"])
	c.checkMessages(request["messages"])
	c.checkCacheControl(request)
	c.checkCompaction(request)
	return c.err()
}

// RequestError says why the API refuses a request.
type RequestError struct {
	Breaches []Breach // at least one, in the order in which they were found
}

// Breach is one broken rule.
type Breach struct {
	Rule string // the rule's name in the list of CheckRequest or CheckRun; names do not change
	Path string // the place, such as messages.1.content.0
	Text string // what is wrong there
}

// Error lists the breaches.
func (e *RequestError) Error() string { return joinBreaches(e.Breaches) }

// String returns the breach as the API words it: the place, then the text.
func (b Breach) String() string {
	if b.Path == "" {
		return b.Text
	}
	return b.Path + ": " + b.Text
}

func joinBreaches(breaches []Breach) string {
	texts := make([]string, len(breaches))
	for i, b := range breaches {
		texts[i] = b.String()
	}
	return strings.Join(texts, "; ")
}

// Breaches returns the breaches in an error of [CheckRequest] or [CheckRun], nil for any other.
func Breaches(err error) []Breach {
	var request *RequestError
	if errors.As(err, &request) {
		return request.Breaches
	}
	var run *RunError
	if errors.As(err, &run) {
		return run.Breaches
	}
	return nil
}

// checker collects breaches.
type checker struct {
	breaches []Breach
	cached   int // cache_control seen
}

func (c *checker) breach(rule, path, format string, args ...any) {
	c.breaches = append(c.breaches, Breach{rule, path, fmt.Sprintf(format, args...)})
}

func (c *checker) err() error {
	if len(c.breaches) == 0 {
		return nil
	}
	return &RequestError{c.breaches}
}

func (c *checker) checkMaxTokens(raw json.RawMessage) {
	if absent(raw) {
		c.breach("max-tokens", "max_tokens", "Field required")
		return
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil {
		c.breach("max-tokens", "max_tokens", "Input should be a valid integer")
	} else if n < 1 {
		c.breach("max-tokens", "max_tokens", "must be greater than or equal to 1")
	}
}

func (c *checker) checkSystem(system json.RawMessage) {
	for i, block := range asList(system) {
		path := fmt.Sprintf("system.%d", i)
		if fields := asObject(block); asString(fields["type"]) != "text" {
			c.breach("block-shape", path, "Input should be a text block")
		} else {
			c.checkText(path, fields)
		}
	}
}

func (c *checker) checkText(path string, block object) {
	switch {
	case !isString(block["text"]):
		c.breach("block-shape", path+".text", "Field required")
	case asString(block["text"]) == "":
		c.breach("text-empty", path, "text content blocks must be non-empty")
	}
}

// checkCompaction checks what may not stand beside a compaction.
func (c *checker) checkCompaction(request object) {
	if absent(request["compaction"]) {
		return
	}
	refuse := func(path string, raw json.RawMessage) {
		if !absent(raw) {
			c.breach("compaction", path, "may not be specified together with compaction")
		}
	}
	for _, name := range []string{"context_management", "stop_sequences", "output_format"} {
		refuse(name, request[name])
	}
	refuse("output_config.format", asObject(request["output_config"])["format"])
	for i, fallback := range asList(request["fallbacks"]) {
		refuse(fmt.Sprintf("fallbacks.%d.output_config.format", i), asObject(asObject(fallback)["output_config"])["format"])
	}
	switch choice := asObject(request["tool_choice"]); asString(choice["type"]) {
	case "any", "tool":
		refuse("tool_choice", request["tool_choice"])
	}
}

// maxCacheControl is how many breakpoints a request may have.
const maxCacheControl = 4

func (c *checker) checkCacheControl(request object) {
	if !absent(request["cache_control"]) {
		c.cached++
	}
	for i, tool := range asList(request["tools"]) {
		c.countCacheControl(fmt.Sprintf("tools.%d", i), asObject(tool))
	}
	c.countBlocks("system", request["system"])
	for i, m := range asList(request["messages"]) {
		c.countBlocks(fmt.Sprintf("messages.%d.content", i), asObject(m)["content"])
	}
	if c.cached > maxCacheControl {
		c.breach("cache-control-count", "", "A maximum of %d blocks with cache_control may be provided. Found %d.", maxCacheControl, c.cached)
	}
}

func (c *checker) countBlocks(path string, blocks json.RawMessage) {
	for i, raw := range asList(blocks) {
		at := fmt.Sprintf("%s.%d", path, i)
		block := asObject(raw)
		c.countCacheControl(at, block)
		c.countBlocks(at+".content", block["content"])
		c.countBlocks(at+".source.content", asObject(block["source"])["content"])
	}
}

func (c *checker) countCacheControl(path string, block object) {
	if absent(block["cache_control"]) {
		return
	}
	c.cached++
	switch kind := asString(block["type"]); kind {
	case "thinking", "redacted_thinking":
		c.breach("cache-control-place", path, "cache_control cannot be set on %s blocks", kind)
	case "text":
		if asString(block["text"]) == "" {
			c.breach("cache-control-place", path, "cache_control cannot be set for empty text blocks")
		}
	}
}
