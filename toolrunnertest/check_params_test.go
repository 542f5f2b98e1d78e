package toolrunnertest_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// picture is an image block of a media type.
func picture(media string) string {
	return `{"type":"image","source":{"type":"base64","media_type":"` + media + `","data":"AA=="}}`
}

func TestCheckRequestWantsParametersOfTheirTypes(t *testing.T) {
	thinking := func(budget, most string) string {
		return `{"model":"m","max_tokens":` + most + `,"messages":[` + question + `],"thinking":{"type":"enabled","budget_tokens":` + budget + `}}`
	}
	tool := `"tools":[{"name":"f","input_schema":{"type":"object"}}],`
	runChecks(t, []checkCase{
		{"TS3: system as a number", with(`"system":5`), []string{"parameter-type system"}},
		{"TS3: stream as text", with(`"stream":"yes"`), []string{"parameter-type stream"}},
		{"TS3: numeric description", with(`"tools":[{"name":"f","description":5,"input_schema":{"type":"object"}}]`), []string{"parameter-type tools.0.custom.description"}},
		{"null", with(`"system":null,"stream":null`), nil},
		{"R5: temperature", with(`"temperature":1`), nil},
		{"R5: temperature above 1", with(`"temperature":1.01`), []string{"temperature temperature"}},
		{"R5: temperature below 0", with(`"temperature":-0.1`), []string{"temperature temperature"}},
		{"R5: temperature as text", with(`"temperature":"1"`), []string{"parameter-type temperature"}},
		{"R5: budget", thinking("1024", "1025"), nil},
		{"R5: budget below 1024", thinking("1023", "4096"), []string{"thinking-budget thinking.enabled.budget_tokens"}},
		{"R5: budget as large as max_tokens", thinking("1024", "1024"), []string{"thinking-budget max_tokens"}},
		{"R5: no budget", with(`"thinking":{"type":"enabled"}`), []string{"thinking-budget thinking.enabled.budget_tokens"}},
		{"R5: thinking with any tool", with(tool + `"thinking":{"type":"adaptive"},"tool_choice":{"type":"any"}`), []string{"thinking-tool-choice"}},
		{"R5: thinking with one tool", with(tool + `"thinking":{"type":"adaptive"},"tool_choice":{"type":"tool","name":"f"}`), []string{"thinking-tool-choice"}},
		{"R5: thinking with auto", with(tool + `"thinking":{"type":"adaptive"},"tool_choice":{"type":"auto"}`), nil},
		{"R5: no thinking with any tool", with(tool + `"thinking":{"type":"disabled"},"tool_choice":{"type":"any"}`), nil},
		{"TS3: a toolset without its server", with(`"tools":[{"type":"mcp_toolset","mcp_server_name":"s"}]`), []string{"mcp-server tools.0.mcp_server_name"}},
		{"TS3: a toolset with its server", with(`"mcp_servers":[{"type":"url","name":"s","url":"u"}],"tools":[{"type":"mcp_toolset","mcp_server_name":"s"}]`), nil},
	})
}

// A parameter that the SDK learns is one that the API takes.
func TestCheckRequestKnowsTheParametersOfTheSDK(t *testing.T) {
	types := []reflect.Type{reflect.TypeFor[anthropic.BetaMessageNewParams](), reflect.TypeFor[anthropic.MessageNewParams]()}
	checked := 0
	for _, params := range types {
		for i := range params.NumField() {
			name, _, _ := strings.Cut(params.Field(i).Tag.Get("json"), ",")
			if name == "" || name == "-" {
				continue
			}
			checked++
			err := toolrunnertest.CheckRequest([]byte(with(`"` + name + `":null`)))
			for _, b := range toolrunnertest.Breaches(err) {
				if b.Rule == toolrunnertest.RuleUnknownParameter {
					t.Errorf("CheckRequest does not know the parameter %s", name)
				}
			}
		}
	}
	if checked < 30 {
		t.Errorf("%d parameters were checked, want those of both types: at least 30", checked)
	}
}

