package request_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"
	"github.com/google/go-cmp/cmp"

	"github.com/toolrunner/toolrunner/internal/history"
	"github.com/toolrunner/toolrunner/internal/request"
	"github.com/toolrunner/toolrunner/internal/wire"
)

// transport keeps the bodies that are sent.
type transport struct{ bodies [][]byte }

func (s *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	if int64(len(body)) != req.ContentLength {
		return nil, fmt.Errorf("the body has %d bytes, and its length is %d", len(body), req.ContentLength)
	}
	s.bodies = append(s.bodies, body)
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader("{}")), Request: req}, nil
}

// send sends a request by the SDK, and returns its body.
func send(t *testing.T, r *request.Request, options ...option.RequestOption) ([]byte, error) {
	t.Helper()
	var sent transport
	client := anthropic.NewClient(option.WithoutEnvironmentDefaults(), option.WithAPIKey("key"), option.WithBaseURL("http://request.invalid"),
		option.WithMaxRetries(0), option.WithHTTPClient(&http.Client{Transport: &sent}))
	_, err := client.Beta.Messages.New(t.Context(), r.Params, append([]option.RequestOption{r.Option()}, options...)...)
	if err != nil {
		return nil, err
	}
	if len(sent.bodies) != 1 {
		t.Fatalf("%d bodies were sent, want 1", len(sent.bodies))
	}
	return sent.bodies[0], nil
}

// made returns the request of an input.
func made(in request.Input) (*request.Request, error) {
	head, err := in.Head()
	if err != nil {
		return nil, err
	}
	return request.New(in, head)
}

