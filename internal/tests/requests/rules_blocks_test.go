package requests_test

import (
	"fmt"
)

func ruleSystem(_ object, messages []msg) string {
	turns := turnsOf(messages)
	for i, t := range turns {
		if t.role != "system" {
			continue
		}
		for _, b := range t.blocks() {
			if k := kindOf(b); k != "text" && k != "tool_addition" && k != "tool_removal" {
				return k + " in a system message"
			}
		}
		if i == 0 {
			return "system first"
		}
		if i+1 < len(turns) && turns[i+1].role != "assistant" {
			return "role 'system' must precede an 'assistant' message or end the array"
		}
		if turns[i-1].role == "assistant" {
			last := turns[i-1].blocks()
			if n := len(last); n == 0 || !isServerUse(last[n-1]) && !isServerResult(last[n-1]) {
				return "system after assistant"
			}
		}
	}
	return ""
}

func ruleThinking(_ object, messages []msg) string {
	for i, t := range turnsOf(messages) {
		blocks := t.blocks()
		for _, b := range blocks {
			switch kindOf(b) {
			case "thinking":
				if _, ok := b["thinking"].(string); !ok || str(b["signature"]) == "" {
					return fmt.Sprintf("turn %d: thinking without thinking or signature", i)
				}
			case "redacted_thinking":
				if str(b["data"]) == "" {
					return fmt.Sprintf("turn %d: redacted_thinking without data", i)
				}
			}
		}
		if n := len(blocks); n > 0 && t.role == "assistant" && kindOf(blocks[n-1]) == "thinking" {
			return "The final block in an assistant message cannot be thinking"
		}
	}
	return ""
}

func ruleInputs(_ object, messages []msg) string {
	for _, t := range turnsOf(messages) {
		ids := map[string]bool{}
		for _, b := range t.blocks() {
			if kindOf(b) == "fallback" {
				clear(ids)
			}
			if kindOf(b) != "tool_use" && !isServerUse(b) {
				continue
			}
			id := str(b["id"])
			if !idPattern.MatchString(id) {
				return "id " + id
			}
			if ids[id] {
				return "tool_use ids must be unique: " + id
			}
			ids[id] = true
			if _, ok := b["input"].(object); !ok {
				return "input of " + id + " is no object"
			}
			if t.role != "assistant" {
				return "call in a message of the " + t.role
			}
		}
	}
	return ""
}

func ruleCache(q object, _ []msg) string {
	n := 0
	var walk func(v any, in bool)
	walk = func(v any, in bool) {
		switch v := v.(type) {
		case list:
			for _, e := range v {
				walk(e, in)
			}
		case object:
			if v["cache_control"] != nil {
				n++
			}
			for key, e := range v {
				if key != "input" && key != "cache_control" && key != "input_schema" {
					walk(e, in)
				}
			}
		}
	}
	for _, part := range []string{"tools", "system", "messages"} {
		walk(q[part], true)
	}
	if q["cache_control"] != nil {
		n++
	}
	if n > 4 {
		return fmt.Sprintf("A maximum of 4 blocks with cache_control may be provided. Found %d", n)
	}
	return ""
}

// ruleTools: tool references name a tool that the request defines.
func ruleTools(q object, messages []msg) string {
	defined := map[string]bool{}
	tools, _ := q["tools"].(list)
	for _, t := range tools {
		o, _ := t.(object)
		if name := str(o["name"]); name != "" {
			if defined[name] {
				return "Tool names must be unique: " + name
			}
			defined[name] = true
		}
	}
	var fault string
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case list:
			for _, e := range v {
				walk(e)
			}
		case object:
			if kindOf(v) == "tool_definition" {
				definition, _ := v["definition"].(object)
				defined[str(definition["name"])] = true
				return
			}
			if kindOf(v) == "tool_reference" && v["tool_name"] != nil && !defined[str(v["tool_name"])] {
				fault = "Tool reference '" + str(v["tool_name"]) + "' not found in available tools"
			}
			for key, e := range v {
				if key != "input" {
					walk(e)
				}
			}
		}
	}
	for range 2 { // a definition may come behind what refers to it
		fault = ""
		for _, m := range messages {
			for _, b := range m.blocks {
				walk(b)
			}
		}
	}
	return fault
}