func TestCheckRequestWantsBlocksWithTheirFields(t *testing.T) {
	answer := func(block string) string {
		return messages(question, assistant(list(use("t1"))), user(list(`{"type":"tool_result","tool_use_id":"t1","content":[`+block+`]}`)))
	}
	inner := "messages.2.content.0.content.0"
	runChecks(t, []checkCase{
		{"TS3: an image without source", messages(user(list(`{"type":"image"}`))), []string{"block-shape messages.0.content.0.source"}},
		{"TS3: an image without data", messages(user(list(`{"type":"image","source":{"type":"base64","media_type":"image/png"}}`))), []string{
			"block-shape messages.0.content.0.source.base64.data",
		}},
		{"TS3: an image of the assistant", messages(question, assistant(list(picture("image/png"))), question), []string{"block-role messages.1.content.0"}},
		{"R5: an image of four types", messages(user(list(picture("image/png"), picture("image/jpeg"), picture("image/gif"), picture("image/webp")))), nil},
		{"R5: image/bmp", messages(user(list(picture("image/bmp")))), []string{"image-type messages.0.content.0.source.base64.media_type"}},
		{"R5: image/bmp in a result", answer(picture("image/bmp")), []string{"image-type " + inner + ".source.base64.media_type"}},
		{"TS3: an image without source in a result", answer(`{"type":"image"}`), []string{"block-shape " + inner + ".source"}},
		{"a document without source", messages(user(list(`{"type":"document"}`))), []string{"block-shape messages.0.content.0.source"}},
		{"TS3: a result in a result", answer(result("t2")), []string{"block-role " + inner}},
		{"TS3: a call in a result", answer(use("t2")), []string{"block-role " + inner}},
		{"TS3: a text without text in a result", answer(`{"type":"text"}`), []string{"block-shape " + inner + ".text"}},
		{"an empty text in a result", answer(text("")), nil},
		{"A9: an element without type", answer(`{}`), []string{"block-shape " + inner}},
		{"A9: content true", messages(question, assistant(list(use("t1"))), user(list(`{"type":"tool_result","tool_use_id":"t1","content":true}`))), []string{
			"block-shape messages.2.content.0.content",
		}},
		{"A9: is_error as text", messages(question, assistant(list(use("t1"))), user(list(`{"type":"tool_result","tool_use_id":"t1","is_error":"true"}`))), []string{
			"block-shape messages.2.content.0.is_error",
		}},
	})
}

func TestCheckRequestWantsCacheControlAsTheAPIHasIt(t *testing.T) {
	cached := func(control string) string {
		return `{"type":"text","text":"a","cache_control":` + control + `}`
	}
	five, hour := `{"type":"ephemeral"}`, `{"type":"ephemeral","ttl":"1h"}`
	runChecks(t, []checkCase{
		{"TS3: 1h before 5m", messages(user(list(cached(hour), cached(five)))), nil},
		{"TS3: 1h after 5m", messages(user(list(cached(five), cached(hour)))), []string{"cache-control-order messages.0.content.1.cache_control.ttl"}},
		{"TS3: 1h of a message after 5m of a tool", with(
			`"tools":[{"name":"f","input_schema":{"type":"object"},"cache_control":` + five + `}],"system":[` + cached(hour) + `]`,
		), []string{"cache-control-order system.0.cache_control.ttl"}},
		{"TS3: 2h", messages(user(list(cached(`{"type":"ephemeral","ttl":"2h"}`)))), []string{"cache-control-shape messages.0.content.0.cache_control.ttl"}},
		{"TS3: forever", messages(user(list(cached(`{"type":"forever"}`)))), []string{"cache-control-shape messages.0.content.0.cache_control.type"}},
		{"at the top", with(`"cache_control":{"type":"ephemeral","ttl":"3h"}`), []string{"cache-control-shape cache_control.ttl"}},
	})
}

