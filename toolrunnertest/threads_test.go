package toolrunnertest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/toolrunner"
	"github.com/google/go-cmp/cmp"

	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// threaded sends a request with the beta of message threads.
func threaded(srv *toolrunnertest.Server, body string) *http.Response {
	return send(srv, http.Header{
		"X-Api-Key": {"k"}, "Anthropic-Version": {"2023-06-01"}, "Anthropic-Beta": {"message-threads-2026-08-12"},
	}, body)
}

func create(list ...string) string {
	return `{"thread":{"type":"create"},` + messages(list...)[1:]
}

func proceed(id string, list ...string) string {
	return `{"thread":{"type":"continue","previous_message_id":"` + id + `"},` + messages(list...)[1:]
}

// errorCode returns the code of an answer, "" if it is a message.
func errorCode(t *testing.T, res *http.Response) string {
	t.Helper()
	if strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		return fmt.Sprint(res.StatusCode)
	}
	var body struct {
		Error struct {
			Details struct {
				ErrorCode   string   `json:"error_code"`
				Unsupported []string `json:"unsupported"`
			} `json:"details"`
		} `json:"error"`
	}
	if err := json.Unmarshal([]byte(read(t, res)), &body); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(fmt.Sprint(res.StatusCode, " ", body.Error.Details.ErrorCode, " ", strings.Join(body.Error.Details.Unsupported, ",")))
}

// The answers to a thread, with their codes: T1, T2, T3, T13, T14, T17, T19, T22, T23 and T31 of message threads.
func TestThreadsAreContinuedOnceFromWhereTheyAre(t *testing.T) {
	call := toolrunnertest.Message(toolrunnertest.Call("t1", "f", "{}"))
	fallback := toolrunnertest.RawJSON(`{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"text","text":"x"}],"stop_reason":"end_turn",` +
		`"usage":{"input_tokens":1,"output_tokens":1,"iterations":[{"type":"fallback_message"}]}}`)
	done := toolrunnertest.Text("done")
	results := user(list(result("t1")))
	type testCase struct {
		name    string
		replies []toolrunnertest.Reply
		prepare func(*toolrunnertest.Server)
		bodies  []string
		want    []string
	}
	tests := []testCase{
		{"results alone", []toolrunnertest.Reply{call, done}, nil, []string{create(question), proceed("msg_1", results)}, []string{"200", "200"}},
		{"nothing after a pause", []toolrunnertest.Reply{call.StopReason("pause_turn"), done}, nil, []string{create(question), proceed("msg_1")}, []string{"200", "200"}},
		{"an unanswered call", []toolrunnertest.Reply{call}, nil, []string{create(question), proceed("msg_1", question)}, []string{"200", "400"}},
		{"messages left out", []toolrunnertest.Reply{call}, nil, []string{
			create(question), `{"thread":{"type":"continue","previous_message_id":"msg_1"},"model":"m","max_tokens":1}`,
		}, []string{"200", "400"}},
		{"unknown", nil, nil, []string{proceed("msg_9", question)}, []string{"404 thread_not_found"}},
		{"continued twice", []toolrunnertest.Reply{call, done}, nil, []string{create(question), proceed("msg_1", results), proceed("msg_1", results)}, []string{
			"200", "200", "400 thread_already_continued",
		}},
		{"continued again after an error", []toolrunnertest.Reply{call, toolrunnertest.Status(529, "overloaded_error", "x"), done}, nil, []string{
			create(question), proceed("msg_1", results), proceed("msg_1", results),
		}, []string{"200", "529", "200"}},
		{"a refusal is not kept", []toolrunnertest.Reply{toolrunnertest.Text("no").StopReason("refusal")}, nil, []string{create(question), proceed("msg_1", question)}, []string{
			"200", "404 thread_not_found",
		}},
		{"another model's reply is not kept", []toolrunnertest.Reply{fallback}, nil, []string{create(question), proceed("msg_1", question)}, []string{"200", "404 thread_not_found"}},
		{"other tools", []toolrunnertest.Reply{call}, nil, []string{
			create(question), `{"tools":[{"name":"g","input_schema":{"type":"object"}}],` + proceed("msg_1", results)[1:],
		}, []string{"200", "400 thread_fingerprint_mismatch"}},
		{"another max_tokens", []toolrunnertest.Reply{call, done}, nil, []string{create(question), strings.Replace(proceed("msg_1", results), `"max_tokens":1`, `"max_tokens":2`, 1)}, []string{"200", "200"}},
		{"refused by the server", []toolrunnertest.Reply{done}, func(srv *toolrunnertest.Server) { srv.RefuseThreads("fallbacks", "thinking") }, []string{create(question), messages(question)}, []string{
			"400 thread_unsupported_request fallbacks,thinking", "200",
		}},
		{"other tools and system", []toolrunnertest.Reply{call}, nil, []string{
			create(question), `{"system":"s","tools":[{"name":"g","input_schema":{"type":"object"}}],` + proceed("msg_1", results)[1:],
		}, []string{"200", "400 thread_fingerprint_mismatch"}},
		{"the same system once more", []toolrunnertest.Reply{call, done}, nil, []string{
			`{"system":"s",` + create(question)[1:], `{"system":"s",` + proceed("msg_1", results)[1:],
		}, []string{"200", "200"}},
		{"without a message", []toolrunnertest.Reply{call}, nil, []string{create(question), proceed("", results)}, []string{"200", "400"}},
		{"from before the last reply", []toolrunnertest.Reply{call, call, done}, nil, []string{
			create(question), proceed("msg_1", results), proceed("msg_1", user(`"changed"`)), proceed("msg_2", results),
		}, []string{"200", "200", "400 thread_already_continued", "200"}},
		{"begun anew after a refusal to continue", []toolrunnertest.Reply{call, done}, nil, []string{
			create(question), `{"tools":[{"name":"f","input_schema":{"type":"object"}}],` + proceed("msg_1", results)[1:],
			create(question, assistant(list(use("t1"))), results),
		}, []string{"200", "400 thread_fingerprint_mismatch", "200"}},
		{"always forgotten", []toolrunnertest.Reply{call}, func(srv *toolrunnertest.Server) { srv.ForgetAtRandom(1, 1) }, []string{create(question), proceed("msg_1", results)}, []string{
			"200", "404 thread_not_found",
		}},
		{"never kept", []toolrunnertest.Reply{call}, func(srv *toolrunnertest.Server) { srv.ForgetAfter(-1) }, []string{create(question), proceed("msg_1", results)}, []string{
			"200", "404 thread_not_found",
		}},
		{"refused without saying why", []toolrunnertest.Reply{done}, func(srv *toolrunnertest.Server) { srv.RefuseThreads() }, []string{proceed("msg_1", question), messages(question)}, []string{
			"400 thread_unsupported_request", "200",
		}},
		{"broken off", []toolrunnertest.Reply{call.CutAt(20)}, nil, []string{create(question), proceed("msg_1", results)}, []string{"cut", "404 thread_not_found"}},
		{"of another type", nil, nil, []string{strings.Replace(create(question), "create", "join", 1)}, []string{"400"}},
	}
	run := func(t *testing.T, tt testCase, stream bool) {
		t.Run(fmt.Sprintf("%s, streamed %v", tt.name, stream), func(t *testing.T) {
			srv := toolrunnertest.NewServer(nil, tt.replies...)
			if tt.prepare != nil {
				tt.prepare(srv)
			}
			var got []string
			for _, body := range tt.bodies {
				got = append(got, answerTo(t, srv, fmt.Sprintf(`{"stream":%v,%s`, stream, body[1:])))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("answers (-want +got):\n%s", diff)
			}
			if srv.Remaining() != 0 {
				t.Errorf("%d replies are left, want none: what was refused has used none up", srv.Remaining())
			}
		})
	}
	for _, tt := range tests {
		run(t, tt, false)
		run(t, tt, true)
	}
}

