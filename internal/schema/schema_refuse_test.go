package schema

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"
)

// B045, B061, B064, B065: what has no schema is refused when the tool is made, and the error says where.
func TestATypeWithoutASchemaIsRefusedByName(t *testing.T) {
	type loop *loop
	type wide struct {
		A, B, C, D, E, F, G, H []struct{ A, B, C, D, E, F, G, H [][]int }
	}
	type wider struct{ A, B, C, D, E, F, G, H []wide }
	for _, tt := range []struct {
		name string
		typ  reflect.Type
		want []string
	}{
		{"nothing", nil, []string{"no type"}},
		{"string", reflect.TypeFor[string](), []string{"string", "object"}},
		{"list", reflect.TypeFor[[]int](), []string{"array", "object"}},
		{"time", reflect.TypeFor[time.Time](), []string{"time.Time", "object"}},
		{"interface", reflect.TypeFor[error](), []string{"interface type error"}},
		{"interface in a field", reflect.TypeFor[struct{ E error }](), []string{".E", "interface type error"}},
		{"func", reflect.TypeFor[struct{ F func() }](), []string{".F", "func()"}},
		{"channel in a list", reflect.TypeFor[struct{ F []chan int }](), []string{".F", "chan int"}},
		{"complex", reflect.TypeFor[struct{ C complex128 }](), []string{".C", "complex128"}},
		{"own JSON form", reflect.TypeFor[struct{ O opaque }](), []string{".O", "schema.opaque", "JSONSchema"}},
		{"embedded time hides the rest", reflect.TypeFor[struct {
			time.Time
			N int
		}](), []string{"JSONSchema"}},
		{"text that cannot be decoded", reflect.TypeFor[struct{ P plainText }](), []string{".P", "plainText", "UnmarshalText"}},
		{"keys of a map", reflect.TypeFor[struct{ M map[float64]int }](), []string{".M", "map[float64]int"}},
		{"embedded pointer to an unexported struct", reflect.TypeFor[struct{ *base }](), []string{".ID", "unexported"}},
		{"pointer to itself", reflect.TypeFor[struct{ L loop }](), []string{"without an end"}},
		{"size", reflect.TypeFor[struct{ A, B, C, D, E, F, G, H, I, J []wider }](), []string{"more than 5000 parts"}},
		{"tag at an embedded struct", reflect.TypeFor[struct {
			Shared `jsonschema:"required"`
		}](), []string{".Name", `"required" of the embedded struct`}},
		{"name of a property", reflect.TypeFor[struct {
			A int `json:"a b"`
		}](), []string{`"a b"`}},
		{"a method that needs a value", reflect.TypeFor[struct {
			F struct{ *money }
		}](), []string{".F", "JSONSchema", "panics"}},
		{"a reference in a part", reflect.TypeFor[struct{ F refersElsewhere }](), []string{".F", "$ref"}},
		{"an invalid part", reflect.TypeFor[struct{ F badKeyword }](), []string{".F", "badKeyword", "type"}},
		{"not a schema", reflect.TypeFor[struct{ F notASchema }](), []string{".F", "notASchema", "not a JSON object"}},
		{"string option on a type with its own form", reflect.TypeFor[struct {
			A stringInt `json:",string"`
		}](), []string{".A", "string option"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := For(tt.typ, false)
			wantError(t, err, tt.want...)
		})
	}
}

type (
	stringInt       int
	refersElsewhere struct{}
	badKeyword      struct{}
	notASchema      struct{}
)

func (refersElsewhere) JSONSchema() json.RawMessage {
	return json.RawMessage(`{"items":{"$ref":"#/$defs/X"}}`)
}
func (badKeyword) JSONSchema() json.RawMessage { return json.RawMessage(`{"type":"text"}`) }
func (notASchema) JSONSchema() []int           { return nil }

func (s *stringInt) UnmarshalText([]byte) error { return nil }

func wantError(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error; want one with %q", parts)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q; want %q in it", err, part)
		}
	}
}

func TestStrictModeRefusesWhatItCannotSay(t *testing.T) {
	for _, tt := range []struct {
		name string
		typ  reflect.Type
		want string
	}{
		{"recursion", reflect.TypeFor[treeNode](), "contain themselves"},
		{"map", reflect.TypeFor[struct{ M map[string]int }](), "M: strict mode does not accept maps"},
		{"any", reflect.TypeFor[struct{ L []any }](), "L: items: strict mode does not accept values of any type"},
		{"open object", reflect.TypeFor[any](), "open objects"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := For(tt.typ, true)
			wantError(t, err, tt.want)
		})
	}
}

// B045: one bad schema makes the API refuse the whole request, so it is found when the tool is made.
func TestASchemaThatTheAPIRefusesIsAnError(t *testing.T) {
	for _, tt := range []struct{ name, schema, want string }{
		{"nothing", ``, "JSON"},
		{"not JSON", `{"type":`, "JSON"},
		{"list", `[]`, "must be an object"},
		{"boolean", `true`, "must be an object"},
		{"null", `null`, "must be an object"},
		{"empty", `{}`, "no type"},
		{"array", `{"type":"array"}`, `"array"`},
		{"two types", `{"type":["object","null"]}`, `["object","null"]`},
		{"oneOf", `{"oneOf":[{"type":"object"}]}`, "oneOf"},
		{"anyOf beside a type", `{"type":"object","anyOf":[{}]}`, "anyOf"},
		{"allOf", `{"type":"object","allOf":[{}]}`, "allOf"},
		{"$ref", `{"$ref":"#/$defs/X","$defs":{"X":{"type":"object"}}}`, "$ref"},
		{"key", `{"type":"object","properties":{"filter[id]":{}}}`, `filter[id]`},
		{"unknown type", `{"type":"object","properties":{"a":{"type":"int"}}}`, `properties: a: type: string "int"`},
		{"properties", `{"type":"object","properties":[]}`, "properties: must be an object"},
		{"required of draft 4", `{"type":"object","required":true}`, "required: must be an array"},
		{"exclusiveMinimum of draft 4", `{"type":"object","properties":{"a":{"exclusiveMinimum":true}}}`, "must be a number"},
		{"items of draft 7", `{"type":"object","properties":{"a":{"items":[{}]}}}`, "prefixItems"},
		{"enum", `{"type":"object","properties":{"a":{"enum":"x"}}}`, "enum: must be an array"},
		{"count", `{"type":"object","properties":{"a":{"maxLength":-1}}}`, "maxLength: must be a count"},
		{"dangling $ref", `{"type":"object","properties":{"a":{"$ref":"#/$defs/X"}}}`, `"#/$defs/X" leads nowhere`},
		{"endless $ref", `{"type":"object","properties":{"a":{"$ref":"#/properties/a"}}}`, "without an end"},
		{"endless anyOf", `{"type":"object","$defs":{"a":{"anyOf":[{"$ref":"#/$defs/a"}]}},"properties":{"a":{"$ref":"#/$defs/a"}}}`, "without an end"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := FromJSON(json.RawMessage(tt.schema))
			wantError(t, err, tt.want)
		})
	}
}
