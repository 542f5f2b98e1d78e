package schema

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// unsupported says of how many tests of the official suite in a file the invalid input is accepted: the keywords are left
// to the API, or the schema is elsewhere. No valid input is ever refused.
var unsupported = map[string]int{
	"anchor.json": 4, "defs.json": 1, "dynamicRef.json": 21, "ref.json": 18, "refRemote.json": 15, // references to elsewhere
	"contains.json": 8, "maxContains.json": 6, "minContains.json": 14,
	"dependentRequired.json": 6, "dependentSchemas.json": 10,
	"if-then-else.json": 8, "not.json": 24,
	"oneOf.json":            8, // more than one branch matches
	"unevaluatedItems.json": 25, "unevaluatedProperties.json": 57,
}

// The official test suite of draft 2020-12, which comes with a library that is tested by it too.
func TestTheOfficialSuite(t *testing.T) {
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/google/jsonschema-go").Output()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(dir)), "jsonschema", "testdata", "draft2020-12", "*.json"))
	if err != nil || len(files) < 40 {
		t.Fatalf("%d files of the suite, %v", len(files), err)
	}
	accepted, tests := map[string]int{}, 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var groups []struct {
			Description string
			Schema      json.RawMessage
			Tests       []struct {
				Description string
				Data        json.RawMessage
				Valid       bool
			}
		}
		if err := json.Unmarshal(text, &groups); err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(file)
		for _, group := range groups {
			tree, err := parseJSON(group.Schema)
			if err != nil {
				t.Fatal(err)
			}
			before := string(tree.appendTo(nil))
			if tidyForeign(&tree); string(tree.appendTo(nil)) != before {
				t.Errorf("%s: %s: a valid schema was changed to %s", name, group.Description, tree.appendTo(nil))
			}
			rules, err := compileSchema(tree)
			if err != nil {
				t.Errorf("%s: %s: a valid schema is refused: %v", name, group.Description, err)
				continue
			}
			schema := &Input{rules: rules}
			for _, test := range group.Tests {
				tests++
				err := schema.Check(test.Data)
				switch {
				case test.Valid && err != nil:
					t.Errorf("%s: %s: %s: %s is valid, but: %v", name, group.Description, test.Description, test.Data, err)
				case !test.Valid && err == nil:
					accepted[name]++
				}
			}
		}
	}
	if diff := cmp.Diff(unsupported, accepted); diff != "" || tests < 1_000 {
		t.Errorf("invalid input accepted, of %d tests (-want +got):\n%s", tests, diff)
	}
}
