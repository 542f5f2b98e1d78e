package network_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"

	"github.com/toolrunner/toolrunner"
)

// callCounts counts how often each call ran.
type callCounts struct {
	mu   sync.Mutex
	runs map[string]int
}

func (y *callCounts) tool(name string) anthropic.BetaTool {
	y.runs = make(map[string]int)
	return toolrunner.NewRawTool(anthropic.BetaToolParam{Name: name}, func(_ context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
		y.mu.Lock()
		defer y.mu.Unlock()
		y.runs[call.ID]++
		return toolrunner.TextResult("result of " + call.ID + " " + string(call.Input)), nil
	})
}

func (y *callCounts) want(t *testing.T, ids ...string) {
	t.Helper()
	y.mu.Lock()
	defer y.mu.Unlock()
	for _, id := range ids {
		if y.runs[id] != 1 {
			t.Errorf("the call %q ran %d times, want once", id, y.runs[id])
		}
	}
	if len(y.runs) != len(ids) {
		t.Errorf("ran %v, want %q", y.runs, ids)
	}
}

func threeTurns() []string {
	return []string{
		messageJSON("m1", "tool_use", textJSON("I look. ü\u2028"), callJSON("a", "work", `{"b":9007199254740993,"a":"é\n"}`), callJSON("b", "work", `{}`)),
		messageJSON("m2", "tool_use", `{"type":"thinking","thinking":"hm, \"so\"","signature":"c2ln"}`, callJSON("c", "work", `{"z":[1.50,1e2]}`)),
		messageJSON("m3", "tool_use", `{"type":"redacted_thinking","data":"eA=="}`, `{"type":"server_tool_use","id":"s","name":"web_search","input":{"query":"q"}}`,
			`{"type":"web_search_tool_result","tool_use_id":"s","content":[]}`, callJSON("d", "work", `{}`)),
		messageJSON("m4", "end_turn", textJSON("done 🙂")),
	}
}

// answerWith answers in the place of the API.
func answerWith(status int, media, body string) fault {
	return func(w http.ResponseWriter, _ *http.Request, _ []byte, _ bool) bool {
		w.Header().Set("Content-Type", media)
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
		return true
	}
}

func faultKinds() map[string]fault {
	return map[string]fault{
		"529":            answerWith(529, "application/json", `{"type":"error","error":{"type":"overloaded_error","message":"busy"}}`),
		"400":            answerWith(400, "application/json", `{"type":"error","error":{"type":"invalid_request_error","message":"no"}}`),
		"200 with error": answerWith(200, "application/json", `{"type":"error","error":{"type":"overloaded_error","message":"busy"}}`),
		"HTML with 200":  answerWith(200, "text/html", "<html><body>Sign in</body></html>"),
		"HTML with 502":  answerWith(502, "text/html", "<html><body>Bad gateway</body></html>"),
		"empty body":     answerWith(200, "application/json", ""),
		"no events":      answerWith(200, "text/event-stream", ""),
		"null":           answerWith(200, "application/json", "null"),
		"no content":     answerWith(204, "application/json", ""),
		"half of it": func(w http.ResponseWriter, _ *http.Request, reply []byte, streaming bool) bool {
			media := "application/json"
			if streaming {
				media = "text/event-stream"
			}
			return answerWith(200, media, string(reply[:len(reply)/2]))(w, nil, nil, streaming)
		},
		"reset": func(w http.ResponseWriter, _ *http.Request, _ []byte, _ bool) bool { resetConnection(w); return true },
		"reset in the middle": func(w http.ResponseWriter, _ *http.Request, reply []byte, _ bool) bool {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = w.Write(reply[:len(reply)/3])
			_ = http.NewResponseController(w).Flush()
			resetConnection(w)
			return true
		},
		"timeout": func(_ http.ResponseWriter, r *http.Request, _ []byte, _ bool) bool { <-r.Context().Done(); return true },
	}
}

// finish runs loops until one ends without an error, and returns how many
// failed.
func finish(t *testing.T, runner *toolrunner.Runner, streaming bool) int {
	t.Helper()
	for failed := range 10 {
		turns := runner.All
		if streaming {
			turns = runner.AllStreaming
		}
		var last error
		for _, err := range turns(t.Context()) {
			last = err
		}
		if last == nil {
			return failed
		}
		if runner.Outcome() != toolrunner.OutcomeFailed {
			t.Errorf("Outcome() = %v after %v, want failed", runner.Outcome(), last)
		}
	}
	t.Fatal("the run does not come to an end")
	return 0
}

