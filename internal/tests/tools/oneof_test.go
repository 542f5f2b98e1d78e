package tools_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// expr is a sealed interface whose structs contain it again.
type expr interface{ eval() int }

type (
	number struct {
		N int `json:"n" jsonschema:"required"`
	}
	binary struct {
		Left  oneExpr `json:"left" jsonschema:"required"`
		Right oneExpr `json:"right" jsonschema:"required"`
	}
	exprs   struct{}
	oneExpr = toolrunner.OneOf[expr, exprs]
	sum     struct {
		Of   oneExpr            `json:"of" jsonschema:"required"`
		More map[string]oneExpr `json:"more,omitempty"`
	}
)

func (n number) eval() int { return n.N }

func (b *binary) eval() int { return b.Left.Value.eval() + b.Right.Value.eval() }

func (exprs) Variants() map[string]expr {
	return map[string]expr{"number": number{}, "sum": &binary{}}
}

// E57, E62: a tool with an interface in its input gets the variant that the model names.
func TestAToolGetsTheVariantThatTheModelNames(t *testing.T) {
	evaluate := toolrunner.NewTool("work", "", func(_ context.Context, in sum) (int, error) { return in.Of.Value.eval(), nil })
	c := runtest.Start(t, runtest.Asking("hi"), runtest.Tools(evaluate), toolrunnertest.Message(
		toolrunnertest.Call("a", "work", `{"of":{"type":"sum","left":{"type":"number","n":1},"right":{"type":"sum","left":{"type":"number","n":2},"right":{"n":3e0,"type":"number"}}}}`),
		toolrunnertest.Call("b", "work", `{"of":{"type":"sum","left":{"type":"numbers","n":1}}}`),
		toolrunnertest.Call("c", "work", `{}`),
	), toolrunnertest.Text("done"))
	c.Run(t)
	runtest.WantSuccess(t, c.Request(t, -1), "a", "6")
	runtest.WantFailure(t, c.Request(t, -1), "b", "Error: invalid input:\n- of.left.type: expected one of \"number\", \"sum\", got string \"numbers\"\n- of.right: missing; expected object whose type is one of \"number\", \"sum\"")
	runtest.WantFailure(t, c.Request(t, -1), "c", "Error: invalid input: of: missing; expected object whose type is one of \"number\", \"sum\"")
	if got := string(c.Request(t, 0).Field("tools")); !strings.Contains(got, `"$defs":{"expr":{"anyOf":[{"type":"object","properties":{"type":{"type":"string","const":"number"}`) {
		t.Errorf("tools = %s, want a definition expr with its variants", got)
	}
}

func TestAOneOfEncodesAsWhatItDecodes(t *testing.T) {
	in := sum{Of: oneExpr{Value: &binary{Left: oneExpr{Value: number{1}}, Right: oneExpr{Value: number{2}}}}, More: map[string]oneExpr{"nil": {}}}
	const want = `{"of":{"type":"sum","left":{"type":"number","n":1},"right":{"type":"number","n":2}},"more":{"nil":null}}`
	data, err := json.Marshal(in)
	if err != nil || string(data) != want {
		t.Fatalf("Marshal = %s, %v; want %s", data, err, want)
	}
	again := sum{More: map[string]oneExpr{"nil": {Value: number{5}}}}
	if err := json.Unmarshal(data, &again); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(in, again); diff != "" {
		t.Errorf("decoded (-want +got):\n%s", diff)
	}
	for _, input := range []string{`{"of":5}`, `{"of":{}}`, `{"of":{"type":"x"}}`, `{"of":{"type":"number","n":"x"}}`, `{"of":[]}`} {
		if err := json.Unmarshal([]byte(input), &again); err == nil {
			t.Errorf("Unmarshal(%s): error = nil, want one", input)
		}
	}
	if data, err := json.Marshal(toolrunner.OneOf[any, anything]{Value: 5}); err == nil {
		t.Errorf("Marshal of an unlisted type = %s, want an error", data)
	}
}

type anything struct{}

func (anything) Variants() map[string]any { return map[string]any{"list": []int{}} }

func TestNewToolPanicsOnVariantsThatAreNoObjects(t *testing.T) {
	defer func() {
		if got, _ := recover().(string); !strings.Contains(got, `tool "bad"`) || !strings.Contains(got, `.F: variant "list": []int is no struct`) {
			t.Errorf("NewTool panicked with %q, want the tool and the variant", got)
		}
	}()
	type input struct {
		F toolrunner.OneOf[any, anything]
	}
	toolrunner.NewTool("bad", "", func(context.Context, input) (string, error) { return "", nil })
}

