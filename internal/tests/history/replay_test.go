// Package history_test tests what goes back to the API: replies byte for byte, cache
// breakpoints, containers.
package history_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// oddBlocks are blocks that a client might change on the way back: E56, E85, E87-E90, E96, E97, B026, B038.
var oddBlocks = map[string]string{
	"server tool use":      `{"type":"server_tool_use","id":"s1","name":"web_search","input":{"z":1,"a":1e400}}`,
	"server tool result":   `{"type":"web_search_tool_result","tool_use_id":"s1","content":[{"type":"web_search_result","url":"u","title":"t","encrypted_content":"e","page_age":null}]}`,
	"mcp tool use":         `{"type":"mcp_tool_use","id":"m1","name":"work","server_name":"s","input":{"n":9007199254740993}}`,
	"mcp tool result":      `{"type":"mcp_tool_result","tool_use_id":"m1","is_error":false,"content":[{"type":"text","text":""}]}`,
	"unknown block":        `{"type":"block_of_tomorrow","id":"x","payload":{"b":[1,2],"a":null}}`,
	"thinking":             `{"type":"thinking","thinking":"hm <b>","signature":"c2ln+/="}`,
	"redacted thinking":    `{"type":"redacted_thinking","data":"ZGF0YQ=="}`,
	"null citations":       `{"citations":null,"type":"text","text":"<&>\u00e9\u2028"}`,
	"spaced":               "{ \"type\" : \"text\",\n\"text\" : \"x\" }",
	"unknown caller":       `{"type":"tool_use","id":"toolu_u","name":"work","input":{},"caller":{"type":"caller_of_tomorrow","x":[1]}}`,
	"programmatic caller":  `{"type":"tool_use","id":"toolu_p","name":"work","input":{},"caller":{"type":"code_execution_20250825","tool_id":"srvtoolu_1"}}`,
	"big numbers":          `{"type":"tool_use","id":"toolu_b","name":"work","input":{"z":9007199254740993,"a":18446744073709551615,"m":1.0,"d":1E2,"d":2}}`,
	"escaped field name":   `{"type":"tool_use","id":"toolu_e","name":"work","input":{},"\u0063aller":{"type":"direct"}}`,
	"unknown field":        `{"type":"tool_use","id":"toolu_f","name":"work","input":{"code":"a<b && c"},"of_tomorrow":{"x":null}}`,
	"container upload":     `{"type":"container_upload","file_id":"file_1"}`,
	"code execution":       `{"type":"code_execution_tool_result","tool_use_id":"c1","content":{"type":"code_execution_result","stdout":"1","stderr":"","return_code":0,"content":[]}}`,
	"code execution use":   `{"type":"server_tool_use","id":"c1","name":"code_execution","input":{"code":"1"}}`,
	"null among the known": `{"type":"text","text":"x","of_tomorrow":null}`,
}

// oddOrder puts each use before its result.
var oddOrder = []string{
	"thinking", "redacted thinking", "null citations", "spaced", "server tool use", "server tool result", "mcp tool use", "mcp tool result",
	"code execution use", "code execution", "container upload", "unknown block", "null among the known",
	"unknown caller", "programmatic caller", "big numbers", "escaped field name", "unknown field",
}

func oddReply() toolrunnertest.Reply {
	blocks := make([]toolrunnertest.Block, len(oddOrder))
	for i, name := range oddOrder {
		blocks[i] = toolrunnertest.RawBlock(oddBlocks[name])
	}
	return toolrunnertest.Message(blocks...)
}

// E56, E85, E87-E90, E96, E97, G16, B026: a reply goes back as it came, byte for
// byte, and its calls run with the input as it came.
func TestRepliesGoBackByteForByte(t *testing.T) {
	inputs := make(map[string]string)
	work := runtest.Raw("work", func(_ context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
		inputs[call.ID] = string(call.Input)
		return toolrunner.TextResult("ran"), nil
	})
	params := runtest.Asking("hi")
	params.MaxConcurrency = 1
	c := runtest.Start(t, params, runtest.Tools(work), oddReply(), oddReplyAgain(), toolrunnertest.Text("done"))
	c.Run(t)
	want := map[string]string{
		"toolu_u": `{}`, "toolu_p": `{}`, "toolu_e": `{}`, "toolu_again": `{"n":1e400}`,
		"toolu_b": `{"z":9007199254740993,"a":18446744073709551615,"m":1.0,"d":1E2,"d":2}`, "toolu_f": `{"code":"a<b && c"}`,
	}
	if diff := cmp.Diff(want, inputs); diff != "" {
		t.Errorf("inputs of the calls (-want +got):\n%s", diff)
	}
	for _, name := range oddOrder {
		if !bytes.Contains(c.Request(t, -1).Body, []byte(oddBlocks[name])) {
			t.Errorf("%s: the last request does not hold %s", name, oddBlocks[name])
		}
	}
}

