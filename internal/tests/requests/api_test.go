// Package requests_test holds the requests that go out against what the API refuses: a
// matrix of replies, moments and what a program does there, and the public reports of
// loops that went wrong. Each request is judged by toolrunnertest.CheckRequest and by the
// rules in rules_test.go, which share no code.
package requests_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"

	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// api answers requests as the API does: with the replies of its script, and then by what
// the history asks for. It takes note of each request that the API would refuse.
type api struct {
	mu       sync.Mutex
	script   []string // replies that come first
	requests [][]byte
	faults   []string
	after    func(n int) // called with the number of each request, before its reply
	fail     map[int]int // status by number of the request
}

func (a *api) client() anthropic.Client {
	return anthropic.NewClient(option.WithoutEnvironmentDefaults(), option.WithAPIKey("key"), option.WithBaseURL("http://api.invalid"),
		option.WithHTTPClient(&http.Client{Transport: a}), option.WithMaxRetries(0))
}

var errFault = errors.New("the API refuses the request")

// RoundTrip answers a request.
func (a *api) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	n := len(a.requests)
	a.requests = append(a.requests, body)
	if a.after != nil {
		a.after(n)
	}
	if status := a.fail[n]; status != 0 {
		return respond(r, status, "application/json", `{"type":"error","error":{"type":"api_error","message":"no"}}`), nil
	}
	if err := toolrunnertest.CheckRequest(body); err != nil {
		a.faults = append(a.faults, fmt.Sprintf("request %d: CheckRequest: %v\n\t%s", n, err, body))
		return respond(r, http.StatusBadRequest, "application/json", `{"type":"error","error":{"type":"invalid_request_error","message":"bad"}}`), nil
	}
	if fault := refusal(body); fault != "" {
		a.faults = append(a.faults, fmt.Sprintf("request %d: %s\n\t%s", n, fault, body))
		return nil, errFault
	}
	reply := a.reply(body, n)
	if strings.Contains(string(body), `"stream":true`) {
		return respond(r, http.StatusOK, "text/event-stream", streamed(reply)), nil
	}
	return respond(r, http.StatusOK, "application/json", reply), nil
}

func respond(r *http.Request, status int, kind, body string) *http.Response {
	return &http.Response{
		StatusCode: status, Request: r, Header: http.Header{"Content-Type": {kind}, "X-Should-Retry": {"false"}},
		Body: io.NopCloser(strings.NewReader(body)),
	}
}

// reply is the next one of the script, a summary, what the work of the API comes to, or
// the end of the turn.
func (a *api) reply(body []byte, n int) string {
	q := parse(body)
	switch {
	case q["compaction"] != nil:
		return message("end_turn", `{"type":"compaction","content":"so far"}`)
	case bytes.Contains(body, []byte(summarize)):
		return message("end_turn", say("the summary"))
	case len(a.script) > 0:
		next := a.script[0]
		a.script = a.script[1:]
		return withoutOrphans(next, hanging(messagesOf(q)))
	}
	var blocks []string
	for _, use := range hanging(messagesOf(q)) {
		blocks = append(blocks, resultOf(use))
	}
	return message("end_turn", append(blocks, say(fmt.Sprintf("done %d", n)))...)
}

// withoutOrphans leaves results out of a reply whose use nobody has: the API sends none.
func withoutOrphans(reply string, open []object) string {
	m := parse([]byte(reply))
	known := map[string]bool{}
	for _, use := range open {
		known[str(use["id"])] = true
	}
	content, _ := m["content"].(list)
	for _, b := range content {
		if block, _ := b.(object); isServerUse(block) {
			known[str(block["id"])] = true
		}
	}
	for _, b := range content {
		if block, _ := b.(object); isServerResult(block) && !known[str(block["tool_use_id"])] {
			result := resultOf(object{"id": block["tool_use_id"], "type": "server_tool_use", "name": strings.TrimSuffix(kindOf(block), "_tool_result")})
			if kindOf(block) == "mcp_tool_result" {
				result = resultOf(object{"id": block["tool_use_id"], "type": "mcp_tool_use"})
			}
			if kindOf(block) == "tool_search_tool_result" {
				result = resultOf(object{"id": block["tool_use_id"], "type": "server_tool_use", "name": "tool_search_tool_regex"})
			}
			reply = strings.Replace(strings.Replace(reply, result+",", "", 1), result, "", 1)
		}
	}
	return reply
}

const summarize = "SUMMARIZE"

func say(text string) string { return fmt.Sprintf(`{"type":"text","text":%q}`, text) }

func message(stop string, blocks ...string) string {
	reason := "null"
	if stop != "" {
		reason = fmt.Sprintf("%q", stop)
	}
	return `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[` + strings.Join(blocks, ",") +
		`],"stop_reason":` + reason + `,"stop_sequence":null,"usage":{"input_tokens":900,"output_tokens":5}}`
}

// streamed returns a message as the events of a stream. The deltas of a call's input are
// its member "text" if it has one, for what is no JSON.
func streamed(reply string) string {
	var m map[string]json.RawMessage
	if err := json.Unmarshal([]byte(reply), &m); err != nil {
		panic(err)
	}
	var blocks []json.RawMessage
	_ = json.Unmarshal(m["content"], &blocks)
	var out strings.Builder
	event := func(kind, rest string) { fmt.Fprintf(&out, "event: %s\ndata: {\"type\":%q%s}\n\n", kind, kind, rest) }
	event("message_start", `,"message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":900,"output_tokens":1}}`)
	for i, raw := range blocks {
		start, deltas := opened(raw)
		event("content_block_start", fmt.Sprintf(`,"index":%d,"content_block":%s`, i, start))
		for _, delta := range deltas {
			event("content_block_delta", fmt.Sprintf(`,"index":%d,"delta":%s`, i, delta))
		}
		event("content_block_stop", fmt.Sprintf(`,"index":%d`, i))
	}
	event("message_delta", `,"delta":{"stop_reason":`+string(m["stop_reason"])+`,"stop_sequence":null},"usage":{"output_tokens":5}`)
	event("message_stop", "")
	return out.String()
}

// opened returns how a block starts, and the deltas that complete it.
func opened(raw json.RawMessage) (start string, deltas []string) {
	var b map[string]json.RawMessage
	_ = json.Unmarshal(raw, &b)
	var kind string
	_ = json.Unmarshal(b["type"], &kind)
	text := string(raw)
	switch kind {
	case "text":
		return `{"type":"text","text":""}`, []string{`{"type":"text_delta","text":` + string(b["text"]) + `}`}
	case "thinking":
		deltas = []string{`{"type":"thinking_delta","thinking":` + string(b["thinking"]) + `}`}
		if b["signature"] != nil {
			deltas = append(deltas, `{"type":"signature_delta","signature":`+string(b["signature"])+`}`)
		}
		return `{"type":"thinking","thinking":"","signature":""}`, deltas
	case "tool_use", "server_tool_use", "mcp_tool_use":
		if b["input"] == nil {
			return text, nil
		}
		input, _ := json.Marshal(string(b["input"]))
		if b["text"] != nil { // arguments that are no JSON
			input = b["text"]
			text = strings.Replace(text, `,"text":`+string(b["text"]), "", 1)
		}
		start = strings.Replace(text, `"input":`+string(b["input"]), `"input":{}`, 1)
		return start, []string{`{"type":"input_json_delta","partial_json":` + string(input) + `}`}
	}
	return text, nil
}