// answerTo is errorCode of the answer to a request, or that the connection broke.
func answerTo(t *testing.T, srv *toolrunnertest.Server, body string) (code string) {
	t.Helper()
	defer func() {
		if recover() != nil {
			code = "cut"
		}
	}()
	return errorCode(t, threaded(srv, body))
}

// A server that forgets, or has never known, is not a fault of the program that asks.
func TestAThreadThatIsGoneIsNoProblem(t *testing.T) {
	srv := toolrunnertest.NewServer(t, toolrunnertest.Text("a"), toolrunnertest.Text("b"))
	if code := errorCode(t, threaded(srv, create(question))); code != "200" {
		t.Fatal(code)
	}
	srv.Forget("msg_1")
	if code := errorCode(t, threaded(srv, proceed("msg_1", question))); code != "404 thread_not_found" {
		t.Errorf("after Forget(msg_1): %s, want 404 thread_not_found", code)
	}
	if code := errorCode(t, threaded(srv, create(question, assistant(list(text("a"))), question))); code != "200" {
		t.Errorf("the whole conversation anew: %s, want 200", code)
	}
	if err := srv.Err(); err != nil {
		t.Errorf("Err() = %v, want nil", err)
	}
	if err := toolrunnertest.CheckRun(srv.Requests()); err != nil {
		t.Errorf("CheckRun() = %v, want nil: the conversation went on", err)
	}
}

