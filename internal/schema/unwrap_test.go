package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestUnwrapTakesJSONOutOfStrings(t *testing.T) {
	type item struct {
		N int  `json:"n"`
		B bool `json:"b"`
	}
	type input struct {
		Item  item               `json:"item"`
		Items []item             `json:"items"`
		N     int                `json:"n"`
		F     *float64           `json:"f" jsonschema:"nullable"`
		M     map[string]float64 `json:"m"`
		S     string             `json:"s"`
		A     any                `json:"a"`
		Q     int                `json:"q,string"`
		U     flat               `json:"u"`
		T     time.Time          `json:"t"`
		R     *treeNode          `json:"r"`
	}
	typed := mustSchema(t, reflect.TypeFor[input](), false)
	written, err := FromJSON(json.RawMessage(`{"type":"object","properties":{"u":{"anyOf":[{"type":"string"},{"type":"integer"}]},` +
		`"v":{"type":["string","object"]},"w":{"allOf":[{"type":"object"},{"properties":{"n":{"type":"integer"}}}]},"x":{"oneOf":[{"type":"integer"},{"type":"null"}]},` +
		`"y":{"enum":[1,2]},"z":{"enum":["1",1]},"p":{"type":"array","prefixItems":[{"type":"integer"}],"items":{"type":"boolean"}}},` +
		`"patternProperties":{"^n_":{"type":"number"}},"additionalProperties":{"type":"boolean"}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name        string
		schema      *Input
		input, want string
	}{
		{"object", typed, `{ "item": "{\"n\": 1}" }`, `{ "item": {"n": 1} }`},
		{"list", typed, `{"items":"[{\"n\":1},{}]"}`, `{"items":[{"n":1},{}]}`},
		{"number", typed, `{"n":"5","f":"1.5"}`, `{"n":5,"f":1.5}`},
		{"integer of any size", typed, `{"n":"9007199254740993"}`, `{"n":9007199254740993}`},
		{"boolean", typed, `{"item":{"b":"true"}}`, `{"item":{"b":true}}`},
		{"values of a map", typed, `{"m":{"a":"1","b":2}}`, `{"m":{"a":1,"b":2}}`},
		{"string in string", typed, `{"items":"[\"{\\\"n\\\":\\\"1\\\"}\"]"}`, `{"items":[{"n":1}]}`},
		{"variant", typed, `{"u":"{\"type\":\"rect\",\"width\":\"3\"}"}`, `{"u":{"type":"rect","width":3}}`},
		{"type that contains itself", typed, `{"r":{"value":"1","kids":"[{\"value\":\"2\"}]"}}`, `{"r":{"value":"1","kids":[{"value":"2"}]}}`},
		{"never for text", typed, `{"s":"5","t":"5","q":"5"}`, ""},
		{"never for any value", typed, `{"a":"{}"}`, ""},
		{"not a fraction for an integer", typed, `{"n":"1.5"}`, ""},
		{"not another type", typed, `{"n":"[]","item":"5","items":"{}"}`, ""},
		{"not null", typed, `{"f":"null"}`, ""},
		{"not text", typed, `{"n":"five","item":"\"x\""}`, ""},
		{"unknown property", typed, `{"x":"5"}`, ""},
		{"not the input itself", typed, `"{\"n\":1}"`, ""},
		{"not JSON", typed, `{`, ""},
		{"union with text", written, `{"u":"5","v":"{}","z":"1"}`, ""},
		{"rules in several places", written, `{"w":"{\"n\":\"1\"}","x":"1","y":"2"}`, `{"w":{"n":1},"x":1,"y":2}`},
		{"places of a list", written, `{"p":["1","true","1"]}`, `{"p":[1,true,"1"]}`},
		{"names", written, `{"n_a":"1","other":"true","third":"1"}`, `{"n_a":1,"other":true,"third":"1"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.want == "" {
				tt.want = tt.input
			}
			if got := string(tt.schema.Unwrap(json.RawMessage(tt.input))); got != tt.want {
				t.Errorf("Unwrap(%s) = %s, want %s", tt.input, got, tt.want)
			}
		})
	}
}

// B060: without a check, what has no field is dropped: a key in another case, and a field that is kept from the model.
func TestDecodeUncheckedDropsWhatHasNoField(t *testing.T) {
	type input struct {
		City string `json:"city" jsonschema:"required"`
		User string `json:"user" jsonschema:"-"`
		N    int    `json:"n"`
		In   struct {
			B bool `json:"b"`
		} `json:"in"`
		One oneShape `json:"one"`
	}
	schema := mustSchema(t, reflect.TypeFor[input](), false)
	var got input
	text := `{ "City":"Rome", "city":"Oslo", "\u0063ITY":"x", "user":"root", "n":1, "n":2e0, "in":{"c":[{}], "b":true}, "one":{"type":"circle","radius":0.5,"x":1} }`
	if err := schema.DecodeUnchecked(json.RawMessage(text), &got); err != nil {
		t.Fatal(err)
	}
	want := input{City: "Oslo", N: 2, One: oneShape{circle{0.5}}}
	want.In.B = true
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("decoded (-want +got):\n%s", diff)
	}
	var wrong *Error
	if err := schema.DecodeUnchecked(json.RawMessage(`{"n":"x"}`), &got); !errors.As(err, &wrong) || !strings.Contains(fmt.Sprint(err), "n: expected integer") {
		t.Errorf("error = %v, want an *Error that names n", err)
	}
}
