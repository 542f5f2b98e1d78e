package toolrunnermcp_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolrunner/toolrunner/internal/schema"
	"github.com/toolrunner/toolrunner/toolrunnermcp"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// Whatever a server sends as a schema is one that the API accepts afterwards,
// for which there is nothing left to repair, or it is refused.
func FuzzFitSchema(f *testing.F) {
	for _, seed := range []string{
		`null`, `true`, `{}`, `{"type":"object"}`, `{"type":["object","null"],"properties":null,"required":null}`,
		`{"$ref":"#/$defs/A","$defs":{"A":{"$ref":"#/$defs/B"},"B":{"type":"object","anyOf":[{"$ref":"#/$defs/A"}]}}}`,
		`{"allOf":[{"properties":{"a":{"items":[{},true],"additionalItems":{}}},"required":["a"]},7],"oneOf":{},"required":["a"]}`,
		`{"properties":{"n":{"minimum":1,"exclusiveMinimum":true}},"$schema":1}`,
		`{"$ref":"#/properties/a","properties":{"a":{"properties":{"a":{}}}}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var theirs any
		if json.Unmarshal(text, &theirs) != nil {
			return
		}
		mended, err := schema.Mend(theirs)
		if err != nil {
			return
		}
		sent := mended.Input.JSON()
		body := fmt.Sprintf(`{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"x"}],"tools":[{"name":"it","input_schema":%s}]}`, sent)
		if err := toolrunnertest.CheckRequest([]byte(body)); err != nil {
			t.Fatalf("%s became %s, which the API refuses: %v", text, sent, err)
		}
		again, err := schema.Mend(sent)
		if err != nil || len(again.Repairs) > 0 {
			t.Fatalf("%s became %s, which has to be repaired again: %q, %v", text, sent, again.Repairs, err)
		}
		if diff := cmp.Diff(string(sent), string(again.Input.JSON())); diff != "" {
			t.Errorf("schema (-first +second):\n%s", diff)
		}
	})
}

// Whatever names a server uses, each different one gets a name of its own that
// is legal, that the caller has not reserved, and that the order does not change.
func FuzzAssignNames(f *testing.F) {
	f.Add("a.b|a_b|a b||a_b_2e7336dc", "", "a_b")
	f.Add(strings.Repeat("n", 129)+"|"+strings.Repeat("n", 130), "srv_", "")
	f.Add("a|a|b", "srv_", "")
	legal := regexp.MustCompile(`^[a-zA-Z0-9_-]{1,128}$`)
	prefix := regexp.MustCompile(`^[a-zA-Z0-9_-]{0,64}$`)
	f.Fuzz(func(t *testing.T, joined, before, reserved string) {
		if !prefix.MatchString(before) {
			return
		}
		theirs := strings.Split(joined, "|")
		names := toolrunnermcp.AssignNames(theirs, before, []string{reserved})
		distinct := slices.Compact(slices.Sorted(slices.Values(theirs))) // of a copy: Compact clears what it leaves out
		if got, want := len(names), len(distinct); got != want {
			t.Errorf("%d names for %d tools: %q", got, want, names)
		}
		slices.Sort(names)
		for i, name := range names {
			if !legal.MatchString(name) || name == reserved || i > 0 && names[i-1] == name {
				t.Errorf("name %q is illegal, reserved or taken in %q", name, names)
			}
		}
		slices.Reverse(theirs)
		again := toolrunnermcp.AssignNames(theirs, before, []string{reserved})
		slices.Sort(again)
		if diff := cmp.Diff(names, again); diff != "" {
			t.Errorf("names (-forth +back):\n%s", diff)
		}
	})
}