// A thread without its beta is a parameter that the API does not know.
func TestAThreadNeedsItsBeta(t *testing.T) {
	srv := toolrunnertest.NewServer(nil, toolrunnertest.Text("a"))
	res := post(srv, create(question))
	if body := read(t, res); res.StatusCode != http.StatusBadRequest || !strings.Contains(body, "thread: Extra inputs are not permitted") || srv.Err() == nil {
		t.Errorf("answer %d %s with Err() = %v, want 400 and an error", res.StatusCode, body, srv.Err())
	}
}

func TestCheckRequestLeavesTheMessagesOfAThreadToTheServer(t *testing.T) {
	runChecks(t, []checkCase{
		{"continued with nothing", proceed("msg_1"), nil},
		{"continued with results", proceed("msg_1", user(list(result("t1")))), nil},
		{"created", create(user(list(result("t1")))), []string{"tool-result-unknown messages.0.content.0"}},
	})
}

// What a test says about a request holds whether or not a thread leaves messages out.
func TestARequestOfAThreadTellsTheWholeConversation(t *testing.T) {
	srv := toolrunnertest.NewServer(t,
		toolrunnertest.Message(toolrunnertest.Call("t1", "f", "{}")),
		toolrunnertest.Text("done").Expect(toolrunnertest.HasTool("f"), toolrunnertest.HasResult("t1", "")),
	)
	tools := `"tools":[{"name":"f","input_schema":{"type":"object"}}],`
	threaded(srv, "{"+tools+create(question)[1:])
	threaded(srv, proceed("msg_1", user(list(result("t1")))))
	last := srv.Requests()[1]
	if len(last.Messages()) != 1 || len(last.History()) != 3 {
		t.Errorf("%d messages of %d, want 1 of 3", len(last.Messages()), len(last.History()))
	}
	toolrunnertest.WantMessages(t, last, `
		user: q
		assistant call t1: f {}
		user result t1:
	`)
	if err := toolrunnertest.CheckRun(srv.Requests()); err != nil {
		t.Errorf("CheckRun() = %v, want nil", err)
	}
}

// The official Go runner, as it comes: with threads.
func TestTheOfficialRunnerIsServedAtItsDefaults(t *testing.T) {
	type city struct {
		City string `json:"city"`
	}
	tests := []struct {
		name    string
		prepare func(*toolrunnertest.Server)
		between func(*toolrunnertest.Server) // while the tool runs
		want    []string                     // thread and count of messages of each request
	}{
		{"kept", nil, nil, []string{"create 1", "continue 1"}},
		{"forgotten while the tool ran", nil, func(srv *toolrunnertest.Server) { srv.Forget() }, []string{"create 1", "continue 1", "create 3"}},
		{"refused", func(srv *toolrunnertest.Server) { srv.RefuseThreads() }, nil, []string{"create 1", " 1", " 3"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			srv := toolrunnertest.NewServer(t,
				toolrunnertest.Message(toolrunnertest.Call("t1", "get_weather", `{"city":"Paris"}`)),
				toolrunnertest.Text("It is mild.").Expect(toolrunnertest.HasResult("t1", "18 degrees")),
			)
			if tt.prepare != nil {
				tt.prepare(srv)
			}
			weather, err := toolrunner.NewBetaToolFromJSONSchema("get_weather", "The weather.",
				func(context.Context, city) (anthropic.BetaToolResultBlockParamContentUnion, error) {
					if tt.between != nil {
						tt.between(srv)
					}
					return anthropic.BetaToolResultBlockParamContentUnion{OfText: &anthropic.BetaTextBlockParam{Text: "18 degrees"}}, nil
				})
			if err != nil {
				t.Fatal(err)
			}
			client := srv.Client()
			runner := client.Beta.Messages.NewToolRunner([]anthropic.BetaTool{weather}, anthropic.BetaToolRunnerParams{
				BetaMessageNewParams: anthropic.BetaMessageNewParams{
					Model: "m", MaxTokens: 100,
					Messages: []anthropic.BetaMessageParam{anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock("How is the weather?"))},
				},
			})
			answer, err := runner.RunToCompletion(t.Context())
			if err != nil || answer.Content[0].Text != "It is mild." {
				t.Fatalf("RunToCompletion() = %v, %v", answer, err)
			}
			var got []string
			for _, q := range srv.Requests() {
				var thread struct{ Type string }
				if raw := q.Field("thread"); raw != nil {
					if err := json.Unmarshal(raw, &thread); err != nil {
						t.Fatal(err)
					}
				}
				got = append(got, fmt.Sprintf("%s %d", thread.Type, len(q.Messages())))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
			// That runner writes tools and replies anew for each request, with their keys in any order.
			if err := toolrunnertest.CheckRun(srv.Requests(), toolrunnertest.ValuesOnly(), toolrunnertest.Reconfigured()); err != nil {
				t.Errorf("CheckRun() = %v, want nil", err)
			}
		})
	}
}
