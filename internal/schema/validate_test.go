package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

type trip struct {
	City   string         `json:"city" jsonschema:"required"`
	Unit   string         `json:"unit" jsonschema:"enum=celsius,enum=fahrenheit"`
	Days   uint8          `json:"days" jsonschema:"minimum=1,maximum=14"`
	Count  int            `json:"count"`
	Ratio  float64        `json:"ratio"`
	Dry    bool           `json:"dry"`
	Tags   []string       `json:"tags" jsonschema:"maxItems=3,minLength=2"`
	Stops  []stop         `json:"stops"`
	Extras map[string]int `json:"extras"`
	Start  time.Time      `json:"start"`
	Data   []byte         `json:"data"`
	Any    any            `json:"any"`
}

type stop struct {
	Name string `json:"name" jsonschema:"required,pattern=^[a-z]+$"`
	Kind int    `json:"kind" jsonschema:"multipleOf=5"`
}

// S5, E57, E58, B060, B104: the model reads which field is wrong, what was expected and what came.
func TestAFaultNamesPathExpectationAndValue(t *testing.T) {
	schema := mustSchema(t, reflect.TypeFor[trip](), false)
	for _, tt := range []struct{ input, want string }{
		{`{}`, "city: missing; expected string"},
		{`{"city":null}`, "city: expected string, got null"},
		{`{"CITY":"x","city":"x"}`, "CITY: unknown property; it is written city"},
		{`{"city":"x","town":1}`, "town: unknown property; known: city, unit, days, count, ratio, dry, tags, stops, extras, start, data, any"},
		{`{"city":"x","city":"y"}`, "city: given more than once"},
		{`{"city":5}`, "city: expected string, got 5"},
		{`{"city":"x","unit":"kelvin"}`, `unit: expected one of "celsius", "fahrenheit", got string "kelvin"`},
		{`{"city":"x","days":15}`, "days: expected integer from 1 to 14, got 15"},
		{`{"city":"x","days":0.5}`, "days: expected integer from 1 to 14, got 0.5"},
		{`{"city":"x","days":-1}`, "days: expected integer from 1 to 14, got -1"},
		{`{"city":"x","count":""}`, `count: expected integer, got string ""`},
		{`{"city":"x","count":3.5}`, "count: expected integer, got 3.5"},
		{`{"city":"x","count":9223372036854775808}`, "count: expected a number that fits in 64 bits, got 9223372036854775808"},
		{`{"city":"x","count":"3"}`, `count: expected integer, got string "3"; give the value itself, not a string that contains it`},
		{`{"city":"x","ratio":1e400}`, "ratio: expected a number that fits in 64 bits, got 1e400"},
		{`{"city":"x","dry":"true"}`, `dry: expected boolean, got string "true"; give the value itself, not a string that contains it`},
		{`{"city":"x","tags":"[\"ab\"]"}`, `tags: expected array of string, got string "[\"ab\"]"; give the value itself, not a string that contains it`},
		{`{"city":"x","tags":["ab","a"]}`, `tags[1]: expected at least 2 characters, got 1: string "a"`},
		{`{"city":"x","tags":["ab","ab","ab","ab"]}`, "tags: expected at most 3 items, got 4"},
		{`{"city":"x","stops":[{"name":"a"},{"kind":5}]}`, "stops[1].name: missing; expected string"},
		{`{"city":"x","stops":[{"name":"A"}]}`, `stops[0].name: expected text that matches ^[a-z]+$, got string "A"`},
		{`{"city":"x","stops":[{"name":"a","kind":7}]}`, "stops[0].kind: expected a multiple of 5, got 7"},
		{`{"city":"x","stops":[null]}`, "stops[0]: expected object, got null"},
		{`{"city":"x","extras":{"a":"b"}}`, `extras.a: expected integer, got string "b"`},
		{`{"city":"x","start":"tomorrow"}`, `start: expected a time such as 2006-01-02T15:04:05Z, got string "tomorrow"`},
		{`{"city":"x","data":"%"}`, `data: expected base64, got string "%"`},
		{`[]`, "the input: expected object, got array []"},
		{`null`, "the input: expected object, got null"},
		{`"x"`, `the input: expected object, got string "x"`},
		{`{"city":`, "not valid JSON: unexpected end of JSON input"},
		{`{"city":"x"} {}`, "not valid JSON: invalid character '{' after top-level value"},
		{``, "not valid JSON: unexpected end of JSON input"},
	} {
		t.Run(tt.input, func(t *testing.T) {
			err := schema.Check(json.RawMessage(tt.input))
			if got, want := fmt.Sprint(err), "invalid input: "+tt.want; got != want {
				t.Errorf("check\ngot  %s\nwant %s", got, want)
			}
		})
	}
}

