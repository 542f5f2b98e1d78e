package model

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
)

const summaryPrompt = "SUMMARIZE"

var errOver = errors.New("the program has failed")

// transport is an http.RoundTripper.
type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

func clientOf(t transport) anthropic.Client {
	return anthropic.NewClient(
		option.WithoutEnvironmentDefaults(), option.WithAPIKey("key"), option.WithBaseURL("http://model.invalid"),
		option.WithHTTPClient(&http.Client{Transport: t}), option.WithMaxRetries(0),
	)
}

func readBody(r *http.Request) (*request, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	return parseRequest(body)
}

// serve answers a request, after it has checked it.
func (w *world) serve(r *http.Request) (*http.Response, error) {
	q, err := readBody(r)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	q, code := w.recall(r, q)
	if code != "" {
		w.note("a thread is refused: %s", code)
		return refuseThread(r, code), nil
	}
	w.note("request %d messages, thread %v: %s", len(q.Messages), q.Thread != nil, outline(q.Messages))
	if w.check(q); w.violation != nil {
		return nil, errOver
	}
	if q.Compaction != nil || isSummary(q) {
		return w.summarize(r, q)
	}
	return w.answer(r, q)
}

func isSummary(q *request) bool {
	last := q.Messages[len(q.Messages)-1]
	for _, last = range slices.Backward(q.Messages) { // system messages stay behind the prompt
		if last.Role != "system" {
			break
		}
	}
	return len(last.Blocks) > 0 && strings.HasPrefix(last.Blocks[len(last.Blocks)-1].Text, summaryPrompt)
}

// check is what must hold of every request.
func (w *world) check(q *request) {
	if w.running > 0 {
		w.fail("request/beside-call", "a request goes out while a handler runs")
	}
	if kind, detail := q.breach(); kind != "" {
		w.fail(kind, "%s\n%s", detail, q.body)
	}
	if kind, detail := w.history.receive(q); kind != "" {
		w.fail(kind, "%s\n%s", detail, outline(q.Messages))
	}
	if kind, detail := w.calls.checkResults(q); kind != "" {
		w.fail(kind, "%s", detail)
	}
	w.checkTools(q)
	w.checkTwin(q)
	for _, c := range w.calls {
		if !w.history.has(fmt.Sprint("c", c.n)) && c.whole {
			c.dropped = true
		}
	}
}

// checkTools: the model sees the tools that there are, once a message can say so.
func (w *world) checkTools(q *request) {
	if q.Messages[len(q.Messages)-1].Role == "assistant" || len(hanging(q.Messages)) > 0 || isSummary(q) || w.blind {
		return
	}
	visible := map[string]bool{}
	for _, raw := range q.Tools {
		var b block
		if err := unmarshal(raw, &b); err == nil {
			visible[b.Name] = true
		}
	}
	for _, m := range q.Messages {
		for _, b := range m.Blocks {
			switch name := b.Tool.Name + b.Tool.Definition.Name; b.Type {
			case "compaction":
				return
			case "tool_addition":
				visible[name] = true
			case "tool_removal":
				visible[name] = false
			}
		}
	}
	for name, there := range w.tools {
		if visible[name] != there {
			w.fail("tools/other", "the model sees %s: %v, want %v\n%s", name, visible[name], there, outline(q.Messages))
		}
	}
}

// next takes the next step of a site; empty if none is left.
func (w *world) next(site string) string {
	if w.calm || len(w.sites[site]) == 0 {
		return ""
	}
	do := w.sites[site][0]
	w.sites[site] = w.sites[site][1:]
	return do
}

func (w *world) answer(r *http.Request, q *request) (*http.Response, error) {
	do := w.next("reply")
	if do == "" {
		do = "end_turn: text"
	}
	spec := parseReply(do)
	w.note("reply %s", do)
	if code, ok := strings.CutPrefix(spec.stop, "http "); ok {
		w.excused = true
		return failure(r, code), nil
	}
	parts, items := w.parts(spec, q)
	spec.id = w.token("msg_")
	if !q.Stream && spec.has("+short") {
		w.excused = true
		return failure(r, "500"), nil
	}
	pauses := spec.stop == "pause_turn" || spec.stop == "compaction"
	w.pauses = w.pauses || pauses
	w.cut = slices.Contains(cutStops, spec.stop) || spec.stop == "refusal"
	if pauses && len(items) == 0 {
		w.excused = true // a paused turn without content is no reply
	}
	if !q.Stream {
		w.paused = pauses
		w.history.reply = items
		w.store(q, spec.id, parts, spec.stop != "refusal" && !spec.cut())
		return response(r, "application/json", spec.message(parts)), nil
	}
	events, complete := spec.stream(parts)
	w.store(q, spec.id, parts, complete && spec.stop != "refusal" && !spec.cut())
	if complete {
		w.paused = pauses
		w.history.reply = items
	} else {
		w.excused = true
	}
	return response(r, "text/event-stream", events), nil
}

