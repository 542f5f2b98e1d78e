package toolrunnertest_test

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/toolrunner/toolrunner/toolrunnertest"
)

func TestReplyWaitsForItsRequest(t *testing.T) {
	only := func(text string) toolrunnertest.Reply {
		return toolrunnertest.Text(text).When(toolrunnertest.HasText(text))
	}
	srv := toolrunnertest.NewServer(t, only("a"), only("b"), toolrunnertest.Text("any"), only("c"))
	srv.Otherwise(toolrunnertest.Text("other"))
	for _, step := range []struct{ ask, want string }{{"b", "b"}, {"c", "any"}, {"a", "a"}, {"a", "other"}, {"c", "c"}, {"c", "other"}} {
		got := read(t, post(srv, strings.Replace(plainBody, `"q"`, `"`+step.ask+`"`, 1)))
		if !strings.Contains(got, `"text":"`+step.want+`"`) {
			t.Errorf("the answer to %s is %s, want %s", step.ask, got, step.want)
		}
	}
}

func TestConditionsStayWithAComputedReply(t *testing.T) {
	tb := &spy{}
	reply := toolrunnertest.Func(func(*toolrunnertest.Request) toolrunnertest.Reply { return toolrunnertest.Text("a") })
	srv := toolrunnertest.NewServer(tb, reply.Expect(toolrunnertest.HasModel("other")).Code(201))
	if res := post(srv, plainBody); res.StatusCode != http.StatusBadRequest || len(tb.errors) != 1 {
		t.Errorf("status %d with the errors %q, want 400 with one", res.StatusCode, tb.errors)
	}
}

// Each reply goes to one request, however many want it at once; and conditions may use the server.
func TestRepliesAreTakenOnce(t *testing.T) {
	const n = 50
	srv := toolrunnertest.NewServer(t)
	for range n {
		srv.Add(toolrunnertest.Text("x").When(func(*toolrunnertest.Request) error {
			srv.Requests()
			return nil
		}))
	}
	var wg sync.WaitGroup
	statuses := make([]int, n)
	for i := range statuses {
		wg.Go(func() { statuses[i] = post(srv, plainBody).StatusCode })
	}
	wg.Wait()
	if slices.Max(statuses) != 200 || srv.Remaining() != 0 {
		t.Errorf("statuses %v with %d replies left, want 200 for all and none", statuses, srv.Remaining())
	}
}

func TestRetryAfterIsExact(t *testing.T) {
	reply := toolrunnertest.Status(429, "rate_limit_error", "Slow")
	srv := toolrunnertest.NewServer(t, reply.RetryAfter(2e9), reply.RetryAfter(15e8))
	for _, want := range [][2]string{{"2", ""}, {"2", "1500"}} {
		res := post(srv, plainBody)
		if got := [2]string{res.Header.Get("Retry-After"), res.Header.Get("Retry-After-Ms")}; got != want {
			t.Errorf("retry-after = %q, want %q", got, want)
		}
	}
}
