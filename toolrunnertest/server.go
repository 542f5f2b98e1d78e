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

// Server answers POST /v1/messages with the replies of a script, in order, one for each valid request. A request that
// breaks a rule of [CheckRequest] is answered with the API's 400 and uses up no reply, and so is one for which no reply
// is left.
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

	mu        sync.Mutex
	script    []Reply
	otherwise *Reply
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
	s := &Server{memory: newPipes(), script: append([]Reply(nil), replies...)}
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
// script has no reply, fails the test. In a synctest bubble call it inside the bubble, with the bubble's t.
func NewServer(tb TB, replies ...Reply) *Server {
	tb.Helper()
	s := New(replies...)
	s.tb = tb
	tb.Cleanup(s.Close)
	return s
}

// Add appends replies to the script.
func (s *Server) Add(replies ...Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = append(s.script, replies...)
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
	q := &Request{Path: r.URL.Path, Header: r.Header.Clone(), Body: body}
	refusal := s.refuse(r.Method, q)
	n, reply, ok := s.receive(q, refusal == nil)
	switch {
	case refusal != nil:
		s.errorf("request %d is invalid: %s", n, refusal.message)
		reply = Status(refusal.code, refusal.kind, refusal.message)
	case !ok:
		message := fmt.Sprintf("the script has no reply left for request %d", n)
		s.errorf("%s", message)
		reply = Status(http.StatusBadRequest, "invalid_request_error", "toolrunnertest: "+message)
	}
	seen := *q
	out := reply.render(&seen, n)
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
	case q.Path != "/v1/messages":
		return &failure{http.StatusNotFound, "not_found_error", "there is no " + q.Path}
	case method != http.MethodPost:
		return &failure{http.StatusMethodNotAllowed, "invalid_request_error", method + " is not allowed"}
	}
	breaches := Breaches(CheckRequest(q.Body))
	if s.paused() {
		last := fmt.Sprintf("messages.%d", len(q.Messages())-1)
		breaches = slices.DeleteFunc(breaches, func(b Breach) bool {
			return b.Rule == "tool-result-missing" && b.Path == last
		})
	}
	if len(breaches) > 0 {
		return &failure{http.StatusBadRequest, "invalid_request_error", (&RequestError{breaches}).Error()}
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

// receive records a request and, if it is valid, takes the reply for it. It returns the request's number.
func (s *Server) receive(q *Request, valid bool) (n int, reply Reply, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, q)
	n = len(s.requests)
	switch {
	case !valid:
		return n, Reply{}, false
	case len(s.script) > 0:
		reply, s.script = s.script[0], s.script[1:]
		return n, reply, true
	case s.otherwise != nil:
		return n, *s.otherwise, true
	default:
		return n, Reply{}, false
	}
}

func (s *Server) errorf(format string, args ...any) {
	if s.tb != nil {
		s.tb.Errorf("toolrunnertest: "+format, args...)
	}
}
