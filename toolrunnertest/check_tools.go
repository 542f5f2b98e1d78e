package toolrunnertest

import (
	"encoding/json"
	"fmt"
)

const maxToolName = 128

func (c *checker) checkTools(request object) {
	names := map[string]int{}
	toolsets := false // there are tools whose names the request does not tell
	tools := request["tools"]
	if !absent(tools) && !isList(tools) {
		c.breach("block-shape", "tools", "Input should be a valid list")
	}
	for i, raw := range asList(tools) {
		path := fmt.Sprintf("tools.%d", i)
		tool := asObject(raw)
		if tool == nil {
			c.breach("block-shape", path, "Input should be an object")
			continue
		}
		kind := asString(tool["type"])
		custom := kind == "" || kind == "custom"
		name := asString(tool["name"])
		if custom {
			path += ".custom"
			c.checkInputSchema(path+".input_schema", tool["input_schema"])
		}
		if custom || !absent(tool["name"]) {
			c.checkToolName(path+".name", name)
		} else {
			toolsets = true
		}
		if first, ok := names[name]; ok && name != "" {
			c.breach("tool-duplicate", path, "Tool names must be unique: %q is also the name of tools.%d", name, first)
		} else {
			names[name] = i
		}
	}
	c.checkToolChoice(request["tool_choice"], len(asList(tools)), func(name string) bool {
		_, ok := names[name]
		return name != "" && (ok || toolsets)
	})
}

func (c *checker) checkToolName(path, name string) {
	switch {
	case name == "":
		c.breach("tool-name", path, "String should have at least 1 character")
	case len(name) > maxToolName:
		c.breach("tool-name", path, "String should have at most %d characters", maxToolName)
	case !legalID(name):
		c.breach("tool-name", path, "String should match pattern '^[a-zA-Z0-9_-]{1,%d}$', got %q", maxToolName, name)
	}
}

func (c *checker) checkInputSchema(path string, raw json.RawMessage) {
	if absent(raw) {
		c.breach("input-schema", path, "Field required")
		return
	}
	if !isObject(raw) {
		c.breach("input-schema", path, "Input should be an object")
		return
	}
	schema := asObject(raw)
	for _, keyword := range []string{"oneOf", "anyOf", "allOf", "$ref"} {
		if _, ok := schema[keyword]; ok {
			c.breach("input-schema", path, "input_schema does not support %s at the top level", keyword)
		}
	}
	if absent(schema["type"]) {
		c.breach("input-schema", path+".type", "Field required")
	} else if asString(schema["type"]) != "object" {
		c.breach("input-schema", path+".type", "Input should be 'object'")
	}
}

func (c *checker) checkToolChoice(raw json.RawMessage, tools int, known func(name string) bool) {
	if absent(raw) {
		return
	}
	choice := asObject(raw)
	switch kind := asString(choice["type"]); kind {
	case "none":
	case "auto", "any":
		if tools == 0 {
			c.breach("tool-choice", "tool_choice", "tool_choice may only be specified while providing tools")
		}
	case "tool":
		if name := asString(choice["name"]); !known(name) {
			c.breach("tool-choice", "tool_choice", "Tool %q not found in provided tools", name)
		}
	default:
		c.breach("tool-choice", "tool_choice.type", "Input tag %q is unknown", kind)
	}
}

// legalID reports whether s consists of letters, digits, _ and - of ASCII.
func legalID(s string) bool {
	for _, r := range s {
		letter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		if !letter && (r < '0' || r > '9') && r != '_' && r != '-' {
			return false
		}
	}
	return s != ""
}
