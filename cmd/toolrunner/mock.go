package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/toolrunner/toolrunner/toolrunnertest"
)

const mockAbout = `Serves the conversation in FILE as a Messages API, for programs in any language, and
refuses what the real API would refuse, but for a missing key. It keeps message threads,
with which the official runners send only what is new; -no-threads makes it refuse them,
and they send everything. -forget and -thread-lifetime make it forget, as the API does,
and they send everything once more. It prints the URL on stdout, which is for
ANTHROPIC_BASE_URL, and a line for each request on stderr. It runs until it is
interrupted; with -once, until every reply has been used or a request went wrong.
The exit code is 1 if one did. The format is that of toolrunnertest.ParseScript.`

func runMock(ctx context.Context, term *terminal, args []string) error {
	flags := flag.NewFlagSet("mock FILE", flag.ContinueOnError)
	addr := flags.String("addr", "127.0.0.1:0", "address to listen at")
	once := flags.Bool("once", false, "end when every reply has been used, or at the first request that goes wrong")
	var threads threadFlags
	threads.register(flags)
	files, err := parse(term, flags, mockAbout, args, 1)
	if err != nil {
		return err
	}
	if len(files) == 0 {
		note(term.err, "toolrunner mock: name the file of the script\n")
		return errUsage
	}
	if err := threads.check(); err != nil {
		note(term.err, "toolrunner mock: %v\n", err)
		return errUsage
	}
	replies, err := toolrunnertest.Script(files[0])
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", *addr)
	if err != nil {
		return err
	}
	m := &mock{term: term, done: make(chan struct{})}
	m.server = toolrunnertest.NewServer(m, replies...)
	defer m.server.Close()
	m.server.Ignore(toolrunnertest.RuleKey, toolrunnertest.RuleVersion)
	threads.apply(m.server)
	return m.serve(ctx, listener, *once)
}

// threadFlags say how well the server keeps message threads.
type threadFlags struct {
	refuse      bool
	unsupported string
	forget      float64
	seed        uint64
	lifetime    time.Duration
}

func (f *threadFlags) register(flags *flag.FlagSet) {
	flags.BoolVar(&f.refuse, "no-threads", false, "answer a request of a message thread with thread_unsupported_request")
	flags.StringVar(&f.unsupported, "unsupported", "", "with -no-threads: comma-separated `features` that the answer names, such as context_management")
	flags.Float64Var(&f.forget, "forget", 0, "`probability`, from 0 to 1, that a thread is gone when a request continues it")
	flags.Uint64Var(&f.seed, "seed", 1, "with -forget: the same `number` forgets at the same requests")
	flags.DurationVar(&f.lifetime, "thread-lifetime", 0, "how long a thread is kept after a reply; 0: until the end")
}

func (f *threadFlags) check() error {
	switch {
	case !(f.forget >= 0 && f.forget <= 1):
		return fmt.Errorf("-forget is %v; it is a probability, from 0 to 1", f.forget)
	case f.lifetime < 0:
		return fmt.Errorf("-thread-lifetime is %v; it cannot be negative", f.lifetime)
	case f.unsupported != "" && !f.refuse:
		return errors.New("-unsupported needs -no-threads")
	}
	return nil
}

func (f *threadFlags) apply(server *toolrunnertest.Server) {
	server.ForgetAfter(f.lifetime)
	server.ForgetAtRandom(f.forget, f.seed)
	if f.refuse {
		features := strings.FieldsFunc(f.unsupported, func(r rune) bool { return r == ',' || r == ' ' })
		server.RefuseThreads(features...)
	}
}

// mock is a scripted server, and the test that it reports to.
type mock struct {
	term   *terminal
	server *toolrunnertest.Server

	mu       sync.Mutex
	requests int
	problems int
	done     chan struct{} // closed once every reply has been used, or a request went wrong
	over     bool
}

// Helper does nothing: there are no lines of a test.
func (m *mock) Helper() {}

// Cleanup does nothing: the server is closed by hand.
func (m *mock) Cleanup(func()) {}

// Errorf reports a request that went wrong.
func (m *mock) Errorf(format string, args ...any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.problems++
	note(m.term.err, format+"\n", args...)
}

// serve answers requests until the context ends or, asked to, the script does.
func (m *mock) serve(ctx context.Context, listener net.Listener, once bool) error {
	server := &http.Server{Handler: m, ReadHeaderTimeout: time.Minute}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	note(m.term.out, "http://%s\n", listener.Addr())
	done := m.done
	if !once {
		done = nil
	}
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	case <-done:
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	err := server.Shutdown(grace)
	if errors.Is(err, context.DeadlineExceeded) {
		err = server.Close()
	}
	ended := <-failed
	if errors.Is(ended, http.ErrServerClosed) {
		ended = nil
	}
	return cmp.Or(m.verdict(), err, ended)
}

// verdict says what went wrong with the requests.
func (m *mock) verdict() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.problems > 0 {
		return fmt.Errorf("%d of %d requests went wrong", m.problems, m.requests)
	}
	return nil
}

// ServeHTTP answers a request and tells about it.
func (m *mock) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer := &statusWriter{ResponseWriter: w}
	defer m.served(r, answer) // also where the script breaks the connection
	m.server.ServeHTTP(answer, r)
}

func (m *mock) served(r *http.Request, answer *statusWriter) {
	left := m.server.Remaining()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests++
	note(m.term.err, "%d %s %s %d, %d bytes, replies left: %d\n", m.requests, r.Method, r.URL.Path, answer.status, answer.bytes, left)
	if (left == 0 || m.problems > 0) && !m.over {
		m.over = true
		close(m.done)
	}
}

// statusWriter is a response that knows what was sent.
type statusWriter struct {
	http.ResponseWriter

	status, bytes int
}

// WriteHeader notes the status.
func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Write counts the bytes.
func (w *statusWriter) Write(p []byte) (int, error) {
	n, err := w.ResponseWriter.Write(p)
	w.bytes += n
	return n, err
}

// Unwrap lets [http.ResponseController] reach the connection.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