func oddReplyAgain() toolrunnertest.Reply {
	return toolrunnertest.Message(toolrunnertest.RawBlock(`{"input":{"n":1e400},"name":"work","id":"toolu_again","type":"tool_use"}`))
}

// A conversation that was taken out with Messages goes on in another runner as
// it would have in this one.
func TestMessagesGoOnInAnotherRunner(t *testing.T) {
	c := runtest.New(t, oddReply(), toolrunnertest.Text("done"), toolrunnertest.Text("more"))
	c.Runner = c.NewRunner(t, runtest.Asking("hi"), runtest.Says("work", "ran"))
	c.Run(t)
	other := c.NewRunner(t, runtest.Given(c.Messages()...), runtest.Says("work", "ran"))
	c.MustAppend(t, runtest.User("go on"))
	if err := other.AppendMessages(runtest.User("go on")); err != nil {
		t.Fatal(err)
	}
	c.Run(t)
	c.Server.Add(toolrunnertest.Text("more"))
	if _, err := other.RunToCompletion(t.Context()); err != nil {
		t.Fatal(err)
	}
	requests := c.Server.Requests()
	mine, others := requests[2].Messages(), requests[3].Messages()
	for i := range mine {
		if diff := cmp.Diff(numbered(t, mine[i]), numbered(t, others[i])); diff != "" {
			t.Errorf("message %d (-own +other):\n%s", i, diff)
		}
	}
}

// numbered decodes JSON with the digits of its numbers.
func numbered(t *testing.T, data json.RawMessage) any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	return v
}

// ToParam of a turn is the reply as it came, where the SDK's own loses some of it.
func TestTurnToParamIsTheReplyAsItCame(t *testing.T) {
	c := runtest.New(t, oddReply())
	c.Runner = c.NewRunner(t, runtest.Asking("hi"), runtest.Says("work", "ran"))
	turn := c.FirstTurn(t)
	data, err := turn.ToParam().MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	want, got := numbered(t, runtest.RawContent(t, c.Request(t, 0).Reply)), numbered(t, runtest.RawContent(t, data))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ToParam() (-want +got):\n%s", diff)
	}
}

// E98, B018, B044: what the API would not take back is left out, and nothing else.
func TestEmptyTextIsLeftOutOfReplies(t *testing.T) {
	call := toolrunnertest.Call("a", "work", `{}`)
	say := toolrunnertest.Say
	tests := []struct {
		name  string
		reply toolrunnertest.Reply
		want  []string
	}{
		{"before a call", toolrunnertest.Message(say(""), call), []string{"assistant call(a)", "user result(a)"}},
		{"between", toolrunnertest.Message(toolrunnertest.Thinking("t", "s"), say(""), call), []string{"assistant thinking call(a)", "user result(a)"}},
		{"space before a call stays", toolrunnertest.Message(say("\n\n"), call), []string{"assistant '\n\n' call(a)", "user result(a)"}},
		{"nothing at all", toolrunnertest.Message(), nil},
		{"nothing but empty text", toolrunnertest.Message(say("")), nil},
		{"nothing but space", toolrunnertest.Message(say(" \n")), nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := runtest.New(t, test.reply, toolrunnertest.Text("done"))
			c.Runner = c.NewRunner(t, runtest.Asking("hi"), runtest.Says("work", "ran"))
			c.Run(t)
			if test.want == nil { // E98: the run is over, and goes on without the reply
				c.MustAppend(t, runtest.User("again"))
				c.Run(t)
				test.want = []string{"user 'again'"}
			}
			c.WantShape(t, append([]string{"user 'hi'"}, test.want...)...)
		})
	}
}