// A request that fails in any way, at any point, costs that request and nothing
// else: no call runs again, and the history is what it would have been.
func TestNoFaultOfARequestCostsMoreThanTheRequest(t *testing.T) {
	for _, streaming := range []bool{false, true} {
		undisturbed := startRunner(t, newPeerAPI(t, threeTurns()...), []anthropic.BetaTool{(&callCounts{}).tool("work")}, nil)
		finish(t, undisturbed, streaming)
		want := historyJSON(t, undisturbed)
		for name, fault := range faultKinds() {
			for at := range 4 {
				if name == "timeout" && at != 1 {
					continue // it takes real time
				}
				t.Run(fmt.Sprintf("%s at request %d, streaming %v", name, at, streaming), func(t *testing.T) {
					t.Parallel()
					var tally callCounts
					api := newPeerAPI(t, threeTurns()...)
					api.failAt(at, fault)
					api.failAt(at+1, fault)
					var options []option.RequestOption
					if name == "timeout" {
						options = append(options, option.WithRequestTimeout(500*time.Millisecond))
					}
					runner := startRunner(t, api, []anthropic.BetaTool{tally.tool("work")}, nil, options...)
					if failed := finish(t, runner, streaming); failed != 2 {
						t.Errorf("%d loops failed, want 2", failed)
					}
					tally.want(t, "a", "b", "c", "d")
					if got := historyJSON(t, runner); got != want {
						t.Errorf("the history is\n%s\nwant\n%s", got, want)
					}
					if api.count() != 6 {
						t.Errorf("%d requests, want 6", api.count())
					}
				})
			}
		}
	}
}

// A stream that ends at any byte is either complete or was never there.
func TestAStreamCutAtAnyByteRunsNothingTwice(t *testing.T) {
	stride := 73
	if testing.Short() {
		stride = 101
	}
	undisturbed := startRunner(t, newPeerAPI(t, threeTurns()...), []anthropic.BetaTool{(&callCounts{}).tool("work")}, nil)
	finish(t, undisturbed, true)
	want := historyJSON(t, undisturbed)
	for k, reply := range threeTurns() {
		for cut := 0; cut < len(asStream(reply)); cut += stride {
			for _, reset := range []bool{false, true} {
				var tally callCounts
				api := newPeerAPI(t, threeTurns()...)
				api.failAt(k, func(w http.ResponseWriter, _ *http.Request, reply []byte, _ bool) bool {
					w.Header().Set("Content-Type", "text/event-stream")
					w.Header().Set("Connection", "close")
					_, _ = w.Write(reply[:cut])
					_ = http.NewResponseController(w).Flush()
					if reset {
						resetConnection(w)
					}
					return true
				})
				runner := startRunner(t, api, []anthropic.BetaTool{tally.tool("work")}, nil)
				if failed := finish(t, runner, true); failed > 1 {
					t.Errorf("reply %d, cut at %d, reset %v: %d loops failed", k, cut, reset, failed)
				}
				tally.want(t, "a", "b", "c", "d")
				if got := historyJSON(t, runner); got != want {
					t.Errorf("reply %d, cut at %d, reset %v: the history is\n%s\nwant\n%s", k, cut, reset, got, want)
				}
			}
		}
	}
}

// What arrives byte by byte is what arrives at once, and a cancel in the middle
// ends the wait with its cause.
func TestAStreamThatTricklesIsReadAsOne(t *testing.T) {
	trickle := func(most int) fault {
		return func(w http.ResponseWriter, r *http.Request, reply []byte, _ bool) bool {
			w.Header().Set("Content-Type", "text/event-stream")
			for i := range reply {
				if i == most {
					<-r.Context().Done()
					return true
				}
				_, _ = w.Write(reply[i : i+1])
				_ = http.NewResponseController(w).Flush()
			}
			return true
		}
	}
	var tally callCounts
	api := newPeerAPI(t, threeTurns()...)
	api.failAt(0, trickle(400))
	api.failAt(1, trickle(-1))
	runner := startRunner(t, api, []anthropic.BetaTool{tally.tool("work")}, nil)
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	begin := time.Now()
	for turn, err := range runner.AllStreaming(ctx) {
		if err != nil {
			if !errors.Is(err, cause) || !errors.Is(err, context.Canceled) {
				t.Errorf("the run ended with %v, want the cause of the cancel", err)
			}
			break
		}
		time.AfterFunc(10*time.Millisecond, func() { cancel(cause) })
		for _, err := range turn.Events() {
			if err != nil && !errors.Is(err, cause) {
				t.Errorf("Events ended with %v, want the cause of the cancel", err)
			}
		}
	}
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("cancelling took %v", took)
	}
	finish(t, runner, true)
	tally.want(t, "a", "b", "c", "d")
	if history := historyJSON(t, runner); !strings.Contains(history, `9007199254740993`) || !strings.Contains(history, "🙂") {
		t.Errorf("the history is %s", history)
	}
}
