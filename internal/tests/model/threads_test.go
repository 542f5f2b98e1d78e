package model

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// memory is what the server keeps of conversations in message threads. What a request of a
// thread says is checked as the whole conversation that it stands for, so that everything
// else must hold as it does without threads.
type memory struct {
	on      bool               // the run uses threads
	threads map[string]*thread // by the id of the reply
	refuses bool               // every thread: the server does not support them, or forgets too much
	news    bool               // the last answer to a thread refused it, or the runner is another: it may begin anew
	forgot  bool               // the last refusal to continue was that the server had forgotten, and none was continued since
	last    string             // id of the last reply
}

// thread is a conversation that the server keeps, with its last reply.
type thread struct {
	messages      []json.RawMessage
	system, tools json.RawMessage
	continued     bool
}

// threadStep is what the server does to a request of a thread, by the step of the site.
var threadStep = map[string]string{
	"forget": "thread_not_found", "busy": "thread_continue_in_flight", "spent": "thread_already_continued",
	"differs": "thread_fingerprint_mismatch", "unsupported": "thread_unsupported_request",
}

// recall returns the request that says without a thread what q says, or the code by which
// the server refuses the thread. w is locked.
func (w *world) recall(r *http.Request, q *request) (whole *request, code string) {
	m := &w.memory
	if q.Thread == nil {
		if m.news = true; m.on && !m.refuses && !isSummary(q) {
			w.fail("thread/none", "the request is of no thread\n%s", q.body)
		}
		return q, ""
	}
	w.checkThread(r, q)
	code = threadStep[w.next("thread")]
	if code == "thread_unsupported_request" {
		m.refuses = true
	}
	from := m.threads[q.Thread.Previous]
	switch {
	case code != "":
	case q.Thread.Type == "create":
		return q, ""
	case from == nil:
		code = "thread_not_found"
	case from.continued:
		code = "thread_already_continued"
	default:
		return from.join(q), ""
	}
	m.news = true
	if q.Thread.Type == "continue" {
		forgets := code == "thread_not_found"
		m.refuses = m.refuses || forgets && m.forgot // twice in a row is enough
		m.forgot = forgets
	}
	w.excused = w.excused || q.Thread.Type == "create" && code != "thread_unsupported_request"
	return nil, code
}

// checkThread is what must hold of the form of a request of a thread.
func (w *world) checkThread(r *http.Request, q *request) {
	m := &w.memory
	continues := q.Thread.Type == "continue"
	switch {
	case m.refuses:
		w.fail("thread/unsupported", "the server does not support threads, as it has said\n%s", q.body)
	case !strings.Contains(r.Header.Get("Anthropic-Beta"), "message-threads-"):
		w.fail("thread/beta", "the request has the betas %q", r.Header.Get("Anthropic-Beta"))
	case continues && (q.Tools != nil || q.System != nil || !bytes.Contains(q.body, []byte(`"messages":[`))):
		w.fail("thread/parameters", "a request that continues has system or tools, or no messages\n%s", q.body)
	case !continues && q.Thread.Type != "create":
		w.fail("thread/type", "the thread is of the type %q", q.Thread.Type)
	case !continues && q.Compaction == nil && !m.news && !endsInSpace(q):
		if last := m.threads[m.last]; last != nil && !last.continued && last.begins(q) {
			w.fail("thread/anew", "the request begins a thread, and could continue %s\n%s", m.last, outline(q.Messages))
		}
	}
}

// endsInSpace reports whether the last reply has white space at its end, which a request
// leaves out if nothing follows: what the server keeps then is not the history.
func endsInSpace(q *request) bool {
	for _, m := range q.Messages {
		if n := len(m.Blocks); m.Role == "assistant" && n > 0 && m.Blocks[n-1].Text == " " {
			return true
		}
	}
	return false
}

// begins reports whether the conversation of q goes on from that of the thread.
func (t *thread) begins(q *request) bool {
	return len(t.messages) <= len(q.raws) && same(t.messages, q.raws[:len(t.messages)]) &&
		bytes.Equal(t.system, q.System) && bytes.Equal(t.tools, q.toolsRaw)
}

// join returns the request that says the whole of what q continues.
func (t *thread) join(q *request) *request {
	var fields map[string]json.RawMessage
	_ = unmarshal(q.body, &fields) // it was read before
	delete(fields, "thread")
	delete(fields, "messages")
	fields["tools"], fields["system"] = t.tools, t.system
	var body bytes.Buffer
	body.WriteString("{")
	for name, value := range fields {
		if value != nil {
			fmt.Fprintf(&body, "%q:%s,", name, value)
		}
	}
	raws := slices.Concat(t.messages, q.raws)
	body.WriteString(`"messages":[`)
	for i, raw := range raws {
		if i > 0 {
			body.WriteString(",")
		}
		body.Write(raw)
	}
	body.WriteString("]}")
	whole, err := parseRequest(body.Bytes())
	if err != nil {
		panic(err) // parts of JSON are JSON
	}
	whole.joined, whole.Thread = t, q.Thread
	return whole
}

// store keeps the conversation after a reply to q, if the API does. w is locked.
func (w *world) store(q *request, id string, parts []part, kept bool) {
	if q.joined != nil {
		q.joined.continued, w.memory.forgot = true, false
	}
	if q.Compaction == nil {
		w.memory.last, w.memory.news = id, false
	}
	if q.Thread == nil || !kept || len(parts) == 0 {
		return
	}
	whole := make([]string, len(parts))
	for i, p := range parts {
		whole[i] = p.whole
	}
	if w.memory.threads == nil {
		w.memory.threads = map[string]*thread{}
	}
	reply := json.RawMessage(`{"role":"assistant","content":[` + strings.Join(whole, ",") + `]}`)
	w.memory.threads[id] = &thread{messages: append(slices.Clip(q.raws), reply), system: q.System, tools: q.toolsRaw}
}

// refuseThread is the answer to a request whose thread the server refuses.
func refuseThread(r *http.Request, code string) *http.Response {
	res := response(r, "application/json", fmt.Sprintf(`{"type":"error","error":{"type":"invalid_request_error","message":"no","details":{"error_code":%q}}}`, code))
	res.StatusCode = http.StatusBadRequest
	if code == "thread_not_found" {
		res.StatusCode = http.StatusNotFound
	}
	return res
}

// prompt changes the system prompt, which a thread keeps.
func (w *world) prompt(_ *moment, words []string) { w.runner.Params.System = systemOf(words[1]) }
