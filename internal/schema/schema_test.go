package schema

import (
	"encoding/json"
	"math/big"
	"net/netip"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

type (
	upperText struct{ s string }
	plainText struct{ s string }
	money     struct{ cents int64 }
	opaque    struct{ n int }
	selfRoot  struct{ City string }
	described struct{ A string }
	mapNode   map[string]mapNode
	treeNode  struct {
		Value string     `json:"value" jsonschema:"required"`
		Kids  []treeNode `json:"kids,omitempty"`
	}
	pingNode struct {
		Pong *pongNode `json:"pong,omitempty"`
	}
	pongNode struct {
		Ping *pingNode `json:"ping,omitempty" jsonschema:"description=The way back."`
	}
	page[T any] struct {
		Items []T      `json:"items"`
		Next  *page[T] `json:"next,omitempty"`
	}
	base struct {
		ID   int    `json:"id" jsonschema:"required"`
		Note string `json:"note"`
	}
	Shared struct {
		Name string
		Only string
	}
	Other struct {
		Name  string
		Extra bool
	}
	PtrBase   struct{ Deep int }
	stringSet []string
	celsius   float64
	myBytes   []byte
	addr      struct {
		Street string `json:"street" jsonschema:"required"`
	}
)

func (u upperText) MarshalText() ([]byte, error)  { return []byte(strings.ToUpper(u.s)), nil }
func (u *upperText) UnmarshalText(b []byte) error { u.s = string(b); return nil }
func (p plainText) MarshalText() ([]byte, error)  { return []byte(p.s), nil }
func (m money) MarshalJSON() ([]byte, error)      { return json.Marshal(big.NewInt(m.cents).String()) }
func (m *money) UnmarshalJSON(b []byte) error     { return nil }
func (money) JSONSchema() json.RawMessage {
	return json.RawMessage(`{"type":"string","pattern":"^[0-9]+$","description":"An amount in cents."}`)
}
func (o opaque) MarshalJSON() ([]byte, error) { return json.Marshal(o.n) }
func (selfRoot) JSONSchema() map[string]any {
	return map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
		"properties": map[string]any{"City": map[string]any{"type": "string"}}, "required": []string{"City"},
	}
}

func (described) JSONSchema() json.RawMessage {
	return json.RawMessage(`{"type":"object","title":"Own"}`)
}

// closed is the usual end of an object without required properties.
const closed = `,"additionalProperties":false}`

