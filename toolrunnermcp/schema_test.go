package toolrunnermcp_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnermcp"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// B045, B138: what the API would refuse is repaired, or the tool left out, and
// the other tools are there either way.
func TestSchemasAreRepairedOrTheToolLeftOut(t *testing.T) {
	for _, test := range []struct {
		name   string
		schema string // null: none
		want   string // empty: the tool is left out
		moved  string // into the description
		log    string
	}{
		{
			name:   "a good one stays",
			schema: `{"type":"object","properties":{"b":{"type":"string","description":"a < b"},"a":{"enum":[1,null]}},"required":["b"],"additionalProperties":false}`,
			want:   `{"additionalProperties":false,"properties":{"a":{"enum":[1,null]},"b":{"description":"a \u003c b","type":"string"}},"required":["b"],"type":"object"}`,
		},
		{
			name:   "none at all",
			schema: `null`,
			want:   `{"properties":{},"type":"object"}`,
			log:    "schema added",
		},
		{
			name:   "no type",
			schema: `{"properties":{"a":{"type":"string"}}}`,
			want:   `{"properties":{"a":{"type":"string"}},"type":"object"}`,
			log:    `object`,
		},
		{
			name:   "no properties, a dialect",
			schema: `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object"}`,
			want:   `{"properties":{},"type":"object"}`,
		},
		{
			name:   "nil map and slice",
			schema: `{"type":"object","properties":{"o":{"type":"object","properties":null,"required":null}},"required":null}`,
			want:   `{"properties":{"o":{"type":"object"}},"type":"object"}`,
			log:    "null",
		},
		{
			name:   "object or null",
			schema: `{"type":["object","null"],"properties":{}}`,
			want:   `{"properties":{},"type":"object"}`,
			log:    "types other than object",
		},
		{
			name:   "a reference at the top",
			schema: `{"$ref":"#/$defs/In","title":"Mine","$defs":{"In":{"$ref":"#/$defs/T~1x"},"T/x":{"title":"Theirs","type":"object","properties":{"t":{"$ref":"#/$defs/In"}}}}}`,
			want:   `{"$defs":{"In":{"$ref":"#/$defs/T~1x"},"T/x":{"properties":{"t":{"$ref":"#/$defs/In"}},"title":"Theirs","type":"object"}},"properties":{"t":{"$ref":"#/$defs/In"}},"title":"Mine","type":"object"}`,
			log:    "$ref at the top",
		},
		{
			name:   "alternatives at the top",
			schema: `{"type":"object","properties":{"a":{"type":"string"}},"oneOf":[{"properties":{"a":{},"b":{"type":"integer"}},"required":["b"]},{"$ref":"#/$defs/C"}],"$defs":{"C":{"properties":{"c":{"type":"null"}}}}}`,
			want:   `{"$defs":{"C":{"properties":{"c":{"type":"null"}}}},"properties":{"a":{"type":"string"},"b":{"type":"integer"},"c":{"type":"null"}},"type":"object"}`,
			moved:  `{"oneOf":[{"properties":{"a":{},"b":{"type":"integer"}},"required":["b"]},{"$ref":"#/$defs/C"}]}`,
			log:    "oneOf at the top",
		},
		{
			name:   "parts at the top",
			schema: `{"allOf":[{"properties":{"a":{"type":"string"}},"required":["a"]},true],"anyOf":[{"required":["b"]}],"required":["c"]}`,
			want:   `{"properties":{"a":{"type":"string"}},"required":["c","a","b"],"type":"object"}`,
			moved:  `{"allOf":[{"properties":{"a":{"type":"string"}},"required":["a"]},true],"anyOf":[{"required":["b"]}]}`,
			log:    "allOf at the top",
		},
		{
			name:   "keywords of older drafts",
			schema: `{"type":"object","properties":{"n":{"minimum":1,"exclusiveMinimum":true,"maximum":9,"exclusiveMaximum":false},"items":{"type":"array","items":[{"type":"string"}],"additionalItems":false}}}`,
			want:   `{"properties":{"items":{"items":false,"prefixItems":[{"type":"string"}],"type":"array"},"n":{"exclusiveMinimum":1,"maximum":9}},"type":"object"}`,
			log:    "older drafts",
		},
		{name: "a boolean", schema: `true`, log: "schema must be an object"},
		{name: "a list", schema: `{"type":"array","items":{}}`, log: "array"},
		{name: "a reference to elsewhere", schema: `{"$ref":"https://example.com/schema"}`, log: "example.com"},
		{name: "a reference to itself", schema: `{"$ref":"#/$defs/A","$defs":{"A":{"$ref":"#/$defs/A"}}}`, log: "without an end"},
		{name: "a property that the API does not take", schema: `{"type":"object","properties":{"größe":{}}}`, log: "größe"},
		{name: "a type that is none", schema: `{"type":"object","properties":{"a":{"type":"text"}}}`, log: "is not a type"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var log bytes.Buffer
			var given any
			if err := json.Unmarshal([]byte(test.schema), &given); err != nil {
				t.Fatal(err)
			}
			session := connectTools(t,
				&mcp.Tool{Name: "it", Description: "It.", InputSchema: given},
				&mcp.Tool{Name: "other", InputSchema: anyInput})
			tools := mustTools(t, session, toolrunnermcp.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
			if !strings.Contains(log.String(), test.log) || test.log == "" && log.Len() > 0 {
				t.Errorf("log = %q, want %q in it", log.String(), test.log)
			}
			if test.want == "" {
				if diff := cmp.Diff([]string{"other"}, names(tools)); diff != "" {
					t.Errorf("names (-want +got):\n%s", diff)
				}
				return
			}
			description := "It."
			if test.moved != "" {
				description += "\n\nThe input must also match this JSON Schema: " + test.moved
			}
			if diff := cmp.Diff(description, tools[0].Description()); diff != "" {
				t.Errorf("description (-want +got):\n%s", diff)
			}
			got, err := json.Marshal(tools[0].InputSchema())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, string(got)); diff != "" {
				t.Errorf("schema (-want +got):\n%s", diff)
			}
			model := toolrunnertest.NewServer(t, toolrunnertest.Text("Fine."))
			if _, err := newRunner(t, model, tools).RunToCompletion(t.Context()); err != nil {
				t.Errorf("the API refuses the tools: %v", err)
			}
		})
	}
}

func TestTheSchemaOfTheSessionStaysAsItIs(t *testing.T) {
	const given = `{"$schema":"x","allOf":[{"properties":{"a":{"items":[{}]}}}],"properties":{"t":{"items":[{}]}}}`
	session := connectTools(t, &mcp.Tool{Name: "it", InputSchema: json.RawMessage(given)})
	var first, second string
	for _, into := range []*string{&first, &second} {
		accept := func(theirs *mcp.Tool, _ *toolrunner.Tool) bool {
			*into = fmt.Sprint(theirs.InputSchema)
			return true
		}
		mustTools(t, session, toolrunnermcp.Options{Accept: accept})
	}
	if want := "map[$schema:x allOf:[map[properties:map[a:map[items:[map[]]]]]] properties:map[t:map[items:[map[]]]]]"; first != want || second != want {
		t.Errorf("schema = %s, then %s, want %s", first, second, want)
	}
}
