package schema

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"
)

// B108: another implementation reads our schemas, resolves their references, and agrees about input.
func TestAnotherValidatorAgrees(t *testing.T) {
	inputs := []string{
		`{}`, `[]`, `null`, `{"city":"x"}`, `{"city":"x","unit":"celsius"}`, `{"city":"x","unit":"k"}`, `{"city":"x","days":0}`,
		`{"city":"x","days":1.0,"count":1e3}`, `{"city":"x","count":1.5}`, `{"city":"x","tags":["a"]}`, `{"city":"x","tags":["ab","ab","ab","ab"]}`,
		`{"city":"x","stops":[{"name":"a","kind":5},{}]}`, `{"city":"x","stops":[{"name":"a","kind":6}]}`, `{"city":"x","extras":{"a":1}}`,
		`{"city":"x","extras":{"a":"b"}}`, `{"city":"x","any":[null]}`, `{"city":"x","town":1}`, `{"value":"a","kids":[{"value":"b","kids":[]}]}`,
		`{"value":"a","kids":[{"value":1}]}`, `{"pong":{"ping":{"pong":{}}}}`, `{"pong":{"ping":{"pong":[]}}}`, `{"a":{"b":{}}}`, `{"a":{"b":1}}`,
		`{"items":[{"items":[1]}]}`, `{"items":[{"items":["1"]}]}`, `{"a":1,"b":2}`, `{"a":300}`, `{"I8":-128,"U8":255}`, `{"I8":-129}`, `{"U8":256}`,
		`{"I":"1","F":"1.5","B":"true"}`, `{"I":"x"}`, `{"B":"nope"}`, `{"A":[1,2]}`, `{"A":[1]}`, `{"A":[1,256]}`, `{"id":1,"Deep":2}`, `{"Name":"x"}`,
		`{"s":"a","l":["a","b"],"n":0.5}`, `{"s":null}`, `{"s":""}`, `{"s":"a","l":["a","a"]}`, `{"s":"a","n":0}`, `{"s":"a","n":0.3}`, `{"-5":"x"}`, `{"x":{"street":"s"}}`,
	}
	for _, typ := range fuzzTypes {
		ours := mustSchema(t, typ, false)
		var schema jsonschema.Schema
		if err := json.Unmarshal(ours.JSON(), &schema); err != nil {
			t.Fatalf("%s: %v", typ, err)
		}
		theirs, err := schema.Resolve(nil)
		if err != nil {
			t.Fatalf("%s: %v", typ, err)
		}
		for _, input := range inputs {
			var value any
			if err := json.Unmarshal([]byte(input), &value); err != nil {
				t.Fatal(err)
			}
			got, want := ours.Check(json.RawMessage(input)), theirs.Validate(value)
			if (got == nil) != (want == nil) {
				t.Errorf("%s\ncheck(%s) = %v\njsonschema-go: %v", ours.JSON(), input, got, want)
			}
		}
	}
}

// The SDK writes extra fields from a map: in another order each time.
func TestTheSchemaOfAnotherToolIsTheSameBytesEachTime(t *testing.T) {
	p := anthropic.BetaToolInputSchemaParam{
		Properties:  map[string]any{"a": map[string]any{"$ref": "#/$defs/A"}, "b": true},
		Required:    []string{"a"},
		ExtraFields: map[string]any{"$schema": "x", "title": "T", "$defs": map[string]any{"A": map[string]any{}}, "x-a": 1, "x-b": 2, "additionalProperties": false},
	}
	want := `{"type":"object","title":"T","properties":{"a":{"$ref":"#/$defs/A"},"b":true},"required":["a"],"additionalProperties":false,` +
		`"$defs":{"A":{}},"x-a":1,"x-b":2}`
	for range 20 {
		schema, err := FromParam(p)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, string(schema.JSON())); diff != "" {
			t.Fatalf("schema (-want +got):\n%s", diff)
		}
	}
	if _, err := FromParam(anthropic.BetaToolInputSchemaParam{}); err != nil {
		t.Errorf("the zero parameter: %v", err)
	}
	again := mustSchema(t, reflect.TypeFor[trip](), false)
	taken, err := FromParam(again.Param())
	if err != nil || string(taken.JSON()) != string(again.JSON()) {
		t.Errorf("our own parameter comes back as %v, %v", taken, err)
	}
}

// A schema inside a whole request is the same bytes as JSON().
func TestTheSchemaIsSentAsItIs(t *testing.T) {
	schema := mustSchema(t, reflect.TypeFor[struct {
		Z string `jsonschema:"description=a < b & \u2028"`
		A int
	}](), false)
	sent, err := json.Marshal(anthropic.BetaMessageNewParams{Tools: []anthropic.BetaToolUnionParam{{
		OfTool: &anthropic.BetaToolParam{Name: "t", InputSchema: schema.Param()},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	var body struct {
		Tools []struct {
			InputSchema json.RawMessage `json:"input_schema"`
		}
	}
	if err := json.Unmarshal(sent, &body); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(schema.JSON()), string(body.Tools[0].InputSchema)); diff != "" {
		t.Errorf("sent (-want +got):\n%s", diff)
	}
}