func TestCheckRequestWantsSchemasThatTheAPICompiles(t *testing.T) {
	tool := func(schema, more string) string {
		return with(`"tools":[{"name":"f","input_schema":` + schema + more + `}]`)
	}
	node := `{"type":"object","properties":{"n":{"$ref":"#/$defs/N"}},"$defs":{"N":{"type":"object","properties":{"next":{"$ref":"#/$defs/N"}}}}}`
	ring := `{"type":"object","properties":{"n":{"$ref":"#/$defs/A"}},"$defs":{"A":{"items":{"$ref":"#/$defs/B"}},"B":{"anyOf":[{"$ref":"#/$defs/A"}]}}}`
	diamond := `{"type":"object","properties":{"n":{"$ref":"#/$defs/A"},"m":{"$ref":"#/$defs/A"}},"$defs":{"A":{"properties":{"x":{"$ref":"#/$defs/B"},"y":{"$ref":"#/$defs/B"}}},"B":{}}}`
	circular := []string{"strict-schema tools.0.custom.input_schema"}
	strictTools := func(n int) string {
		tools := make([]string, n)
		for i := range tools {
			tools[i] = fmt.Sprintf(`{"name":"f%d","strict":true,"input_schema":{"type":"object"}}`, i)
		}
		return with(`"tools":[` + strings.Join(tools, ",") + `]`)
	}
	runChecks(t, []checkCase{
		{"TS3: a property with a space", tool(`{"type":"object","properties":{"a b":{}}}`, ""), []string{"property-name tools.0.custom.input_schema.properties"}},
		{"a property of 65 letters", tool(`{"type":"object","properties":{"`+strings.Repeat("a", 65)+`":{}}}`, ""), []string{"property-name tools.0.custom.input_schema.properties"}},
		{"a legal property", tool(`{"type":"object","properties":{"a_b.c-1":{}}}`, ""), nil},
		{"a nested property with a space", tool(`{"type":"object","properties":{"a":{"type":"object","properties":{"b c":{}}}}}`, ""), nil},
		{"R5: recursive and strict", tool(node, `,"strict":true`), circular},
		{"R5: a ring and strict", tool(ring, `,"strict":true`), circular},
		{"R5: refers to the whole and strict", tool(`{"type":"object","properties":{"a":{"$ref":"#"}}}`, `,"strict":true`), circular},
		{"R5: twice the same and strict", tool(diamond, `,"strict":true`), nil},
		{"R5: recursive, not strict", tool(node, ""), nil},
		{"R5: 20 strict tools", strictTools(20), nil},
		{"R5: 21 strict tools", strictTools(21), []string{"strict-count tools"}},
	})
}

// "Tool reference 'y' not found in available tools".
func TestCheckRequestWantsReferencesToToolsThatItOffers(t *testing.T) {
	found := func(tools string) string {
		return `{"model":"m","max_tokens":1,"tools":[` + tools + `{"type":"tool_search_tool_bm25_20251119","name":"search"}],"messages":[` + question + `,` +
			assistant(list(`{"type":"server_tool_use","id":"s1","name":"search","input":{}}`,
				`{"type":"tool_search_tool_result","tool_use_id":"s1","content":{"type":"tool_search_tool_search_result","tool_references":[{"type":"tool_reference","tool_name":"y"}]}}`,
				use("t1"))) + `,` +
			user(list(`{"type":"tool_result","tool_use_id":"t1","content":[{"type":"tool_reference","tool_name":"y"}]}`)) + `]}`
	}
	runChecks(t, []checkCase{
		{"W8: known", found(`{"name":"y","input_schema":{"type":"object"}},`), nil},
		{"W8: unknown", found(""), []string{"tool-reference messages.1.content.1", "tool-reference messages.2.content.0"}},
		{"W8: perhaps of a toolset", found(`{"type":"bash_20250124","name":"bash"},{"type":"agent_toolset"},`), nil},
	})
}
