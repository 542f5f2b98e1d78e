package toolrunnertest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
)

// Variables of the environment that make Replay record.
const (
	recordVariable   = "TOOLRUNNER_RECORD"
	keyVariable      = "ANTHROPIC_API_KEY"
	endpointVariable = "ANTHROPIC_BASE_URL"
	defaultEndpoint  = "https://api.anthropic.com"
)

// Replay returns a server that plays the recording in a folder: each request gets the response that was recorded for it,
// byte for byte. A request that was not recorded is answered 400 and fails the test, which shows how it differs from the
// first recorded one that is left. Bodies are compared as JSON values, without the top-level parameters named in ignore;
// the rules of [CheckRequest] do not apply, as the endpoint has decided what it takes.
//
// Where the environment has TOOLRUNNER_RECORD and ANTHROPIC_API_KEY, the server makes the recording instead: it passes
// requests on to ANTHROPIC_BASE_URL, https://api.anthropic.com by default, as [Record] does, with that key. The test is
// the same either way: it uses [Server.Client] or [Server.Listen].
func Replay(tb TB, dir string, ignore ...string) *Server {
	tb.Helper()
	s := NewServer(tb)
	s.replaying = true
	if os.Getenv(recordVariable) != "" {
		s.record(dir)
		return s
	}
	replies, err := recording(dir, ignore)
	if err != nil {
		s.errorf("%v", err)
		return s
	}
	s.Add(replies...)
	return s
}

// record makes the server one that records.
func (s *Server) record(dir string) {
	key := os.Getenv(keyVariable)
	if key == "" {
		s.errorf("%s is set, but %s is not: there is no key to record with", recordVariable, keyVariable)
		return
	}
	r, err := newRecorder(dir, cmp.Or(os.Getenv(endpointVariable), defaultEndpoint))
	if err != nil {
		s.errorf("%v", err)
		return
	}
	s.recorder, s.key = r, key
	s.tb.Cleanup(func() {
		s.Close()
		if err := r.failure(); err != nil {
			s.errorf("the recording is not complete: %v", err)
		}
	})
}

// pass passes a request on to the endpoint and records it.
func (s *Server) pass(w http.ResponseWriter, r *http.Request, q *Request) {
	r.Header.Del("X-Api-Key")
	r.Header.Set("Authorization", "Bearer "+s.key)
	s.receive(q, true)
	s.recorder.pass(w, r, q.Body, func(p *pending) {
		s.mu.Lock()
		defer s.mu.Unlock()
		q.Status, q.Reply, q.broken = p.Status, p.message(), p.Broken
	})
}

// recording reads what Record wrote.
func recording(dir string, ignore []string) ([]Reply, error) {
	names, err := filepath.Glob(filepath.Join(dir, "[0-9][0-9][0-9].json"))
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("there is no recording in %s; to make one, set %s=1 and %s", dir, recordVariable, keyVariable)
	}
	slices.Sort(names)
	replies := make([]Reply, len(names))
	for i, name := range names {
		if replies[i], err = recordedExchange(name, ignore); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return replies, nil
}

// recordedExchange is the reply of one exchange, for the request that it was recorded with.
func recordedExchange(name string, ignore []string) (Reply, error) {
	meta, err := os.ReadFile(name)
	if err != nil {
		return Reply{}, err
	}
	var e exchange
	if err := json.Unmarshal(meta, &e); err != nil {
		return Reply{}, err
	}
	base := name[:len(name)-len(".json")]
	sent, err := os.ReadFile(base + ".request.json")
	if err != nil {
		return Reply{}, err
	}
	reply := RawSSE
	received, err := os.ReadFile(base + ".response.sse")
	if errors.Is(err, os.ErrNotExist) {
		reply = RawJSON
		received, err = os.ReadFile(base + ".response.json")
	}
	if err != nil {
		return Reply{}, err
	}
	r := reply(string(received)).Code(e.Status)
	for key := range e.Received {
		r = r.Header(key, e.Received.Get(key))
	}
	if e.Broken {
		r = r.with(func(s *spec) { s.breakOff = true })
	}
	return r.When(sentAs(filepath.Base(base), e, sent, ignore)), nil
}

// sentAs is met by the request that was recorded, and shows how another differs.
func sentAs(name string, e exchange, body json.RawMessage, ignore []string) Condition {
	want := without(body, ignore)
	return func(q *Request) error {
		if q.uri != e.Path || q.method != e.Method {
			return fmt.Errorf("it is %s %s, but %s was recorded with %s %s", q.method, q.uri, name, e.Method, e.Path)
		}
		if diff := diffJSON(want, without(q.Body, ignore)); diff != "" {
			return fmt.Errorf("it differs from the recorded request %s (-recorded +sent):\n%s", name, diff)
		}
		return nil
	}
}

// without returns a body without some of its parameters.
func without(body json.RawMessage, names []string) json.RawMessage {
	fields := asObject(body)
	if fields == nil || len(names) == 0 {
		return body
	}
	for _, name := range names {
		delete(fields, name)
	}
	rest, err := json.Marshal(fields)
	if err != nil {
		return body
	}
	return rest
}