// E91-E94: a container is kept, a pinned one is not overridden, and the caller's
// object is not touched.
func TestContainerIsCarriedAlong(t *testing.T) {
	pinned := &anthropic.BetaContainerParams{ID: anthropic.String("mine")}
	skills := &anthropic.BetaContainerParams{Skills: []anthropic.BetaSkillParams{{SkillID: "pdf", Type: "anthropic"}}}
	type container = anthropic.BetaMessageNewParamsContainerUnion
	tests := []struct {
		name      string
		container container
		replies   []string // container of each reply
		want      []string // of each request
	}{
		{"none at all", container{}, []string{"", ""}, []string{"", ""}},
		{"adopted", container{}, []string{"c1", ""}, []string{"", `"c1"`}},
		{"adopted for good", container{}, []string{"c1", "", "", ""}, []string{"", `"c1"`, `"c1"`, `"c1"`}},
		{"pinned id", container{OfString: anthropic.String("mine")}, []string{"c1", ""}, []string{`"mine"`, `"mine"`}},
		{"pinned object", container{OfContainers: pinned}, []string{"c1", ""}, []string{`{"id":"mine"}`, `{"id":"mine"}`}},
		{
			"object without an id",
			container{OfContainers: skills},
			[]string{"c1", "", ""},
			[]string{`{"skills":[{"skill_id":"pdf","type":"anthropic"}]}`, `{"id":"c1","skills":[{"skill_id":"pdf","type":"anthropic"}]}`, `{"id":"c1","skills":[{"skill_id":"pdf","type":"anthropic"}]}`},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var script []toolrunnertest.Reply
			for i, id := range test.replies {
				reply := toolrunnertest.Text("done")
				if i < len(test.replies)-1 {
					reply = runtest.Calls("work", fmt.Sprintf("toolu_%d", i))
				}
				if id != "" {
					reply = reply.Container(id)
				}
				script = append(script, reply)
			}
			params := runtest.Asking("hi")
			params.Container = test.container
			c := runtest.Start(t, params, runtest.Tools(runtest.Says("work", "ran")), script...)
			c.Run(t)
			var got []string
			for _, q := range c.Server.Requests() {
				got = append(got, string(q.Field("container")))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("containers (-want +got):\n%s", diff)
			}
			if skills.ID.Valid() {
				t.Errorf("the caller's container was given the id %q", skills.ID.Value)
			}
		})
	}
}

// B094, B134: ids that the API would not take back become others, in call and
// result alike; clones run once; what cannot be told apart does not run.
func TestIDsOfCallsAreMadeUnique(t *testing.T) {
	t.Run("taken by an earlier turn", func(t *testing.T) {
		c := runtest.New(t, runtest.Calls("work", "call_0"), runtest.Calls("work", "call_0"), runtest.Calls("work", "call_0"), toolrunnertest.Text("done"))
		c.Runner = c.NewRunner(t, runtest.Asking("hi"), runtest.Says("work", "ran"))
		c.Run(t)
		c.WantShape(t, "user 'hi'", "assistant call(call_0)", "user result(call_0)", "assistant call(call_0_2)", "user result(call_0_2)",
			"assistant call(call_0_3)", "user result(call_0_3)")
	})
	t.Run("illegal", func(t *testing.T) {
		c := runtest.New(t, runtest.Calls("work", "functions.x:0", "functions_x_0"), toolrunnertest.Text("done"))
		c.Runner = c.NewRunner(t, runtest.Asking("hi"), runtest.Says("work", "ran"))
		c.Run(t)
		c.WantShape(t, "user 'hi'", "assistant call(functions_x_0) call(functions_x_0_2)", "user result(functions_x_0) result(functions_x_0_2)")
	})
	t.Run("clones", func(t *testing.T) {
		var ran runtest.Journal
		c := runtest.New(t, runtest.Calls("work", "a", "a"), toolrunnertest.Text("done"))
		c.Runner = c.NewRunner(t, runtest.Asking("hi"), ran.Tool("work"))
		c.Run(t)
		ran.Want(t, "a")
		c.WantShape(t, "user 'hi'", "assistant call(a)", "user result(a)")
	})
	for name, blocks := range map[string][]toolrunnertest.Block{
		"different calls with one id": {toolrunnertest.Call("a", "work", `{}`), toolrunnertest.Call("a", "work", `{"x":1}`)},
		"no id":                       {toolrunnertest.Call("", "work", `{}`)},
	} {
		t.Run(name, func(t *testing.T) {
			var ran runtest.Journal
			c := runtest.New(t, toolrunnertest.Message(blocks...))
			c.Runner = c.NewRunner(t, runtest.Asking("hi"), ran.Tool("work"))
			_, err := c.TryRun(t.Context(), nil)
			runtest.WantAs[*toolrunner.ReplyError](t, err)
			ran.Want(t)
			c.WantHistory(t, "user 'hi'")
		})
	}
}
