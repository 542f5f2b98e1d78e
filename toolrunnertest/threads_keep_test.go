package toolrunnertest_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolrunner/toolrunner/toolrunnertest"
)

// The body has all that a client branches on. T37.
func TestARefusedThreadHasItsCodeInTheBody(t *testing.T) {
	srv := toolrunnertest.NewServer(t)
	res := threaded(srv, proceed("msg_7", question))
	want := `{"type":"error","error":{"type":"not_found_error","message":"no thread was found for the message msg_7","details":{"error_code":"thread_not_found"}}`
	if got := read(t, res); res.StatusCode != http.StatusNotFound || !strings.HasPrefix(got, want[:len(want)-1]) {
		t.Errorf("%d %s, want 404 with %s", res.StatusCode, got, want)
	}
	srv.RefuseThreads("hipaa")
	if got, want := read(t, threaded(srv, create(question))), `"details":{"error_code":"thread_unsupported_request","unsupported":["hipaa"]}`; !strings.Contains(got, want) {
		t.Errorf("%s, want %s", got, want)
	}
}

// A request that comes while another is answered finds the thread in use, and may go on once that has failed. T14.
func TestAThreadIsContinuedByOneRequestAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := toolrunnertest.NewServer(nil,
			toolrunnertest.Text("a"),
			toolrunnertest.Status(529, "overloaded_error", "x").Delay(time.Minute),
			toolrunnertest.Text("b").Delay(time.Minute),
		)
		codes := []string{errorCode(t, threaded(srv, create(question)))}
		for range 2 {
			first := make(chan string)
			go func() { first <- errorCode(t, threaded(srv, proceed("msg_1", question))) }()
			synctest.Wait()
			codes = append(codes, errorCode(t, threaded(srv, proceed("msg_1", question))), <-first)
		}
		codes = append(codes, errorCode(t, threaded(srv, proceed("msg_1", question))))
		want := []string{"200", "400 thread_continue_in_flight", "529", "400 thread_continue_in_flight", "200", "400 thread_already_continued"}
		if diff := cmp.Diff(want, codes); diff != "" {
			t.Errorf("answers (-want +got):\n%s", diff)
		}
		if err := srv.Err(); err != nil {
			t.Errorf("Err() = %v, want nil", err)
		}
	})
}

// A stream that does not reach its end leaves nothing to continue from. T25, T26.
func TestAStreamThatIsCutIsNotKept(t *testing.T) {
	whole := toolrunnertest.Message(toolrunnertest.Say("a long answer"), toolrunnertest.Call("t1", "f", "{}"))
	for name, reply := range map[string]toolrunnertest.Reply{
		"before its first event": whole.EndAfter(0),
		"in the middle":          whole.EndAfter(3),
		"before message_stop":    whole.ErrorEvent(2, "overloaded_error", "x"),
	} {
		t.Run(name, func(t *testing.T) {
			srv := toolrunnertest.NewServer(t, reply)
			read(t, threaded(srv, `{"stream":true,`+create(question)[1:]))
			if code := errorCode(t, threaded(srv, proceed("msg_1", question))); code != "404 thread_not_found" {
				t.Errorf("a request that continues it: %s, want 404 thread_not_found", code)
			}
		})
	}
}

// What the API keeps expires, by default minutes after the reply; each reply has a time of its own.
func TestAThreadHasALifetime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := toolrunnertest.NewServer(t)
		srv.ForgetAfter(5 * time.Minute)
		var codes []string
		for _, turn := range []struct {
			took time.Duration
			body string
		}{
			{0, create(question)},
			{4 * time.Minute, create(user(`"other"`))},
			{4 * time.Minute, proceed("msg_1", question)},
			{4 * time.Minute, proceed("msg_3", question)},
			{0, proceed("msg_2", question)},
		} {
			srv.Add(toolrunnertest.Text("a").Delay(turn.took))
			codes = append(codes, errorCode(t, threaded(srv, turn.body)))
		}
		srv.Ignore(toolrunnertest.RuleReplyUnused)
		if diff := cmp.Diff([]string{"200", "200", "200", "200", "404 thread_not_found"}, codes); diff != "" {
			t.Errorf("answers (-want +got):\n%s", diff)
		}
	})
}

