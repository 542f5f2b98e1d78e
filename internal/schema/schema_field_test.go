package schema

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// B065: the properties are the keys that encoding/json writes.
func TestThePropertiesAreTheKeysThatAreEncoded(t *testing.T) {
	for _, v := range []any{
		struct {
			base
			*PtrBase
			Shared `json:"shared"`
			Hide   int `json:"-"`
		}{PtrBase: &PtrBase{}},
		struct {
			Shared
			Other
			*base
		}{base: nil},
		struct {
			Shared
			Name int
		}{},
	} {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		encoded, err := parseJSON(text)
		if err != nil {
			t.Fatal(err)
		}
		var want, got []string
		for _, m := range encoded.elems {
			want = append(want, m.key)
		}
		for _, f := range structFields(reflect.TypeOf(v)) {
			if !f.unsettable {
				got = append(got, f.name)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%T (-want +got):\n%s", v, diff)
		}
	}
}
