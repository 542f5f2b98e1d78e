package requests_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
)

// report is a public report of a loop that went wrong, by its number, or a case in the
// spirit of one: what the model says, and what has to become of it. Each request has to be
// one that the API takes, and the run has to go on with a message of the user.
type report struct {
	name    string
	replies []string
	body    func(r *toolrunner.Runner, turn *toolrunner.Turn) error // of the first turn
	handler toolrunner.Handler
	ran     string   // ids of the calls that run, sorted
	has     []string // in the last request
	lacks   []string
	whole   bool // the first reply goes back as it came
	late    bool // not for calls that start while the reply streams
}

func ended(blocks ...string) string { return message("end_turn", blocks...) }

func called(blocks ...string) string { return message("tool_use", blocks...) }

func sized(text string) string {
	return `{"type":"tool_use","id":"a","name":"work","input":` + text + `}`
}

const (
	cited    = `{"type":"text","text":"so","citations":[{"type":"web_search_result_location","url":"u","title":null,"encrypted_index":"e","cited_text":"c"}]}`
	executed = `{"type":"code_execution_tool_result","tool_use_id":"srvtoolu_1","content":{"type":"code_execution_result","stdout":"hello","stderr":"","return_code":0,"content":[]}}`
	fetched  = `{"type":"web_fetch_tool_result","tool_use_id":"srvtoolu_1","content":{"type":"web_fetch_result","url":"u","retrieved_at":null,"content":{"type":"document","source":{"type":"text","media_type":"text/plain","data":"d"},"title":null,"citations":null}}}`
	edited   = `{"type":"text_editor_code_execution_tool_result","tool_use_id":"srvtoolu_1","content":{"type":"text_editor_code_execution_view_result","file_type":"text","content":"<a>","num_lines":1,"start_line":1,"total_lines":1}}`
	quiet    = `{"type":"thinking","thinking":"","signature":"c2ln+/="}`
	image    = `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA=="}}`
)

func followUp(text string) func(*toolrunner.Runner, *toolrunner.Turn) error {
	return func(r *toolrunner.Runner, _ *toolrunner.Turn) error { return r.AppendMessages(runtest.User(text)) }
}

func returning(raws ...string) toolrunner.Handler {
	return func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
		result := &toolrunner.Result{}
		for _, raw := range raws {
			result.Content = append(result.Content, runtest.RawContentBlock(raw))
		}
		return result, nil
	}
}