func TestASchemaSaysWhatTheGoTypeMeans(t *testing.T) {
	for _, tt := range []struct {
		name string
		typ  reflect.Type
		want string
	}{
		{"S1: a comma in a description does not end it", reflect.TypeFor[struct {
			Location string `json:"location" jsonschema:"required,description=The city and state, e.g. San Francisco, CA"`
			Unit     string `json:"unit,omitempty" jsonschema:"enum=celsius,enum=fahrenheit"`
		}](), `{"type":"object","properties":{"location":{"type":"string","description":"The city and state, e.g. San Francisco, CA"},` +
			`"unit":{"type":"string","enum":["celsius","fahrenheit"]}},"required":["location"],"additionalProperties":false}`},
		{"S1: two integers", reflect.TypeFor[struct {
			A int `json:"a" jsonschema:"required,description=First number"`
			B int `json:"b" jsonschema:"required,description=Second number"`
		}](), `{"type":"object","properties":{"a":{"type":"integer","description":"First number"},` +
			`"b":{"type":"integer","description":"Second number"}},"required":["a","b"],"additionalProperties":false}`},
		{"B138: no parameters", reflect.TypeFor[struct{}](), `{"type":"object","properties":{},"additionalProperties":false}`},
		{"pointer to a struct", reflect.TypeFor[*addr](), `{"type":"object","properties":{"street":{"type":"string"}},"required":["street"],"additionalProperties":false}`},
		{"any is an open object", reflect.TypeFor[any](), `{"type":"object","properties":{}}`},
		{"raw JSON is an open object", reflect.TypeFor[json.RawMessage](), `{"type":"object","properties":{}}`},
		{"map at the top", reflect.TypeFor[map[string]int](), `{"type":"object","properties":{},"additionalProperties":{"type":"integer"}}`},
		{"map of anything at the top", reflect.TypeFor[map[string]any](), `{"type":"object","properties":{},"additionalProperties":{}}`},
		{"signed integers", reflect.TypeFor[struct {
			I   int
			I8  int8
			I16 int16
			I32 int32
			I64 int64
		}](), `{"type":"object","properties":{"I":{"type":"integer"},"I8":{"type":"integer","minimum":-128,"maximum":127},` +
			`"I16":{"type":"integer","minimum":-32768,"maximum":32767},"I32":{"type":"integer","minimum":-2147483648,"maximum":2147483647},` +
			`"I64":{"type":"integer"}}` + closed},
		{"unsigned integers", reflect.TypeFor[struct {
			U   uint
			U8  uint8
			U16 uint16
			U32 uint32
			U64 uint64
			P   uintptr
		}](), `{"type":"object","properties":{"U":{"type":"integer","minimum":0},"U8":{"type":"integer","minimum":0,"maximum":255},` +
			`"U16":{"type":"integer","minimum":0,"maximum":65535},"U32":{"type":"integer","minimum":0,"maximum":4294967295},` +
			`"U64":{"type":"integer","minimum":0},"P":{"type":"integer","minimum":0}}` + closed},
		{"floats, booleans and named types", reflect.TypeFor[struct {
			F32 float32
			F64 float64
			B   bool
			C   celsius
		}](), `{"type":"object","properties":{"F32":{"type":"number"},"F64":{"type":"number"},"B":{"type":"boolean"},"C":{"type":"number"}}` + closed},
		{"B106: lists, maps and pointers have one type", reflect.TypeFor[struct {
			A []int
			P *string
			M map[string]int
			L []*addr
		}](), `{"type":"object","properties":{"A":{"type":"array","items":{"type":"integer"}},"P":{"type":"string"},` +
			`"M":{"type":"object","additionalProperties":{"type":"integer"}},"L":{"type":"array","items":{"type":"object",` +
			`"properties":{"street":{"type":"string"}},"required":["street"],"additionalProperties":false}}}` + closed},
		{
			"a list of fixed length", reflect.TypeFor[struct{ A [3]float64 }](),
			`{"type":"object","properties":{"A":{"type":"array","items":{"type":"number"},"minItems":3,"maxItems":3}}` + closed,
		},
		{
			"lists of lists", reflect.TypeFor[struct{ A [][]string }](),
			`{"type":"object","properties":{"A":{"type":"array","items":{"type":"array","items":{"type":"string"}}}}` + closed,
		},
		{"B064: bytes are base64, an array of bytes is not", reflect.TypeFor[struct {
			A []byte
			B myBytes
			C [4]byte
		}](), `{"type":"object","properties":{"A":{"type":"string","contentEncoding":"base64"},"B":{"type":"string","contentEncoding":"base64"},` +
			`"C":{"type":"array","items":{"type":"integer","minimum":0,"maximum":255},"minItems":4,"maxItems":4}}` + closed},
		{"B064: time", reflect.TypeFor[struct {
			T time.Time
			P *time.Time
			D time.Duration
			E time.Duration `jsonschema:"description=How long to wait."`
			N time.Duration `jsonschema:"description=Nanoseconds to wait."`
		}](), `{"type":"object","properties":{"T":{"type":"string","format":"date-time"},"P":{"type":"string","format":"date-time"},` +
			`"D":{"type":"integer","description":"Duration in nanoseconds."},"E":{"type":"integer","description":"How long to wait. (in nanoseconds)"},` +
			`"N":{"type":"integer","description":"Nanoseconds to wait."}}` + closed},
		{"B064: anything", reflect.TypeFor[struct {
			A any
			R json.RawMessage
			N json.Number
			B *big.Int
		}](), `{"type":"object","properties":{"A":{},"R":{},"N":{"type":"number"},"B":{"type":"integer"}}` + closed},
		{"B064: types that are text", reflect.TypeFor[struct {
			U upperText
			P *upperText
			A netip.Addr
			F big.Float
		}](), `{"type":"object","properties":{"U":{"type":"string"},"P":{"type":"string"},"A":{"type":"string"},"F":{"type":"string"}}` + closed},
		{
			"B064: a type that is a struct for encoding/json", reflect.TypeFor[struct{ U url.Userinfo }](),
			`{"type":"object","properties":{"U":{"type":"object","properties":{},"additionalProperties":false}}` + closed,
		},
		{"B064: a type that describes itself keeps its description", reflect.TypeFor[struct {
			M money
			N *money `jsonschema:"description=The price."`
			L []money
		}](), `{"type":"object","properties":{"M":{"type":"string","description":"An amount in cents.","pattern":"^[0-9]+$"},` +
			`"N":{"type":"string","description":"The price.","pattern":"^[0-9]+$"},` +
			`"L":{"type":"array","items":{"type":"string","description":"An amount in cents.","pattern":"^[0-9]+$"}}}` + closed},
		{
			"a type that describes itself at the top, in the form of another library", reflect.TypeFor[selfRoot](),
			`{"type":"object","properties":{"City":{"type":"string"}},"required":["City"]}`,
		},
		{"a promoted JSONSchema describes only the embedded struct", reflect.TypeFor[struct {
			described
			B int
		}](), `{"type":"object","properties":{"A":{"type":"string"},"B":{"type":"integer"}}` + closed},
		{"a type stated by the tag", reflect.TypeFor[struct {
			O opaque `jsonschema:"type=integer,minimum=1"`
		}](), `{"type":"object","properties":{"O":{"type":"integer","minimum":1}}` + closed},
		{"B064: keys of maps", reflect.TypeFor[struct {
			I map[int]string
			U map[uint8]string
			T map[upperText]int
		}](), `{"type":"object","properties":{"I":{"type":"object","additionalProperties":{"type":"string"},"propertyNames":{"pattern":"^(0|-?[1-9][0-9]*)$"}},` +
			`"U":{"type":"object","additionalProperties":{"type":"string"},"propertyNames":{"pattern":"^(0|[1-9][0-9]*)$"}},` +
			`"T":{"type":"object","additionalProperties":{"type":"integer"}}}` + closed},
		{"names", reflect.TypeFor[struct {
			Plain    int
			Renamed  int `json:"renamed"`
			Options  int `json:",omitempty"`
			Zero     int `json:"zero,omitzero"`
			Dash     int `json:"-"`
			Dashed   int `json:"-,"`   //nolint:staticcheck // the odd tag is the case
			BadName  int `json:"a\"b"` //nolint:staticcheck // the odd tag is the case
			hidden   int
			Unlisted int `json:"unlisted" jsonschema:"-"`
		}](), `{"type":"object","properties":{"Plain":{"type":"integer"},"renamed":{"type":"integer"},"Options":{"type":"integer"},` +
			`"zero":{"type":"integer"},"-":{"type":"integer"},"BadName":{"type":"integer"}}` + closed},
		{"the string option", reflect.TypeFor[struct {
			I int     `json:",string"`
			U uint8   `json:",string" jsonschema:"description=A level."`
			F float64 `json:",string"`
			B bool    `json:",string"`
			S string  `json:",string"`
			L []int   `json:",string"` //nolint:staticcheck // the odd tag is the case
			N *int    `json:",string" jsonschema:"nullable"`
		}](), `{"type":"object","properties":{"I":{"type":"string","pattern":"^(0|-?[1-9][0-9]*)$"},` +
			`"U":{"type":"string","description":"A level.","pattern":"^(0|[1-9][0-9]*)$"},` +
			`"F":{"type":"string","pattern":"^-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][+-]?[0-9]+)?$"},"B":{"type":"string","enum":["true","false"]},` +
			`"S":{"type":"string"},"L":{"type":"array","items":{"type":"integer"}},"N":{"type":["string","null"],"pattern":"^(0|-?[1-9][0-9]*)$"}}` + closed},
		{"B065: embedded structs", reflect.TypeFor[struct {
			base
			*PtrBase
			Own int `json:"own"`
		}](), `{"type":"object","properties":{"id":{"type":"integer"},"note":{"type":"string"},"Deep":{"type":"integer"},"own":{"type":"integer"}},` +
			`"required":["id"],"additionalProperties":false}`},
		{"B065: an embedded struct can be hidden, and hides as before", reflect.TypeFor[struct {
			Shared `jsonschema:"-"`
			Other
		}](), `{"type":"object","properties":{"Extra":{"type":"boolean"}}` + closed},
		{"B065: an embedded struct with a name is a field", reflect.TypeFor[struct {
			Shared `json:"shared"`
		}](), `{"type":"object","properties":{"shared":{"type":"object","properties":{"Name":{"type":"string"},"Only":{"type":"string"}},` +
			`"additionalProperties":false}}` + closed},
		{"B065: two fields of one name at equal depth do not exist", reflect.TypeFor[struct {
			Shared
			Other
		}](), `{"type":"object","properties":{"Only":{"type":"string"},"Extra":{"type":"boolean"}}` + closed},
		{"B065: the outer field hides the embedded one", reflect.TypeFor[struct {
			Shared
			Name int
		}](), `{"type":"object","properties":{"Only":{"type":"string"},"Name":{"type":"integer"}}` + closed},
		{"B065: json:\"-\" hides nothing", reflect.TypeFor[struct {
			Shared
			Name int `json:"-"`
		}](), `{"type":"object","properties":{"Name":{"type":"string"},"Only":{"type":"string"}}` + closed},
		{"B065: an embedded type that is no struct", reflect.TypeFor[struct {
			stringSet
			Celsius
		}](), `{"type":"object","properties":{"Celsius":{"type":"number"}}` + closed},
		{
			"B061: a type that contains itself", reflect.TypeFor[treeNode](),
			`{"type":"object","properties":{"value":{"type":"string"},"kids":{"type":"array","items":{"$ref":"#/$defs/treeNode"}}},` +
				`"required":["value"],"additionalProperties":false,"$defs":{"treeNode":{"type":"object","properties":{"value":{"type":"string"},` +
				`"kids":{"type":"array","items":{"$ref":"#/$defs/treeNode"}}},"required":["value"],"additionalProperties":false}}}`,
		},
		{
			"B061: types that contain each other", reflect.TypeFor[pingNode](),
			`{"type":"object","properties":{"pong":{"type":"object","properties":{"ping":{"$ref":"#/$defs/pingNode","description":"The way back."}},` +
				`"additionalProperties":false}},"additionalProperties":false,"$defs":{"pingNode":{"type":"object","properties":{"pong":{"type":"object",` +
				`"properties":{"ping":{"$ref":"#/$defs/pingNode","description":"The way back."}},"additionalProperties":false}},"additionalProperties":false}}}`,
		},
		{
			"B061: a map of itself", reflect.TypeFor[mapNode](),
			`{"type":"object","properties":{},"additionalProperties":{"$ref":"#/$defs/mapNode"},"$defs":{"mapNode":{"type":"object",` +
				`"additionalProperties":{"$ref":"#/$defs/mapNode"}}}}`,
		},
		{"B061: below the top", reflect.TypeFor[struct {
			Tree treeNode `json:"tree" jsonschema:"description=The tree."`
		}](), `{"type":"object","properties":{"tree":{"$ref":"#/$defs/treeNode","description":"The tree."}},"additionalProperties":false,` +
			`"$defs":{"treeNode":{"type":"object","properties":{"value":{"type":"string"},"kids":{"type":"array","items":{"$ref":"#/$defs/treeNode"}}},` +
			`"required":["value"],"additionalProperties":false}}}`},
		{"B062: a description stays with its field", reflect.TypeFor[struct {
			Home addr `json:"home" jsonschema:"description=Home."`
			Work addr `json:"work" jsonschema:"description=Work."`
			None addr `json:"none"`
		}](), `{"type":"object","properties":{` +
			`"home":{"type":"object","description":"Home.","properties":{"street":{"type":"string"}},"required":["street"],"additionalProperties":false},` +
			`"work":{"type":"object","description":"Work.","properties":{"street":{"type":"string"}},"required":["street"],"additionalProperties":false},` +
			`"none":{"type":"object","properties":{"street":{"type":"string"}},"required":["street"],"additionalProperties":false}}` + closed},
		{"B108: names of generic types need no escape and differ", reflect.TypeFor[struct {
			A page[map[string]url.Userinfo]
			B page[map[string]*url.Userinfo]
		}](), `{"type":"object","properties":{"A":{"$ref":"#/$defs/page_map_string_Userinfo"},"B":{"$ref":"#/$defs/page_map_string_Userinfo_2"}},` +
			`"additionalProperties":false,"$defs":{` +
			`"page_map_string_Userinfo":{"type":"object","properties":{"items":{"type":"array","items":{"type":"object","additionalProperties":` +
			`{"type":"object","properties":{},"additionalProperties":false}}},"next":{"$ref":"#/$defs/page_map_string_Userinfo"}},"additionalProperties":false},` +
			`"page_map_string_Userinfo_2":{"type":"object","properties":{"items":{"type":"array","items":{"type":"object","additionalProperties":` +
			`{"type":"object","properties":{},"additionalProperties":false}}},"next":{"$ref":"#/$defs/page_map_string_Userinfo_2"}},"additionalProperties":false}}}`},
		{"HTML characters are sent as the SDK sends them", reflect.TypeFor[struct {
			A string `jsonschema:"description=a < b & c"`
		}](), `{"type":"object","properties":{"A":{"type":"string","description":"a \u003c b \u0026 c"}}` + closed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := mustSchema(t, tt.typ, false)
			if diff := cmp.Diff(tt.want, string(got.JSON())); diff != "" {
				t.Errorf("schema of %s (-want +got):\n%s", tt.typ, diff)
			}
			if sent, err := json.Marshal(got.Param()); err != nil || string(sent) != string(got.JSON()) {
				t.Errorf("sent %s, %v; want JSON()", sent, err)
			}
			if _, err := FromJSON(got.JSON()); err != nil {
				t.Errorf("FromJSON refuses it: %v", err)
			}
		})
	}
}

