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
	"strconv"
	"sync"
)

// Variables of the environment that make Replay record.
const (
	recordVariable   = "TOOLRUNNER_RECORD"
	keyVariable      = "ANTHROPIC_API_KEY"
	endpointVariable = "ANTHROPIC_BASE_URL"
	defaultEndpoint  = "https://api.anthropic.com"
)

// Recording is a session with an endpoint, kept in a folder.
type Recording struct {
	Dir    string
	Ignore []string // top-level parameters that may differ from the recorded ones
}

// Replay returns a server that plays a recording: each request gets the response that was recorded for it, byte for byte. A
// request that was not recorded is answered 400 and fails the test, which shows how it differs from the first recorded one
// that is left. Bodies are compared as JSON values; the rules of [CheckRequest] do not apply, as the endpoint has decided
// what it takes.
//
// Where TOOLRUNNER_RECORD is true in the environment (1, t, true), the server makes the recording instead: it passes
// requests on to ANTHROPIC_BASE_URL, https://api.anthropic.com by default, as [Record] does, with the key in
// ANTHROPIC_API_KEY. The test is the same either way: it uses [Server.Client] or [Server.Listen]. The recording takes the
// place of an earlier one when the server is closed, if nothing went wrong.
func Replay(tb TB, recording Recording) *Server {
	tb.Helper()
	s := NewServer(tb)
	s.replaying = true
	if value := os.Getenv(recordVariable); value != "" {
		record, err := strconv.ParseBool(value)
		if err != nil {
			s.errorf("%s is %q; set it to 1 to record, or to 0", recordVariable, value)
			return s
		}
		if record {
			s.record(recording.Dir)
			return s
		}
	}
	replies, err := recording.replies()
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
	if err == nil {
		err = r.recordAside()
	}
	if err != nil {
		s.errorf("%v", err)
		return
	}
	s.recorder, s.key = r, key
	s.finish = sync.OnceFunc(func() {
		if err := r.publish(); err != nil {
			s.errorf("the recording is not complete, and an earlier one is left as it was: %v", err)
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

// replies reads what Record wrote.
func (r Recording) replies() ([]Reply, error) {
	names, err := filepath.Glob(filepath.Join(r.Dir, "[0-9][0-9][0-9].json"))
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("there is no recording in %s; to make one, set %s=1 and %s", r.Dir, recordVariable, keyVariable)
	}
	slices.Sort(names)
	replies := make([]Reply, len(names))
	for i, name := range names {
		if replies[i], err = recordedExchange(name, r.Ignore); err != nil {
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
	want := without(blotBody(body), ignore)
	return func(q *Request) error {
		if blotQuery(q.uri) != blotQuery(e.Path) || q.method != e.Method {
			return fmt.Errorf("it is %s %s, but %s was recorded with %s %s", q.method, q.uri, name, e.Method, e.Path)
		}
		if diff := diffJSON(want, without(blotBody(q.Body), ignore)); diff != "" {
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