// B026, B104, B106: what JSON Schema and decoding accept passes.
func TestInputThatFitsPasses(t *testing.T) {
	schema := mustSchema(t, reflect.TypeFor[trip](), false)
	for _, input := range []string{
		`{"city":""}`,
		` { "\u0063ity" : "x" , "count" : 1.0 } `,
		`{"city":"x","count":1e3,"days":14e0}`,
		`{"city":"x","count":9223372036854775807}`,
		`{"city":"x","count":-9223372036854775808}`,
		`{"city":"x","unit":null,"count":null,"tags":null,"stops":null,"extras":null,"start":null,"any":null}`,
		`{"city":"x","tags":["äö"],"stops":[{"name":"a","kind":10}],"extras":{},"start":"2026-01-02T03:04:05+01:00","data":"aGk="}`,
		`{"city":"{\"a\":1}","any":{"deep":[1,"2",null]}}`,
	} {
		if err := schema.Check(json.RawMessage(input)); err != nil {
			t.Errorf("Check(%s) = %v; want nil", input, err)
		}
	}
}

func TestAllFaultsAreInOneShortText(t *testing.T) {
	schema := mustSchema(t, reflect.TypeFor[trip](), false)
	err := schema.Check(json.RawMessage(`{"unit":"k","days":99,"dry":1,"x":2}`))
	want := "invalid input:\n" +
		"- unit: expected one of \"celsius\", \"fahrenheit\", got string \"k\"\n" +
		"- days: expected integer from 1 to 14, got 99\n" +
		"- dry: expected boolean, got 1\n" +
		"- x: unknown property; known: city, unit, days, count, ratio, dry, tags, stops, extras, start, data, any\n" +
		"- city: missing; expected string"
	if got := asError(t, err).Error(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}

	long := strings.Repeat("ä", 5000)
	var members []string
	for i := range 200 {
		members = append(members, fmt.Sprintf(`"%s%d":"%s"`, long, i, long))
	}
	text := asError(t, schema.Check(json.RawMessage("{"+strings.Join(members, ",")+"}"))).Error()
	if len(text) > 4096 || !utf8.ValidString(text) || !strings.HasSuffix(text, "- and 191 more") {
		t.Errorf("text of %d bytes, valid %t: %.300s", len(text), utf8.ValidString(text), text)
	}
}

