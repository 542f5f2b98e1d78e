package toolrunnertest_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/google/go-cmp/cmp"

	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// spy is a TB that keeps what it is told.
type spy struct {
	mu       sync.Mutex
	errors   []string
	cleanups []func()
}

func (s *spy) Helper()          {}
func (s *spy) Cleanup(f func()) { s.cleanups = append(s.cleanups, f) }

func (s *spy) Errorf(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.errors = append(s.errors, fmt.Sprintf(format, args...))
}

func TestRequestsAreRecordedAsSent(t *testing.T) {
	srv := toolrunnertest.NewServer(t, toolrunnertest.Text("a"))
	body := `{"model":"m", "max_tokens":1,"stream":false,"tools":[],"messages":[{"role":"user","content":"q"},` +
		`{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"f","input":{}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1", "content":"4 < 5"}]}]}`
	post(srv, body)
	q := srv.Requests()[0]
	type view struct {
		Path, Body, Tools, Result, Model, Reply string
		Status, Messages                        int
		Stream                                  bool
	}
	got := view{
		Path: q.Path, Body: string(q.Body), Tools: string(q.Field("tools")), Result: string(q.ToolResult("t1")), Model: q.Model(),
		Reply: string(q.Reply)[:14], Status: q.Status, Messages: len(q.Messages()), Stream: q.Stream(),
	}
	want := view{
		Path: "/v1/messages", Body: body, Tools: "[]", Result: `{"type":"tool_result","tool_use_id":"t1", "content":"4 < 5"}`, Model: "m",
		Reply: `{"model":"m","`, Status: 200, Messages: 3,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
	if q.ToolResult("t2") != nil || q.Field("system") != nil {
		t.Errorf("there is a result for t2 %s or a system %s, want neither", q.ToolResult("t2"), q.Field("system"))
	}
}

func TestClientCallsTheBetaAndTheStableAPI(t *testing.T) {
	srv := toolrunnertest.NewServer(t, toolrunnertest.Text("a"), toolrunnertest.Text("b"))
	client := srv.Client(option.WithHeader("x-extra", "1"))
	if _, err := client.Beta.Messages.New(t.Context(), params()); err != nil {
		t.Fatal(err)
	}
	stable, err := client.Messages.New(t.Context(), anthropic.MessageNewParams{
		Model: "m", MaxTokens: 1, Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("q"))},
	})
	if err != nil || stable.Content[0].Text != "b" {
		t.Fatalf("stable = %v, %v; want b", stable, err)
	}
	for i, q := range srv.Requests() {
		if got := q.Header.Get("X-Extra"); got != "1" {
			t.Errorf("x-extra of request %d = %q, want 1", i, got)
		}
	}
}

func TestInvalidRequestIsRefusedAndFailsTheTest(t *testing.T) {
	tb := &spy{}
	srv := toolrunnertest.NewServer(tb, toolrunnertest.Text("a"))
	res := post(srv, `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[{"type":"text","text":""}]}]}`)
	want := `{"type":"error","error":{"type":"invalid_request_error","message":"messages.0.content.0: text content blocks must be non-empty"},"request_id":"req_1"}`
	if got := read(t, res); res.StatusCode != http.StatusBadRequest || got != want {
		t.Errorf("answer = %d %s, want 400 %s", res.StatusCode, got, want)
	}
	wantErrors := []string{"toolrunnertest: request 1 is invalid: messages.0.content.0: text content blocks must be non-empty"}
	if diff := cmp.Diff(wantErrors, tb.errors); diff != "" {
		t.Errorf("errors of the test (-want +got):\n%s", diff)
	}
	if got := srv.Remaining(); got != 1 {
		t.Errorf("%d replies left, want 1: the invalid request takes none", got)
	}
}

func TestUnknownPlacesAreRefused(t *testing.T) {
	srv := toolrunnertest.NewServer(nil)
	tests := []struct {
		method, path string
		want         int
	}{
		{http.MethodPost, "/v1/complete", 404},
		{http.MethodGet, "/v1/messages", 405},
	}
	for _, tt := range tests {
		res := request(srv, tt.method, tt.path, plainBody)
		if res.StatusCode != tt.want {
			t.Errorf("%s %s = %d, want %d", tt.method, tt.path, res.StatusCode, tt.want)
		}
	}
}

func TestScriptThatRunsOutFailsTheTest(t *testing.T) {
	tb := &spy{}
	srv := toolrunnertest.NewServer(tb, toolrunnertest.Text("a"))
	post(srv, plainBody)
	res := post(srv, plainBody)
	if body := read(t, res); res.StatusCode != http.StatusBadRequest || !strings.Contains(body, "the script has no reply left for request 2") {
		t.Errorf("answer = %d %s", res.StatusCode, body)
	}
	if want := []string{"toolrunnertest: the script has no reply left for request 2"}; !cmp.Equal(tb.errors, want) {
		t.Errorf("errors of the test = %q, want %q", tb.errors, want)
	}
}

func TestOtherwiseAnswersWhenTheScriptIsUsedUp(t *testing.T) {
	srv := toolrunnertest.NewServer(t, toolrunnertest.Text("first"))
	srv.Otherwise(toolrunnertest.Func(func(q *toolrunnertest.Request) toolrunnertest.Reply {
		return toolrunnertest.Text(fmt.Sprintf("%d messages", len(q.Messages())))
	}))
	srv.Add(toolrunnertest.Text("second"))
	for i, want := range []string{"first", "second", "1 messages", "1 messages"} {
		if got := read(t, post(srv, plainBody)); !strings.Contains(got, `"text":"`+want+`"`) {
			t.Errorf("reply %d = %s, want %s", i, got, want)
		}
	}
}