// bodyOf returns the body of a request.
func bodyOf(t *testing.T, in request.Input) []byte {
	t.Helper()
	r, err := made(in)
	if err != nil {
		t.Fatal(err)
	}
	body, err := send(t, r)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func memberOf(t *testing.T, body []byte, name string) string {
	t.Helper()
	var o map[string]json.RawMessage
	if err := json.Unmarshal(body, &o); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	return string(o[name])
}

// input is a request of the messages and little else.
func input(t *testing.T, messages ...anthropic.BetaMessageParam) request.Input {
	t.Helper()
	drafts, err := history.EncodeAll(messages, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	in := request.Input{Params: anthropic.BetaMessageNewParams{Model: "m", MaxTokens: 10}, System: new(request.System)}
	for _, draft := range drafts {
		in.Messages = append(in.Messages, draft.Message)
	}
	return in
}

// hi is a request of one message.
func hi(t *testing.T) request.Input {
	t.Helper()
	return input(t, anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock("hi")))
}

func verbatim(raw string) anthropic.BetaMessageParam {
	return param.Override[anthropic.BetaMessageParam](json.RawMessage(raw))
}

func texts(messages []history.Message) []string {
	var list []string
	for _, m := range messages {
		list = append(list, string(m.Raw))
	}
	return list
}

// A body is what the SDK itself would send for the same parameters.
func TestBodiesEqualThoseOfTheSDK(t *testing.T) {
	messages := []anthropic.BetaMessageParam{
		anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock("<hi> & \u2028"), anthropic.NewBetaImageBlock(anthropic.BetaURLImageSourceParam{URL: "u"})),
		{OfAssistant: &anthropic.BetaAssistantMessageParam{Content: []anthropic.BetaContentBlockParamUnion{
			anthropic.NewBetaThinkingBlock("sig", ""), anthropic.NewBetaTextBlock("so"), anthropic.NewBetaToolUseBlock("a", map[string]any{"k": []int{1}}, "pure"),
		}}},
		anthropic.NewBetaUserMessage(anthropic.NewBetaToolResultBlock("a", "x", true)),
		verbatim(`{"role":"system","content":"be brief"}`),
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
			in := input(t, messages...)
			change(&in.Params)
			got := bodyOf(t, in)
			sdk := in.Params
			sdk.Messages = messages
			want, err := sdk.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			if !wire.Same(got, want) {
				t.Errorf("body = %s\nwant  %s", got, want)
			}
			if again := bodyOf(t, in); string(again) != string(got) {
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
		{"another block is last", `[{"type":"text","text":"x "},{"type":"redacted_thinking","data":"d "}]`, `[{"type":"text","text":"x "},{"type":"redacted_thinking","data":"d "}]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := input(t, verbatim(`{"role":"user","content":"hi "}`), verbatim(`{"role":"assistant","content":`+tt.content+`}`))
			before := texts(in.Messages)
			want := `[{"role":"user","content":"hi "},{"role":"assistant","content":` + tt.want + `}]`
			if got := memberOf(t, bodyOf(t, in), "messages"); got != want && (tt.content != tt.want || !wire.Same([]byte(got), []byte(want))) {
				t.Errorf("messages = %s, want %s", got, want)
			}
			if diff := cmp.Diff(before, texts(in.Messages)); diff != "" {
				t.Errorf("the history changed (-before +after):\n%s", diff)
			}
			in.Messages = append(in.Messages, input(t, verbatim(`{"role":"user","content":"on "}`)).Messages...)
			want = `[` + strings.Join(texts(in.Messages), ",") + `]`
			if got := memberOf(t, bodyOf(t, in), "messages"); got != want {
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
			in := hi(t)
			in.Params.Container, in.Container = tt.given, tt.id
			before, err := in.Params.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			got := memberOf(t, bodyOf(t, in), "container")
			if got != tt.want && !wire.Same([]byte(got), []byte(tt.want)) {
				t.Errorf("container = %s, want %s", got, tt.want)
			}
			if after, err := in.Params.MarshalJSON(); err != nil || string(after) != string(before) {
				t.Errorf("the caller's params changed from %s to %s (%v)", before, after, err)
			}
		})
	}
}

func TestForcedToolChoiceIsDroppedOnlyFromTheRequest(t *testing.T) {
	for name, choice := range map[string]anthropic.BetaToolChoiceUnionParam{
		"any":  {OfAny: &anthropic.BetaToolChoiceAnyParam{}},
		"tool": {OfTool: &anthropic.BetaToolChoiceToolParam{Name: "pure"}},
	} {
		in := hi(t)
		in.Params.ToolChoice = choice
		if got := memberOf(t, bodyOf(t, in), "tool_choice"); !strings.Contains(got, name) {
			t.Errorf("tool_choice = %s, want %s", got, name)
		}
		in.DropToolChoice = true
		if got := memberOf(t, bodyOf(t, in), "tool_choice"); got != "" {
			t.Errorf("tool_choice = %s, want none", got)
		}
		if diff := cmp.Diff(choice.GetType(), in.Params.ToolChoice.GetType()); diff != "" {
			t.Errorf("the caller's choice changed:\n%s", diff)
		}
	}
}

// E50, E86: definitions of the caller go first and as given, and stand in for
// the runner's of the same name.
func TestToolsOfTheCallerComeFirst(t *testing.T) {
	raw := func(definition string) anthropic.BetaToolUnionParam {
		return param.Override[anthropic.BetaToolUnionParam](json.RawMessage(definition))
	}
	const pure, impure = `{"name":"pure","input_schema":{"type":"object"}}`, `{"name":"impure","input_schema":{"type":"object"}}`
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
			in := hi(t)
			in.Definitions = []request.Definition{{Name: "pure", Raw: []byte(pure)}, {Name: "impure", Raw: []byte(impure)}}
			in.Params.Tools = tt.given
			if got, want := memberOf(t, bodyOf(t, in), "tools"), "["+tt.want+"]"; got != want {
				t.Errorf("tools = %s, want %s", got, want)
			}
		})
	}
}

func TestNewRefusesWhatCannotBeSent(t *testing.T) {
	twice := []anthropic.BetaToolUnionParam{{OfTool: &anthropic.BetaToolParam{Name: "a"}}, {OfTool: &anthropic.BetaToolParam{Name: "a"}}}
	for _, tt := range []struct {
		name   string
		change func(*request.Input)
		want   string
	}{
		{"no messages", func(in *request.Input) { in.Messages = nil }, "no messages"},
		{"a name twice (E49)", func(in *request.Input) { in.Params.Tools = twice }, "Params.Tools[1]"},
		{"a compaction beside edits that compact", func(in *request.Input) {
			in.Kind = request.Compaction
			in.Params.ContextManagement.Edits = []anthropic.BetaContextManagementConfigEditUnionParam{{OfCompact20260112: &anthropic.BetaCompact20260112EditParam{}}}
		}, "Params.ContextManagement"},
		{"an output format that contains itself", func(in *request.Input) { in.Params.OutputConfig.Format.Schema = new(tree) }, "contains itself"},
		{"a tool that is none", func(in *request.Input) { in.Params.Tools = make([]anthropic.BetaToolUnionParam, 1) }, "Params.Tools[0]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := hi(t)
			tt.change(&in)
			if _, err := made(in); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error = %v, want one that says %q", err, tt.want)
			}
		})
	}
}

// tree is a type that no schema of output can have.
type tree struct{ Children []*tree }

func TestOptionsMayNotSetWhatTheRunnerOwns(t *testing.T) {
	for _, name := range []string{"messages", "system", "tools", "thinking"} {
		r, err := made(hi(t))
		if err != nil {
			t.Fatal(err)
		}
		if body, err := send(t, r, option.WithJSONSet(name, []string{})); err == nil || !strings.Contains(err.Error(), "set it in Params") {
			t.Errorf("an option that sets %s sends %s (%v), want an error that names Params", name, body, err)
		}
	}
	r, err := made(hi(t))
	if err != nil {
		t.Fatal(err)
	}
	body, err := send(t, r, option.WithJSONSet("top_k", 7))
	if err != nil || memberOf(t, body, "top_k") != "7" {
		t.Errorf("an option that sets top_k sends %s (%v)", body, err)
	}
	for _, head := range []string{`[]`, ``, `"x"`} {
		r, err := made(hi(t))
		if err != nil {
			t.Fatal(err)
		}
		if body, err := send(t, r, option.WithRequestBody("application/json", []byte(head))); err == nil {
			t.Errorf("an option that makes the body %q sends %s", head, body)
		}
	}
	r, err = made(hi(t))
	if err != nil {
		t.Fatal(err)
	}
	if body, err := send(t, r, option.WithRequestBody("application/json", []byte("{\"model\":\"m\"} \n"))); err != nil || !json.Valid(body) {
		t.Errorf("a body with space at its end becomes %s (%v)", body, err)
	}
}

// What shapes a reply does not go out with a request that compacts, and a summary is
// asked for without thinking and without calls.
func TestEachKindSendsItsParameters(t *testing.T) {
	for _, tt := range []struct {
		name string
		kind request.Kind
		want map[string]string // members of the body; empty: left out
	}{
		{"turn", request.Turn, map[string]string{
			"compaction": "", "max_tokens": "10", "model": `"m"`, "stop_sequences": `["x"]`, "thinking": `{"budget_tokens":1024,"type":"enabled"}`,
			"tool_choice": `{"type":"any"}`,
		}},
		{"compaction", request.Compaction, map[string]string{
			"compaction": `{"type":"summarize"}`, "max_tokens": "10", "model": `"m"`, "stop_sequences": "",
			"thinking": `{"budget_tokens":1024,"type":"enabled"}`, "tool_choice": "",
		}},
		{"summary", request.Summary, map[string]string{
			"compaction": "", "max_tokens": "4096", "model": `"small"`, "stop_sequences": "", "thinking": "", "tool_choice": `{"type":"none"}`,
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := hi(t)
			in.Kind, in.Summarizer.Model = tt.kind, "small"
			in.Definitions = []request.Definition{{Name: "pure", Raw: []byte(`{"name":"pure"}`)}}
			in.Params.StopSequences = []string{"x"}
			in.Params.Thinking = anthropic.BetaThinkingConfigParamOfEnabled(1024)
			in.Params.ToolChoice.OfAny = &anthropic.BetaToolChoiceAnyParam{}
			body := bodyOf(t, in)
			for name, want := range tt.want {
				if got := memberOf(t, body, name); got != want && !wire.Same([]byte(got), []byte(want)) {
					t.Errorf("%s = %s, want %s", name, got, want)
				}
			}
		})
	}
}
