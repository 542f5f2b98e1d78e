package toolrunner_test

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

// foreignTally counts how often each call ran.
type foreignTally struct {
	mu   sync.Mutex
	runs map[string]int
}

func (y *foreignTally) tool(name string) anthropic.BetaTool {
	y.runs = make(map[string]int)
	return toolrunner.NewRawTool(anthropic.BetaToolParam{Name: name}, func(_ context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
		y.mu.Lock()
		defer y.mu.Unlock()
		y.runs[call.ID]++
		return toolrunner.TextResult("result of " + call.ID + " " + string(call.Input)), nil
	})
}

func (y *foreignTally) want(t *testing.T, ids ...string) {
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

func foreignScript() []string {
	return []string{
		foreignMessage("m1", "tool_use", foreignText("I look. ü\u2028"), foreignCall("a", "work", `{"b":9007199254740993,"a":"é\n"}`), foreignCall("b", "work", `{}`)),
		foreignMessage("m2", "tool_use", `{"type":"thinking","thinking":"hm, \"so\"","signature":"c2ln"}`, foreignCall("c", "work", `{"z":[1.50,1e2]}`)),
		foreignMessage("m3", "tool_use", `{"type":"redacted_thinking","data":"eA=="}`, `{"type":"server_tool_use","id":"s","name":"web_search","input":{"query":"q"}}`,
			`{"type":"web_search_tool_result","tool_use_id":"s","content":[]}`, foreignCall("d", "work", `{}`)),
		foreignMessage("m4", "end_turn", foreignText("done 🙂")),
	}
}

// foreignAnswer answers in the place of the API.
func foreignAnswer(status int, media, body string) foreignFault {
	return func(w http.ResponseWriter, _ *http.Request, _ []byte, _ bool) bool {
		w.Header().Set("Content-Type", media)
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
		return true
	}
}

func foreignFaultKinds() map[string]foreignFault {
	return map[string]foreignFault{
		"529":            foreignAnswer(529, "application/json", `{"type":"error","error":{"type":"overloaded_error","message":"busy"}}`),
		"400":            foreignAnswer(400, "application/json", `{"type":"error","error":{"type":"invalid_request_error","message":"no"}}`),
		"200 with error": foreignAnswer(200, "application/json", `{"type":"error","error":{"type":"overloaded_error","message":"busy"}}`),
		"HTML with 200":  foreignAnswer(200, "text/html", "<html><body>Sign in</body></html>"),
		"HTML with 502":  foreignAnswer(502, "text/html", "<html><body>Bad gateway</body></html>"),
		"empty body":     foreignAnswer(200, "application/json", ""),
		"no events":      foreignAnswer(200, "text/event-stream", ""),
		"null":           foreignAnswer(200, "application/json", "null"),
		"no content":     foreignAnswer(204, "application/json", ""),
		"half of it": func(w http.ResponseWriter, _ *http.Request, reply []byte, streaming bool) bool {
			media := "application/json"
			if streaming {
				media = "text/event-stream"
			}
			return foreignAnswer(200, media, string(reply[:len(reply)/2]))(w, nil, nil, streaming)
		},
		"reset": func(w http.ResponseWriter, _ *http.Request, _ []byte, _ bool) bool { foreignReset(w); return true },
		"reset in the middle": func(w http.ResponseWriter, _ *http.Request, reply []byte, _ bool) bool {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = w.Write(reply[:len(reply)/3])
			_ = http.NewResponseController(w).Flush()
			foreignReset(w)
			return true
		},
		"timeout": func(_ http.ResponseWriter, r *http.Request, _ []byte, _ bool) bool { <-r.Context().Done(); return true },
	}
}

// foreignFinish runs loops until one ends without an error, and returns how many
// failed.
func foreignFinish(t *testing.T, runner *toolrunner.Runner, streaming bool) int {
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
		undisturbed := foreignRunner(t, newForeignAPI(t, foreignScript()...), []anthropic.BetaTool{(&foreignTally{}).tool("work")}, nil)
		foreignFinish(t, undisturbed, streaming)
		want := foreignHistory(t, undisturbed)
		for name, fault := range foreignFaultKinds() {
			for at := range 4 {
				if name == "timeout" && at != 1 {
					continue // it takes real time
				}
				t.Run(fmt.Sprintf("%s at request %d, streaming %v", name, at, streaming), func(t *testing.T) {
					t.Parallel()
					var tally foreignTally
					api := newForeignAPI(t, foreignScript()...)
					api.failAt(at, fault)
					api.failAt(at+1, fault)
					var options []option.RequestOption
					if name == "timeout" {
						options = append(options, option.WithRequestTimeout(500*time.Millisecond))
					}
					runner := foreignRunner(t, api, []anthropic.BetaTool{tally.tool("work")}, nil, options...)
					if failed := foreignFinish(t, runner, streaming); failed != 2 {
						t.Errorf("%d loops failed, want 2", failed)
					}
					tally.want(t, "a", "b", "c", "d")
					if got := foreignHistory(t, runner); got != want {
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
	undisturbed := foreignRunner(t, newForeignAPI(t, foreignScript()...), []anthropic.BetaTool{(&foreignTally{}).tool("work")}, nil)
	foreignFinish(t, undisturbed, true)
	want := foreignHistory(t, undisturbed)
	for k, reply := range foreignScript() {
		for cut := 0; cut < len(foreignStream(reply)); cut += stride {
			for _, reset := range []bool{false, true} {
				var tally foreignTally
				api := newForeignAPI(t, foreignScript()...)
				api.failAt(k, func(w http.ResponseWriter, _ *http.Request, reply []byte, _ bool) bool {
					w.Header().Set("Content-Type", "text/event-stream")
					w.Header().Set("Connection", "close")
					_, _ = w.Write(reply[:cut])
					_ = http.NewResponseController(w).Flush()
					if reset {
						foreignReset(w)
					}
					return true
				})
				runner := foreignRunner(t, api, []anthropic.BetaTool{tally.tool("work")}, nil)
				if failed := foreignFinish(t, runner, true); failed > 1 {
					t.Errorf("reply %d, cut at %d, reset %v: %d loops failed", k, cut, reset, failed)
				}
				tally.want(t, "a", "b", "c", "d")
				if got := foreignHistory(t, runner); got != want {
					t.Errorf("reply %d, cut at %d, reset %v: the history is\n%s\nwant\n%s", k, cut, reset, got, want)
				}
			}
		}
	}
}

// What arrives byte by byte is what arrives at once, and a cancel in the middle
// ends the wait with its cause.
func TestAStreamThatTricklesIsReadAsOne(t *testing.T) {
	trickle := func(most int) foreignFault {
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
	var tally foreignTally
	api := newForeignAPI(t, foreignScript()...)
	api.failAt(0, trickle(400))
	api.failAt(1, trickle(-1))
	runner := foreignRunner(t, api, []anthropic.BetaTool{tally.tool("work")}, nil)
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
	foreignFinish(t, runner, true)
	tally.want(t, "a", "b", "c", "d")
	if history := foreignHistory(t, runner); !strings.Contains(history, `9007199254740993`) || !strings.Contains(history, "🙂") {
		t.Errorf("the history is %s", history)
	}
}
