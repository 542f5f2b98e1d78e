package schema

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// metaSchema is what a schema of draft 2020-12 has to match, by a library that is not ours.
func metaSchema(t testing.TB) func(schema []byte) error {
	t.Helper()
	meta, err := jsonschema.NewCompiler().Compile("https://json-schema.org/draft/2020-12/schema")
	if err != nil {
		t.Fatal(err)
	}
	return func(schema []byte) error {
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
		if err != nil {
			return err
		}
		return meta.Validate(value)
	}
}

// W7: one schema that is no valid draft 2020-12 makes the API refuse each request. A constructor mends what says nothing about
// input, and has an error for the rest.
func TestAWrittenSchemaIsMendedOrRefused(t *testing.T) {
	meta := metaSchema(t)
	for _, tt := range []struct{ name, property, want string }{
		{"required twice", `{"required":["a","a","b"]}`, `{"required":["a","b"]}`},
		{"types twice", `{"type":["string","string","null"]}`, `{"type":["string","null"]}`},
		{"null annotations", `{"description":null,"title":null,"format":null,"examples":null,"deprecated":null}`, `{}`},
		{"a text as examples", `{"examples":"x"}`, `{"examples":["x"]}`},
		{"flags as texts", `{"readOnly":"true","writeOnly":"no","deprecated":"since 2"}`, `{"readOnly":true}`},
		{"a number as comment", `{"$comment":7,"title":false}`, `{"$comment":"7","title":"false"}`},
		{"dependentRequired", `{"dependentRequired":{"a":"b","c":["d","d"]}}`, `{"dependentRequired":{"a":["b"],"c":["d"]}}`},
		{"anchors", `{"$anchor":"1 a","$dynamicAnchor":"#b","$anchor ":1}`, `{"$anchor ":1}`},
		{"ids", `{"$id":7,"items":{"$id":"#a"}}`, `{"items":{}}`},
		{"keys twice", `{"type":"integer","type":"string","properties":{"a":{},"a":true}}`, `{"type":"string","properties":{"a":true}}`},
		{"in what is not checked", `{"not":{"title":1},"dependentSchemas":{"a":{"required":["x","x"]}},"then":{"format":[]}}`, `{"not":{"title":"1"},"dependentSchemas":{"a":{"required":["x"]}},"then":{}}`},
		{"required of draft 4", `{"required":true}`, ""},
		{"dependentRequired without names", `{"dependentRequired":{"a":7}}`, ""},
		{"dependencies", `{"dependencies":{"a":7}}`, ""},
		{"a schema in not", `{"not":7}`, ""},
		{"a type in contains", `{"contains":{"type":"text"}}`, ""},
		{"minContains", `{"minContains":-1}`, ""},
		{"contentSchema", `{"contentSchema":[]}`, ""},
		{"a text as a limit", `{"minimum":"1"}`, ""},
		{"a reference", `{"$ref":7}`, ""},
		{"unevaluatedProperties", `{"unevaluatedProperties":null}`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			schema, err := FromJSON(json.RawMessage(`{"type":"object","properties":{"p":` + tt.property + `}}`))
			if tt.want == "" {
				wantError(t, err, "properties: p: ")
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if want := `{"type":"object","properties":{"p":` + tt.want + `}}`; string(schema.JSON()) != want {
				t.Errorf("got  %s\nwant %s", schema.JSON(), want)
			}
			if err := meta(schema.JSON()); err != nil {
				t.Errorf("the meta-schema refuses it: %v", err)
			}
		})
	}
}

func TestOurSchemasMatchTheMetaSchema(t *testing.T) {
	meta := metaSchema(t)
	for _, typ := range fuzzTypes {
		for _, strict := range []bool{false, true} {
			schema, err := For(typ, strict)
			if err != nil {
				continue // strict mode cannot say every type
			}
			if err := meta(schema.JSON()); err != nil {
				t.Errorf("%s, strict %t: %v", typ, strict, err)
			}
		}
	}
}

// Whatever is written for a keyword: what the constructors and Mend let through, the meta-schema lets through.
func TestWhatPassesMatchesTheMetaSchema(t *testing.T) {
	meta := metaSchema(t)
	g := schemas{rand.New(rand.NewPCG(5, 6))}
	passed, mended := 0, 0
	for range 6_000 {
		text := `{"type":"object","properties":{"p":` + g.schema(0) + `}}`
		if input, err := FromJSON(json.RawMessage(text)); err == nil {
			passed++
			if err := meta(input.JSON()); err != nil {
				t.Fatalf("%s became %s, but: %v", text, input.JSON(), err)
			}
		}
		m, err := Mend(json.RawMessage(text))
		if err != nil {
			continue
		}
		mended++
		if err := meta(m.Input.JSON()); err != nil {
			t.Fatalf("%s is mended to %s, but: %v", text, m.Input.JSON(), err)
		}
		if again, err := Mend(m.Input.JSON()); err != nil || len(again.Repairs) > 0 {
			t.Fatalf("%s is mended to %s, which needs %q, %v", text, m.Input.JSON(), again.Repairs, err)
		}
	}
	if passed < 500 || mended < passed {
		t.Errorf("%d schemas passed, %d were mended: the others show nothing", passed, mended)
	}
}

// schemas makes schemas, of which some are none.
type schemas struct{ *rand.Rand }

var schemaKeywords = strings.Fields(`$id $schema $anchor $dynamicAnchor $dynamicRef $comment $defs definitions dependencies $vocabulary title description
	format pattern contentEncoding contentMediaType contentSchema default examples deprecated readOnly writeOnly type enum const minimum maximum
	exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength minItems maxItems minProperties maxProperties minContains maxContains uniqueItems
	required dependentRequired dependentSchemas items prefixItems contains additionalProperties properties patternProperties propertyNames not if then
	else allOf anyOf oneOf unevaluatedItems unevaluatedProperties additionalItems $recursiveAnchor $recursiveRef x-own`)

func (g schemas) schema(depth int) string {
	var members []string
	for range g.IntN(3) + 1 {
		members = append(members, `"`+schemaKeywords[g.IntN(len(schemaKeywords))]+`":`+g.value(depth))
	}
	return "{" + strings.Join(members, ",") + "}"
}

func (g schemas) value(depth int) string {
	if depth < 3 {
		switch g.IntN(8) {
		case 0:
			return g.schema(depth + 1)
		case 1:
			return "[" + g.schema(depth+1) + "," + g.schema(depth+1) + "]"
		case 2:
			return `{"a":` + g.value(depth+1) + `}`
		case 3:
			return "[" + g.value(depth+1) + "]"
		}
	}
	all := []string{`null`, `true`, `false`, `0`, `-1`, `1.5`, `2.0`, `"a"`, `"string"`, `"Object"`, `"any"`, `"true"`, `"7"`, `"#"`, `""`, `"1 b"`, `[]`, `{}`, `["a","a"]`, `["a",1]`, `["string"]`}
	return all[g.IntN(len(all))]
}
