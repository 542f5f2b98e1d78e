package schema

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// S1, B137: every spelling of a tag that the documentation shows.
func TestATagSaysWhatItsKeywordsSay(t *testing.T) {
	for _, tt := range []struct {
		name string
		typ  reflect.Type
		want string // of the property
	}{
		{"commas, equals signs and quotes in a description", reflect.TypeFor[struct {
			A string `jsonschema:"description=One of a, b (x=1, y=2), \"or\" none,required"`
		}](), `{"type":"string","description":"One of a, b (x=1, y=2), \"or\" none"}`},
		{"a keyword that does not follow a comma is text", reflect.TypeFor[struct {
			A string `jsonschema:"description=required or format=x"`
		}](), `{"type":"string","description":"required or format=x"}`},
		{"an escaped comma never ends a value", reflect.TypeFor[struct {
			A string `jsonschema:"description=Sort by name\\,required fields first,pattern=^a{1\\,3}$"`
		}](), `{"type":"string","description":"Sort by name,required fields first","pattern":"^a{1,3}$"}`},
		{"a comma in a pattern", reflect.TypeFor[struct {
			A string `jsonschema:"pattern=^a{1,3}$,maxLength=3"`
		}](), `{"type":"string","pattern":"^a{1,3}$","maxLength":3}`},
		{"spaces before keywords", reflect.TypeFor[struct {
			A string `jsonschema:" enum=a, enum=b ,enum=New York\\, NY"`
		}](), `{"type":"string","enum":["a","b","New York, NY"]}`},
		{"jsonschema_description", reflect.TypeFor[struct {
			A string `jsonschema:"title=T" jsonschema_description:"a, b=c, required"`
		}](), `{"type":"string","title":"T","description":"a, b=c, required"}`},
		{"description wins over jsonschema_description", reflect.TypeFor[struct {
			A string `jsonschema:"description=first" jsonschema_description:"second"`
		}](), `{"type":"string","description":"first"}`},
		{"text", reflect.TypeFor[struct {
			A string `jsonschema:"default=a, b,example=x,example=y,format=email,minLength=1,maxLength=9,readOnly=true"`
		}](), `{"type":"string","format":"email","minLength":1,"maxLength":9,"default":"a, b","examples":["x","y"],"readOnly":true}`},
		{"numbers", reflect.TypeFor[struct {
			A float64 `jsonschema:"minimum=0.5,exclusiveMaximum=10,multipleOf=0.5,default=1,example=2,enum=1,enum=1.5"`
		}](), `{"type":"number","enum":[1,1.5],"minimum":0.5,"exclusiveMaximum":10,"multipleOf":0.5,"default":1,"examples":[2]}`},
		{"bounds narrow those of the Go type", reflect.TypeFor[struct {
			A uint8 `jsonschema:"exclusiveMinimum=0,maximum=1000"`
		}](), `{"type":"integer","exclusiveMinimum":0,"maximum":255}`},
		{"booleans", reflect.TypeFor[struct {
			A bool `jsonschema:"default=false"`
		}](), `{"type":"boolean","default":false}`},
		{"lists: what is said of one value goes to the items", reflect.TypeFor[struct {
			A []string `jsonschema:"minItems=1,maxItems=3,uniqueItems=true,enum=a,enum=b,default=a,default=b,description=d"`
		}](), `{"type":"array","description":"d","items":{"type":"string","enum":["a","b"]},"minItems":1,"maxItems":3,"uniqueItems":true,"default":["a","b"]}`},
		{"a flag without a value", reflect.TypeFor[struct {
			A []int `jsonschema:"uniqueItems"`
		}](), `{"type":"array","items":{"type":"integer"},"uniqueItems":true}`},
		{"nullable", reflect.TypeFor[struct {
			A string `jsonschema:"nullable,enum=a"`
		}](), `{"type":["string","null"],"enum":["a",null]}`},
		{"pointers", reflect.TypeFor[struct {
			A *int `jsonschema:"minimum=1,nullable"`
		}](), `{"type":["integer","null"],"minimum":1}`},
		{"an object as default", reflect.TypeFor[struct {
			A map[string]int `jsonschema:"default={\"a\":1}"`
		}](), `{"type":"object","additionalProperties":{"type":"integer"},"default":{"a":1}}`},
		{"an empty tag", reflect.TypeFor[struct {
			A int `jsonschema:""`
		}](), `{"type":"integer"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tree, err := parseJSON(mustSchema(t, tt.typ, false).JSON())
			if err != nil {
				t.Fatal(err)
			}
			got := tree.get("properties").get("A").appendTo(nil)
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.typ, diff)
			}
		})
	}
}

func TestATagThatSaysNothingIsAnErrorWithFieldAndTag(t *testing.T) {
	for _, tt := range []struct {
		name string
		typ  reflect.Type
		want string
	}{
		{"plain text", reflect.TypeFor[struct {
			A int `jsonschema:"The number"`
		}](), `unknown keyword "The number"`},
		{"unknown keyword first", reflect.TypeFor[struct {
			A int `jsonschema:"desc=x"`
		}](), `unknown keyword "desc=x"`},
		{"unknown keyword after a flag", reflect.TypeFor[struct {
			A int `jsonschema:"required,foo"`
		}](), `unknown keyword "foo"`},
		{"unknown keyword after text", reflect.TypeFor[struct {
			A string `jsonschema:"description=x,maxLen=5"`
		}](), `unknown keyword "maxLen=5"`},
		{"values of enum in one", reflect.TypeFor[struct {
			A string `jsonschema:"enum=a,b"`
		}](), `unknown keyword "b" (enum= is repeated`},
		{"SC9: values of enum in one, with spaces", reflect.TypeFor[struct {
			A string `jsonschema:"enum=red, green, blue"`
		}](), `unknown keyword " green" (enum= is repeated`},
		{"flag with a value", reflect.TypeFor[struct {
			A int `jsonschema:"required=true"`
		}](), `unknown keyword "required=true"`},
		{"keyword without its value", reflect.TypeFor[struct {
			A int `jsonschema:"minimum"`
		}](), `unknown keyword "minimum"`},
		{"no number", reflect.TypeFor[struct {
			A int `jsonschema:"minimum=one"`
		}](), "minimum=one: not a number"},
		{"no count", reflect.TypeFor[struct {
			A string `jsonschema:"maxLength=-1"`
		}](), "maxLength=-1: not a count"},
		{"no pattern", reflect.TypeFor[struct {
			A string `jsonschema:"pattern=("`
		}](), "pattern=("},
		{"another type's keyword", reflect.TypeFor[struct {
			A int `jsonschema:"maxLength=3"`
		}](), `keyword "maxLength" does not fit`},
		{"default of another type", reflect.TypeFor[struct {
			A int `jsonschema:"default=x"`
		}](), "default=x: not a JSON value"},
		{"enum of another type", reflect.TypeFor[struct {
			A int `jsonschema:"enum=1.5"`
		}](), "enum=1.5: not of type"},
		{"type of a plain field", reflect.TypeFor[struct {
			A int `jsonschema:"type=string"`
		}](), "type=string: the Go type says"},
		{"unknown type", reflect.TypeFor[struct {
			A opaque `jsonschema:"type=decimal"`
		}](), "type=decimal: unknown type"},
		{"jsonschema_extras", reflect.TypeFor[struct {
			A int `jsonschema_extras:"a=b"`
		}](), "jsonschema_extras"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := For(tt.typ, false)
			wantError(t, err, ".A: ", tt.want)
		})
	}
}
