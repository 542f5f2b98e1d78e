package toolrunner_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// Each row of docs/compat.md ends with the tests that hold it, and they are there.
func TestEachRowOfCompatNamesItsTests(t *testing.T) {
	tests := make(map[string]bool)
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		for _, m := range regexp.MustCompile(`(?m)^func ((?:Test|Example)\w*)\(`).FindAllSubmatch(readFile(t, path), -1) {
			tests[string(m[1])] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	name := regexp.MustCompile("`((?:Test|Example)\\w*)`")
	rows := regexp.MustCompile(`(?m)^\|.*\|$`).FindAllString(string(readFile(t, "docs/compat.md")), -1)
	if len(rows) == 0 {
		t.Fatal("docs/compat.md has no rows")
	}
	for _, row := range rows {
		if strings.HasSuffix(row, "| test |") || strings.HasSuffix(row, "| --- |") {
			continue
		}
		cells := strings.Split(strings.TrimSuffix(row, "|"), "|")
		named := name.FindAllStringSubmatch(cells[len(cells)-1], -1)
		if len(named) == 0 {
			t.Errorf("a row ends without a test: %s", row)
		}
		for _, m := range named {
			if !tests[m[1]] {
				t.Errorf("there is no %s, which a row names: %s", m[1], row)
			}
		}
	}
}

// Rows of docs/compat.md that no other test holds.

// G23, B026, B060: null, keys and numbers in the input of a typed tool, and of one
// beside a schema of its own.
func TestInputRulesOfCompat(t *testing.T) {
	type input struct {
		Must int  `json:"must" jsonschema:"required"`
		May  *int `json:"may"`
		Any  any  `json:"any"`
	}
	show := func(_ context.Context, in input) (runtest.Content, error) {
		return runtest.TextContent(fmt.Sprintf("%d %t %v %T", in.Must, in.May != nil, in.Any, in.Any)), nil
	}
	derived, err := toolrunner.NewBetaToolFromJSONSchema("derived", "", show)
	if err != nil {
		t.Fatal(err)
	}
	given, err := toolrunner.NewBetaToolFromBytes("given", "",
		[]byte(`{"type":"object","properties":{"must":{"type":"integer"},"may":{"type":"integer"},"any":{}},"required":["must"]}`), show)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name           string
		input          string
		derived, given string // what the model reads, or the start of it
	}{
		{"all there", `{"must":1,"may":2,"any":9007199254740993}`, "1 true 9007199254740993 json.Number", "1 true 9007199254740993 json.Number"},
		{"null for an optional property", `{"must":1,"may":null}`, "1 false <nil> <nil>", "Error: invalid input: may"},
		{"null for a required property", `{"must":null}`, "Error: invalid input: must", "Error: invalid input: must"},
		{"a required property is missing", `{"may":2}`, "Error: invalid input: must: missing", "Error: invalid input: must: missing"},
		{"a key that is not there", `{"must":1,"more":2}`, "Error: invalid input: more", "1 false <nil> <nil>"},
		{"a key that comes twice", `{"must":1,"must":2}`, "Error: invalid input: must", "Error: invalid input: must"},
		{"integers with a point or an exponent", `{"must":1e1,"may":2.0}`, "10 true <nil> <nil>", "10 true <nil> <nil>"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := runtest.Start(t, runtest.Asking("hi"), []anthropic.BetaTool{derived, given},
				toolrunnertest.Message(toolrunnertest.Call("a", "derived", test.input), toolrunnertest.Call("b", "given", test.input)),
				toolrunnertest.Text("done"))
			c.Run(t)
			for id, want := range map[string]string{"a": test.derived, "b": test.given} {
				if got, _ := runtest.ResultText(t, c.Request(t, -1), id); !strings.HasPrefix(got, want) {
					t.Errorf("result %s for %s = %q, want %q", id, test.input, got, want)
				}
			}
		})
	}
}

// G25: a tool carries all that the API takes.
func TestDefinitionsAreSentWhole(t *testing.T) {
	tool := runtest.Says("work", "ran")
	tool.Definition.DeferLoading = anthropic.Bool(true)
	tool.Definition.AllowedCallers = []string{"direct"}
	tool.Definition.InputExamples = []map[string]any{{"a": 1}}
	tool.Definition.CacheControl = anthropic.NewBetaCacheControlEphemeralParam()
	c := runtest.Start(t, runtest.Asking("hi"), runtest.Tools(tool), toolrunnertest.Text("done"))
	c.Run(t)
	var sent []map[string]json.RawMessage
	if err := json.Unmarshal(c.Request(t, 0).Field("tools"), &sent); err != nil {
		t.Fatal(err)
	}
	for _, field := range []string{"defer_loading", "allowed_callers", "input_examples", "cache_control"} {
		if sent[0][field] == nil {
			t.Errorf("the tool is sent without %s", field)
		}
	}
}

// G29: what was refused is in the history, with its calls answered as not run; a
// body may drop it.
func TestRefusedRepliesAreKeptUnlessTheBodyDropsThem(t *testing.T) {
	refused := toolrunnertest.Message(toolrunnertest.Say("no"), toolrunnertest.Call("a", "work", `{}`)).StopReason("refusal")
	c := runtest.Start(t, runtest.Asking("hi"), runtest.Tools(runtest.Says("work", "ran")), refused)
	c.Run(t)
	c.WantHistory(t, "user 'hi'", "assistant 'no' call(a)", "user error(a)")

	c = runtest.New(t, refused, toolrunnertest.Text("done"))
	c.Runner = c.NewRunner(t, runtest.Asking("hi"))
	_, err := c.TryRun(t.Context(), func(turn *toolrunner.Turn) {
		if turn.StopReason != anthropic.BetaStopReasonRefusal {
			return
		}
		if err := turn.Retry(); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	c.WantHistory(t, "user 'hi'", "assistant 'done'")
}

// G32: system prompt and tools may change between any two requests.
func TestSystemAndToolsMayChangeBetweenTurns(t *testing.T) {
	c := runtest.New(t, runtest.Calls("work", "a"), toolrunnertest.Text("done"))
	c.Runner = c.NewRunner(t, runtest.Asking("hi"), runtest.Says("work", "ran"))
	_, err := c.TryRun(t.Context(), func(turn *toolrunner.Turn) {
		c.Params.System = []anthropic.BetaTextBlockParam{{Text: "be brief"}}
		c.Params.Tools = []anthropic.BetaToolUnionParam{{OfWebSearchTool20260209: &anthropic.BetaWebSearchTool20260209Param{}}}
	})
	if err != nil {
		t.Fatal(err)
	}
	c.WantFaithful(t, toolrunnertest.Reconfigured(toolrunnertest.Nth(1)))
	last := c.Request(t, -1)
	if got := string(last.Field("system")); !strings.Contains(got, "be brief") {
		t.Errorf("system of the second request = %s", got)
	}
	if got := string(last.Field("tools")); !strings.Contains(got, "web_search") || !strings.Contains(got, `"work"`) {
		t.Errorf("tools of the second request = %s, want web_search beside work", got)
	}
}
