package schema

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// SC3: a name in required is no declared property.
func TestARequiredNameIsNotDeclared(t *testing.T) {
	for _, tt := range []struct{ schema, input, want string }{
		{`{"additionalProperties":{"type":"integer"},"required":["n"]}`, `{"n":"x"}`, `k.n: expected integer, got string "x"`},
		{`{"additionalProperties":{"type":"integer"},"required":["n"]}`, `{}`, `k.n: missing; expected integer`},
		{`{"additionalProperties":false,"required":["n"]}`, `{"n":"x"}`, `k.n: unknown property; there are none`},
		{`{"properties":{"a":{}},"additionalProperties":false,"required":["n"]}`, `{"n":1}`, `k.n: unknown property; known: a`},
		{`{"patternProperties":{"^n":{"type":"integer"}},"required":["n"]}`, `{"n":"x"}`, `k.n: expected integer, got string "x"`},
		{`{"required":["n"]}`, `{"n":null,"m":1}`, ``},
		{`{"additionalProperties":{"type":"integer"},"required":["n"]}`, `{"n":1,"m":2}`, ``},
	} {
		err := mustJSON(t, tt.schema, `{}`).Fair().Check(json.RawMessage(`{"k":` + tt.input + `}`))
		if tt.want == "" && err != nil {
			t.Errorf("%s: Check(%s) = %v; want nil", tt.schema, tt.input, err)
		} else if tt.want != "" {
			wantError(t, err, tt.want)
		}
	}
}

// SC4: what a tag says of a value in a string is sent: as texts, or as words.
func TestTheStringOptionKeepsWhatTheTagSays(t *testing.T) {
	type input struct {
		Level int     `json:"level,string" jsonschema:"minimum=1,maximum=5,default=2,description=How loud."`
		Unit  int8    `json:"unit,string" jsonschema:"enum=1,enum=10,example=10,required"`
		Word  string  `json:"word,string" jsonschema:"enum=a,enum=b"`
		Step  float64 `json:"step,string" jsonschema:"multipleOf=0.5,exclusiveMinimum=0,nullable"`
		On    bool    `json:"on,string" jsonschema:"enum=true"`
	}
	schema := mustSchema(t, reflect.TypeFor[input](), false)
	want := `{"type":"object","properties":{` +
		`"level":{"type":"string","description":"How loud.\n\n{minimum: 1, maximum: 5}","pattern":"^(0|[1-9][0-9]*)$","default":"2"},` +
		`"unit":{"type":"string","enum":["1","10"],"examples":["10"]},` +
		`"word":{"type":"string","enum":["\"a\"","\"b\""]},` +
		`"step":{"type":["string","null"],"description":"{exclusiveMinimum: 0, multipleOf: 0.5}","pattern":"^-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][+-]?[0-9]+)?$"},` +
		`"on":{"type":"string","enum":["true"]}},"required":["unit"],"additionalProperties":false}`
	if diff := cmp.Diff(want, string(schema.JSON())); diff != "" {
		t.Errorf("schema (-want +got):\n%s", diff)
	}
	wantError(t, schema.Check(json.RawMessage(`{"unit":"1","level":"6"}`)), "level: expected integer from 1 to 5, got 6")
	wantError(t, schema.Check(json.RawMessage(`{"unit":"2"}`)), `unit: expected one of "1", "10"`)
	good := json.RawMessage(`{"unit":"10","word":"\"b\"","step":"1.5","on":"true"}`)
	if err := schema.Check(good); err != nil {
		t.Fatal(err)
	}
	var got input
	if err := schema.Decode(good, &got); err != nil || got != (input{2, 10, "b", 1.5, true}) {
		t.Errorf("decode = %+v, %v", got, err)
	}
}

