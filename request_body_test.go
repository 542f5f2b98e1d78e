package toolrunner

import (
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"
	"github.com/google/go-cmp/cmp"

	"github.com/toolrunner/toolrunner/internal/history"
	"github.com/toolrunner/toolrunner/internal/wire"
)

// bodyOf returns the body of a request.
func bodyOf(t *testing.T, p *Params, s requestState) []byte {
	t.Helper()
	r, err := newRequest(p, s)
	if err != nil {
		t.Fatal(err)
	}
	head, err := r.params.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	body, err := r.complete(head)
	if err != nil {
		t.Fatal(err)
	}
	read, err := io.ReadAll(body.Reader())
	if err != nil || int64(len(read)) != body.Size() || string(read) != string(body.Bytes()) {
		t.Fatalf("the body reads as %d bytes (%v), and has %d", len(read), err, body.Size())
	}
	return read
}

func memberOf(t *testing.T, body []byte, name string) string {
	t.Helper()
	var o map[string]json.RawMessage
	if err := json.Unmarshal(body, &o); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	return string(o[name])
}

func encodedMessages(t *testing.T, messages ...anthropic.BetaMessageParam) []history.Message {
	t.Helper()
	l, err := newLoop(fuzzTools(), messages)
	if err != nil {
		t.Fatal(err)
	}
	return l.history.Messages
}

func minimal() *Params {
	return &Params{BetaMessageNewParams: anthropic.BetaMessageNewParams{Model: "m", MaxTokens: 10}}
}

// A body is what the SDK itself would send for the same parameters.
func TestBodiesEqualThoseOfTheSDK(t *testing.T) {
	messages := []anthropic.BetaMessageParam{
		anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock("<hi> & \u2028"), anthropic.NewBetaImageBlock(anthropic.BetaURLImageSourceParam{URL: "u"})),
		{OfAssistant: &anthropic.BetaAssistantMessageParam{Content: []anthropic.BetaContentBlockParamUnion{
			anthropic.NewBetaThinkingBlock("sig", ""), anthropic.NewBetaTextBlock("so"), anthropic.NewBetaToolUseBlock("a", map[string]any{"k": []int{1}}, "pure"),
		}}},
		anthropic.NewBetaUserMessage(anthropic.NewBetaToolResultBlock("a", "x", true)),
		rawMessage(`{"role":"system","content":"be brief"}`),
	}
	tool := anthropic.BetaToolUnionParam{OfTool: &anthropic.BetaToolParam{
		Name: "given", Description: anthropic.String("d"), Strict: anthropic.Bool(true), CacheControl: anthropic.NewBetaCacheControlEphemeralParam(),
		InputSchema: anthropic.BetaToolInputSchemaParam{Properties: map[string]any{"a": map[string]any{"type": "string"}}, Required: []string{"a"}},
	}}
	for name, change := range map[string]func(*anthropic.BetaMessageNewParams){
		"nothing more": func(*anthropic.BetaMessageNewParams) {},
		"tools":        func(p *anthropic.BetaMessageNewParams) { p.Tools = []anthropic.BetaToolUnionParam{tool} },
		"thinking":     func(p *anthropic.BetaMessageNewParams) { p.Thinking = anthropic.BetaThinkingConfigParamOfEnabled(1024) },
		"tool choice":  func(p *anthropic.BetaMessageNewParams) { p.ToolChoice.OfAny = &anthropic.BetaToolChoiceAnyParam{} },
		"system, metadata": func(p *anthropic.BetaMessageNewParams) {
			p.System = []anthropic.BetaTextBlockParam{{Text: "s"}}
			p.Metadata.UserID = anthropic.String("u")
		},
		"temperature, stop": func(p *anthropic.BetaMessageNewParams) { p.StopSequences = []string{"x"}; p.ServiceTier = "auto" },
		"extra fields":      func(p *anthropic.BetaMessageNewParams) { p.SetExtraFields(map[string]any{"novelty": 1}) },
		"output format": func(p *anthropic.BetaMessageNewParams) {
			p.OutputConfig.Format = anthropic.BetaJSONOutputFormatParam{Schema: map[string]any{"type": "object"}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := minimal()
			change(&p.BetaMessageNewParams)
			got := bodyOf(t, p, requestState{messages: encodedMessages(t, messages...)})
			sdk := p.BetaMessageNewParams
			sdk.Messages = messages
			want, err := sdk.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			if !wire.Same(got, want) {
				t.Errorf("body = %s\nwant  %s", got, want)
			}
			if again := bodyOf(t, p, requestState{messages: encodedMessages(t, messages...)}); string(again) != string(got) {
				t.Errorf("the same request has another body: %s, then %s", got, again)
			}
		})
	}
}

