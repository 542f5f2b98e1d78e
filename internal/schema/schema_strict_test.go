package schema

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// S4, B109: strict mode takes closed objects with every property required.
func TestAStrictSchemaHasTheFormThatStrictModeWants(t *testing.T) {
	type inner struct {
		N int8 `json:"n" jsonschema:"required"`
	}
	type input struct {
		City  string   `json:"city" jsonschema:"required,minLength=1,description=The city."`
		Unit  string   `json:"unit" jsonschema:"enum=c,enum=f,default=c"`
		Days  int      `json:"days" jsonschema:"minimum=1,maximum=7"`
		Code  string   `json:"code" jsonschema:"required,pattern=^[A-Z]+$"`
		When  string   `json:"when" jsonschema:"required,format=date-time"`
		Path  string   `json:"path" jsonschema:"required,format=regex"`
		Tags  []string `json:"tags" jsonschema:"required,minItems=1,maxItems=5"`
		Inner *inner   `json:"inner"`
	}
	schema := mustSchema(t, reflect.TypeFor[input](), true)
	want := `{"type":"object","properties":{"city":{"type":"string","description":"The city.\n\n{minLength: 1}"},` +
		`"unit":{"type":["string","null"],"description":"{default: \"c\"}","enum":["c","f",null]},` +
		`"days":{"type":["integer","null"],"description":"{minimum: 1, maximum: 7}"},` +
		`"code":{"type":"string","description":"{pattern: \"^[A-Z]+$\"}"},"when":{"type":"string","format":"date-time"},` +
		`"path":{"type":"string","description":"{format: \"regex\"}"},` +
		`"tags":{"type":"array","description":"{maxItems: 5}","items":{"type":"string"},"minItems":1},` +
		`"inner":{"type":["object","null"],"properties":{"n":{"type":"integer","description":"{minimum: -128, maximum: 127}"}},` +
		`"required":["n"],"additionalProperties":false}},` +
		`"required":["city","unit","days","code","when","path","tags","inner"],"additionalProperties":false}`
	if diff := cmp.Diff(want, string(schema.JSON())); diff != "" {
		t.Errorf("strict schema (-want +got):\n%s", diff)
	}
	good := `{"city":"x","unit":null,"days":null,"code":"A","when":"2026-01-02T03:04:05Z","path":"p","tags":["a"],"inner":{"n":1}}`
	if err := schema.Check(json.RawMessage(good)); err != nil {
		t.Errorf("Check(%s) = %v", good, err)
	}
	// The bounds that are only in the description still hold.
	bad := strings.NewReplacer(`"days":null`, `"days":8`, `"n":1`, `"n":300`, `"code":"A"`, `"code":"a"`).Replace(good)
	wantError(t, schema.Check(json.RawMessage(bad)), "days: expected", "inner.n: expected", "code: expected")
}

type oneOfTwo struct{}

func (oneOfTwo) JSONSchema() json.RawMessage {
	return json.RawMessage(`{"description":"Two.","oneOf":[{"type":"string"},{"type":"integer","minimum":1}]}`)
}

type alwaysOn struct{}

func (alwaysOn) JSONSchema() json.RawMessage {
	return json.RawMessage(`{"type":"string","const":"on"}`)
}

// B109: null is an alternative where the type alone does not decide.
func TestAStrictSchemaAcceptsNullForWhatWasOptional(t *testing.T) {
	type input struct {
		Two oneOfTwo `json:"two"`
		On  alwaysOn `json:"on"`
	}
	schema := mustSchema(t, reflect.TypeFor[input](), true)
	want := `{"type":"object","properties":{` +
		`"two":{"description":"Two.","anyOf":[{"anyOf":[{"type":"string"},{"type":"integer","description":"{minimum: 1}"}]},{"type":"null"}]},` +
		`"on":{"anyOf":[{"type":"string","const":"on"},{"type":"null"}]}},"required":["two","on"],"additionalProperties":false}`
	if diff := cmp.Diff(want, string(schema.JSON())); diff != "" {
		t.Errorf("strict schema (-want +got):\n%s", diff)
	}
	for _, good := range []string{`{"two":null,"on":null}`, `{"two":"a","on":"on"}`, `{"two":1,"on":null}`} {
		if err := schema.Check(json.RawMessage(good)); err != nil {
			t.Errorf("Check(%s) = %v; want nil", good, err)
		}
	}
	wantError(t, schema.Check(json.RawMessage(`{"two":0,"on":"off"}`)), "two: expected integer of at least 1, got 0", "on: expected")
}