type messyInput struct {
	Name  string   `json:"name" jsonschema:"required"`
	Count int      `json:"count"`
	Tags  []string `json:"tags"`
	Expr  *oneExpr `json:"expr"`
}

// B104: JSON in a string is refused with advice by default, and taken out of it
// under the lenient option; what the model wrote stays in the history.
func TestJSONInStrings(t *testing.T) {
	const input = `{"name":"5","count":"3","tags":"[\"a\",\"1\"]","expr":"{\"type\":\"number\",\"n\":\"7\"}"}`
	for _, tt := range []struct {
		name     string
		validate toolrunner.Validation
		want     string
		failed   bool
	}{
		{"refused", toolrunner.ValidateInput, `Error: invalid input:
- count: expected integer, got string "3"; give the value itself, not a string that contains it
- tags: expected array of string, got string "[\"a\",\"1\"]"; give the value itself, not a string that contains it
- expr: expected object whose type is one of "number", "sum", got string "{\"type\":\"number\",\"n\":\"7\"}"; give the value itself, not a string that contains it`, true},
		{"lenient", toolrunner.ValidateLenient, `{"name":"5","count":3,"tags":["a","1"],"expr":{"type":"number","n":7}}`, false},
		{"off", toolrunner.ValidateOff, `Error: invalid input: expr: expected object, got string "{\"type\":\"number\",\"n\":\"7\"}"`, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var seen []string
			work := toolrunner.NewTool("work", "", func(ctx context.Context, in messyInput) (messyInput, error) {
				call, _ := toolrunner.CallFrom(ctx)
				seen = append(seen, string(call.Input))
				return in, nil
			})
			params := runtest.Asking("hi")
			params.Validate = tt.validate
			c := runtest.Start(t, params, runtest.Tools(work), toolrunnertest.Message(toolrunnertest.Call("a", "work", input)), toolrunnertest.Text("done"))
			c.Run(t)
			if got, failed := runtest.ResultText(t, c.Request(t, -1), "a"); got != tt.want || failed != tt.failed {
				t.Errorf("result = %s, failed %v; want %s, failed %v", got, failed, tt.want, tt.failed)
			}
			if !tt.failed && (len(seen) != 1 || seen[0] != tt.want) {
				t.Errorf("the handler saw %q, want %q", seen, tt.want)
			}
			if body := string(c.Request(t, -1).Body); !strings.Contains(body, input) {
				t.Errorf("the history lost what the model wrote: %s", body)
			}
		})
	}
}

// What the lenient option takes out of a string is checked like any other input,
// also for tools that are not ours.
func TestLenientInputIsChecked(t *testing.T) {
	schema := anthropic.BetaToolInputSchemaParam{Properties: map[string]any{"n": map[string]any{"type": "integer", "maximum": 5}}}
	foreign := &schemaTool{runtest.OtherTool{ToolName: "work", Run: func(in json.RawMessage) ([]runtest.Content, error) {
		return []runtest.Content{runtest.TextContent(string(in))}, nil
	}}, schema}
	params := runtest.Asking("hi")
	params.Validate = toolrunner.ValidateLenient
	c := runtest.Start(t, params, []anthropic.BetaTool{foreign}, toolrunnertest.Message(
		toolrunnertest.Call("a", "work", `{"n":"5"}`), toolrunnertest.Call("b", "work", `{"n":"6"}`),
	), toolrunnertest.Text("done"))
	c.Run(t)
	runtest.WantSuccess(t, c.Request(t, -1), "a", `{"n":5}`)
	runtest.WantFailure(t, c.Request(t, -1), "b", "Error: invalid input: n: expected integer of at most 5, got 6")
}

// Without a check, a typed tool gets what has a field, and nothing that its tags
// keep from the model.
func TestWithoutValidationATypedToolGetsWhatHasAField(t *testing.T) {
	type input struct {
		City string `json:"city" jsonschema:"required,enum=Oslo"`
		User string `json:"user" jsonschema:"-"`
	}
	work := toolrunner.NewTool("work", "", func(_ context.Context, in input) (input, error) { return in, nil })
	params := runtest.Asking("hi")
	params.Validate = toolrunner.ValidateOff
	c := runtest.Start(t, params, runtest.Tools(work), toolrunnertest.Message(
		toolrunnertest.Call("a", "work", `{"city":"Rome","town":1,"City":"x","user":"root"}`),
	), toolrunnertest.Text("done"))
	c.Run(t)
	runtest.WantSuccess(t, c.Request(t, -1), "a", `{"city":"Rome","user":""}`)
}
