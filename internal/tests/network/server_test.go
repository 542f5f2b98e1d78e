// Package network_test tests the runner against a second server, on a port, that shares no
// code with toolrunnertest.
package network_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"

	"github.com/toolrunner/toolrunner"
)

// A second server, on a real port, that shares no code with toolrunnertest: what
// both get wrong in the same way would go unseen.

// fault goes in the place of a reply. What it returns is whether it has
// answered the request.
type fault func(w http.ResponseWriter, r *http.Request, reply []byte, streaming bool) bool

// peerAPI is a Messages API that answers each history with the reply that the
// number of its assistant messages asks for, so a request that comes twice gets
// the same reply twice.
type peerAPI struct {
	url     string
	replies []string // messages as JSON

	mu       sync.Mutex
	faults   map[int]fault // by request, from 0
	requests int
	checker  requestChecker
	pinned   bool // replies come in order, whatever the history
	served   int
}

func newPeerAPI(t testing.TB, replies ...string) *peerAPI {
	api := &peerAPI{replies: replies, faults: make(map[int]fault)}
	api.checker.sent = make(map[string]bool)
	server := httptest.NewServer(api)
	api.url = server.URL
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		api.mu.Lock()
		defer api.mu.Unlock()
		for _, breach := range api.checker.breaches {
			t.Error(breach)
		}
	})
	return api
}

func (api *peerAPI) client(options ...option.RequestOption) *anthropic.BetaMessageService {
	all := append([]option.RequestOption{option.WithBaseURL(api.url), option.WithAPIKey("key"), option.WithMaxRetries(0)}, options...)
	client := anthropic.NewClient(all...)
	return &client.Beta.Messages
}

func (api *peerAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	var request requestBody
	api.mu.Lock()
	n := api.requests
	api.requests++
	if err := json.Unmarshal(body, &request); err != nil {
		api.checker.breach("request %d is not JSON: %v", n, err)
	}
	api.checker.check(n, &request)
	at := api.served
	if !api.pinned {
		at = request.replies()
	}
	fault := api.faults[n]
	var reply string
	if at < len(api.replies) {
		reply = api.replies[at]
		api.checker.remember(reply)
	}
	api.mu.Unlock()
	if reply == "" {
		http.Error(w, `{"type":"error","error":{"type":"invalid_request_error","message":"the script is over"}}`, http.StatusBadRequest)
		return
	}
	out := []byte(reply)
	if request.Stream {
		out = asStream(reply)
	}
	if fault != nil && fault(w, r, out, request.Stream) {
		return
	}
	api.mu.Lock()
	api.served++
	api.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if request.Stream {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	}
	_, _ = w.Write(out)
}

// failAt has request n answered by fault.
func (api *peerAPI) failAt(n int, fault fault) {
	api.mu.Lock()
	defer api.mu.Unlock()
	api.faults[n] = fault
}

func (api *peerAPI) count() int {
	api.mu.Lock()
	defer api.mu.Unlock()
	return api.requests
}

// resetConnection ends a connection with a TCP reset.
func resetConnection(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

// messageJSON returns a reply of the blocks.
func messageJSON(id, stop string, blocks ...string) string {
	return fmt.Sprintf(`{"id":%q,"type":"message","role":"assistant","model":"m","content":[%s],"stop_reason":%q,"stop_sequence":null,"usage":{"input_tokens":9007199254740993,"output_tokens":2}}`,
		id, strings.Join(blocks, ","), stop)
}

func textJSON(text string) string {
	literal, _ := json.Marshal(text)
	return `{"type":"text","text":` + string(literal) + `}`
}

func callJSON(id, name, input string) string {
	return fmt.Sprintf(`{"type":"tool_use","id":%q,"name":%q,"input":%s}`, id, name, input)
}

// asStream returns a reply as the events that make it.
func asStream(reply string) []byte {
	var message struct {
		Content    []json.RawMessage `json:"content"`
		StopReason json.RawMessage   `json:"stop_reason"`
	}
	if err := json.Unmarshal([]byte(reply), &message); err != nil {
		panic(err)
	}
	var out bytes.Buffer
	event := func(kind, rest string) {
		fmt.Fprintf(&out, "event: %s\ndata: {\"type\":%q%s}\n\n", kind, kind, rest)
	}
	event("message_start", `,"message":{"id":"m","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":9,"output_tokens":1}}`)
	event("ping", "")
	for i, block := range message.Content {
		start, deltas := deltasOf(block)
		event("content_block_start", fmt.Sprintf(`,"index":%d,"content_block":%s`, i, start))
		for _, delta := range deltas {
			event("content_block_delta", fmt.Sprintf(`,"index":%d,"delta":%s`, i, delta))
		}
		event("content_block_stop", fmt.Sprintf(`,"index":%d`, i))
	}
	event("message_delta", fmt.Sprintf(`,"delta":{"stop_reason":%s,"stop_sequence":null},"usage":{"output_tokens":2}`, message.StopReason))
	event("message_stop", "")
	return out.Bytes()
}

// deltasOf returns how a block begins, and what is added to it.
func deltasOf(block json.RawMessage) (start string, deltas []string) {
	var b struct {
		Type, Text, Thinking, Signature string
		ID, Name                        string
		Input                           json.RawMessage
	}
	if err := json.Unmarshal(block, &b); err != nil {
		panic(err)
	}
	split := func(kind, field, text string) {
		runes := []rune(text)
		for from := 0; from < len(runes); from += 4 {
			piece, _ := json.Marshal(string(runes[from:min(from+4, len(runes))]))
			deltas = append(deltas, fmt.Sprintf(`{"type":%q,%q:%s}`, kind, field, piece))
		}
	}
	switch b.Type {
	case "text":
		split("text_delta", "text", b.Text)
		return `{"type":"text","text":""}`, deltas
	case "thinking":
		split("thinking_delta", "thinking", b.Thinking)
		deltas = append(deltas, fmt.Sprintf(`{"type":"signature_delta","signature":%q}`, b.Signature))
		return `{"type":"thinking","thinking":"","signature":""}`, deltas
	case "tool_use", "server_tool_use":
		split("input_json_delta", "partial_json", string(b.Input))
		return fmt.Sprintf(`{"type":%q,"id":%q,"name":%q,"input":{}}`, b.Type, b.ID, b.Name), deltas
	}
	return string(block), nil
}

// startRunner returns a runner that talks to the server.
func startRunner(t testing.TB, api *peerAPI, tools []anthropic.BetaTool, change func(*toolrunner.Params), options ...option.RequestOption) *toolrunner.Runner {
	t.Helper()
	params := toolrunner.Params{BetaMessageNewParams: anthropic.BetaMessageNewParams{
		Model: "m", MaxTokens: 1024,
		Messages: []anthropic.BetaMessageParam{anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock("hi"))},
	}}
	if change != nil {
		change(&params)
	}
	runner, err := toolrunner.New(api.client(options...), tools, params)
	if err != nil {
		t.Fatal(err)
	}
	return runner
}

// historyJSON returns the messages of a runner as JSON.
func historyJSON(t testing.TB, runner *toolrunner.Runner) string {
	t.Helper()
	data, err := json.Marshal(runner.Messages())
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// recordBodies notes the bodies that middleware of the caller sees.
func recordBodies(bodies *[]string) option.RequestOption {
	return option.WithMiddleware(func(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		*bodies = append(*bodies, string(body))
		req.Body = io.NopCloser(bytes.NewReader(body))
		return next(req)
	})
}
