package schema

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

type (
	shape  interface{ area() float64 }
	circle struct {
		Radius float64 `json:"radius" jsonschema:"required,exclusiveMinimum=0"`
	}
	rect struct {
		Width  int  `json:"width" jsonschema:"required"`
		Height int  `json:"height,omitempty"`
		Inner  *any `json:"inner,omitempty"`
	}
	group struct {
		Shapes []oneShape `json:"shapes"`
	}
	// oneShape is a union as a user would write it by hand.
	oneShape struct{ Value shape }
	picture  struct {
		Main  oneShape            `json:"main" jsonschema:"required,description=What is in the middle."`
		Other map[string]oneShape `json:"other,omitempty"`
		Maybe *oneShape           `json:"maybe,omitempty" jsonschema:"nullable"`
		Big   rect                `json:"big,omitzero"`
	}
	// flat has no variant that contains the union.
	flat      struct{ Value shape }
	flatInput struct {
		Main  flat   `json:"main" jsonschema:"required"`
		Other []flat `json:"other,omitempty"`
	}
)

func (c circle) area() float64 { return c.Radius }
func (r *rect) area() float64  { return float64(r.Width) }
func (g group) area() float64  { return 0 }

func (oneShape) JSONVariants() map[string]any {
	return map[string]any{"circle": circle{}, "rect": (*rect)(nil), "group": group{}}
}

func (o *oneShape) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		o.Value = nil
		return nil
	}
	v, err := DecodeVariant(data, o.JSONVariants())
	if err == nil {
		o.Value = v.(shape)
	}
	return err
}
func (o oneShape) MarshalJSON() ([]byte, error) { return EncodeVariant(o.Value, o.JSONVariants()) }

func (flat) JSONVariants() map[string]any {
	return map[string]any{"circle": circle{}, "rect": &flatRect{}}
}

type flatRect struct {
	Width int `json:"width"`
}

func (r *flatRect) area() float64 { return float64(r.Width) }
func (o *flat) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		o.Value = nil
		return nil
	}
	v, err := DecodeVariant(data, o.JSONVariants())
	if err == nil {
		o.Value = v.(shape)
	}
	return err
}
func (o flat) MarshalJSON() ([]byte, error) { return EncodeVariant(o.Value, o.JSONVariants()) }

func TestAUnionIsAnyOfItsVariants(t *testing.T) {
	const (
		circleText = `{"type":"object","properties":{"type":{"type":"string","const":"circle"},"radius":{"type":"number","exclusiveMinimum":0}},` +
			`"required":["type","radius"],"additionalProperties":false}`
		rectText = `{"type":"object","properties":{"type":{"type":"string","const":"rect"},"width":{"type":"integer"}},` +
			`"required":["type"],"additionalProperties":false}`
		strictRect = `{"type":"object","properties":{"type":{"type":"string","const":"rect"},"width":{"type":["integer","null"]}},` +
			`"required":["type","width"],"additionalProperties":false}`
		strictCircle = `{"type":"object","properties":{"type":{"type":"string","const":"circle"},` +
			`"radius":{"type":"number","description":"{exclusiveMinimum: 0}"}},"required":["type","radius"],"additionalProperties":false}`
	)
	for _, tt := range []struct {
		name   string
		typ    reflect.Type
		strict bool
		want   string
	}{
		{
			"in fields and lists", reflect.TypeFor[flatInput](), false,
			`{"type":"object","properties":{"main":{"anyOf":[` + circleText + `,` + rectText + `]},"other":{"type":"array","items":{"anyOf":[` +
				circleText + `,` + rectText + `]}}},"required":["main"],"additionalProperties":false}`,
		},
		{
			"described and nullable", reflect.TypeFor[struct {
				F *flat `jsonschema:"nullable,description=A shape, or none."`
			}](), false,
			`{"type":"object","properties":{"F":{"description":"A shape, or none.","anyOf":[` + circleText + `,` + rectText + `,{"type":"null"}]}}` + closed,
		},
		{
			"strict", reflect.TypeFor[struct{ F flat }](), true,
			`{"type":"object","properties":{"F":{"anyOf":[` + strictCircle + `,` + strictRect + `,{"type":"null"}]}},"required":["F"],"additionalProperties":false}`,
		},
		{
			"a variant that contains the union", reflect.TypeFor[struct{ F oneShape }](), false,
			`{"type":"object","properties":{"F":{"$ref":"#/$defs/shape"}},"additionalProperties":false,"$defs":{"shape":{"anyOf":[` + circleText +
				`,{"type":"object","properties":{"type":{"type":"string","const":"group"},"shapes":{"type":"array","items":{"$ref":"#/$defs/shape"}}},` +
				`"required":["type"],"additionalProperties":false},{"type":"object","properties":{"type":{"type":"string","const":"rect"},` +
				`"width":{"type":"integer"},"height":{"type":"integer"},"inner":{}},"required":["type","width"],"additionalProperties":false}]}}}`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := mustSchema(t, tt.typ, tt.strict)
			if diff := cmp.Diff(tt.want, string(got.JSON())); diff != "" {
				t.Errorf("schema (-want +got):\n%s", diff)
			}
			if again := mustSchema(t, tt.typ, tt.strict); string(again.JSON()) != string(got.JSON()) {
				t.Errorf("made again: %s", again.JSON())
			}
		})
	}
}

