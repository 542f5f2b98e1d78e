package toolrunnertest

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
)

// Server answers POST /v1/messages with the replies of a script, in order, one for each valid request; [Reply.When] departs
// from the order. A request that breaks a rule of [CheckRequest] is answered with the API's 400 and uses up no reply, and so
// is one that [Reply.Expect] does not want, or for which no reply is left.
//
// Its methods are safe for concurrent use.
type Server struct {
	tb      TB // nil: nobody to report to
	http    *http.Server
	memory  *pipes
	client  *http.Transport
	serving sync.WaitGroup // accept loops
	open    sync.WaitGroup // connections

	startMemory func()

	replaying bool      // a recording says what is refused, not the rules
	recorder  *recorder // if set, requests go on to an endpoint, with key
	key       string

	mu        sync.Mutex
	script    []*Reply
	otherwise *Reply
	allowed   []string // rules that are off
	requests  []*Request
}

// TB is what a server needs of a *testing.T.
type TB interface {
	Helper()
	Cleanup(f func())
	Errorf(format string, args ...any)
}

// New returns a server with these replies. The caller closes it.
func New(replies ...Reply) *Server {
	s := &Server{memory: newPipes()}
	s.Add(replies...)
	s.http = &http.Server{
		Handler:           s,
		ReadHeaderTimeout: time.Minute,
		ErrorLog:          slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
		ConnState: func(_ net.Conn, state http.ConnState) {
			switch state {
			case http.StateNew:
				s.open.Add(1)
			case http.StateClosed:
				s.open.Done()
			default: // the connection stays open
			}
		},
	}
	s.client = &http.Transport{DialContext: s.memory.dial, DisableCompression: true}
	s.startMemory = sync.OnceFunc(func() { s.serve(s.memory) })
	return s
}

// NewServer returns a server for a test. It is closed when the test ends. A request that breaks a rule, or for which the
// script has no reply, fails the test, and so does a reply that nobody has asked for by then, unless the test has failed
// already or [Server.Allow] was called with reply-unused. In a synctest bubble call it inside the bubble, with the
// bubble's t.
func NewServer(tb TB, replies ...Reply) *Server {
	tb.Helper()
	s := New(replies...)
	s.tb = tb
	tb.Cleanup(func() {
		s.Close()
		s.checkUnused()
	})
	return s
}

// checkUnused reports the replies that are left when the test ends. A recording may hold more than a test wants.
func (s *Server) checkUnused() {
	s.mu.Lock()
	left, allowed := len(s.script), slices.Contains(s.allowed, RuleReplyUnused)
	s.mu.Unlock()
	if left == 0 || allowed || s.replaying {
		return
	}
	if test, ok := s.tb.(interface{ Failed() bool }); ok && test.Failed() {
		return // which is why they are left, perhaps
	}
	s.errorf("replies that nobody asked for: %d, the last of the script; Allow(%q) if that is as it should be", left, RuleReplyUnused)
}

// Add appends replies to the script.
func (s *Server) Add(replies ...Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range replies {
		s.script = append(s.script, &r)
		s.allowed = append(s.allowed, r.allow...)
	}
}

// Allow switches rules of [CheckRequest] off, by name: requests that break them are answered like any other. The name
// reply-unused lets replies be left when the test ends. Allow panics on a name that is none of them.
func (s *Server) Allow(rules ...string) {
	if err := checkNames(rules, serverRules()); err != nil {
		panic("toolrunnertest: " + err.Error())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.allowed = append(s.allowed, rules...)
}

// Otherwise sets the reply to every request for which the script has none left.
func (s *Server) Otherwise(reply Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.otherwise = &reply
}

// Remaining returns how many replies of the script have not been used.
func (s *Server) Remaining() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.script)
}

// Requests returns what was received so far, in order of arrival, invalid requests included. The list and its elements
// are the caller's; the bytes and headers in them are not to be changed.
func (s *Server) Requests() []*Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	requests := make([]*Request, len(s.requests))
	for i, q := range s.requests {
		received := *q
		requests[i] = &received
	}
	return requests
}

// Client returns a client that is connected to the server in memory and takes nothing from the environment. It does not
// retry, so that each reply of the script is one that the code under test sees; options come after these defaults.
func (s *Server) Client(opts ...option.RequestOption) anthropic.Client {
	s.startMemory()
	return anthropic.NewClient(append([]option.RequestOption{
		option.WithoutEnvironmentDefaults(),
		option.WithAPIKey("toolrunnertest"),
		option.WithBaseURL("http://toolrunnertest.invalid"),
		option.WithHTTPClient(&http.Client{Transport: s.client}),
		option.WithMaxRetries(0),
	}, opts...)...)
}

