package toolrunnertest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

const (
	maxToolName     = 128
	maxPropertyName = 64
	maxStrictTools  = 20
)

// toolNames are the tools that a request tells by name.
type toolNames struct {
	known map[string]bool
	open  bool // there are tools whose names the request does not tell: those of a toolset
}

func (c *checker) checkTools(request object) toolNames {
	names := map[string]int{}
	tools := toolNames{known: map[string]bool{}}
	strict := 0
	for i, raw := range asList(request["tools"]) {
		path := fmt.Sprintf("tools.%d", i)
		tool := asObject(raw)
		if tool == nil {
			c.breach(RuleBlockShape, path, "Input should be an object")
			continue
		}
		kind := asString(tool["type"])
		custom := kind == "" || kind == "custom"
		name := asString(tool["name"])
		if string(tool["strict"]) == "true" {
			strict++
		}
		if custom {
			path += ".custom"
			c.checkCustomTool(path, tool)
		}
		if custom || !absent(tool["name"]) {
			c.checkToolName(path+".name", name)
			tools.known[name] = true
		} else {
			tools.open = true
		}
		if first, ok := names[name]; ok && name != "" {
			c.breach(RuleToolDuplicate, path, "Tool names must be unique: %q is also the name of tools.%d", name, first)
		} else {
			names[name] = i
		}
	}
	if strict > maxStrictTools {
		c.breach(RuleStrictCount, "tools", "at most %d tools may be strict. Found %d.", maxStrictTools, strict)
	}
	tools.added(request["messages"])
	c.checkToolChoice(request["tool_choice"], len(asList(request["tools"])), func(name string) bool {
		return name != "" && (tools.known[name] || tools.open)
	})
	return tools
}

// added learns the tools that system messages define.
func (t *toolNames) added(messages json.RawMessage) {
	for _, m := range asList(messages) {
		for _, raw := range asList(asObject(m)["content"]) {
			block := asObject(raw)
			if asString(block["type"]) != "tool_addition" {
				continue
			}
			tool := asObject(block["tool"])
			switch definition := asObject(tool["definition"]); asString(tool["type"]) {
			case "tool_reference": // to one of the request
			case "tool_definition":
				t.known[asString(definition["name"])] = true
			default:
				t.open = true
			}
		}
	}
}

func (c *checker) checkCustomTool(path string, tool object) {
	if raw := tool["description"]; !absent(raw) && !isString(raw) {
		c.breach(RuleParameterType, path+".description", "Input should be a valid string")
	}
	if raw := tool["strict"]; !absent(raw) && !isBool(raw) {
		c.breach(RuleParameterType, path+".strict", "Input should be a valid boolean")
	}
	c.checkInputSchema(path+".input_schema", tool["input_schema"])
	if string(tool["strict"]) == "true" && circular(tool["input_schema"]) {
		c.breach(RuleStrictSchema, path+".input_schema", "Circular reference detected in schema definitions")
	}
}

func (c *checker) checkToolName(path, name string) {
	switch {
	case name == "":
		c.breach(RuleToolName, path, "String should have at least 1 character")
	case len(name) > maxToolName:
		c.breach(RuleToolName, path, "String should have at most %d characters", maxToolName)
	case !legalID(name):
		c.breach(RuleToolName, path, "String should match pattern '^[a-zA-Z0-9_-]{1,%d}$', got %q", maxToolName, name)
	}
}

func (c *checker) checkInputSchema(path string, raw json.RawMessage) {
	if absent(raw) {
		c.breach(RuleInputSchema, path, "Field required")
		return
	}
	if !isObject(raw) {
		c.breach(RuleInputSchema, path, "Input should be an object")
		return
	}
	schema := asObject(raw)
	for _, keyword := range []string{"oneOf", "anyOf", "allOf", "$ref"} {
		if _, ok := schema[keyword]; ok {
			c.breach(RuleInputSchema, path, "input_schema does not support %s at the top level", keyword)
		}
	}
	if absent(schema["type"]) {
		c.breach(RuleInputSchema, path+".type", "Field required")
	} else if asString(schema["type"]) != "object" {
		c.breach(RuleInputSchema, path+".type", "Input should be 'object'")
	}
	if raw := schema["properties"]; !absent(raw) && !isObject(raw) {
		c.breach(RuleInputSchema, path+".properties", "Input should be an object")
	}
	if raw := schema["required"]; !absent(raw) && !distinctStrings(raw) {
		c.breach(RuleInputSchema, path+".required", "JSON schema is invalid. It must match JSON Schema draft 2020-12: a list of distinct strings")
	}
	for _, name := range slices.Sorted(maps.Keys(asObject(schema["properties"]))) {
		if len(name) > maxPropertyName || !legalName(name, "_.-") {
			c.breach(RulePropertyName, path+".properties", "Property keys should match pattern '^[a-zA-Z0-9_.-]{1,%d}$', got %q", maxPropertyName, name)
		}
	}
}

// distinctStrings reports whether the value is a list of strings, none of which comes twice.
func distinctStrings(raw json.RawMessage) bool {
	seen := map[string]bool{}
	return isList(raw) && !slices.ContainsFunc(asList(raw), func(item json.RawMessage) bool {
		again := seen[asString(item)]
		seen[asString(item)] = true
		return again || !isString(item)
	})
}

// circular reports whether a schema refers to a part of itself that it is inside of, or that comes back to itself.
func circular(schema json.RawMessage) bool {
	refs := map[string][]string{} // from the path of a definition to those that it refers to
	collectRefs(schema, "#", nil, refs)
	const open, closed = 1, 2
	state := map[string]int{}
	var visit func(at string) bool
	visit = func(at string) bool {
		switch state[at] {
		case open:
			return true
		case closed:
			return false
		}
		state[at] = open
		if slices.ContainsFunc(refs[at], visit) {
			return true
		}
		state[at] = closed
		return false
	}
	for at := range refs {
		if visit(at) {
			return true
		}
	}
	return false
}

// collectRefs notes each reference under the paths of all schemas that it stands in.
func collectRefs(raw json.RawMessage, path string, within []string, refs map[string][]string) {
	if isList(raw) {
		for i, item := range asList(raw) {
			collectRefs(item, fmt.Sprintf("%s/%d", path, i), within, refs)
		}
		return
	}
	schema := asObject(raw)
	within = append(slices.Clip(within), path)
	if ref := asString(schema["$ref"]); ref != "" {
		for _, at := range within {
			refs[at] = append(refs[at], ref)
		}
	}
	for key, value := range schema {
		if isObject(value) || isList(value) {
			collectRefs(value, path+"/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(key), within, refs)
		}
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
			c.breach(RuleToolChoice, "tool_choice", "tool_choice may only be specified while providing tools")
		}
	case "tool":
		if name := asString(choice["name"]); !known(name) {
			c.breach(RuleToolChoice, "tool_choice", "Tool %q not found in provided tools", name)
		}
	default:
		c.breach(RuleToolChoice, "tool_choice.type", "Input tag %q is unknown", kind)
	}
}

// legalID reports whether s consists of letters, digits, _ and - of ASCII.
func legalID(s string) bool { return legalName(s, "_-") }

// legalName reports whether s consists of letters and digits of ASCII, and of those other characters.
func legalName(s, others string) bool {
	for _, r := range s {
		letter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		if !letter && (r < '0' || r > '9') && !strings.ContainsRune(others, r) {
			return false
		}
	}
	return s != ""
}