func TestConcurrentRequestsEachTakeOneReply(t *testing.T) {
	srv := toolrunnertest.NewServer(t)
	const n = 20
	for i := range n {
		srv.Add(toolrunnertest.Text(fmt.Sprint(i)))
	}
	client := srv.Client()
	var mu sync.Mutex
	got := map[string]bool{}
	var running sync.WaitGroup
	for range n {
		running.Go(func() {
			message, err := client.Beta.Messages.New(t.Context(), params())
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			got[message.Content[0].Text] = true
		})
	}
	running.Wait()
	if len(got) != n || srv.Remaining() != 0 || len(srv.Requests()) != n {
		t.Errorf("%d different replies, %d left, %d requests; want %d, 0, %d", len(got), srv.Remaining(), len(srv.Requests()), n, n)
	}
}

func TestListenServesOtherProcesses(t *testing.T) {
	srv := toolrunnertest.NewServer(t, toolrunnertest.Text("a"))
	url, err := srv.Listen()
	if err != nil {
		t.Fatal(err)
	}
	client := anthropic.NewClient(option.WithoutEnvironmentDefaults(), option.WithAPIKey("k"), option.WithBaseURL(url))
	message, err := client.Beta.Messages.New(t.Context(), params())
	if err != nil || message.Content[0].Text != "a" {
		t.Errorf("reply = %v, %v; want a", message, err)
	}
	srv.Close()
	if _, err := http.Get(url); err == nil {
		t.Error("the port is open after Close")
	}
}

// A goroutine that is left would make the bubble panic.
func TestCloseLeavesNoGoroutine(t *testing.T) {
	tests := []struct {
		name string
		use  func(*testing.T, *toolrunnertest.Server, anthropic.Client)
	}{
		{"never used", func(*testing.T, *toolrunnertest.Server, anthropic.Client) {}},
		{"idle", func(t *testing.T, _ *toolrunnertest.Server, client anthropic.Client) {
			t.Helper()
			if _, err := client.Beta.Messages.New(t.Context(), params()); err != nil {
				t.Error(err)
			}
		}},
		{"stream closed early", func(t *testing.T, _ *toolrunnertest.Server, client anthropic.Client) {
			t.Helper()
			events := client.Beta.Messages.NewStreaming(t.Context(), params())
			if !events.Next() {
				t.Error(events.Err())
			}
			if err := events.Close(); err != nil {
				t.Error(err)
			}
		}},
		{"closed while a request waits", func(t *testing.T, srv *toolrunnertest.Server, client anthropic.Client) {
			t.Helper()
			go func() {
				synctest.Wait()
				srv.Close()
			}()
			if _, err := client.Beta.Messages.New(t.Context(), params(), option.WithHeader("x-wait", "1")); err == nil {
				t.Error("a request that the server broke off has no error")
			}
		}},
		{"closed twice", func(_ *testing.T, srv *toolrunnertest.Server, _ anthropic.Client) { srv.Close() }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv := toolrunnertest.NewServer(nil)
				srv.Otherwise(toolrunnertest.Func(func(q *toolrunnertest.Request) toolrunnertest.Reply {
					reply := toolrunnertest.Text(strings.Repeat("long ", 10_000)).Trickle(0)
					if q.Header.Get("X-Wait") != "" {
						reply = reply.Delay(time.Hour)
					}
					return reply
				}))
				tt.use(t, srv, srv.Client())
				srv.Close()
			})
		})
	}
}

func TestClosedServerRefusesConnections(t *testing.T) {
	srv := toolrunnertest.NewServer(nil, toolrunnertest.Text("a"))
	client := srv.Client()
	srv.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if _, err := client.Beta.Messages.New(ctx, params()); err == nil || errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want that of a closed connection", err)
	}
}

// A script that is not used up means that the program stopped before the test thought.
func TestRepliesThatNobodyAskedForFailTheTest(t *testing.T) {
	reply := toolrunnertest.Text("a")
	tests := []struct {
		name    string
		replies []toolrunnertest.Reply
		ignore  []toolrunnertest.Rule
		failed  bool // for another reason
		want    []string
	}{
		{"used up", []toolrunnertest.Reply{reply}, nil, false, nil},
		{
			"two are left",
			[]toolrunnertest.Reply{reply, reply, reply},
			nil, false,
			[]string{`toolrunnertest: replies that nobody asked for: 2, the last of the script; Ignore("reply-unused") if that is as it should be`},
		},
		{"one is left, as is allowed", []toolrunnertest.Reply{reply, reply}, []toolrunnertest.Rule{toolrunnertest.RuleReplyUnused}, false, nil},
		{"one is left in a test that has failed", []toolrunnertest.Reply{reply, reply}, nil, true, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tb := &failing{failed: tt.failed}
			srv := toolrunnertest.NewServer(tb, tt.replies...)
			srv.Ignore(tt.ignore...)
			post(srv, plainBody)
			for _, f := range slices.Backward(tb.cleanups) {
				f()
			}
			if diff := cmp.Diff(tt.want, tb.errors); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}

// failing is a spy that knows whether the test has failed.
type failing struct {
	spy
	failed bool
}

func (f *failing) Failed() bool { return f.failed }