// Listen opens a port on the loopback interface, for clients in other processes, and returns the base URL.
func (s *Server) Listen() (string, error) {
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("toolrunnertest: %w", err)
	}
	s.serve(listener)
	return "http://" + listener.Addr().String(), nil
}

// Close breaks off what is still being answered, closes all connections and waits for the server's goroutines. It may be
// called more than once.
func (s *Server) Close() {
	_ = s.http.Close()
	_ = s.memory.Close()
	s.serving.Wait()
	s.open.Wait()
	s.client.CloseIdleConnections()
}

func (s *Server) serve(listener net.Listener) {
	s.serving.Go(func() { _ = s.http.Serve(listener) })
}

// ServeHTTP answers one request. It panics with [http.ErrAbortHandler] where the script breaks the connection.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	q := &Request{Path: r.URL.Path, Header: r.Header.Clone(), Body: body, method: r.Method, uri: r.URL.RequestURI()}
	if s.recorder != nil {
		s.pass(w, r, q)
		return
	}
	refusal := s.refuse(r.Method, q)
	n := s.receive(q)
	reply := Reply{}
	if refusal == nil {
		reply, refusal = s.take(q, n)
	} else {
		s.errorf("request %d is invalid: %s", n, refusal.message)
	}
	if refusal != nil {
		reply = Status(refusal.code, refusal.kind, refusal.message)
	}
	seen := *q
	out := reply.render(&seen, n)
	if out.err != nil {
		s.errorf("the reply to request %d: %v", n, out.err)
	}
	if !wait(r.Context(), out.delay) {
		panic(http.ErrAbortHandler)
	}
	s.mu.Lock()
	q.Status, q.Reply, q.broken = out.status, out.message, out.broken
	s.mu.Unlock()
	out.send(r.Context(), w)
}

// refuse says how the API refuses a request, nil if it does not.
func (s *Server) refuse(method string, q *Request) *failure {
	switch {
	case s.replaying:
		return nil
	case q.Path != "/v1/messages":
		return &failure{http.StatusNotFound, "not_found_error", "there is no " + q.Path}
	case method != http.MethodPost:
		return &failure{http.StatusMethodNotAllowed, "invalid_request_error", method + " is not allowed"}
	}
	breaches := Breaches(CheckRequest(q.Body))
	last := ""
	if s.paused() {
		last = fmt.Sprintf("messages.%d", len(q.Messages())-1)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	breaches = slices.DeleteFunc(breaches, func(b Breach) bool {
		return b.Rule == "tool-result-missing" && b.Path == last || slices.Contains(s.allowed, b.Rule)
	})
	if len(breaches) > 0 {
		return &failure{http.StatusBadRequest, "invalid_request_error", (&BreachError{breaches}).Error()}
	}
	return nil
}

// paused reports whether the last reply stopped to be sent back as it is, unanswered calls included.
func (s *Server) paused() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, q := range slices.Backward(s.requests) {
		if q.Reply == nil {
			continue
		}
		reason := asString(asObject(q.Reply)["stop_reason"])
		return reason == "pause_turn" || reason == "compaction"
	}
	return false
}

// receive records a request and returns its number.
func (s *Server) receive(q *Request) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, q)
	return len(s.requests)
}

// take takes the reply to request n out of the script: the first that is for such a request. No lock is held while
// conditions run, so another request may take the reply meanwhile; then it looks again.
func (s *Server) take(q *Request, n int) (Reply, *failure) {
	for {
		s.mu.Lock()
		script, otherwise := slices.Clone(s.script), s.otherwise
		s.mu.Unlock()
		reply, problem := choose(script, q, n)
		if problem != "" && otherwise != nil {
			return *otherwise, nil
		}
		if problem != "" {
			s.errorf("%s", problem)
			return Reply{}, &failure{http.StatusBadRequest, "invalid_request_error", "toolrunnertest: " + problem}
		}
		if s.claim(reply) {
			return *reply, nil
		}
	}
}

// claim removes a reply from the script; it reports whether it was still there.
func (s *Server) claim(reply *Reply) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.script, reply)
	if i < 0 {
		return false
	}
	s.script = slices.Delete(s.script, i, i+1)
	return true
}

func (s *Server) errorf(format string, args ...any) {
	if s.tb != nil {
		s.tb.Errorf("toolrunnertest: "+format, args...)
	}
}
