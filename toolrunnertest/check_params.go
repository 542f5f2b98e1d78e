package toolrunnertest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// parameters are the top-level parameters that the API knows, those of the stable and of the beta API, and of which type
// each is.
func parameters() map[string]func(json.RawMessage) string {
	return map[string]func(json.RawMessage) string{
		"billing_policy":        anyValue,
		"cache_control":         objectValue,
		"compaction":            objectValue,
		"container":             containerValue,
		"context_management":    objectValue,
		"diagnostics":           objectValue,
		"fallback_credit_token": stringValue,
		"fallbacks":             listValue,
		"inference_geo":         stringValue,
		"max_tokens":            anyValue, // see checkParameters
		"mcp_servers":           listValue,
		"messages":              anyValue, // see checkMessages
		"metadata":              objectValue,
		"model":                 anyValue, // see checkParameters
		"output_config":         objectValue,
		"output_format":         objectValue,
		"service_tier":          stringValue,
		"speed":                 stringValue,
		"stop_sequences":        stringsValue,
		"stream":                boolValue,
		"system":                systemValue,
		"temperature":           numberValue,
		"thinking":              objectValue,
		"thread":                objectValue,
		"tool_choice":           objectValue,
		"tools":                 listValue,
		"top_k":                 numberValue,
		"top_p":                 numberValue,
	}
}

func anyValue(json.RawMessage) string { return "" }

func stringValue(raw json.RawMessage) string { return typeFault(isString(raw), "string") }
func listValue(raw json.RawMessage) string   { return typeFault(isList(raw), "list") }
func objectValue(raw json.RawMessage) string { return typeFault(isObject(raw), "dictionary") }
func boolValue(raw json.RawMessage) string   { return typeFault(isBool(raw), "boolean") }

func numberValue(raw json.RawMessage) string {
	_, err := strconv.ParseFloat(string(raw), 64)
	return typeFault(err == nil, "number")
}

func systemValue(raw json.RawMessage) string {
	return typeFault(isString(raw) || isList(raw), "string or a list of text blocks")
}

func containerValue(raw json.RawMessage) string {
	return typeFault(isString(raw) || isObject(raw), "string or dictionary")
}

func stringsValue(raw json.RawMessage) string {
	return typeFault(isList(raw) && !slices.ContainsFunc(asList(raw), isNoString), "list of strings")
}

func isNoString(raw json.RawMessage) bool { return !isString(raw) }

func typeFault(right bool, name string) string {
	if right {
		return ""
	}
	return "Input should be a valid " + name
}

// checkParameters checks the parameters one by one.
func (c *checker) checkParameters(request object) {
	if asString(request["model"]) == "" {
		c.breach(RuleModel, "model", "Field required")
	}
	c.checkMaxTokens(request["max_tokens"])
	known := parameters()
	for _, name := range slices.Sorted(maps.Keys(request)) {
		check, ok := known[name]
		if !ok {
			c.breach(RuleUnknownParameter, name, "Extra inputs are not permitted")
			continue
		}
		if raw := request[name]; !absent(raw) {
			if fault := check(raw); fault != "" {
				c.breach(RuleParameterType, name, "%s", fault)
			}
		}
	}
	if t, err := strconv.ParseFloat(string(request["temperature"]), 64); err == nil && (t < 0 || t > 1) {
		c.breach(RuleTemperature, "temperature", "range: 0..1, got %s", request["temperature"])
	}
}

func (c *checker) checkMaxTokens(raw json.RawMessage) {
	if absent(raw) {
		c.breach(RuleMaxTokens, "max_tokens", "Field required")
		return
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil {
		c.breach(RuleMaxTokens, "max_tokens", "Input should be a valid integer")
	} else if n < 1 {
		c.breach(RuleMaxTokens, "max_tokens", "must be greater than or equal to 1")
	}
}

// minThinkingBudget is the least budget_tokens.
const minThinkingBudget = 1024

func (c *checker) checkThinkingParameter(request object) {
	thinking := asObject(request["thinking"])
	kind := asString(thinking["type"])
	switch kind {
	case "adaptive", "between_tools", "disabled", "enabled":
	default:
		if thinking != nil {
			c.breach(RuleParameterType, "thinking.type", "Input should be 'adaptive', 'between_tools', 'disabled' or 'enabled', got %q", kind)
		}
	}
	if kind == "enabled" {
		budget, err := strconv.ParseInt(string(thinking["budget_tokens"]), 10, 64)
		limit, limitErr := strconv.ParseInt(string(request["max_tokens"]), 10, 64)
		switch {
		case err != nil:
			c.breach(RuleThinkingBudget, "thinking.enabled.budget_tokens", "Field required")
		case budget < minThinkingBudget:
			c.breach(RuleThinkingBudget, "thinking.enabled.budget_tokens", "Input should be greater than or equal to %d", minThinkingBudget)
		case limitErr == nil && budget >= limit:
			c.breach(RuleThinkingBudget, thinkingBudgetPath, "`max_tokens` must be greater than `thinking.budget_tokens`")
		}
	}
	choice := asString(asObject(request["tool_choice"])["type"])
	if (kind == "enabled" || kind == "adaptive") && (choice == "any" || choice == "tool") {
		c.breach(RuleThinkingToolChoice, "", "Thinking may not be enabled when tool_choice forces tool use.")
	}
}

// thinkingBudgetPath is the path of a budget that max_tokens bounds.
const thinkingBudgetPath = "max_tokens"

// checkMCPServers checks that each MCP toolset has its server. Whether each server needs a toolset depends on a header:
// see checkHeader.
func (c *checker) checkMCPServers(request object) {
	servers := map[string]bool{}
	for i, raw := range asList(request["mcp_servers"]) {
		name := asString(asObject(raw)["name"])
		if name == "" {
			c.breach(RuleMCPServer, fmt.Sprintf("mcp_servers.%d.name", i), "Field required")
			continue
		}
		servers[name] = true
	}
	for i, raw := range asList(request["tools"]) {
		tool := asObject(raw)
		if name := asString(tool["mcp_server_name"]); asString(tool["type"]) == "mcp_toolset" && !servers[name] {
			c.breach(RuleMCPServer, fmt.Sprintf("tools.%d.mcp_server_name", i), "MCP server %q is not defined in `mcp_servers`", name)
		}
	}
}

func (c *checker) checkSystem(system json.RawMessage) {
	for i, block := range asList(system) {
		path := fmt.Sprintf("system.%d", i)
		if fields := asObject(block); asString(fields["type"]) != "text" {
			c.breach(RuleBlockShape, path, "Input should be a text block")
		} else {
			c.checkText(path, fields)
		}
	}
}

// checkCompaction checks what may not stand beside a compaction.
func (c *checker) checkCompaction(request object) {
	if absent(request["compaction"]) {
		return
	}
	refuse := func(path string, raw json.RawMessage) {
		if !absent(raw) {
			c.breach(RuleCompaction, path, "may not be specified together with compaction")
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