// reported are the public reports about what a loop sends.
func reported() []report {
	s := useOf("web_search", "srvtoolu_1")
	return []report{
		{name: "B001", replies: []string{called(callBlock("a"))}, body: followUp("be concise"), ran: "a", has: []string{"be concise"}},
		{name: "B002", replies: []string{called(callBlock("a"))}, ran: "a", body: func(r *toolrunner.Runner, _ *toolrunner.Turn) error { r.Params.MaxTokens = 2048; return nil }},
		{name: "B004 cut off", replies: []string{message("max_tokens", sized(`{"title":"a"}`))}, has: []string{"cut off"}},
		{name: "B005 two calls, cut off", late: true, replies: []string{message("max_tokens", callBlock("a"), callBlock("b"))}},
		{name: "B009 a failure", replies: []string{called(callBlock("a"))}, ran: "a", body: func(r *toolrunner.Runner, turn *toolrunner.Turn) error {
			_, err := turn.Results(context.Background())
			return errors.Join(err, r.AppendMessages(runtest.User("x")))
		}},
		{name: "B010 while a tool runs", replies: []string{called(callBlock("a"), callBlock("b"))}, ran: "a b"},
		{name: "B014", replies: []string{called(callBlock("a"), say("x"))}, ran: "a", whole: true, body: func(_ *toolrunner.Runner, turn *toolrunner.Turn) error { turn.Content[0].ID = "other"; return nil }},
		{name: "B016", replies: []string{called(quiet, callBlock("a"))}, ran: "a", whole: true},
		{name: "B017", replies: []string{called(thought, say("x"), callBlock("a"), redacted, quiet, callBlock("b"))}, ran: "a b", whole: true},
		{name: "B018", replies: []string{called(thought, emptyText, callBlock("a"))}, ran: "a", lacks: []string{emptyText}},
		{name: "B018 alone", replies: []string{ended(emptyText)}, lacks: []string{emptyText}},
		{name: "B026", replies: []string{called(sized(`{"n":9007199254740993,"u":18446744073709551615,"f":1.0,"e":1e3}`))}, ran: "a", whole: true},
		{name: "B032", replies: []string{called(redacted, callBlock("a"))}, ran: "a", whole: true},
		{name: "B033", replies: []string{called(useOf("code_execution", "srvtoolu_1"), executed, callBlock("a"))}, ran: "a", whole: true},
		{name: "B034", late: true, replies: []string{called(callBlock("a"), callBlock("b"))}, ran: "b", has: []string{"by hand"}, body: func(r *toolrunner.Runner, _ *toolrunner.Turn) error {
			return r.AppendMessages(runtest.Answering("a", "by hand"))
		}},
		{name: "B038", replies: []string{called(sized(`{"c":"a<b && c>d \u2028"}`))}, ran: "a", whole: true, handler: func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
			return toolrunner.TextResult("x < y && z"), nil
		}, has: []string{"x < y && z"}},
		{name: "B041", replies: []string{called(callBlock("a"), callBlock("b"))}, ran: "a b", handler: returning(say("x"), image)},
		{name: "B044", replies: []string{called(blankText, callBlock("a"))}, ran: "a", whole: true, handler: returning()},
		{name: "B044 blank alone", replies: []string{ended(blankText)}},
		{name: "B050, B066", replies: []string{message("refusal")}},
		{name: "B052", replies: []string{ended(say("x"), callBlock("a"))}, has: []string{"was not run"}},
		{name: "B052 unknown", replies: []string{message("novel", callBlock("a"))}},
		{name: "B052 null", replies: []string{message("", callBlock("a"))}},
		{name: "B053", replies: []string{called(thought, cited, s, foundBy("web_search", "srvtoolu_1"), callBlock("a"))}, ran: "a", whole: true},
		{name: "B054 fetched", replies: []string{called(useOf("web_fetch", "srvtoolu_1"), fetched, callBlock("a"))}, ran: "a", whole: true},
		{name: "B054 edited", replies: []string{called(useOf("text_editor_code_execution", "srvtoolu_1"), edited, callBlock("a"))}, ran: "a", whole: true},
		{name: "B058", replies: []string{called(`{"type":"holo_block","x":1,"y":null}`, callBlock("a"))}, ran: "a", whole: true},
		{name: "B068", replies: []string{called(`{"type":"tool_use","id":"b","name":"get_wether","input":{}}`, callBlock("a"))}, ran: "a", has: []string{"get_wether' not found"}},
		{name: "B072", replies: []string{called(callBlock("a"), callBlock("b"), callBlock("c"))}, ran: "a b c"},
		{name: "B094", replies: []string{called(callBlock("a")), called(callBlock("a"))}, ran: "a a_2"},
		{name: "B094 clones", replies: []string{called(callBlock("a"), callBlock("a"))}, ran: "a"},
		{name: "B096", replies: []string{message("pause_turn", say("Hello \n"))}},
		{name: "B097", replies: []string{called(`{"type":"text","text":"x","citations":null}`, `{"type":"tool_use","id":"a","name":"work","input":{},"caller":null}`)}, ran: "a"},
		{name: "B098", replies: []string{called(callBlock("a")), called(callBlock("b")), called(callBlock("c"))}, ran: "a b c"},
		{name: "B105", replies: []string{called(callBlock("a"))}, ran: "a", handler: func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
			return toolrunner.JSONResult(func() {})
		}},
		{name: "B113", replies: []string{called(say("I will look."), thought, callBlock("a"))}, ran: "a", whole: true},
		{name: "B114", replies: []string{called(callBlock("a"))}, ran: "a", has: []string{`"is_error":true`}, handler: func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) { return nil, errors.New("") }},
		{name: "B134", replies: []string{called(`{"type":"tool_use","id":"functions.x:0","name":"work","input":{}}`)}, ran: "functions_x_0"},
	}
}