// The schemas that somebody else wrote: MCP servers, tools of other libraries, the toolset of the SDK.
func TestAWrittenSchemaIsChecked(t *testing.T) {
	for _, tt := range []struct{ name, schema, good, bad, want string }{
		{"const", `{"k":{"const":"a"}}`, `{"k":"a"}`, `{"k":"b"}`, `k: expected "a"`},
		{"const and enum", `{"k":{"enum":["a","b"],"const":"b"}}`, `{"k":"b"}`, `{"k":"a"}`, `k: expected "b"`},
		{"const outside of enum", `{"k":{"const":"c","enum":["a","b"]},"l":{}}`, `{"l":1}`, `{"k":"c"}`, `k: expected`},
		{"several types", `{"k":{"type":["string","integer"]}}`, `{"k":1}`, `{"k":true}`, "k: expected string or integer"},
		{"null is not absent", `{"k":{"type":"string"}}`, `{}`, `{"k":null}`, "k: expected string, got null"},
		{"anyOf", `{"k":{"anyOf":[{"type":"string"},{"type":"integer","minimum":1}]}}`, `{"k":1}`, `{"k":0}`, "k: expected integer of at least 1, got 0"},
		{"oneOf", `{"k":{"oneOf":[{"type":"string"},{"type":"null"}]}}`, `{"k":null}`, `{"k":0}`, "k: expected string; or null, got 0"},
		{"anyOf of objects", `{"k":{"anyOf":[{"type":"object","required":["a"]},{"type":"string"}]}}`, `{"k":{"a":1}}`, `{"k":{}}`, "k.a: missing; expected any value"},
		{"allOf", `{"k":{"allOf":[{"minimum":1},{"maximum":3}]}}`, `{"k":2}`, `{"k":4}`, "k: expected"},
		{"exclusive bounds", `{"k":{"type":"number","exclusiveMinimum":0,"exclusiveMaximum":1}}`, `{"k":0.5}`, `{"k":1}`, "k: expected number above 0 and below 1, got 1"},
		{"exact numbers", `{"k":{"maximum":9007199254740992}}`, `{"k":9007199254740992}`, `{"k":9007199254740993}`, "got 9007199254740993"},
		{"huge exponents", `{"k":{"type":"number","maximum":10}}`, `{"k":1e-999999999}`, `{"k":1e999999999}`, "got 1e999999999"},
		{"prefixItems", `{"k":{"prefixItems":[{"type":"string"}],"items":{"type":"integer"}}}`, `{"k":["a",1]}`, `{"k":[1,"a"]}`, "k[0]: expected string, got 1\n- k[1]: expected integer"},
		{"uniqueItems", `{"k":{"uniqueItems":true}}`, `{"k":[1,2,"1"]}`, `{"k":[1,2,1.0]}`, "k: expected no item twice, got 1.0"},
		{"items are never allowed", `{"k":{"items":false}}`, `{"k":[]}`, `{"k":[1]}`, "k[0]: no value is accepted here"},
		{"patternProperties", `{"k":{"patternProperties":{"^x-":{"type":"string"}},"additionalProperties":false}}`, `{"k":{"x-a":"b"}}`, `{"k":{"x-a":1,"y":1}}`, "k.x-a: expected string, got 1\n- k.y: unknown property; there are none"},
		{"propertyNames", `{"k":{"propertyNames":{"maxLength":2}}}`, `{"k":{"ab":1}}`, `{"k":{"abc":1}}`, "k.abc: expected at most 2 characters"},
		{"number of properties", `{"k":{"minProperties":1,"maxProperties":2}}`, `{"k":{"a":1}}`, `{"k":{}}`, "k: expected 1 to 2 properties, got 0"},
		{"references", `{"k":{"$ref":"#/properties/l"},"l":{"type":"array","items":{"$ref":"#/properties/l"}}}`, `{"k":[[],[[]]]}`, `{"k":[[1]]}`, "k[0][0]: expected array, got 1"},
		{"enum of objects", `{"k":{"enum":[{"a":1,"b":[2]}]}}`, `{"k":{"b":[2.0],"a":1}}`, `{"k":{"a":1}}`, `k: expected {"a":1,"b":[2]}, got object {"a":1}`},
		{"a reference into a list", `{"k":{"$ref":"#/properties/l/anyOf/1"},"l":{"anyOf":[{"type":"string"},{"type":"integer"}]}}`, `{"k":1}`, `{"k":"a"}`, "k: expected integer"},
		{"a reference with escapes", `{"k":{"$ref":"#/$defs/a~1b%20c"}}`, `{"k":"a"}`, `{"k":1}`, "k: expected string"},
		{"a long enum", `{"k":{"enum":[1,2,3,4,5,6,7,8,9,10,11,12,13,14]}}`, `{"k":14}`, `{"k":15}`, "k: expected one of 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, ... (14 in all), got 15"},
		{"alternatives behind references", `{"k":{"anyOf":[{"$ref":"#/properties/l"},{"type":"null"}]},"l":{"type":"object","required":["a"]}}`, `{"k":null}`, `{"k":{}}`, "k.a: missing"},
		{"alternatives inside alternatives", `{"k":{"anyOf":[{"anyOf":[{"type":"string"},{"type":"boolean"}]},{"enum":[1,2]}]}}`, `{"k":true}`, `{"k":3}`, "k: expected string; or boolean; or one of 1, 2, got 3"},
		{"tiny multiples", `{"k":{"multipleOf":1e-999}}`, `{"k":3}`, `{"k":3,"l":1,"k":3}`, "k: given more than once"},
		{"an empty key", `{"k":{"additionalProperties":false}}`, `{"k":{}}`, `{"k":{"":1}}`, "unknown property"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			schema, err := FromJSON(json.RawMessage(`{"type":"object","properties":` + tt.schema + `,"$defs":{"a/b c":{"type":"string"}}}`))
			if err != nil {
				t.Fatal(err)
			}
			if err := schema.Check(json.RawMessage(tt.good)); err != nil {
				t.Errorf("Check(%s) = %v; want nil", tt.good, err)
			}
			wantError(t, schema.Check(json.RawMessage(tt.bad)), tt.want)
		})
	}
}