// The same seed forgets at the same places.
func TestAServerForgetsAtRandomAsItsSeedSays(t *testing.T) {
	forgotten := func(probability float64, seed uint64) string {
		srv := toolrunnertest.NewServer(nil)
		srv.Otherwise(toolrunnertest.Text("a"))
		srv.ForgetAtRandom(probability, seed)
		var marks strings.Builder
		for i := range 60 {
			if i%2 == 0 {
				threaded(srv, create(question))
			} else if res := threaded(srv, proceed(fmt.Sprintf("msg_%d", i), question)); res.StatusCode == http.StatusOK {
				marks.WriteByte('.')
			} else {
				marks.WriteByte('x')
			}
		}
		return marks.String()
	}
	half := forgotten(0.5, 3)
	if n := strings.Count(half, "x"); n < 5 || n > 25 || half != forgotten(0.5, 3) || half == forgotten(0.5, 4) {
		t.Errorf("%d of 30 are forgotten: %s, then %s, and by another seed %s; want about half, the same, others", n, half, forgotten(0.5, 3), forgotten(0.5, 4))
	}
	if got := forgotten(0, 3); strings.Contains(got, "x") {
		t.Errorf("with probability 0: %s, want none forgotten", got)
	}
}

// Each request has four breakpoints of its own: those of messages that the server keeps were for the requests before. T27.
func TestBreakpointsOfAThreadDoNotAddUp(t *testing.T) {
	srv := toolrunnertest.NewServer(t)
	srv.Otherwise(toolrunnertest.Text("a"))
	cached := user(list(`{"type":"text","text":"q","cache_control":{"type":"ephemeral"}}`))
	hour := user(list(`{"type":"text","text":"q","cache_control":{"type":"ephemeral","ttl":"1h"}}`))
	if code := errorCode(t, threaded(srv, create(cached))); code != "200" {
		t.Fatal(code)
	}
	for i := range 6 {
		next := cached
		if i == 5 {
			next = hour
		}
		if code := errorCode(t, threaded(srv, proceed(fmt.Sprintf("msg_%d", i+1), next))); code != "200" {
			t.Fatalf("turn %d: %s, want 200", i+2, code)
		}
	}
	if err := toolrunnertest.CheckRun(srv.Requests()); err != nil {
		t.Errorf("CheckRun() = %v, want nil", err)
	}
	last := user(list(strings.Repeat(`{"type":"text","text":"q","cache_control":{"type":"ephemeral"}},`, 4) + `{"type":"text","text":"q","cache_control":{"type":"ephemeral"}}`))
	tb := &spy{}
	five := toolrunnertest.NewServer(tb, toolrunnertest.Text("a"))
	threaded(five, create(question))
	if res := threaded(five, proceed("msg_1", last)); res.StatusCode != http.StatusBadRequest {
		t.Errorf("five in one request: %d, want 400", res.StatusCode)
	}
}

// A request is checked with what the thread has: breaches are found as they are without one.
func TestTheRulesHoldForTheWholeOfAThread(t *testing.T) {
	call := toolrunnertest.Message(toolrunnertest.ServerToolUse("s1", "web_search", "{}"), toolrunnertest.Call("t1", "f", "{}"))
	for name, tt := range map[string]struct{ next, want string }{
		"results alone":          {user(list(result("t1"))), ""},
		"a text beside":          {user(list(result("t1"), text("b"))), "tool-result-alone"},
		"another result":         {user(list(result("t2"))), "unexpected `tool_use_id`"},
		"a system message first": {`{"role":"system","content":"s"}`, "role 'system'"},
		"an empty text":          {user(list(result("t1"), text(""))), "must be non-empty"},
	} {
		t.Run(name, func(t *testing.T) {
			srv := toolrunnertest.NewServer(nil, call.StopReason("tool_use"), toolrunnertest.Text("done"))
			threaded(srv, create(question))
			res := threaded(srv, proceed("msg_1", tt.next))
			body := read(t, res)
			if tt.want == "tool-result-alone" {
				tt.want = "only `tool_result` blocks"
			}
			if (res.StatusCode == http.StatusOK) != (tt.want == "") || !strings.Contains(body, tt.want) {
				t.Errorf("%d %s, want %q in it", res.StatusCode, body, tt.want)
			}
			if (srv.Err() == nil) != (tt.want == "") {
				t.Errorf("Err() = %v, want an error where the request is invalid", srv.Err())
			}
		})
	}
}

