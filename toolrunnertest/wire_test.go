package toolrunnertest_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/toolrunner/toolrunner/toolrunnertest"
)

const (
	plainBody  = `{"model":"claude-test","max_tokens":1,"messages":[{"role":"user","content":"q"}]}`
	streamBody = `{"model":"claude-test","max_tokens":1,"stream":true,"messages":[{"role":"user","content":"q"}]}`
)

// post sends a body to the server without a network and returns what it answers.
func post(srv *toolrunnertest.Server, body string) *http.Response {
	return request(srv, http.MethodPost, "/v1/messages", body)
}

func request(srv *toolrunnertest.Server, method, path, body string) *http.Response {
	return do(srv, method, path, http.Header{"X-Api-Key": {"test"}, "Anthropic-Version": {"2023-06-01"}}, body)
}

// send sends a request with exactly these headers.
func send(srv *toolrunnertest.Server, header http.Header, body string) *http.Response {
	return do(srv, http.MethodPost, "/v1/messages", header, body)
}

func do(srv *toolrunnertest.Server, method, path string, header http.Header, body string) *http.Response {
	w := httptest.NewRecorder()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header = header
	srv.ServeHTTP(w, r)
	return w.Result()
}

func read(t *testing.T, res *http.Response) string {
	t.Helper()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

var weather = toolrunnertest.Message(
	toolrunnertest.Thinking("Hm.", "sig"),
	toolrunnertest.Say("Café time"),
	toolrunnertest.Call("toolu_1", "get_weather", `{"city":"Paris"}`),
	toolrunnertest.RawBlock(`{"type":"from_the_future","n":1}`),
).Container("c1").Chunk(8)

func TestReplyOnTheWire(t *testing.T) {
	srv := toolrunnertest.NewServer(t, weather, weather)
	res := post(srv, plainBody)
	want := `{"model":"claude-test","id":"msg_1","type":"message","role":"assistant","content":[` +
		`{"type":"thinking","thinking":"Hm.","signature":"sig"},{"type":"text","text":"Café time"},` +
		`{"type":"tool_use","id":"toolu_1","name":"get_weather","input":{"city":"Paris"}},{"type":"from_the_future","n":1}],` +
		`"stop_reason":"tool_use","stop_sequence":null,"container":{"id":"c1","expires_at":"2100-01-01T00:00:00Z"},` +
		`"usage":{"input_tokens":10,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":5,"service_tier":"standard"}}`
	if diff := cmp.Diff(want, read(t, res)); diff != "" {
		t.Errorf("JSON (-want +got):\n%s", diff)
	}
	if got := res.Header.Get("Content-Type"); got != "application/json" {
		t.Errorf("content type = %q", got)
	}
	res = post(srv, streamBody)
	want = `event: message_start
data: {"type":"message_start","message":{"model":"claude-test","id":"msg_2","type":"message","role":"assistant","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":10,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":1,"service_tier":"standard"}}}

event: ping
data: {"type":"ping"}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Hm."}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"sig"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Café ti"}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"me"}}

event: content_block_stop
data: {"type":"content_block_stop","index":1}

event: content_block_start
data: {"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"toolu_1","name":"get_weather","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"city\":"}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"\"Paris\"}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":2}

event: content_block_start
data: {"type":"content_block_start","index":3,"content_block":{"type":"from_the_future","n":1}}

event: content_block_stop
data: {"type":"content_block_stop","index":3}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null,"container":{"id":"c1","expires_at":"2100-01-01T00:00:00Z"}},"usage":{"input_tokens":10,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":5}}

event: message_stop
data: {"type":"message_stop"}

`
	if diff := cmp.Diff(want, read(t, res)); diff != "" {
		t.Errorf("stream (-want +got):\n%s", diff)
	}
	if got := res.Header.Get("Content-Type"); got != "text/event-stream; charset=utf-8" {
		t.Errorf("content type = %q", got)
	}
}

func TestRawRepliesKeepEveryByte(t *testing.T) {
	srv := toolrunnertest.NewServer(t,
		toolrunnertest.RawJSON("{ \"a\":1 }\n"), toolrunnertest.RawSSE("event: x\r\ndata: 1\r\n\r\n"),
		toolrunnertest.RawJSON("<html>").Code(502).Header("content-type", "text/html"),
	)
	tests := []struct{ body, want, contentType string }{
		{streamBody, "{ \"a\":1 }\n", "application/json"},
		{plainBody, "event: x\r\ndata: 1\r\n\r\n", "text/event-stream; charset=utf-8"},
		{plainBody, "<html>", "text/html"},
	}
	for i, tt := range tests {
		res := post(srv, tt.body)
		if got := read(t, res); got != tt.want || res.Header.Get("Content-Type") != tt.contentType {
			t.Errorf("reply %d = %q as %s, want %q as %s", i, got, res.Header.Get("Content-Type"), tt.want, tt.contentType)
		}
	}
	if got := srv.Requests()[2].Status; got != 502 {
		t.Errorf("status = %d, want 502", got)
	}
}

func TestInputThatIsNotJSONStreamsAsScripted(t *testing.T) {
	cutOff := toolrunnertest.Message(toolrunnertest.Call("toolu_1", "f", `{"title":"a","bo`)).StopReason("max_tokens").Chunk(0)
	srv := toolrunnertest.NewServer(t, cutOff, cutOff)
	if got, want := read(t, post(srv, streamBody)), `"partial_json":"{\"title\":\"a\",\"bo"`; !strings.Contains(got, want) {
		t.Errorf("the stream lacks %s:\n%s", want, got)
	}
	if got, want := read(t, post(srv, plainBody)), `"input":{}}],"stop_reason":"max_tokens"`; !strings.Contains(got, want) {
		t.Errorf("the plain reply lacks %s:\n%s", want, got)
	}
}

func TestErrorEventEndsTheStream(t *testing.T) {
	reply := toolrunnertest.Text("a").ErrorEvent(2, "overloaded_error", "Overloaded")
	srv := toolrunnertest.NewServer(t, reply, reply)
	_, got, _ := strings.Cut(read(t, post(srv, streamBody)), "event: ping\ndata: {\"type\":\"ping\"}\n\n")
	want := "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"},\"request_id\":\"req_1\"}\n\n"
	if got != want {
		t.Errorf("after two events: %q, want %q", got, want)
	}
	client := srv.Client()
	_, err := client.Beta.Messages.New(t.Context(), params())
	var apiErr *anthropic.Error
	if !errors.As(err, &apiErr) || apiErr.StatusCode != 529 {
		t.Errorf("plain request: error = %v, want status 529", err)
	}
}