type Celsius float64

func mustSchema(t testing.TB, typ reflect.Type, strict bool) *Input {
	t.Helper()
	schema, err := For(typ, strict)
	if err != nil {
		t.Fatalf("For(%s, %t): %v", typ, strict, err)
	}
	return schema
}

func TestASchemaThatSomebodyWroteStaysAsItIs(t *testing.T) {
	raw := `{"$schema":"http://json-schema.org/draft-07/schema#", "required": ["b"], "type": "object",
		"properties": {"b": {"x-note": 1.0, "type": "string"}, "a": {"$ref": "#/definitions/A"}}, "definitions": {"A": {"not": {}}}}`
	schema, err := FromJSON(json.RawMessage(raw))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"required":["b"],"type":"object","properties":{"b":{"x-note":1.0,"type":"string"},"a":{"$ref":"#/definitions/A"}},"definitions":{"A":{"not":{}}}}`
	if got := string(schema.JSON()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestTheSameTypeGivesTheSameBytes(t *testing.T) {
	type input struct {
		Shared
		Other
		Tree treeNode
		Page page[page[int]]
		Z    map[string]addr `jsonschema:"description=z,nullable"`
	}
	want := mustSchema(t, reflect.TypeFor[input](), false).JSON()
	for range 50 {
		if got := mustSchema(t, reflect.TypeFor[input](), false).JSON(); string(got) != string(want) {
			t.Fatalf("got  %s\nwant %s", got, want)
		}
	}
}
