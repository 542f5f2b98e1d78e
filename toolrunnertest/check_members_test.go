package toolrunnertest_test

import "testing"

// R5, TS3: other forms of members that are of a wrong type, incomplete or unknown.
func TestCheckRequestWantsMembersOfTheirTypes(t *testing.T) {
	tool := func(definition string) string { return with(`"tools":[` + definition + `]`) }
	schema := func(members string) string {
		return tool(`{"name":"f","input_schema":{"type":"object",` + members + `}}`)
	}
	strict := func(properties string) string {
		return tool(`{"name":"f","strict":true,"input_schema":{"type":"object","properties":` + properties + `}}`)
	}
	says := func(block string) string { return messages(user(list(block))) }
	const first = "messages.0.content.0.source"
	circular := []string{"strict-schema tools.0.custom.input_schema"}
	runChecks(t, []checkCase{
		{"a system of one object", with(`"system":{"type":"text","text":"x"}`), []string{"parameter-type system"}},
		{"stop_sequences of numbers", with(`"stop_sequences":[1]`), []string{"parameter-type stop_sequences"}},
		{"no stop_sequences", with(`"stop_sequences":[]`), nil},
		{"a container of a number", with(`"container":5`), []string{"parameter-type container"}},
		{"a container with skills", with(`"container":{"skills":[]}`), nil},
		{"thinking of an unknown type", with(`"thinking":{"type":"on"}`), []string{"parameter-type thinking.type"}},
		{"thinking between tools", with(`"thinking":{"type":"between_tools"}`), nil},
		{"no thinking", with(`"thinking":{"type":"disabled"}`), nil},
		{"a temperature as text", with(`"temperature":"0.5"`), []string{"parameter-type temperature"}},
		{"a temperature just too high", with(`"temperature":1.0001`), []string{"temperature temperature"}},
		{"properties as a list", schema(`"properties":[]`), []string{"input-schema tools.0.custom.input_schema.properties"}},
		{"null properties", schema(`"properties":null,"required":null`), nil},
		{"required as text", schema(`"required":"a"`), []string{"input-schema tools.0.custom.input_schema.required"}},
		{"W7: required twice", schema(`"required":["a","a"]`), []string{"input-schema tools.0.custom.input_schema.required"}},
		{"required of numbers", schema(`"required":[1]`), []string{"input-schema tools.0.custom.input_schema.required"}},
		{"strict, a property that is itself", strict(`{"a":{"$ref":"#/properties/a"}}`), circular},
		{"strict, a property inside of itself", strict(`{"a":{"type":"object","properties":{"b":{"$ref":"#/properties/a"}}}}`), circular},
		{"strict, in a list", strict(`{"a":{"anyOf":[{"type":"null"},{"items":{"$ref":"#/properties/a/anyOf/1"}}]}}`), circular},
		{"strict, one property like another", strict(`{"a":{"type":"string"},"b":{"$ref":"#/properties/a"}}`), nil},
		{"a server without a name", with(`"mcp_servers":[{"type":"url","url":"u"}],"tools":[{"type":"mcp_toolset"}]`), []string{
			"mcp-server mcp_servers.0.name", "mcp-server tools.0.mcp_server_name",
		}},
		{"an image from nowhere", says(`{"type":"image","source":{"type":"disk"}}`), []string{"block-shape " + first}},
		{"an image of null", says(`{"type":"image","source":{"type":"base64","media_type":"image/png","data":null}}`), []string{"block-shape " + first + ".base64.data"}},
		{"a type in capitals", says(`{"type":"image","source":{"type":"base64","media_type":"IMAGE/PNG","data":"AA=="}}`), []string{"image-type " + first + ".base64.media_type"}},
		{"a document without data", says(`{"type":"document","source":{"type":"base64","media_type":"application/pdf"}}`), []string{"block-shape " + first + ".base64.data"}},
		{"a document of blocks", says(`{"type":"document","source":{"type":"content","content":[{"type":"text","text":"x"}]}}`), nil},
		{"a document in a file", says(`{"type":"document","source":{"type":"file","file_id":"file_1"}}`), nil},
	})
}