// B096: only the end of a last message of the assistant is trimmed.
func TestOnlyTheSpaceAtTheEndIsTrimmed(t *testing.T) {
	for _, tt := range []struct{ name, content, want string }{
		{"no space", `[{"type":"text","text":"x"}]`, `[{"type":"text","text":"x"}]`},
		{"escaped space", `[{"citations":null,"text":" x\n\u0020","type":"text"}]`, `[{"citations":null,"text":" x","type":"text"}]`},
		{"a string", `"x \n"`, `[{"type":"text","text":"x"}]`},
		{"earlier blocks stay", `[{"type":"thinking","thinking":"t ","signature":"s"},{"type":"text","text":"x "},{"type":"text","text":"y "}]`, `[{"type":"thinking","thinking":"t ","signature":"s"},{"type":"text","text":"x "},{"type":"text","text":"y"}]`},
		{"a blank last block", `[{"type":"text","text":"x"},{"type":"text","text":" "}]`, `[{"type":"text","text":"x"}]`},
		{"space before a blank last block", `[{"type":"text","text":"x "},{"type":"text","text":" "}]`, `[{"type":"text","text":"x"}]`},
		{"several blank blocks", `[{"type":"text","text":"x"},{"type":"text","text":"\t"},{"type":"text","text":" "}]`, `[{"type":"text","text":"x"}]`},
		{"another block is last", `[{"type":"text","text":"x "},{"type":"thinking","thinking":"t ","signature":"s"}]`, `[{"type":"text","text":"x "},{"type":"thinking","thinking":"t ","signature":"s"}]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			messages := encodedMessages(t, rawMessages(`{"role":"user","content":"hi "}`, `{"role":"assistant","content":`+tt.content+`}`)...)
			before := texts(messages)
			want := `[{"role":"user","content":"hi "},{"role":"assistant","content":` + tt.want + `}]`
			if got := memberOf(t, bodyOf(t, minimal(), requestState{messages: messages}), "messages"); got != want && (tt.content != tt.want || !wire.Same([]byte(got), []byte(want))) {
				t.Errorf("messages = %s, want %s", got, want)
			}
			if diff := cmp.Diff(before, texts(messages)); diff != "" {
				t.Errorf("the history changed (-before +after):\n%s", diff)
			}
			messages = append(messages, encodedMessages(t, rawMessage(`{"role":"user","content":"on "}`))...)
			want = `[` + strings.Join(texts(messages), ",") + `]`
			if got := memberOf(t, bodyOf(t, minimal(), requestState{messages: messages}), "messages"); got != want {
				t.Errorf("messages = %s, want %s", got, want)
			}
		})
	}
}

// E91, E92, E93, E94.
func TestContainersAreAdoptedUnlessOneWasChosen(t *testing.T) {
	skills := []anthropic.BetaSkillParams{{SkillID: "s", Type: anthropic.BetaSkillParamsTypeAnthropic}}
	union := func(c *anthropic.BetaContainerParams) anthropic.BetaMessageNewParamsContainerUnion {
		return anthropic.BetaMessageNewParamsContainerUnion{OfContainers: c}
	}
	for _, tt := range []struct {
		name  string
		given anthropic.BetaMessageNewParamsContainerUnion
		id    string
		want  string
	}{
		{"none (E94)", anthropic.BetaMessageNewParamsContainerUnion{}, "", ""},
		{"adopted (E91)", anthropic.BetaMessageNewParamsContainerUnion{}, "box", `"box"`},
		{"chosen (E92)", anthropic.BetaMessageNewParamsContainerUnion{OfString: anthropic.String("mine")}, "box", `"mine"`},
		{"chosen object (E92)", union(&anthropic.BetaContainerParams{ID: anthropic.String("mine")}), "box", `{"id":"mine"}`},
		{"object without id (E93)", union(&anthropic.BetaContainerParams{Skills: skills}), "box", `{"id":"box","skills":[{"skill_id":"s","type":"anthropic"}]}`},
		{"object without id, nothing to adopt", union(&anthropic.BetaContainerParams{Skills: skills}), "", `{"skills":[{"skill_id":"s","type":"anthropic"}]}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := minimal()
			p.Container = tt.given
			before, err := p.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			got := memberOf(t, bodyOf(t, p, requestState{messages: encodedMessages(t, rawMessage(`{"role":"user","content":"hi"}`)), container: tt.id}), "container")
			if got != tt.want && !wire.Same([]byte(got), []byte(tt.want)) {
				t.Errorf("container = %s, want %s", got, tt.want)
			}
			if after, err := p.MarshalJSON(); err != nil || string(after) != string(before) {
				t.Errorf("the caller's params changed from %s to %s (%v)", before, after, err)
			}
		})
	}
}

