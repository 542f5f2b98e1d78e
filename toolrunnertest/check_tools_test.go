package toolrunnertest_test

import (
	"strings"
	"testing"
)

const ephemeral = `"cache_control":{"type":"ephemeral"}`

// Rule 5 of the field reports.
func TestCheckRequestCountsCacheControl(t *testing.T) {
	cached := `{"type":"text","text":"x",` + ephemeral + `}`
	tool := `"tools":[{"name":"f","input_schema":{"type":"object"},` + ephemeral + `}]`
	body := func(fields string, blocks ...string) string {
		return `{"model":"m","max_tokens":1,"messages":[` + user(list(blocks...)) + `],` + fields + `}`
	}
	nested := func(fields string) string {
		return `{"model":"m","max_tokens":1,"messages":[` + question + `,` + assistant(list(use("t1"))) + `,` +
			user(list(`{"type":"tool_result","tool_use_id":"t1","content":[`+cached+`],`+ephemeral+`}`)) + `],` + fields + `}`
	}
	runChecks(t, []checkCase{
		{"four", body(tool+`,"system":[`+cached+`]`, cached, cached), nil},
		{"B028: five", body(tool+`,"system":[`+cached+`]`, cached, cached, cached), []string{"cache-control-count"}},
		{"B028: inside a result", nested(tool + `,"system":[` + cached + `]`), nil},
		{"B028: five with one inside a result", nested(tool + `,"system":[` + cached + `,` + cached + `]`), []string{"cache-control-count"}},
		{"automatic is one of them", body(tool+`,`+ephemeral+`,"system":[`+cached+`]`, cached, cached), []string{"cache-control-count"}},
		{"null is none", body(`"system":[`+cached+`]`, cached, cached, cached, `{"type":"text","text":"x","cache_control":null}`), nil},
		{
			"an input's key is none",
			messages(question, assistant(list(cached, cached, cached, cached, `{"type":"tool_use","id":"t1","name":"f","input":{"content":[{`+ephemeral+`}]}}`)), user(list(result("t1")))),
			nil,
		},
		{
			"on thinking", messages(question, assistant(list(`{"type":"thinking","thinking":"t","signature":"s",`+ephemeral+`}`, text("a"))), question),
			[]string{"cache-control-place messages.1.content.0"},
		},
		{
			"on redacted thinking", messages(question, assistant(list(`{"type":"redacted_thinking","data":"d",`+ephemeral+`}`, text("a"))), question),
			[]string{"cache-control-place messages.1.content.0"},
		},
		{
			"on an empty text inside a result",
			messages(question, assistant(list(use("t1"))), user(list(`{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"",`+ephemeral+`}]}`))),
			[]string{"cache-control-place messages.2.content.0.content.0"},
		},
	})
}

// Rule 6 of the field reports.
func TestCheckRequestWantsLegalTools(t *testing.T) {
	named := func(names ...string) string {
		tools := make([]string, len(names))
		for i, name := range names {
			tools[i] = `{"name":"` + name + `","input_schema":{"type":"object"}}`
		}
		return with(`"tools":[` + strings.Join(tools, ",") + `]`)
	}
	schema := func(schema string) string { return with(`"tools":[{"name":"f","input_schema":` + schema + `}]`) }
	const name, shape = "tool-name tools.0.custom.name", "input-schema tools.0.custom.input_schema"
	runChecks(t, []checkCase{
		{"legal", named("get_weather", "get-weather", "GetWeather2"), nil},
		{"B046: 128 characters", named(strings.Repeat("a", 128)), nil},
		{"B046: 129 characters", named(strings.Repeat("a", 129)), []string{name}},
		{"B046: dots", named("admin.tools.list"), []string{name}},
		{"B046: slash", named("user/update"), []string{name}},
		{"B046: space", named("Dockerfile scanner"), []string{name}},
		{"B046: not ASCII", named("météo"), []string{name}},
		{"B046: empty", named(""), []string{name}},
		{"twice", named("f", "g", "f"), []string{"tool-duplicate tools.2.custom"}},
		{
			"twice, one of the server", with(`"tools":[{"type":"web_search_20250305","name":"web_search"},{"name":"web_search","input_schema":{"type":"object"}}]`),
			[]string{"tool-duplicate tools.1.custom"},
		},
		{"toolset without a name", with(`"mcp_servers":[{"type":"url","name":"s","url":"u"}],"tools":[{"type":"mcp_toolset","mcp_server_name":"s"}],"tool_choice":{"type":"tool","name":"member"}`), nil},
		{"no list", with(`"tools":{}`), []string{"parameter-type tools"}},
		{"no object", with(`"tools":["f"]`), []string{"block-shape tools.0"}},
		{"B045: no schema", with(`"tools":[{"name":"f"}]`), []string{shape}},
		{"B045: null schema", schema(`null`), []string{shape}},
		{"B045: empty schema", schema(`{}`), []string{shape + ".type"}},
		{"B045: array", schema(`{"type":"array"}`), []string{shape + ".type"}},
		{"B045: object or null", schema(`{"type":["object","null"]}`), []string{shape + ".type"}},
		{"B045: oneOf", schema(`{"oneOf":[{"type":"object"}]}`), []string{shape, shape + ".type"}},
		{"B045: oneOf beside the type", schema(`{"type":"object","oneOf":[]}`), []string{shape}},
		{"B045: anyOf", schema(`{"type":"object","anyOf":[]}`), []string{shape}},
		{"B045: allOf", schema(`{"type":"object","allOf":[]}`), []string{shape}},
		{"B045: $ref", schema(`{"$ref":"#/$defs/X","$defs":{"X":{"type":"object"}}}`), []string{shape, shape + ".type"}},
		{"B045: bool", schema(`true`), []string{shape}},
		{"unions further down", schema(`{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"$ref":"#"}]}}}`), nil},
	})
}

func TestCheckRequestWantsAToolChoiceThatFits(t *testing.T) {
	tools := `"tools":[{"name":"f","input_schema":{"type":"object"}}]`
	runChecks(t, []checkCase{
		{"auto", with(tools + `,"tool_choice":{"type":"auto"}`), nil},
		{"any", with(tools + `,"tool_choice":{"type":"any"}`), nil},
		{"none without tools", with(`"tool_choice":{"type":"none"}`), nil},
		{"any without tools", with(`"tool_choice":{"type":"any"}`), []string{"tool-choice tool_choice"}},
		{"a tool", with(tools + `,"tool_choice":{"type":"tool","name":"f"}`), nil},
		{"another tool", with(tools + `,"tool_choice":{"type":"tool","name":"g"}`), []string{"tool-choice tool_choice"}},
		{"no name", with(tools + `,"tool_choice":{"type":"tool"}`), []string{"tool-choice tool_choice"}},
		{"unknown", with(tools + `,"tool_choice":{"type":"some"}`), []string{"tool-choice tool_choice.type"}},
	})
}
