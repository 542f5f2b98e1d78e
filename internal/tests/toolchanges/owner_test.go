package toolchanges_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// owned returns a tool of an owner that says its name and its version.
func owned(owner any, name, version string) *toolrunner.Tool {
	tool := toolrunner.NewTool(name, version, func(context.Context, struct{}) (string, error) { return name + version, nil })
	tool.Owner = owner
	return tool
}

// MC1: the tools of an owner change, and nothing else does: names that the program, another
// owner, a definition without a handler or a message has or had are taken.
func TestAnOwnerTakesNoNameFromAnybodyElse(t *testing.T) {
	mine, other := new(int), new(string)
	web := func(*testing.T, *runtest.Conversation) {}
	for _, test := range []struct {
		name   string
		before func(t *testing.T, c *runtest.Conversation)
	}{
		{"work", web},       // of the program
		{"web_search", web}, // of Params.Tools
		{"gone", func(t *testing.T, c *runtest.Conversation) {
			c.MustAddTools(t, runtest.Says("gone", ""))
			c.RemoveToolsByNames("gone")
		}},
		{"replaced", func(t *testing.T, c *runtest.Conversation) {
			mustSet(t, c.Runner, mine, owned(mine, "replaced", "1"))
			c.MustAddTools(t, runtest.Says("replaced", "by the program"))
		}},
		{"defined", func(t *testing.T, c *runtest.Conversation) {
			c.MustAddDefinition(t, `{"name":"defined","input_schema":{"type":"object"}}`)
		}},
		{"redefined", func(t *testing.T, c *runtest.Conversation) {
			mustSet(t, c.Runner, mine, owned(mine, "redefined", "1"))
			c.MustAddDefinition(t, `{"name":"redefined","input_schema":{"type":"object"}}`)
		}},
		{"others", func(t *testing.T, c *runtest.Conversation) { mustSet(t, c.Runner, other, owned(other, "others", "1")) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			params := runtest.Asking("hi")
			params.Tools = []anthropic.BetaToolUnionParam{{OfWebSearchTool20250305: &anthropic.BetaWebSearchTool20250305Param{}}}
			c := runtest.Start(t, params, runtest.Tools(runtest.Says("work", "ran")))
			test.before(t, c)
			taken, err := c.SetToolsOf(mine, owned(mine, "free", "1"), owned(mine, test.name, "2"))
			if diff := cmp.Diff([]string{test.name}, taken); diff != "" || err != nil {
				t.Errorf("err = %v, taken (-want +got):\n%s", err, diff)
			}
			if taken, err := c.SetToolsOf(other, owned(other, "free", "1")); len(taken) > 0 && test.name != "others" || err != nil {
				t.Errorf("taken = %q, err = %v; want that nothing had changed", taken, err)
			}
		})
	}
}

func mustSet(t *testing.T, r *toolrunner.Runner, owner any, tools ...*toolrunner.Tool) {
	t.Helper()
	if taken, err := r.SetToolsOf(owner, tools...); len(taken) > 0 || err != nil {
		t.Fatalf("taken = %q, err = %v; want neither", taken, err)
	}
}

// MC1, MC3: what the model is told is what differs from what it knows, of each name once.
func TestTheModelIsToldWhatDiffers(t *testing.T) {
	mine := new(int)
	a1, a2, b := owned(mine, "a", "1"), owned(mine, "a", "2"), owned(mine, "b", "1")
	for _, test := range []struct {
		name string
		sets [][]*toolrunner.Tool
		want string // after a1 was given to New
	}{
		{"the same", [][]*toolrunner.Tool{{a1}}, ""},
		{"a copy of the same", [][]*toolrunner.Tool{{toolrunner.Exclusive(a1)[0].(*toolrunner.Tool)}}, ""},
		{"alike", [][]*toolrunner.Tool{{owned(mine, "a", "1")}}, ""},
		{"another", [][]*toolrunner.Tool{{a2}}, "system addition(a)"},
		{"more", [][]*toolrunner.Tool{{a1, b}}, "system addition(b)"},
		{"none", [][]*toolrunner.Tool{{}}, "system removal(a)"},
		{"back and forth", [][]*toolrunner.Tool{{}, {a1}, {}, {a1}}, ""},
		{"to and fro", [][]*toolrunner.Tool{{a1, b}, {a1}, {b}, {}}, "system removal(a)"},
		{"changed and back", [][]*toolrunner.Tool{{a2}, {a1}}, "system addition(a)"},
		{"often", [][]*toolrunner.Tool{{a2}, {}, {a1}, {a2}, {b}, {a1}, {a2, b}}, "system addition(a) addition(b)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := runtest.Start(t, runtest.Asking("hi"), runtest.Tools(a1), toolrunnertest.Text("done"))
			for _, tools := range test.sets {
				mustSet(t, c.Runner, mine, tools...)
			}
			c.Run(t)
			if got := strings.Join(runtest.Shape(c.Request(t, -1).Messages())[1:], "; "); got != test.want {
				t.Errorf("the model is told %q, want %q", got, test.want)
			}
		})
	}
}