// inTheirSpirit are cases that other loops get wrong, or might.
func inTheirSpirit() []report {
	s, found := useOf("web_search", "srvtoolu_1"), foundBy("web_search", "srvtoolu_1")
	return []report{
		{name: "ids again, many times", replies: []string{called(callBlock("a"), callBlock("b")), called(callBlock("b"), callBlock("a")), called(callBlock("a"))}, ran: "a a_2 a_3 b b_2"},
		{name: "an id of the renamed kind", replies: []string{called(callBlock("a"), callBlock("a_2")), called(callBlock("a"))}, ran: "a a_2 a_3"},
		{name: "a server's id for a call", replies: []string{called(s, found, callBlock("srvtoolu_1"))}, ran: "srvtoolu_1_2"},
		{name: "server and client interleaved", replies: []string{called(s, found, thought, callBlock("a"), useOf("web_search", "srvtoolu_2"), foundBy("web_search", "srvtoolu_2"), callBlock("b"))}, ran: "a b", whole: true},
		{name: "a pause, then a call", replies: []string{message("pause_turn", s), called(found, callBlock("a"))}, ran: "a"},
		{name: "a pause with a follow-up", replies: []string{message("pause_turn", s), ended(found, say("x"))}, body: followUp("hurry"), has: []string{"hurry"}},
		{name: "two pauses", replies: []string{message("pause_turn", s), message("pause_turn", found, useOf("web_search", "srvtoolu_2")), ended(foundBy("web_search", "srvtoolu_2"), say("x"))}},
		{name: "a refusal with calls", replies: []string{message("refusal", say("x"), callBlock("a"))}, has: []string{"was refused"}},
		{name: "a refusal in a deferred search", replies: []string{called(s, callBlock("a")), message("refusal")}, ran: "a", lacks: []string{"srvtoolu_1"}},
		{name: "cut off in a deferred search", replies: []string{called(s, callBlock("a")), message("max_tokens", say("x"))}, ran: "a", lacks: []string{"srvtoolu_1"}},
		{name: "a full window", replies: []string{message("model_context_window_exceeded", callBlock("a"))}, has: []string{"was not run"}},
		{name: "a stop sequence with a call", replies: []string{message("stop_sequence", callBlock("a"))}, has: []string{"was not run"}},
		{name: "a prefill that ends in space", replies: []string{ended(say("x"))}, body: func(r *toolrunner.Runner, _ *toolrunner.Turn) error {
			return r.AppendMessages(runtest.User("go on"), runtest.Verbatim(`{"role":"assistant","content":"Hello \n"}`))
		}},
		{name: "a space of another kind", replies: []string{message("pause_turn", say("x\u00a0"))}},
		{name: "images in a result", replies: []string{called(callBlock("a"))}, ran: "a", handler: returning(image, say("x"), image), has: []string{image}},
		{name: "a picture of no type", replies: []string{called(callBlock("a"))}, ran: "a", handler: returning(`{"type":"image","source":{"type":"base64","media_type":"image/tiff","data":"AA=="}}`), has: []string{`"is_error":true`}},
		{name: "a document in a result", replies: []string{called(callBlock("a"))}, ran: "a", handler: returning(`{"type":"document","source":{"type":"text","media_type":"text/plain","data":"x"}}`)},
		{name: "a result of blanks", replies: []string{called(callBlock("a"))}, ran: "a", handler: returning(say(" "))},
		{name: "compaction in a reply", replies: []string{called(`{"type":"compaction","content":"so far","encrypted_content":null}`, callBlock("a"))}, ran: "a", whole: true},
		{name: "paused for compaction", replies: []string{message("compaction", `{"type":"compaction","content":"so far"}`), called(callBlock("a"))}, ran: "a"},
		{name: "a call before a fallback", replies: []string{called(callBlock("a"), fellBack, callBlock("b"))}, ran: "b", whole: true},
		{name: "a server's work before a fallback", replies: []string{called(s, fellBack, callBlock("b"))}, ran: "b", whole: true},
		{name: "code with two calls", replies: []string{called(useOf("code_execution", "srvtoolu_1"), codeCall("a", "srvtoolu_1"), codeCall("b", "srvtoolu_1"))}, body: followUp("more"), ran: "a b", has: []string{"more"}},
		{name: "code that calls again", replies: []string{called(useOf("code_execution", "srvtoolu_1"), codeCall("a", "srvtoolu_1")), called(codeCall("b", "srvtoolu_1")), ended(executed, say("x"))}, body: followUp("more"), ran: "a b", has: []string{"more"}},
		{name: "thinking between results of the API", replies: []string{called(s, found, thought, useOf("web_search", "srvtoolu_2"), callBlock("a"))}, body: followUp("more"), ran: "a", has: []string{"more"}},
		{name: "five breakpoints", replies: []string{called(callBlock("a"), callBlock("b"), callBlock("c"), callBlock("d"), callBlock("e"))}, ran: "a b c d e", handler: returning(`{"type":"text","text":"x","cache_control":{"type":"ephemeral"}}`)},
		{name: "a compaction with breakpoints", replies: []string{called(callBlock("a"))}, ran: "a", handler: returning(`{"type":"text","text":"x","cache_control":{"type":"ephemeral"}}`), body: func(r *toolrunner.Runner, _ *toolrunner.Turn) error {
			return r.CompactBeforeNextTurn(runtest.NoCompactionConfig())
		}},
		{name: "a tool that goes while it is called", late: true, replies: []string{called(callBlock("a"))}, has: []string{"not found"}, body: func(r *toolrunner.Runner, _ *toolrunner.Turn) error { r.RemoveToolsByNames("work"); return nil }},
		{name: "no choice, and a call", replies: []string{called(callBlock("a"))}, ran: "a"},
		{name: "an MCP use that hangs", replies: []string{called(useOf("mcp", "mcptoolu_1"), callBlock("a"))}, body: followUp("more"), ran: "a", has: []string{"more", "mcp_tool_result"}},
		{name: "a redacted block alone", replies: []string{ended(redacted)}},
		{name: "a deep input", replies: []string{called(sized(strings.Repeat(`{"x":`, 50) + `1` + strings.Repeat(`}`, 50)))}, ran: "a", whole: true},
	}
}

