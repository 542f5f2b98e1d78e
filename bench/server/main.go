// Command server is a Messages API on the loopback interface that answers with
// scripts. It encodes each answer once, so that it takes as little as it can of
// the processor that the peers are measured on.
//
// It prints its address, and ends when its standard input does.
package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/toolrunner/toolrunner/bench/internal/script"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println("http://" + listener.Addr().String())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	s := &server{plays: make(map[string]*play)}
	s.reset()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /{script}/v1/messages", s.messages)
	mux.HandleFunc("GET /waiting/{n}", s.waiting)
	mux.HandleFunc("POST /release", func(http.ResponseWriter, *http.Request) { s.reset() })
	return http.Serve(listener, mux)
}

type server struct {
	mu      sync.Mutex // guards the fields below
	plays   map[string]*play
	held    int
	arrived *sync.Cond
	release chan struct{}
}

// reset lets the replies go that are held, and holds those to come.
func (s *server) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.release != nil {
		close(s.release)
	}
	s.held, s.release, s.arrived = 0, make(chan struct{}), sync.NewCond(&s.mu)
}

// hold waits until the replies that are held are let go.
func (s *server) hold(ended <-chan struct{}) {
	s.mu.Lock()
	s.held++
	release := s.release
	s.arrived.Broadcast()
	s.mu.Unlock()
	select {
	case <-release:
	case <-ended:
	}
}

// waiting answers when n replies are held.
func (s *server) waiting(_ http.ResponseWriter, r *http.Request) {
	n, _ := strconv.Atoi(r.PathValue("n"))
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.held < n {
		s.arrived.Wait()
	}
}

// play returns the answers of a script.
func (s *server) play(name string) (*play, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.plays[name]; p != nil {
		return p, nil
	}
	parsed, err := script.Parse(name)
	if err != nil {
		return nil, err
	}
	s.plays[name] = newPlay(parsed)
	return s.plays[name], nil
}

var bodies = sync.Pool{New: func() any { return new(bytes.Buffer) }}

func (s *server) messages(w http.ResponseWriter, r *http.Request) {
	p, err := s.play(r.PathValue("script"))
	if err != nil {
		fail(w, http.StatusNotFound, err)
		return
	}
	body, _ := bodies.Get().(*bytes.Buffer)
	defer bodies.Put(body)
	body.Reset()
	if _, err := body.ReadFrom(r.Body); err != nil {
		fail(w, http.StatusBadRequest, err)
		return
	}
	streams := bytes.Contains(body.Bytes(), []byte(`"stream":true`)) || bytes.Contains(body.Bytes(), []byte(`"stream": true`))
	turn, err := turnOf(body.Bytes())
	if err == nil && turn > len(p.plain) {
		err = fmt.Errorf("turn %d of %d", turn, len(p.plain))
	}
	if err != nil {
		fail(w, http.StatusBadRequest, err)
		return
	}
	if p.script.Latency > 0 {
		time.Sleep(p.script.Latency)
	}
	if turn == p.script.Hold {
		s.hold(r.Context().Done())
	}
	w.Header().Set("Request-Id", "req_"+strconv.Itoa(turn))
	if !streams {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(p.plain[turn-1])
		return
	}
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	send(w, p.streams[turn-1], p.script.Chunk)
}

// send writes a stream in chunks.
func send(w http.ResponseWriter, data []byte, chunk int) {
	if chunk == 0 {
		chunk = len(data)
	}
	flusher, _ := w.(http.Flusher)
	for len(data) > 0 {
		n := min(chunk, len(data))
		if _, err := w.Write(data[:n]); err != nil {
			return
		}
		flusher.Flush()
		data = data[n:]
	}
}

func fail(w http.ResponseWriter, status int, err error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"type":"error","error":{"type":"invalid_request_error","message":%q}}`, err)
}

// turnOf returns the number of the turn that a request asks for: that after the
// calls which its last results answer. Their ids are toolu_TURN_CALL.
func turnOf(body []byte) (int, error) {
	at := bytes.LastIndex(body, []byte(`"tool_use_id":`))
	if at < 0 {
		return 1, nil
	}
	_, id, _ := strings.Cut(string(body[at:min(len(body), at+64)]), `"toolu_`)
	number, _, _ := strings.Cut(id, "_")
	n, err := strconv.Atoi(number)
	return n + 1, err
}