// E57: the model reads what is wrong with the variant that it named, and nothing about the others.
func TestInputIsComparedWithTheVariantThatItNames(t *testing.T) {
	schema := mustSchema(t, reflect.TypeFor[picture](), false)
	for _, tt := range []struct {
		name, input string
		want        string // of the check
		decoder     string // of the decoder alone; empty for the same
	}{
		{"missing", `{"main":{"radius":1}}`, `main.type: missing; expected one of "circle", "group", "rect"`, ""},
		{"unknown", `{"main":{"type":"oval","radius":1}}`, `main.type: expected one of "circle", "group", "rect", got string "oval"`, ""},
		{"of another type", `{"main":{"type":5}}`, `main.type: expected one of "circle", "group", "rect", got 5`, ""},
		{"a property of another variant", `{"main":{"type":"circle","radius":1,"width":2}}`, `main.width: unknown property; known:`, ""},
		{"a wrong value", `{"main":{"type":"rect","width":"wide"}}`, `main.width: expected integer, got string "wide"`, `width: expected integer, got string`},
		{"inside of a variant", `{"main":{"type":"group","shapes":[{"type":"circle","radius":1},{"type":"rect","width":1.5}]}}`, `main.shapes[1].width: expected integer, got 1.5`, `width: expected integer`},
		{"in a map", `{"main":{"type":"circle","radius":1},"other":{"a":{"type":"x"}}}`, `other.a.type: expected one of`, ""},
		{"type given twice", `{"main":{"type":"circle","radius":1,"type":"rect"}}`, `main.type: given more than once`, `main.type: unknown property`},
		{"no object", `{"main":7}`, `main: expected object whose type is one of "circle", "group", "rect", got 7`, `expected object, got 7`},
		{"JSON in a string", `{"main":"{\"type\":\"circle\",\"radius\":1}"}`, `; give the value itself, not a string that contains it`, `expected object, got string`},
		{"case of the key", `{"main":{"Type":"circle","radius":1}}`, `main.type: missing`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			wantError(t, schema.Check(json.RawMessage(tt.input)), tt.want)
			if tt.decoder == "" {
				tt.decoder = tt.want
			}
			var in picture
			wantError(t, schema.Decode(json.RawMessage(tt.input), &in), tt.decoder)
		})
	}
}