// B001 ... B142, as far as they are about requests, and others like them.
func TestReportsOfOtherLoops(t *testing.T) {
	for _, tt := range slices.Concat(reported(), inTheirSpirit()) {
		for _, mode := range []string{"plain", "streamed", "eager"} {
			if tt.late && mode == "eager" {
				continue
			}
			t.Run(tt.name+"/"+mode, func(t *testing.T) { tt.try(t, mode) })
		}
	}
}

// try plays a report.
func (tt *report) try(t *testing.T, mode string) {
	t.Helper()
	a := &api{script: slices.Clone(tt.replies)}
	client := a.client()
	var mu sync.Mutex
	var ran []string
	tool := runtest.ReadOnly("work", func(ctx context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
		mu.Lock()
		ran = append(ran, call.ID)
		mu.Unlock()
		if tt.handler != nil {
			return tt.handler(ctx, call)
		}
		return toolrunner.TextResult("ran " + call.ID), nil
	})
	tool.ReadOnly = mode == "eager"
	params := runtest.Asking("u0")
	params.EagerTools = mode == "eager"
	r, err := toolrunner.New(&client.Beta.Messages, runtest.Tools(tool), params)
	if err != nil {
		t.Fatal(err)
	}
	all := r.All
	if mode != "plain" {
		all = r.AllStreaming
	}
	for turn, err := range all(t.Context()) {
		if err != nil {
			t.Fatalf("the loop ended with %v\n%s", err, strings.Join(a.faults, "\n"))
		}
		if turn.Text(); tt.body != nil && turn.Iteration() == 1 {
			if err := tt.body(r, turn); err != nil {
				t.Errorf("the body: %v", err)
			}
		}
	}
	if err := r.AppendMessages(runtest.User("last")); err != nil {
		t.Errorf("AppendMessages() error = %v", err)
	}
	if _, err := r.RunToCompletion(t.Context()); err != nil {
		t.Errorf("going on: %v", err)
	}
	slices.Sort(ran)
	tt.check(t, a, strings.Join(ran, " "), mode == "plain")
}

func (tt *report) check(t *testing.T, a *api, ran string, plain bool) {
	t.Helper()
	for _, fault := range a.faults {
		t.Error(fault)
	}
	if ran != tt.ran {
		t.Errorf("calls ran: %q, want %q", ran, tt.ran)
	}
	last := string(a.requests[len(a.requests)-1])
	for _, text := range append(tt.has, `"last"`) {
		if !strings.Contains(last, text) {
			t.Errorf("%s is not in %s", text, last)
		}
	}
	for _, text := range tt.lacks {
		if strings.Contains(last, text) {
			t.Errorf("%s is in %s", text, last)
		}
	}
	if _, content, _ := strings.Cut(tt.replies[0], `"content":`); tt.whole && plain {
		content, _, _ = strings.Cut(content, `,"stop_reason"`)
		if !strings.Contains(last, content) {
			t.Errorf("the reply is not sent as it came:\n%s\n%s", content, last)
		}
	}
}
