package toolrunnertest

import (
	"context"
	"errors"
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
	finish    func() // if set, ends the recording

	mu        sync.Mutex
	script    []*Reply
	otherwise *Reply
	ignored   []Rule // rules that are off
	requests  []*Request
	accepted  int     // requests that were not refused by a rule
	problems  []error // what went wrong

	keeps threadMemory
}

// TB is what a server needs of a *testing.T.
type TB interface {
	Helper()
	Cleanup(f func())
	Errorf(format string, args ...any)
}

// NewServer returns a server with these replies. It reports to the test what goes wrong: a request that breaks a rule, or
// for which the script has no reply; a reply that cannot be made; and, when the test ends, a reply that nobody has asked
// for, unless the test has failed already or [Server.Ignore] was called with [RuleReplyUnused]. The server is closed when
// the test ends. In a synctest bubble call it inside the bubble, with the bubble's t.
//
// Without a test, tb is nil: the caller closes the server and asks [Server.Err].
func NewServer(tb TB, replies ...Reply) *Server {
	s := &Server{tb: tb, memory: newPipes()}
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
	if tb != nil {
		tb.Helper()
		tb.Cleanup(func() {
			s.Close()
			s.checkUnused()
		})
	}
	s.Add(replies...)
	return s
}

// checkUnused reports the replies that are left when the test ends. A recording may hold more than a test wants.
func (s *Server) checkUnused() {
	s.mu.Lock()
	left, ignored := len(s.script), slices.Contains(s.ignored, RuleReplyUnused)
	s.mu.Unlock()
	if left == 0 || ignored || s.replaying {
		return
	}
	if test, ok := s.tb.(interface{ Failed() bool }); ok && test.Failed() {
		return // which is why they are left, perhaps
	}
	s.errorf("replies that nobody asked for: %d, the last of the script; Ignore(%q) if that is as it should be", left, string(RuleReplyUnused))
}

// Err returns what has gone wrong so far, nil if nothing has: what [NewServer] reports to a test, but for replies that
// nobody has asked for, which [Server.Remaining] counts.
func (s *Server) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(s.problems...)
}

// Add appends replies to the script. It reports one that cannot be made, such as a [File] that is not there.
func (s *Server) Add(replies ...Reply) {
	for _, r := range replies {
		if r.spec.broken != nil {
			s.errorf("a reply of the script: %v", r.spec.broken)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range replies {
		s.script = append(s.script, &r)
		s.ignored = append(s.ignored, r.ignore...)
	}
}

// Ignore switches rules off: requests that break them are answered like any other. The rules are those of [CheckRequest],
// [RuleKey], [RuleVersion], and [RuleReplyUnused], which lets replies be left when the test ends. Ignore panics on any other.
func (s *Server) Ignore(rules ...Rule) {
	if err := checkNames(rules, serverRules()); err != nil {
		panic("toolrunnertest: " + err.Error())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ignored = append(s.ignored, rules...)
}

// Otherwise sets the reply to every request for which the script has none: none is left, or no [Reply.When] is met. A
// request that a reply does not [Reply.Expect] is a problem all the same.
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

// closeGrace is how long Close waits for a [Func] that goes on.
const closeGrace = 5 * time.Second

// Close breaks off what is still being answered, closes all connections and waits
// for the server's goroutines. A [Func] that has not returned 5 seconds later is a
// problem, and is abandoned. Close may be called more than once.
func (s *Server) Close() {
	_ = s.http.Close()
	_ = s.memory.Close()
	closed := make(chan struct{})
	go func() {
		s.serving.Wait()
		s.open.Wait()
		close(closed)
	}()
	timer := time.NewTimer(closeGrace)
	defer timer.Stop()
	select {
	case <-closed:
	case <-timer.C:
		s.errorf("a Func or a condition has not returned %v after the server was closed", closeGrace)
	}
	s.client.CloseIdleConnections()
	if s.finish != nil {
		s.finish()
	}
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
	refusal := s.refuse(q)
	defer s.release(q)
	n := s.receive(q, refusal == nil)
	reply := Reply{}
	switch {
	case refusal == nil:
		reply, refusal = s.take(q, n)
	case !refusal.quiet:
		s.errorf("request %d is invalid: %s", n, refusal.message)
	}
	if refusal != nil {
		reply = Reply{spec: spec{failure: refusal}}
	}
	seen := *q
	out := reply.render(&seen, n)
	if out.err != nil && reply.compute != nil { // of others Add has told
		s.errorf("the reply to request %d: %v", n, out.err)
	}
	if !wait(r.Context(), out.delay) {
		panic(http.ErrAbortHandler)
	}
	s.mu.Lock()
	q.Status, q.Reply, q.broken = out.status, out.message, out.broken
	s.mu.Unlock()
	s.leaveThread(q)
	out.send(r.Context(), w)
}

// receive records a request and returns its number, counted from 1.
func (s *Server) receive(q *Request, accepted bool) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	q.position, q.refused = s.accepted, !accepted
	if accepted {
		s.accepted++
	}
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
		reply, unmet, problem := choose(script, q, n)
		if problem != "" && otherwise != nil && !unmet {
			return *otherwise, nil
		}
		if problem != "" {
			s.errorf("%s", problem)
			return Reply{}, &failure{code: http.StatusBadRequest, kind: "invalid_request_error", message: "toolrunnertest: " + problem}
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
	s.mu.Lock()
	s.problems = append(s.problems, fmt.Errorf("toolrunnertest: "+format, args...))
	s.mu.Unlock()
	if s.tb != nil {
		s.tb.Errorf("toolrunnertest: "+format, args...)
	}
}