func TestAUnionDecodesToTheVariantAndBack(t *testing.T) {
	input := `{"main":{"type":"group","shapes":[{"type":"circle","radius":0.5},{"type":"rect","width":2e1,"inner":9007199254740993}]},` +
		`"other":{"a":{"type":"rect","width":1}},"maybe":null}`
	schema := mustSchema(t, reflect.TypeFor[picture](), false)
	if err := schema.Check(json.RawMessage(input)); err != nil {
		t.Fatal(err)
	}
	var got picture
	if err := schema.Decode(json.RawMessage(input), &got); err != nil {
		t.Fatal(err)
	}
	want := picture{
		Main:  oneShape{group{[]oneShape{{circle{0.5}}, {&rect{Width: 20, Inner: ptr[any](json.Number("9007199254740993"))}}}}},
		Other: map[string]oneShape{"a": {&rect{Width: 1}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("decoded (-want +got):\n%s", diff)
	}
	encoded, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Check(encoded); err != nil {
		t.Errorf("Check(%s) = %v", encoded, err)
	}
	if want := `{"main":{"type":"group","shapes":[{"type":"circle","radius":0.5},{"type":"rect","width":20,"inner":9007199254740993}]},"other":{"a":{"type":"rect","width":1}}}`; string(encoded) != want {
		t.Errorf("encoded = %s, want %s", encoded, want)
	}
}

func TestEncodingAVariant(t *testing.T) {
	variants := flat{}.JSONVariants()
	variants["empty"] = struct{}{}
	variants["text"] = struct{ S string }{}
	for _, tt := range []struct {
		name  string
		value any
		want  string
		err   string
	}{
		{"value", circle{1}, `{"type":"circle","radius":1}`, ""},
		{"pointer to a value", &circle{1}, `{"type":"circle","radius":1}`, ""},
		{"value for a pointer", flatRect{2}, `{"type":"rect","width":2}`, ""},
		{"no properties", struct{}{}, `{"type":"empty"}`, ""},
		{"no escapes for HTML", struct{ S string }{"<&>"}, `{"type":"text","S":"<&>"}`, ""},
		{"nil", nil, `null`, ""},
		{"nil pointer", (*flatRect)(nil), `null`, ""},
		{"unlisted", group{}, "", "schema.group is none of the variants"},
		{"not JSON", circle{math.NaN()}, "", "NaN"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := EncodeVariant(tt.value, variants)
			if tt.err != "" {
				wantError(t, err, tt.err)
			} else if err != nil || string(got) != tt.want {
				t.Errorf("EncodeVariant = %s, %v; want %s", got, err, tt.want)
			}
		})
	}
}

// bad is a union whose variants the test sets.
type bad[V interface{ list() map[string]any }] struct{ Value any }

func (bad[V]) JSONVariants() map[string]any {
	var v V
	return v.list()
}

type (
	noVariants   struct{}
	nilVariant   struct{}
	noName       struct{}
	noStruct     struct{}
	ownForm      struct{}
	twice        struct{}
	ownProperty  struct{}
	panicking    struct{}
	noSchema     struct{}
	hasInterface struct{ F interface{ M() } }
)

func (noVariants) list() map[string]any { return nil }
func (nilVariant) list() map[string]any { return map[string]any{"a": circle{}, "b": nil} }
func (noName) list() map[string]any     { return map[string]any{"": circle{}} }
func (noStruct) list() map[string]any   { return map[string]any{"a": map[string]int{}} }
func (ownForm) list() map[string]any    { return map[string]any{"a": time.Time{}} }
func (twice) list() map[string]any      { return map[string]any{"a": circle{}, "b": &circle{}} }
func (panicking) list() map[string]any  { panic("no list") }
func (noSchema) list() map[string]any   { return map[string]any{"a": hasInterface{}} }
func (ownProperty) list() map[string]any {
	return map[string]any{"a": struct {
		Kind string `json:"type"`
	}{}}
}

func TestAUnionThatCannotBeToldApartIsRefused(t *testing.T) {
	for _, tt := range []struct {
		typ  reflect.Type
		want string
	}{
		{reflect.TypeFor[struct{ F bad[noVariants] }](), "a union needs variants"},
		{reflect.TypeFor[struct{ F bad[nilVariant] }](), `variant "b" is nil`},
		{reflect.TypeFor[struct{ F bad[noName] }](), "schema.circle has no name"},
		{reflect.TypeFor[struct{ F bad[noStruct] }](), "map[string]int is no struct"},
		{reflect.TypeFor[struct{ F bad[ownForm] }](), "time.Time has its own JSON form"},
		{reflect.TypeFor[struct{ F bad[twice] }](), `variants "a" and "b" have the same type schema.circle`},
		{reflect.TypeFor[struct{ F bad[ownProperty] }](), `a property "type" of its own`},
		{reflect.TypeFor[struct{ F bad[panicking] }](), "panic: no list"},
		{reflect.TypeFor[struct{ F bad[noSchema] }](), `variant "a": schema.hasInterface.F: interface type`},
		{reflect.TypeFor[oneShape](), "put it into a field of a struct"},
		{reflect.TypeFor[flat](), "put it into a field of a struct"},
		{reflect.TypeFor[struct {
			F struct {
				oneShape
				N int
			}
		}](), "has its own JSON form"},
	} {
		t.Run(tt.typ.String(), func(t *testing.T) {
			_, err := For(tt.typ, false)
			wantError(t, err, tt.want)
		})
	}
	_, err := For(reflect.TypeFor[struct{ F oneShape }](), true)
	wantError(t, err, "contain themselves")
	_, err = DecodeVariant([]byte(`{}`), nil)
	wantError(t, err, "a union needs variants")
}

// A schema of another tool that tells objects apart by a constant gets the same messages.
func TestAWrittenUnionIsToldApartByItsConstants(t *testing.T) {
	schema, err := FromJSON(json.RawMessage(`{"type":"object","$defs":{"A":{"type":"object","properties":{"n":{"type":"integer"},"kind":{"const":"a"}},` +
		`"required":["n","kind"]}},"properties":{"k":{"oneOf":[{"$ref":"#/$defs/A"},{"type":"object","properties":{"kind":{"enum":["b"]},"n":{"type":"string"}},` +
		`"required":["kind"]},{"type":"null"}]}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ input, want string }{
		{`{"k":{"kind":"a","n":1}}`, ""},
		{`{"k":{"kind":"b","n":"x"}}`, ""},
		{`{"k":null}`, ""},
		{`{"k":{"kind":"a","n":"x"}}`, `k.n: expected integer, got string "x"`},
		{`{"k":{"kind":"b","n":1}}`, `k.n: expected string, got 1`},
		{`{"k":{"kind":"c"}}`, `k.kind: expected one of "a", "b", got string "c"`},
		{`{"k":{}}`, `k.kind: missing; expected one of "a", "b"`},
		{`{"k":1}`, `k: expected object whose kind is one of "a", "b"; or null, got 1`},
	} {
		err := schema.Check(json.RawMessage(tt.input))
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || err.Error() != "invalid input: "+tt.want) {
			t.Errorf("Check(%s) = %v, want %q", tt.input, err, tt.want)
		}
	}
}