// The container of the last reply that had one counts (E91, E94).
func TestLoopRemembersTheLastContainer(t *testing.T) {
	l := startLoop(t)
	for _, tt := range []struct{ container, want string }{
		{``, ""}, {`,"container":{"id":"one","expires_at":"x"}`, "one"}, {`,"container":null`, "one"}, {``, "one"}, {`,"container":{"id":"two"}`, "two"},
	} {
		r, err := history.ReadReply([]byte(`{"role":"assistant","content":[{"type":"text","text":"x"}],"stop_reason":"pause_turn"`+tt.container+`}`), l.taken)
		if err != nil {
			t.Fatal(err)
		}
		if l.receive(r); l.container != tt.want {
			t.Errorf("container after %q = %q, want %q", tt.container, l.container, tt.want)
		}
	}
}

func TestForcedToolChoiceIsDroppedOnlyFromTheRequest(t *testing.T) {
	for name, choice := range map[string]anthropic.BetaToolChoiceUnionParam{
		"any":  {OfAny: &anthropic.BetaToolChoiceAnyParam{}},
		"tool": {OfTool: &anthropic.BetaToolChoiceToolParam{Name: "pure"}},
	} {
		p := minimal()
		p.ToolChoice = choice
		state := requestState{tools: fuzzTools().first, messages: encodedMessages(t, rawMessage(`{"role":"user","content":"hi"}`))}
		if got := memberOf(t, bodyOf(t, p, state), "tool_choice"); !strings.Contains(got, name) {
			t.Errorf("tool_choice = %s, want %s", got, name)
		}
		if p.forced() == nil {
			t.Errorf("%s does not force a call", name)
		}
		state.dropChoice = true
		if got := memberOf(t, bodyOf(t, p, state), "tool_choice"); got != "" {
			t.Errorf("tool_choice = %s, want none", got)
		}
		if diff := cmp.Diff(choice.GetType(), p.ToolChoice.GetType()); diff != "" {
			t.Errorf("the caller's choice changed:\n%s", diff)
		}
	}
	p := minimal()
	if p.ToolChoice.OfAuto = (&anthropic.BetaToolChoiceAutoParam{}); p.forced() != nil {
		t.Error("auto forces a call")
	}
}

