package tools_test

import (
	"bytes"
	"context"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// mutations are members that make a schema one that is no valid draft 2020-12, as they are
// met: by those that the meaning is clear of, and by those that it is not.
var mutations = []string{
	`"description":null`, `"title":null`, `"format":null`, `"examples":"x"`, `"examples":{"a":1}`, `"readOnly":"true"`, `"writeOnly":null`, `"deprecated":"yes"`,
	`"$comment":7`, `"required":["a","a"]`, `"required":true`, `"required":"a"`, `"required":[1]`, `"required":null`, `"type":["string","string"]`, `"type":[]`,
	`"type":null`, `"type":"any"`, `"type":"Object"`, `"type":"int"`, `"type":["string",7]`, `"$anchor":"1 a"`, `"$anchor":7`, `"$id":7`, `"$id":"#a"`,
	`"$ref":7`, `"$defs":[]`, `"$schema":7`, `"dependentRequired":{"a":"b"}`, `"dependentRequired":{"a":["b","b"]}`, `"dependentRequired":{"a":7}`, `"dependentRequired":[]`,
	`"dependentSchemas":{"a":7}`, `"enum":"a"`, `"enum":null`, `"enum":{}`, `"minimum":"1"`, `"minimum":null`, `"maximum":[]`, `"exclusiveMinimum":true`, `"multipleOf":0`,
	`"multipleOf":"2"`, `"minLength":-1`, `"minLength":1.5`, `"maxLength":"10"`, `"minItems":null`, `"uniqueItems":"true"`, `"pattern":7`, `"pattern":null`, `"pattern":"["`,
	`"items":[{"type":"string"}]`, `"items":null`, `"items":7`, `"prefixItems":[]`, `"prefixItems":{}`, `"additionalProperties":null`, `"additionalProperties":"false"`,
	`"properties":[]`, `"properties":null`, `"properties":{"a":[]}`, `"properties":{"a":null}`, `"patternProperties":{"a":7}`, `"propertyNames":7`, `"anyOf":[]`, `"anyOf":{}`,
	`"oneOf":null`, `"allOf":[7]`, `"not":7`, `"not":null`, `"if":"x"`, `"contains":7`, `"minContains":-1`, `"const":null`, `"default":null`, `"contentMediaType":7`,
	`"unevaluatedProperties":null`, `"unevaluatedItems":"no"`, `"nullable":"true"`, `"definitions":7`, `"$dynamicRef":7`, `"$vocabulary":[]`, `"x-own":[{"required":7}]`,
}

// W7: a schema that is no valid draft 2020-12 makes the API refuse each request with it.
// Whoever brings the tool, it is sent in a form that the meta-schema takes, or is refused
// with an error that names the tool and the keyword.
func TestForeignSchemasAreMendedOrRefused(t *testing.T) {
	meta, err := jsonschema.NewCompiler().Compile("https://json-schema.org/draft/2020-12/schema")
	if err != nil {
		t.Fatal(err)
	}
	run := func(context.Context, map[string]any) (runtest.Content, error) { return runtest.TextContent("x"), nil }
	ways := map[string]func(schema string) (anthropic.BetaTool, error){
		"NewBetaToolFromBytes": func(schema string) (anthropic.BetaTool, error) {
			return toolrunner.NewBetaToolFromBytes("its_name", "", []byte(schema), run)
		},
		"NewBetaTool": func(schema string) (anthropic.BetaTool, error) {
			return toolrunner.NewBetaTool("its_name", "", schemaParam(t, schema), run), nil
		},
		"NewRawTool": func(schema string) (anthropic.BetaTool, error) { return rawTool(schemaParam(t, schema)), nil },
		"NewRawTool, raw": func(schema string) (anthropic.BetaTool, error) {
			return rawTool(param.Override[anthropic.BetaToolInputSchemaParam](json.RawMessage(schema))), nil
		},
		"a tool not of ours": func(schema string) (anthropic.BetaTool, error) {
			return &schemaTool{runtest.OtherTool{ToolName: "its_name"}, schemaParam(t, schema)}, nil
		},
	}
	around := []func(string) string{
		func(m string) string { return `{"type":"object","properties":{"p":{` + m + `}}}` },
		func(m string) string {
			return `{"type":"object","properties":{"p":{"type":"array","items":{"anyOf":[{` + m + `},{"type":"null"}]}}}}`
		},
		func(m string) string {
			return `{"type":"object","properties":{"p":{"$ref":"#/$defs/D"}},"$defs":{"D":{"description":"d",` + m + `}}}`
		},
	}
	r := rand.New(rand.NewPCG(7, 7))
	sent, refused := 0, 0
	for _, mutation := range mutations {
		keyword := mutation[1 : strings.IndexByte(mutation[1:], '"')+1]
		schemas := []string{around[0](mutation), around[1+r.IntN(2)](mutation), around[0](mutation + "," + mutations[r.IntN(10)])}
		for i, schema := range schemas {
			for way, tool := range ways {
				made, err := tool(schema)
				c := runtest.New(t)
				c.Server.Otherwise(toolrunnertest.Text("done"))
				if err == nil {
					var runner *toolrunner.Runner
					if runner, err = toolrunner.New(&c.Client.Beta.Messages, []anthropic.BetaTool{made}, runtest.Asking("hi")); err == nil {
						_, err = runner.RunToCompletion(t.Context())
					}
				}
				if err != nil {
					refused++
					if text := err.Error(); !strings.Contains(text, "its_name") || i == 0 && !strings.Contains(text, keyword) && !strings.Contains(text, "reference") {
						t.Errorf("%s(%s) error = %v, want one that names the tool and %s", way, schema, err, keyword)
					}
					continue
				}
				sent++
				var tools []struct {
					Schema json.RawMessage `json:"input_schema"`
				}
				if err := json.Unmarshal(c.Request(t, 0).Field("tools"), &tools); err != nil {
					t.Fatal(err)
				}
				value, err := jsonschema.UnmarshalJSON(bytes.NewReader(tools[0].Schema))
				if err == nil {
					err = meta.Validate(value)
				}
				if err != nil {
					t.Errorf("%s(%s) is sent as %s, but: %v", way, schema, tools[0].Schema, err)
				}
			}
		}
	}
	if sent < 300 || refused < 100 {
		t.Errorf("%d schemas were sent and %d refused: the others show nothing", sent, refused)
	}
}

func schemaParam(t *testing.T, schema string) anthropic.BetaToolInputSchemaParam {
	t.Helper()
	var all map[string]any
	if err := json.Unmarshal([]byte(schema), &all); err != nil {
		t.Fatal(err)
	}
	p := anthropic.BetaToolInputSchemaParam{Properties: all["properties"]}
	delete(all, "properties")
	delete(all, "type")
	p.ExtraFields = all
	return p
}

func rawTool(schema anthropic.BetaToolInputSchemaParam) *toolrunner.Tool {
	return toolrunner.NewRawTool(anthropic.BetaToolParam{Name: "its_name", InputSchema: schema}, func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
		return nil, nil
	})
}
