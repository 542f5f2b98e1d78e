package requests_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
)

// wantSound checks that each request is text that any reader takes.
func wantSound(t *testing.T, a *api) {
	t.Helper()
	for i, body := range a.requests {
		if !utf8.Valid(body) {
			t.Errorf("request %d is not UTF-8: %q", i, body)
		}
		for at := range body {
			if half(body[at:]) && (at == 0 || body[at-1] != '\\') && !half(body[min(at+6, len(body)):]) && (at < 6 || !half(body[at-6:])) {
				t.Errorf("request %d has half a character: %s", i, body[max(0, at-40):min(len(body), at+20)])
			}
		}
	}
}

// half reports whether text begins with the escape of half a surrogate pair.
func half(text []byte) bool {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return false
	}
	four := strings.ToLower(string(text[2:4]))
	return four[0] == 'd' && four[1] >= '8'
}

// halves are texts with half a character, as JSON writes them.
var halves = []string{`\ud83d`, `a \ud83d b`, `\ude00`, `\ud83d\ud83d\ude00`, `\uD83D`, `\ude00\ud83d`, `\\\ud83d`}

// W3: half a surrogate pair in any string of a reply becomes U+FFFD in what is sent, and
// in what the tool gets.
func TestHalfACharacterOfAReplyIsNotSentBack(t *testing.T) {
	for _, h := range halves {
		for what, blocks := range map[string][]string{
			"input":        {`{"type":"tool_use","id":"a","name":"work","input":{"x":"` + h + `"}}`},
			"key":          {`{"type":"tool_use","id":"a","name":"work","input":{"` + h + `":1}}`},
			"nested":       {`{"type":"tool_use","id":"a","name":"work","input":{"x":[{"y":"` + h + `"}]}}`},
			"name":         {`{"type":"tool_use","id":"a","name":"` + h + `","input":{}}`},
			"id":           {`{"type":"tool_use","id":"` + h + `","name":"work","input":{}}`},
			"text":         {`{"type":"text","text":"` + h + `"}`, callBlock("a")},
			"thinking":     {`{"type":"thinking","thinking":"` + h + `","signature":"c2ln"}`, callBlock("a")},
			"signature":    {`{"type":"thinking","thinking":"x","signature":"` + h + `"}`, callBlock("a")},
			"redacted":     {`{"type":"redacted_thinking","data":"` + h + `"}`, callBlock("a")},
			"citation":     {`{"type":"text","text":"x","citations":[{"type":"char_location","cited_text":"` + h + `","document_index":0,"document_title":null,"start_char_index":0,"end_char_index":1}]}`, callBlock("a")},
			"server input": {`{"type":"server_tool_use","id":"s","name":"web_search","input":{"query":"` + h + `"}}`, `{"type":"web_search_tool_result","tool_use_id":"s","content":[]}`, callBlock("a")},
			"server find":  {useOf("web_search", "s"), `{"type":"web_search_tool_result","tool_use_id":"s","content":[{"type":"web_search_result","title":"` + h + `","url":"u","encrypted_content":"e","page_age":null}]}`, callBlock("a")},
			"unknown":      {`{"type":"novelty","` + h + `":"` + h + `"}`, callBlock("a")},
			"bad input":    {`{"type":"tool_use","id":"a","name":"work","input":"` + h + `"}`},
		} {
			for _, streaming := range []bool{false, true} {
				t.Run(h+"/"+what+map[bool]string{false: "/plain", true: "/streamed"}[streaming], func(t *testing.T) {
					tool := runtest.Raw("work", func(_ context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
						if !utf8.Valid(call.Input) || half(call.Input[strings.Index(string(call.Input)+`\`, `\`):]) && !strings.Contains(string(call.Input), `\\`) && !strings.Contains(string(call.Input), `\ud83d\ude00`) {
							t.Errorf("the tool gets %s", call.Input)
						}
						return toolrunner.TextResult("ran"), nil
					})
					_, a := runOn(t, message("tool_use", blocks...), streaming, tool)
					wantSound(t, a)
				})
			}
		}
	}
}

// W3: whatever a caller gives has no half characters when it is sent: messages, results,
// prompts, definitions, parameters.
func TestHalfACharacterOfACallerIsNotSent(t *testing.T) {
	const h = `\ud83d`
	override := func(raw string) anthropic.BetaMessageParam { return runtest.Verbatim(raw) }
	for name, change := range map[string]func(p *toolrunner.Params){
		"message": func(p *toolrunner.Params) {
			p.Messages = []anthropic.BetaMessageParam{override(`{"role":"user","content":"` + h + ` x"}`)}
		},
		"message bytes": func(p *toolrunner.Params) { p.Messages = []anthropic.BetaMessageParam{runtest.User("a\xff\xfeb")} },
		"message NUL":   func(p *toolrunner.Params) { p.Messages = []anthropic.BetaMessageParam{runtest.User("a\x00b")} },
		"block": func(p *toolrunner.Params) {
			p.Messages = []anthropic.BetaMessageParam{anthropic.NewBetaUserMessage(param.Override[anthropic.BetaContentBlockParamUnion](json.RawMessage(`{"type":"text","text":"x ` + h + `"}`)))}
		},
		"system": func(p *toolrunner.Params) { p.System = []anthropic.BetaTextBlockParam{{Text: "a\xffb"}} },
		"raw system": func(p *toolrunner.Params) {
			p.System = []anthropic.BetaTextBlockParam{param.Override[anthropic.BetaTextBlockParam](json.RawMessage(`{"type":"text","text":"x ` + h + `"}`))}
		},
		"tool of Params": func(p *toolrunner.Params) {
			p.Tools = []anthropic.BetaToolUnionParam{runtest.RawDefinition(`{"name":"other","description":"` + h + `","input_schema":{"type":"object"}}`)}
		},
		"metadata": func(p *toolrunner.Params) {
			p.Metadata = param.Override[anthropic.BetaMetadataParam](json.RawMessage(`{"user_id":"` + h + `"}`))
		},
		"stop sequence": func(p *toolrunner.Params) { p.StopSequences = []string{"a\xffb"} },
	} {
		t.Run(name, func(t *testing.T) {
			a := &api{}
			client := a.client()
			params := runtest.Asking("u0")
			change(&params)
			r, err := toolrunner.New(&client.Beta.Messages, nil, params)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := r.RunToCompletion(t.Context()); err != nil {
				t.Error(err)
			}
			wantSound(t, a)
			for _, fault := range a.faults {
				t.Error(fault)
			}
		})
	}
}

// W3: the same for what comes later: results, errors, definitions that are added,
// decisions, follow-ups.
func TestHalfACharacterOfAHandlerIsNotSent(t *testing.T) {
	const h = `\ud83d`
	for name, handler := range map[string]toolrunner.Handler{
		"text": func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
			return toolrunner.TextResult("a\xffb\x00"), nil
		},
		"error": func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
			return nil, errors.New("a\xffb\x00")
		},
		"panic":     func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) { panic("a\xffb") },
		"raw text":  rawResult(`{"type":"text","text":"` + h + `"}`),
		"raw key":   rawResult(`{"type":"novelty","` + h + `":1}`),
		"raw bytes": rawResult("{\"type\":\"text\",\"text\":\"a\xffb\"}"),
		"document":  rawResult(`{"type":"document","source":{"type":"text","media_type":"text/plain","data":"` + h + `"}}`),
		"bitmap":    rawResult(`{"type":"image","source":{"type":"base64","media_type":"image/bmp","data":"AA=="}}`),
		"no image":  rawResult(`{"type":"image"}`),
		"nested":    rawResult(`{"type":"tool_result","tool_use_id":"a","content":"x"}`),
		"a call":    rawResult(callBlock("b")),
		"thinking":  rawResult(thought),
		"hollow":    rawResult(`{}`),
		"no text":   rawResult(`{"type":"text"}`),
		"null":      rawResult(`null`),
		"empty error": func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
			return &toolrunner.Result{IsError: true, Content: []runtest.Content{runtest.RawContentBlock(emptyText)}}, nil
		},
		"empty text":          rawResult(emptyText),
		"cache on empty text": rawResult(`{"type":"text","text":"","cache_control":{"type":"ephemeral"}}`),
	} {
		t.Run(name, func(t *testing.T) {
			_, a := runOn(t, message("tool_use", callBlock("a")), false, runtest.Raw("work", handler))
			wantSound(t, a)
		})
	}
	t.Run("definition", func(t *testing.T) {
		a := &api{script: []string{message("tool_use", callBlock("a"))}}
		client := a.client()
		r, err := toolrunner.New(&client.Beta.Messages, nil, runtest.Asking("u0"))
		if err != nil {
			t.Fatal(err)
		}
		if err := r.AddToolParams(runtest.RawDefinition(`{"name":"other","description":"` + h + `","input_schema":{"type":"object"}}`)); err != nil {
			t.Fatal(err)
		}
		if err := r.AppendMessages(runtest.Verbatim(`{"role":"user","content":"`+h+`"}`), runtest.Verbatim(`{"role":"system","content":"`+h+`"}`)); err != nil {
			t.Fatal(err)
		}
		if _, err := r.RunToCompletion(t.Context()); err != nil {
			t.Error(err)
		}
		wantSound(t, a)
		for _, fault := range a.faults {
			t.Error(fault)
		}
	})
}

func rawResult(raw string) toolrunner.Handler {
	return func(context.Context, *toolrunner.Call) (*toolrunner.Result, error) {
		return &toolrunner.Result{Content: []runtest.Content{runtest.RawContentBlock(raw)}}, nil
	}
}