// E50, E86: definitions of the caller go first and as given, and stand in for
// the runner's of the same name.
func TestToolsOfTheCallerComeFirst(t *testing.T) {
	raw := func(definition string) anthropic.BetaToolUnionParam {
		return param.Override[anthropic.BetaToolUnionParam](json.RawMessage(definition))
	}
	state := requestState{tools: fuzzTools().first, messages: encodedMessages(t, rawMessage(`{"role":"user","content":"hi"}`))}
	pure, impure := string(state.tools[0].definition), string(state.tools[1].definition)
	for _, tt := range []struct {
		name  string
		given []anthropic.BetaToolUnionParam
		want  string
	}{
		{"none", nil, pure + "," + impure},
		{"of a server", []anthropic.BetaToolUnionParam{raw(`{"type":"web_search_20250305","name":"web_search"}`)}, `{"type":"web_search_20250305","name":"web_search"},` + pure + "," + impure},
		{"of the same name", []anthropic.BetaToolUnionParam{raw(`{"name":"pure","input_schema":{"type":"object","x":1}}`)}, `{"name":"pure","input_schema":{"type":"object","x":1}},` + impure},
		{"without names", []anthropic.BetaToolUnionParam{raw(`{"type":"mcp_toolset","mcp_server_name":"a"}`), raw(`{"type":"mcp_toolset","mcp_server_name":"b"}`)}, `{"type":"mcp_toolset","mcp_server_name":"a"},{"type":"mcp_toolset","mcp_server_name":"b"},` + pure + "," + impure},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := minimal()
			p.Tools = tt.given
			if got, want := memberOf(t, bodyOf(t, p, state), "tools"), "["+tt.want+"]"; got != want {
				t.Errorf("tools = %s, want %s", got, want)
			}
		})
	}
}

func TestNewRequestRefusesWhatCannotBeSent(t *testing.T) {
	twice := []anthropic.BetaToolUnionParam{{OfTool: &anthropic.BetaToolParam{Name: "a"}}, {OfTool: &anthropic.BetaToolParam{Name: "a"}}}
	for _, tt := range []struct {
		name   string
		change func(*Params)
		empty  bool
		want   string
	}{
		{"no messages", func(*Params) {}, true, "no messages"},
		{"no model", func(p *Params) { p.Model = "" }, false, "Params.Model"},
		{"messages that were set later", func(p *Params) { p.Messages = rawMessages(`{"role":"user","content":"x"}`) }, false, "AppendMessages"},
		{"a name twice (E49)", func(p *Params) { p.Tools = twice }, false, "Params.Tools[1]"},
		{"a tool that is none", func(p *Params) { p.Tools = make([]anthropic.BetaToolUnionParam, 1) }, false, "Params.Tools[0]"},
		{"a compaction (E191)", func(p *Params) { p.Compaction.OfSummarize = &anthropic.BetaSummarizeCompactionParam{} }, false, "Params.Compaction"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := minimal()
			tt.change(p)
			state := requestState{messages: encodedMessages(t, rawMessage(`{"role":"user","content":"hi"}`))}
			if tt.empty {
				state.messages = nil
			}
			if _, err := newRequest(p, state); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error = %v, want one that says %q", err, tt.want)
			}
		})
	}
}

func TestOptionsMayNotSetWhatTheRunnerOwns(t *testing.T) {
	r, err := newRequest(minimal(), requestState{messages: encodedMessages(t, rawMessage(`{"role":"user","content":"hi"}`))})
	if err != nil {
		t.Fatal(err)
	}
	for _, head := range []string{`{"messages":[]}`, `{"model":"m","tools":null}`, `{"thinking":{}}`, `[]`, ``} {
		if body, err := r.complete([]byte(head)); err == nil {
			t.Errorf("%s became %s", head, body.Bytes())
		}
	}
	body, err := r.complete([]byte("{\"model\":\"m\"} \n"))
	if err != nil || !json.Valid(body.Bytes()) {
		t.Errorf("a head with space at its end becomes %s (%v)", body.Bytes(), err)
	}
}