func TestAKeywordThatIsNotKnownRefusesNothing(t *testing.T) {
	for _, property := range []string{
		`{"x-own":true,"$comment":"c","format":"email"}`,
		`{"pattern":"^(?!a)"}`,
		`{"not":{"type":"integer"}}`,
		`{"if":{"type":"integer"},"then":false}`,
		`{"contains":{"type":"string"},"minContains":3}`,
		`{"$ref":"https://example.com/schema.json"}`,
		`{"$dynamicRef":"#node"}`,
		`{"unevaluatedProperties":false,"dependentRequired":{"a":["b"]}}`,
		`{"patternProperties":{"^(?!a)":{"type":"string"}},"additionalProperties":false}`,
		`{"oneOf":[{"type":"integer"},{"type":"number"},{}]}`,
		`true`,
	} {
		schema, err := FromJSON(json.RawMessage(`{"type":"object","properties":{"k":` + property + `}}`))
		if err != nil {
			t.Errorf("FromJSON(%s): %v", property, err)
			continue
		}
		for _, input := range []string{`{"k":1}`, `{"k":"a"}`, `{"k":{"a":1}}`, `{"k":[1]}`} {
			if err := schema.Check(json.RawMessage(input)); err != nil {
				t.Errorf("%s: Check(%s) = %v; want nil", property, input, err)
			}
		}
	}
}

func TestAlternativesInsideAlternativesEnd(t *testing.T) {
	schema, err := FromJSON(json.RawMessage(`{"type":"object","properties":{"k":{"$ref":"#/$defs/a"}},"$defs":{"a":{"anyOf":[` +
		`{"items":{"$ref":"#/$defs/a"},"maxItems":1,"type":"array"},{"items":{"$ref":"#/$defs/a"},"maxItems":2,"type":"array"}]}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, depth := range []int{2, 200, 4_000} {
		deep := func(inner string) json.RawMessage {
			return json.RawMessage(`{"k":` + strings.Repeat("[", depth) + inner + strings.Repeat("]", depth) + `}`)
		}
		if err := schema.Check(deep("")); err != nil {
			t.Errorf("depth %d: check = %v; want nil", depth, err)
		}
		wantError(t, schema.Check(deep("1")), "k: expected")
	}
	wantError(t, schema.Check(json.RawMessage(`{"k":[[1]]}`)), "k")
}

// B106: a field may be null where it may be left out; nullable lets a required one be null.
func TestNullStandsForAnOptionalProperty(t *testing.T) {
	type input struct {
		Must  *string `json:"must" jsonschema:"required"`
		Maybe *string `json:"maybe" jsonschema:"required,nullable"`
		Free  *string `json:"free"`
	}
	schema := mustSchema(t, reflect.TypeFor[input](), false)
	good := json.RawMessage(`{"must":"x","maybe":null,"free":null}`)
	if err := schema.Check(good); err != nil {
		t.Errorf("check = %v; want nil", err)
	}
	in := input{}
	if err := Decode(good, &in); err != nil || in.Maybe != nil || in.Free != nil {
		t.Errorf("Decode = %v, %+v", err, in)
	}
	if err := Decode(json.RawMessage(`{"must":5}`), &in); asError(t, err).Unwrap() == nil {
		t.Errorf("Decode = %v without a cause", err)
	}
	wantError(t, schema.Check(json.RawMessage(`{"must":null,"maybe":null}`)), "must: expected string, got null")
}

func asError(t *testing.T, err error) *Error {
	t.Helper()
	var wrong *Error
	if !errors.As(err, &wrong) {
		t.Fatalf("error %v (%T); want an *Error", err, err)
	}
	return wrong
}

func BenchmarkCheck(b *testing.B) {
	schema := mustSchema(b, reflect.TypeFor[trip](), false)
	input := json.RawMessage(`{"city":"San Francisco, CA","unit":"celsius","days":3,"tags":["ab","cd"]}`)
	b.ReportAllocs()
	for b.Loop() {
		if err := schema.Check(input); err != nil {
			b.Fatal(err)
		}
	}
}