func TestAToolThatTheProgramRemovedIsNotProvidedAgain(t *testing.T) {
	mine := new(int)
	c := runtest.Start(t, runtest.Asking("hi"), runtest.Tools(owned(mine, "a", "1")), runtest.Calls("a", "x"), toolrunnertest.Text("done"))
	c.RemoveToolsByNames("a")
	mustSet(t, c.Runner, mine, owned(mine, "a", "2"))
	c.Run(t)
	runtest.WantFailure(t, c.Request(t, -1), "x", "Error: Tool 'a' not found")
}

func TestAnOwnerHasItsNamesBack(t *testing.T) {
	mine := new(int)
	c := runtest.Start(t, runtest.Asking("hi"), runtest.Tools(owned(mine, "a", "1")), toolrunnertest.Text("done"),
		runtest.Calls("a", "x"), toolrunnertest.Text("done"))
	mustSet(t, c.Runner, mine)
	c.Run(t)
	mustSet(t, c.Runner, mine, owned(mine, "a", "2"))
	c.MustAppend(t, runtest.User("again"))
	c.Run(t)
	runtest.WantSuccess(t, c.Request(t, -1), "x", "a2")
}

func TestWhatMakesNoSenseOfAnOwnerIsRefused(t *testing.T) {
	mine := new(int)
	c := runtest.Start(t, runtest.Asking("hi"), nil)
	for _, test := range []struct {
		name  string
		owner any
		tools []*toolrunner.Tool
		want  string
	}{
		{"no owner", nil, nil, "the owner of tools is a <nil>"},
		{"an owner that cannot be compared", []any{[]int{1}}, nil, "the owner of tools is a []interface {}"},
		{"a tool of nobody", mine, []*toolrunner.Tool{owned(nil, "a", "")}, "is not the owner that is given"},
		{"a nil tool", mine, []*toolrunner.Tool{nil}, "the tool is nil"},
		{"one name twice", mine, []*toolrunner.Tool{owned(mine, "a", ""), owned(mine, "a", "")}, "names must be unique"},
		{"an illegal name", mine, []*toolrunner.Tool{owned(mine, "a.b", "")}, "is not one that the Messages API accepts"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, err := c.SetToolsOf(test.owner, test.tools...); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("err = %v, want %q in it", err, test.want)
			}
		})
	}
	if err := c.AddTools(owned([]int{1}, "a", "")); err == nil || !strings.Contains(err.Error(), "cannot be compared") {
		t.Errorf("err = %v, want one about the owner", err)
	}
}

// MC1: a check and an addition are one step, whoever else adds meanwhile.
func TestOwnersThatAddAtOnceDoNotReplaceEachOther(t *testing.T) {
	c := runtest.Start(t, runtest.Asking("hi"), nil)
	var adding sync.WaitGroup
	had := make([]int, 8)
	for i := range had {
		adding.Go(func() {
			owner, tools := &had[i], []*toolrunner.Tool(nil)
			for n := range 20 {
				more := append(slices.Clip(tools), owned(owner, fmt.Sprint("t", n), fmt.Sprint(i)))
				taken, err := c.SetToolsOf(owner, more...)
				if err != nil {
					t.Error(err)
				}
				if len(taken) == 0 {
					tools = more
				}
			}
			had[i] = len(tools)
		})
	}
	adding.Wait()
	all := 0
	for _, n := range had {
		all += n
	}
	if all != 20 {
		t.Errorf("%d tools were added under 20 names, want one of each name", all)
	}
}