// summarize answers a request to compact.
func (w *world) summarize(r *http.Request, q *request) (*http.Response, error) {
	do := w.next("summary")
	w.note("summary %s", do)
	if code, ok := strings.CutPrefix(do, "http "); ok {
		w.excused = true
		return failure(r, code), nil
	}
	content, spec := `"gist"`, reply{stop: "compaction", id: w.token("msg_")}
	if do == "none" {
		content = "null"
	} else {
		w.history.compacted()
	}
	p := part{
		whole: `{"type":"compaction","content":` + content + `}`, start: `{"type":"compaction","content":null}`,
		deltas: []string{`{"type":"compaction_delta","content":` + content + `}`},
	}
	if isSummary(q) {
		p, spec.stop = textPart("gist", false), "end_turn"
		if do == "none" {
			p = textPart(" ", false)
		}
	} else {
		w.compacting = true
		w.blind = w.blind || do != "none" // the API's own has the changes of tools in it
	}
	if q.Stream {
		events, _ := spec.stream([]part{p})
		return response(r, "text/event-stream", events), nil
	}
	return response(r, "application/json", spec.message([]part{p})), nil
}

func response(r *http.Request, kind, body string) *http.Response {
	return &http.Response{
		StatusCode: http.StatusOK, Status: "200 OK", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {kind}}, Body: io.NopCloser(strings.NewReader(body)), ContentLength: -1,
	}
}

func failure(r *http.Request, code string) *http.Response {
	res := response(r, "application/json", `{"type":"error","error":{"type":"api_error","message":"no"}}`)
	_, _ = fmt.Sscan(code, &res.StatusCode)
	return res
}

// cutStops are the stop reasons of replies that were cut off.
var cutStops = []string{"max_tokens", "model_context_window_exceeded"}

// parts makes the blocks of a reply, and says what they add to the history. Work that
// the request left hanging at the server has its result first.
func (w *world) parts(r reply, q *request) (parts []part, items []item) {
	for _, id := range hanging(q.Messages) {
		parts = append(parts, part{whole: serverResult(id)})
	}
	seam := strings.LastIndex(strings.Join(r.blocks, ","), "fallback")
	at := 0
	var ids []string
	for i, spec := range r.blocks {
		split := r.has("+split")
		words := append(strings.Fields(spec), "", "")
		switch words[0] {
		case "text":
			token := w.token("m")
			parts, items = append(parts, textPart(token, split)), append(items, item{token, "assistant"})
		case "blank":
			parts = append(parts, textPart(" ", split))
		case "call", "cut", "code":
			if words[0] == "cut" && !q.Stream && (!slices.Contains(cutStops, r.stop) || i < len(r.blocks)-1) {
				words[0] = "call" // a plain reply shows nothing of it, and is cut off at its end
			}
			for slices.Contains(ids, words[1]) {
				words[1] += "2" // the API makes no id twice in one reply
			}
			ids = append(ids, words[1])
			c := w.calls.add(call{
				id: words[1], tool: words[2], whole: words[0] != "cut", stopped: r.stop == "tool_use" && at > seam,
				early: w.eager && q.Stream && words[2] == "look",
			})
			head := fmt.Sprintf(`{"type":"tool_use","id":%q,"name":%q`, c.id, c.tool)
			input := c.input
			if words[0] == "cut" {
				input = fmt.Sprintf(`{"n":%d,"path":"/`, c.n)
			}
			if words[0] == "code" {
				id := w.token("srvtoolu_")
				parts = append(parts, part{whole: `{"type":"server_tool_use","id":"` + id + `","name":"code_execution","input":{}}`})
				head += `,"caller":{"type":"code_execution_20260120","tool_id":"` + id + `"}`
			}
			parts = append(parts, callPart(head, input, split))
			if c.whole {
				items = append(items, item{fmt.Sprint("c", c.n), "assistant"})
			}
		case "srv", "hang":
			id := w.token("srvtoolu_")
			parts = append(parts, part{whole: `{"type":"server_tool_use","id":"` + id + `","name":"web_search","input":{}}`})
			if words[0] == "srv" {
				parts = append(parts, part{whole: serverResult(id)})
			}
		case "think":
			parts = append(parts, thinkingPart())
		case "fallback":
			parts = append(parts, part{whole: `{"type":"fallback","from":{"model":"m"},"to":{"model":"n"}}`})
		case "novel":
			parts = append(parts, part{whole: `{"type":"novelty","n":12345678901234567890}`})
		}
		at += len(spec) + 1
	}
	return parts, items
}

func serverResult(id string) string {
	return `{"type":"web_search_tool_result","tool_use_id":"` + id + `","content":[]}`
}

// outline tells messages in short.
func outline(messages []message) string {
	var b bytes.Buffer
	for _, m := range messages {
		b.WriteString(m.Role)
		for _, c := range m.Blocks {
			switch c.Type {
			case "text":
				fmt.Fprintf(&b, " %q", c.Text)
			case "tool_use":
				fmt.Fprintf(&b, " call(%s %s)", c.ID, c.Input)
			case "tool_result":
				fmt.Fprintf(&b, " result(%s %v %q)", c.ToolUseID, c.IsError, c.resultText())
			default:
				fmt.Fprintf(&b, " %s(%s)", c.Type, c.ID+c.ToolUseID+c.Tool.Name+c.Tool.Definition.Name)
			}
		}
		b.WriteString("; ")
	}
	return b.String()
}
