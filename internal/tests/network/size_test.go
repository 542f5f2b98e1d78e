package network_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/tests/runtest"
)

const (
	bodyHead  = `{"id":"m","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"`
	bodyTail  = `"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}`
	eventHead = "data: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"m\",\"content\":[],\"stop_reason\":null,\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}}\n\n" +
		"data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n"
	delta = "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"}}\n\n"
)

// flood is a server that sends head and then part without an end, until nobody reads.
type flood struct {
	contentType, head, part string
	status                  int
	gzip                    bool
	requests                atomic.Int32
	sent                    atomic.Int64
}

func (f *flood) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	f.requests.Add(1)
	w.Header().Set("Content-Type", f.contentType)
	var to io.Writer = w
	if f.gzip {
		w.Header().Set("Content-Encoding", "gzip")
		zip := gzip.NewWriter(w)
		defer func() { _ = zip.Close() }()
		to = zip
	}
	w.WriteHeader(f.status)
	if _, err := io.WriteString(to, f.head); err != nil {
		return
	}
	part := []byte(strings.Repeat(f.part, 1+(64<<10)/len(f.part)))
	for f.sent.Load() < 8<<30 {
		n, err := to.Write(part)
		if f.sent.Add(int64(n)); err != nil {
			return
		}
	}
}

// A11: a response without an end, of whatever form, ends in an error that names the limit; it
// is asked for once, and takes memory that the limit bounds.
func TestResponsesAreBounded(t *testing.T) {
	const limit = 4 << 20
	for name, test := range map[string]struct {
		server    *flood
		streaming bool
	}{
		"plain":                      {&flood{contentType: "application/json", head: bodyHead, part: "aaaaaaaa"}, false},
		"plain, zipped":              {&flood{contentType: "application/json", head: bodyHead, part: "aaaaaaaa", gzip: true}, false},
		"stream of deltas":           {&flood{contentType: "text/event-stream", head: eventHead, part: delta}, true},
		"stream, zipped":             {&flood{contentType: "text/event-stream", head: eventHead, part: delta, gzip: true}, true},
		"stream without events":      {&flood{contentType: "text/event-stream", part: "data: x\n"}, true},
		"stream without a line":      {&flood{contentType: "text/event-stream", part: "xxxxxxxx"}, true},
		"stream of pings":            {&flood{contentType: "text/event-stream", head: eventHead, part: "event: ping\ndata: {\"type\":\"ping\"}\n\n"}, true},
		"JSON in place of a stream":  {&flood{contentType: "application/json", head: bodyHead, part: "aaaaaaaa"}, true},
		"text in place of a message": {&flood{contentType: "text/html", part: "<p>no</p>"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			test.server.status = http.StatusOK
			srv := httptest.NewServer(test.server)
			defer srv.Close()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := askServer(t, srv.URL, toolrunner.Limits{ReplyBytes: limit}, test.streaming)
			runtime.ReadMemStats(&after)
			var reply *toolrunner.ReplyError
			if !errors.As(err, &reply) || !strings.Contains(err.Error(), fmt.Sprintf("more than %d bytes", limit)) || !strings.Contains(err.Error(), "Limits.ReplyBytes") {
				t.Errorf("the run ended with %.300v, want a *ReplyError that names the limit", err)
			}
			if n := test.server.requests.Load(); n != 1 {
				t.Errorf("%d requests, want 1", n)
			}
			if took := after.TotalAlloc - before.TotalAlloc; took > 40*limit {
				t.Errorf("%d MB were allocated for a limit of %d MB", took>>20, limit>>20)
			}
		})
	}
}

// The body of an error is read as far as it may say something; its status counts.
func TestBodiesOfErrorsAreBounded(t *testing.T) {
	server := flood{contentType: "application/json", head: `{"type":"error","error":{"type":"api_error","message":"`, part: "aaaaaaaa", status: http.StatusBadRequest}
	srv := httptest.NewServer(&server)
	defer srv.Close()
	for _, streaming := range []bool{false, true} {
		_, err := askServer(t, srv.URL, toolrunner.Limits{}, streaming)
		if !runtest.HasStatus(http.StatusBadRequest)(err) {
			t.Errorf("the run ended with %.300v, want the status", err)
		}
	}
	if sent := server.sent.Load(); sent > 64<<20 {
		t.Errorf("%d MB were read of two errors", sent>>20)
	}
}

// A response that has just as many bytes as it may is taken; so is any without a limit.
func TestAResponseOfTheLimitIsTaken(t *testing.T) {
	body := bodyHead + strings.Repeat("a", 100_000) + bodyTail
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.Copy(w, bytes.NewReader([]byte(body)))
	}))
	defer srv.Close()
	for _, limit := range []int64{int64(len(body)), -1, 0} {
		for _, streaming := range []bool{false, true} {
			if text, err := askServer(t, srv.URL, toolrunner.Limits{ReplyBytes: limit}, streaming); err != nil || len(text) != 100_000 {
				t.Errorf("limit %d: %d bytes of text, %v", limit, len(text), err)
			}
		}
	}
	if _, err := askServer(t, srv.URL, toolrunner.Limits{ReplyBytes: int64(len(body)) - 1}, false); err == nil {
		t.Error("a response of one byte more is taken")
	}
}

// A6: a reply of very many blocks is an error, and costs no more than its length.
func TestBlocksOfAReplyAreBounded(t *testing.T) {
	var content strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&content, `,{"type":"tool_use","id":"t%d","name":"x","input":{}}`, i)
	}
	body := `{"id":"m","type":"message","role":"assistant","model":"m","content":[` + content.String()[1:] + `],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":1}}`
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, body)
	}))
	defer srv.Close()
	_, err := askServer(t, srv.URL, toolrunner.Limits{}, false)
	var reply *toolrunner.ReplyError
	if !errors.As(err, &reply) || !strings.Contains(err.Error(), "more than 10000 content blocks") {
		t.Errorf("the run ended with %.300v, want a *ReplyError that names the bound", err)
	}
}

// askServer runs a conversation against a server, and returns the text of the answer.
func askServer(t *testing.T, url string, limits toolrunner.Limits, streaming bool) (string, error) {
	t.Helper()
	client := anthropic.NewClient(option.WithoutEnvironmentDefaults(), option.WithBaseURL(url), option.WithAPIKey("key"), option.WithMaxRetries(2))
	params := runtest.Asking("hi")
	params.Limits = limits
	r, err := toolrunner.New(&client.Beta.Messages, nil, params)
	if err != nil {
		t.Fatal(err)
	}
	if !streaming {
		message, err := r.RunToCompletion(t.Context())
		return toolrunner.Text(message), err
	}
	text := ""
	for turn, err := range r.AllStreaming(t.Context()) {
		if err != nil {
			return text, err
		}
		text = turn.Text()
	}
	return text, r.Err()
}
