package toolrunnertest

import (
	"encoding/json"
	"fmt"
)

// maxCacheControl is how many breakpoints a request may have.
const maxCacheControl = 4

// checkCacheControl looks at the breakpoints in the order in which the API does.
func (c *checker) checkCacheControl(request object) {
	if raw := request["cache_control"]; !absent(raw) {
		c.cached++
		c.checkCacheControlShape("cache_control", raw)
	}
	for i, tool := range asList(request["tools"]) {
		c.countCacheControl(fmt.Sprintf("tools.%d", i), asObject(tool))
	}
	c.countBlocks("system", request["system"])
	for i, m := range asList(request["messages"]) {
		c.countBlocks(fmt.Sprintf("messages.%d.content", i), asObject(m)["content"])
	}
	if c.cached > maxCacheControl {
		c.breach(RuleCacheControlCount, "", "A maximum of %d blocks with cache_control may be provided. Found %d.", maxCacheControl, c.cached)
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
	raw := block["cache_control"]
	if absent(raw) {
		return
	}
	c.cached++
	ttl := c.checkCacheControlShape(path+".cache_control", raw)
	if ttl == "1h" && c.ttl == "5m" {
		c.breach(RuleCacheControlOrder, path+".cache_control.ttl", "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. Note that blocks are processed in the following order: `tools`, `system`, `messages`.")
	}
	c.ttl = ttl
	switch kind := asString(block["type"]); kind {
	case "thinking", "redacted_thinking":
		c.breach(RuleCacheControlPlace, path, "cache_control cannot be set on %s blocks", kind)
	case "text":
		if asString(block["text"]) == "" {
			c.breach(RuleCacheControlPlace, path, "cache_control cannot be set for empty text blocks")
		}
	}
}

// checkCacheControlShape returns the ttl.
func (c *checker) checkCacheControlShape(path string, raw json.RawMessage) string {
	fields := asObject(raw)
	if kind := asString(fields["type"]); kind != "ephemeral" {
		c.breach(RuleCacheControlShape, path+".type", "Input should be 'ephemeral', got %q", kind)
	}
	if absent(fields["ttl"]) {
		return "5m"
	}
	ttl := asString(fields["ttl"])
	if ttl != "5m" && ttl != "1h" {
		c.breach(RuleCacheControlShape, path+".ttl", "Input should be '5m' or '1h', got %s", fields["ttl"])
	}
	return ttl
}