// A continue that says again what the API has costs what threads are there to save.
func TestCheckRunWantsNoParametersThatTheThreadHas(t *testing.T) {
	srv := toolrunnertest.NewServer(t, toolrunnertest.Text("a"), toolrunnertest.Text("b"))
	system := `{"system":"s",`
	threaded(srv, system+create(question)[1:])
	threaded(srv, system+proceed("msg_1", question)[1:])
	if diff := cmp.Diff([]string{"thread-parameters"}, rules(toolrunnertest.CheckRun(srv.Requests()))); diff != "" {
		t.Errorf("CheckRun() (-want +got):\n%s", diff)
	}
	if err := toolrunnertest.CheckRun(srv.Requests(), toolrunnertest.Ignore(toolrunnertest.RuleThreadParameters)); err != nil {
		t.Errorf("CheckRun(Ignore) = %v, want nil", err)
	}
}

// A program that goes on with a history other than the API's is found out once it sends the whole. T7, T8.
func TestCheckRunFindsAPrefixThatIsNotTheThreads(t *testing.T) {
	srv := toolrunnertest.NewServer(t, toolrunnertest.Text("a"), toolrunnertest.Text("b"), toolrunnertest.Text("c"))
	threaded(srv, create(question))
	threaded(srv, proceed("msg_1", question))
	srv.Forget()
	threaded(srv, create(question, assistant(list(text("changed"))), question, assistant(list(text("b"))), question))
	if got := rules(toolrunnertest.CheckRun(srv.Requests())); len(got) == 0 || got[0] != "history-changed" {
		t.Errorf("CheckRun() breaks %q, want history-changed", got)
	}
}

// TS2: agents that ask and are answered the same are told apart by their threads; pauses and forgetting are each one's own.
func TestAgentsOnOneServerHaveThreadsOfTheirOwn(t *testing.T) {
	const agents, turns = 8, 6
	srv := toolrunnertest.NewServer(t)
	srv.Otherwise(toolrunnertest.Func(func(q *toolrunnertest.Request) toolrunnertest.Reply {
		if history := q.History(); strings.Contains(string(history[len(history)-1]), `"role":"user"`) {
			return toolrunnertest.Message(toolrunnertest.ServerToolUse("s1", "web_search", "{}")).StopReason("pause_turn")
		}
		return toolrunnertest.Message(toolrunnertest.RawBlock(`{"type":"web_search_tool_result","tool_use_id":"s1","content":[]}`), toolrunnertest.Say("done"))
	}))
	var wait sync.WaitGroup
	for range agents {
		wait.Go(func() {
			next := create(question)
			for turn := range turns {
				id := messageID(read(t, threaded(srv, next)))
				if turn%2 == 0 {
					next = proceed(id)
				} else {
					next = proceed(id, question)
				}
			}
		})
	}
	wait.Wait()
	if err := srv.Err(); err != nil {
		t.Errorf("Err() = %v, want nil", err)
	}
	for i, q := range srv.Requests() {
		if q.Status != http.StatusOK {
			t.Errorf("request %d = %d, want 200", i, q.Status)
		}
	}
	if err := toolrunnertest.CheckRun(srv.Requests()); err != nil {
		t.Errorf("CheckRun() = %v, want nil", err)
	}
}

// messageID finds the id in a plain reply.
func messageID(body string) string {
	_, rest, _ := strings.Cut(body, `"id":"msg_`)
	n, _, found := strings.Cut(rest, `"`)
	if !found {
		return ""
	}
	return "msg_" + n
}

// CheckRun tells apart two agents that say and are told the same, by the threads that they continue.
func TestCheckRunGroupsByThread(t *testing.T) {
	srv := toolrunnertest.NewServer(t)
	srv.Otherwise(toolrunnertest.Text("a").Container("c1"))
	contained := func(body string) string { return `{"container":"c1",` + body[1:] }
	threaded(srv, create(question))
	threaded(srv, contained(create(question)))
	threaded(srv, contained(proceed("msg_1", question)))
	threaded(srv, proceed("msg_2", user(`"other"`)))
	threaded(srv, contained(proceed("msg_3", question)))
	if diff := cmp.Diff([]string{"container-missing"}, rules(toolrunnertest.CheckRun(srv.Requests()))); diff != "" {
		t.Errorf("CheckRun() (-want +got):\n%s", diff)
	}
}