// SC8: a schema with an $id inside of ours has references of its own, which are not ours to follow.
func TestReferencesBelowAnIDAreNotFollowed(t *testing.T) {
	for _, k := range []string{
		`{"$id":"https://example.com/a","$ref":"#/$defs/n"}`,
		`{"$id":"https://example.com/a","anyOf":[{"$ref":"#/$defs/n"}],"$defs":{"n":{"type":"integer"}}}`,
		`{"$id":"https://example.com/a","$ref":"#/$defs/nowhere"}`,
		`{"$ref":"#/$defs/other/$defs/m"}`,
	} {
		schema := mustJSON(t, k, `{"n":{"type":"boolean"},"other":{"$id":"https://example.com/o","$defs":{"m":{"items":{"$ref":"#/$defs/n"}}}}}`)
		for _, input := range []string{`{"k":1}`, `{"k":["x"]}`} {
			if err := schema.Check(json.RawMessage(input)); err != nil {
				t.Errorf("%s: Check(%s) = %v; want nil", k, input, err)
			}
		}
	}
	root, err := FromJSON(json.RawMessage(`{"$id":"https://example.com/r","type":"object","properties":{"k":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"integer"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	wantError(t, root.Check(json.RawMessage(`{"k":"x"}`)), "k: expected integer")
}

// SC10: what is valid by the specification passes.
func TestWhatIsValidPasses(t *testing.T) {
	type input struct {
		F32  float32           `json:"f32"`
		When string            `json:"when" jsonschema:"format=date-time"`
		At   *time.Time        `json:"at"`
		List []flat            `json:"list"`
		Map  map[string]flat   `json:"map"`
		More map[string][]flat `json:"more"`
	}
	schema := mustSchema(t, reflect.TypeFor[input](), false)
	for _, f := range []float32{math.MaxFloat32, -math.MaxFloat32, math.SmallestNonzeroFloat32} {
		encoded, err := json.Marshal(input{F32: f, List: []flat{{}, {circle{1}}}, Map: map[string]flat{"a": {}}, More: map[string][]flat{"b": {{}}}})
		if err != nil {
			t.Fatal(err)
		}
		var got input
		if err := schema.Check(encoded); err != nil {
			t.Errorf("Check(%s) = %v; want nil", encoded, err)
		}
		if err := schema.Decode(encoded, &got); err != nil || got.F32 != f || len(got.List) != 2 || got.List[0].Value != nil {
			t.Errorf("decode = %+v, %v", got, err)
		}
	}
	for _, when := range []string{`"2026-01-02t03:04:05z"`, `"2016-12-31T23:59:60Z"`, `"2026\u002d01-02T03:04:05Z"`} {
		if err := schema.Check(json.RawMessage(`{"when":` + when + `}`)); err != nil {
			t.Errorf("when %s: check = %v; want nil", when, err)
		}
	}
	wantError(t, schema.Check(json.RawMessage(`{"at":"tomorrow"}`)), "at: expected a time")
	wantError(t, schema.Check(json.RawMessage(`{"f32":3.5e38}`)), "f32: expected")
	for _, tt := range []struct{ pattern, good, bad string }{
		{`^\\s$`, "\u00a0", "x"},
		{`^\\S+$`, "x", "a\u2003b"},
		{`^[a\\s]+$`, "a\ufeffa", "b"},
		{`^[[:alpha:]]$`, ":]", "b"},
		{`^[[a]+$`, "[a", "b"},
		{`^[^\\S]$`, "\u00a0", ""},
		{`^[^]$`, "\n", ""},
		{`^a[]$`, "a", ""},
		{`^\\[a]$`, "[a]", "a"},
		{`^[\\]s]$`, "]", `\`},
	} {
		schema := mustJSON(t, `{"pattern":"`+tt.pattern+`"}`, `{}`)
		input := func(text string) json.RawMessage { return json.RawMessage(`{"k":` + quoteJSON(text) + `}`) }
		if err := schema.Check(input(tt.good)); err != nil {
			t.Errorf("%s: %q: check = %v; want nil", tt.pattern, tt.good, err)
		}
		if tt.bad != "" && schema.Check(input(tt.bad)) == nil {
			t.Errorf("%s: %q passes", tt.pattern, tt.bad)
		}
	}
	for _, integer := range []string{"1e20000", "-1.0e400", "5e-0"} {
		if err := mustJSON(t, `{"type":"integer"}`, `{}`).Check(json.RawMessage(`{"k":` + integer + `}`)); err != nil {
			t.Errorf("%s is no integer: %v", integer, err)
		}
	}
}

// P15: a default stands for the property that is missing, in each object, and never for one that is given.
func TestADefaultStandsForWhatIsMissing(t *testing.T) {
	type item struct {
		Size  int    `json:"size" jsonschema:"default=3"`
		Color string `json:"color"`
	}
	type embeddedDefaults struct {
		Mode string `json:"mode" jsonschema:"default=fast"`
	}
	type input struct {
		Unit  string         `json:"unit" jsonschema:"enum=celsius,enum=kelvin,default=celsius"`
		Limit *int           `json:"limit" jsonschema:"default=10"`
		Tags  []string       `json:"tags" jsonschema:"default=a,default=b"`
		M     map[string]int `json:"m" jsonschema:"default={\"x\":1}"`
		When  time.Time      `json:"when" jsonschema:"default=2026-01-02T03:04:05Z"`
		Text  int            `json:"text,string" jsonschema:"default=7"`
		None  *string        `json:"none" jsonschema:"nullable,default=text"`
		Items []item         `json:"items"`
		U     *flat          `json:"u"`
		embeddedDefaults
	}
	when := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	all := input{
		Unit: "celsius", Limit: ptr(10), Tags: []string{"a", "b"}, M: map[string]int{"x": 1}, When: when, Text: 7, None: ptr("text"),
		embeddedDefaults: embeddedDefaults{"fast"},
	}
	given := input{
		Unit: "", Limit: ptr(0), Tags: []string{}, M: map[string]int{}, When: when.Add(time.Second), Text: 0, Items: []item{{3, "red"}, {0, ""}},
		embeddedDefaults: embeddedDefaults{"slow"},
	}
	schema := mustSchema(t, reflect.TypeFor[input](), false)
	for _, tt := range []struct {
		input string
		want  input
	}{
		{`{}`, all},
		{`{"unit":null,"limit":null,"tags":null,"m":null,"when":null,"text":null,"mode":null}`, all},
		{`{"unit":"","limit":0,"tags":[],"m":{},"when":"2026-01-02T03:04:06Z","text":"0","none":null,"items":[{"color":"red"},{"size":0}],"mode":"slow"}`, given},
	} {
		for range 2 { // a default is not shared
			var got input
			if err := schema.DecodeUnchecked(json.RawMessage(tt.input), &got); err != nil {
				t.Fatalf("%s: %v", tt.input, err)
			}
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(input{})); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.input, diff)
			}
			if len(got.Tags) > 0 {
				got.Tags[0], got.M["x"] = "changed", 5
			}
		}
	}
	_, err := For(reflect.TypeFor[struct {
		T time.Time `jsonschema:"default=tomorrow"`
	}](), false)
	wantError(t, err, `.T: jsonschema tag: default="tomorrow"`)
}

// MC2: the top of a schema with alternatives forbids nothing that its description allows.
func TestAlternativesAtTheTopBecomeOneObject(t *testing.T) {
	for _, tt := range []struct{ name, schema, want string }{
		{
			"a discriminated union", `{"oneOf":[{"properties":{"kind":{"const":"a"},"n":{"type":"integer"},"id":{}},"required":["kind","n"]},` +
				`{"$ref":"#/$defs/B"}],"$defs":{"B":{"properties":{"kind":{"const":"b"},"n":{"type":"integer"}},"required":["kind"]}}}`,
			`"properties":{"id":{},"kind":{"anyOf":[{"const":"a"},{"const":"b"}]},"n":{"type":"integer"}},"required":["kind"],"type":"object"}`,
		},
		{
			"allOf in allOf", `{"allOf":[{"allOf":[{"properties":{"a":{}},"required":["a"]},{"$ref":"#/$defs/B"}]}],"$defs":{"B":{"allOf":[{"properties":{"b":{}},"required":["b"]}]}}}`,
			`"properties":{"a":{},"b":{}},"required":["a","b"],"type":"object"}`,
		},
		{
			"alternatives in parts", `{"allOf":[{"anyOf":[{"required":["a","b"]},{"required":["b"],"type":"object"},{"type":"null"}]}]}`,
			`"properties":{},"required":["b"],"type":"object"}`,
		},
		{
			"what comes back to itself", `{"anyOf":[{"$ref":"#"},{"$ref":"#/$defs/A"}],"$defs":{"A":{"allOf":[{"$ref":"#/$defs/A"}],"properties":{"a":{"$ref":"#/$defs/A"}}}}}`, "",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, err := Mend(json.RawMessage(tt.schema))
			if tt.want == "" {
				wantError(t, err, "without an end")
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := string(m.Input.JSON()); !strings.HasSuffix(got, tt.want) || m.Moved == "" {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// MC5: what servers send of another form, though its meaning is clear.
func TestKeywordsOfAnotherFormAreMended(t *testing.T) {
	meta := metaSchema(t)
	for _, tt := range []struct{ schema, want string }{
		{`{"properties":[]}`, `{"properties":{},"type":"object"}`},
		{`{"properties":{"a":[],"b":null}}`, `{"properties":{"a":{},"b":{}},"type":"object"}`},
		{`{"properties":{"a":{"additionalProperties":null,"minimum":null,"items":null}}}`, `{"properties":{"a":{}},"type":"object"}`},
		{`{"properties":{"a":{"type":"string","required":true},"b":{"required":false}},"required":["c"]}`, `{"properties":{"a":{"type":"string"},"b":{}},"required":["c","a"],"type":"object"}`},
		{`{"required":true,"properties":{"a":{"properties":{"b":{"required":true}},"required":true}}}`, `{"properties":{"a":{"properties":{"b":{}},"required":["b"]}},"required":["a"],"type":"object"}`},
		{`{"properties":{"a":{"type":"any"},"b":{"type":"String"},"c":{"type":["Integer","NULL"]},"d":{"type":"int"},"e":{"type":["string","any"]}}}`, `{"properties":{"a":{},"b":{"type":"string"},"c":{"type":["integer","null"]},"d":{"type":"integer"},"e":{}},"type":"object"}`},
		{`{"type":"Object"}`, `{"properties":{},"type":"object"}`},
		{`{"anyOf":[],"properties":{"a":{"oneOf":[],"allOf":null}}}`, `{"properties":{"a":{}},"type":"object"}`},
		{`{"$ref":"#/%24defs/x","$defs":{"x":{"properties":{"a":{}}}}}`, `{"$defs":{"x":{"properties":{"a":{}}}},"properties":{"a":{}},"type":"object"}`},
		{`{"properties":{"a":{"minimum":"1","maxLength":"5","uniqueItems":"true"}}}`, `{"properties":{"a":{"maxLength":5,"minimum":1,"uniqueItems":true}},"type":"object"}`},
		{`{"required":"a","properties":{"a":{"const":null,"default":null}}}`, `{"properties":{"a":{"const":null,"default":null}},"required":["a"],"type":"object"}`},
		{`{"properties":{"a":{"description":null,"items":[{"type":"Array"}]}}}`, `{"properties":{"a":{"prefixItems":[{"type":"array"}]}},"type":"object"}`},
	} {
		m, err := Mend(json.RawMessage(tt.schema))
		if err != nil {
			t.Errorf("%s: %v", tt.schema, err)
			continue
		}
		if diff := cmp.Diff(tt.want, string(m.Input.JSON())); diff != "" || len(m.Repairs) == 0 {
			t.Errorf("%s, repairs %q (-want +got):\n%s", tt.schema, m.Repairs, diff)
		}
		if err := meta(m.Input.JSON()); err != nil {
			t.Errorf("%s: %v", m.Input.JSON(), err)
		}
	}
}