func TestEndAfterEndsTheStreamWithoutAnError(t *testing.T) {
	got, err := stream(t.Context(), clientOf(t, weather.EndAfter(3)))
	if err != nil || len(got.Content) != 1 || got.StopReason != "" {
		t.Errorf("stream = %d blocks, stop reason %q, error %v; want 1 block, none, nil", len(got.Content), got.StopReason, err)
	}
}

func TestCutAtAnyByteIsAnErrorAndNeverHangs(t *testing.T) {
	reply := toolrunnertest.Message(toolrunnertest.Say("añ"), toolrunnertest.Call("toolu_1", "f", `{"a":1}`)).Chunk(0)
	srv := toolrunnertest.NewServer(t, reply, reply)
	plainSize, streamSize := len(read(t, post(srv, plainBody))), len(read(t, post(srv, streamBody)))
	client := srv.Client()
	for n := range plainSize {
		srv.Add(reply.CutAt(n))
		if message, err := client.Beta.Messages.New(t.Context(), params()); err == nil {
			t.Errorf("JSON cut at byte %d: no error, message %s", n, message.RawJSON())
		}
	}
	for n := range streamSize {
		srv.Add(reply.CutAt(n))
		if _, err := stream(t.Context(), client); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("stream cut at byte %d: error = %v, want %v", n, err, io.ErrUnexpectedEOF)
		}
	}
	srv.Add(reply.CutAt(plainSize+100), reply.CutAt(streamSize+100))
	if _, err := client.Beta.Messages.New(t.Context(), params()); err != nil {
		t.Errorf("JSON cut after its end: %v", err)
	}
	if _, err := stream(t.Context(), client); err != nil {
		t.Errorf("stream cut after its end: %v", err)
	}
}

func TestDelayTakesItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := clientOf(t, toolrunnertest.Text("a").Delay(time.Minute))
		begin := time.Now()
		if _, err := client.Beta.Messages.New(t.Context(), params()); err != nil {
			t.Fatal(err)
		}
		if got := time.Since(begin); got != time.Minute {
			t.Errorf("reply after %v, want 1m", got)
		}
	})
}

func TestDelayEndsWhenTheRequestIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := toolrunnertest.NewServer(t, toolrunnertest.Text("a").Delay(time.Hour), toolrunnertest.Text("b"))
		client := srv.Client()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		begin := time.Now()
		_, err := client.Beta.Messages.New(ctx, params())
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != time.Minute {
			t.Errorf("error after %v = %v, want %v after 1m", time.Since(begin), err, context.DeadlineExceeded)
		}
		synctest.Wait()
		if got := srv.Requests()[0].Status; got != 0 {
			t.Errorf("status = %d, want 0: nothing was answered", got)
		}
		message, err := client.Beta.Messages.New(t.Context(), params())
		if err != nil || message.Content[0].Text != "b" {
			t.Errorf("next reply = %v, %v; want b", message, err)
		}
	})
}

func TestTrickleSendsEachEventByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := clientOf(t, toolrunnertest.Text("abc").Chunk(1).Trickle(time.Second))
		begin := time.Now()
		events := client.Beta.Messages.NewStreaming(t.Context(), params())
		want := time.Duration(0)
		for events.Next() {
			synctest.Wait()
			if got := time.Since(begin); got != want {
				t.Errorf("%s after %v, want %v", events.Current().Type, got, want)
			}
			if want += time.Second; want == time.Second {
				want += time.Second // the client does not show the ping
			}
		}
		if err := errors.Join(events.Err(), events.Close()); err != nil {
			t.Error(err)
		}
		if want != 9*time.Second {
			t.Errorf("the last event came at %v, want 8s", want-time.Second)
		}
	})
}
