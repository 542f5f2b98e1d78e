package toolrunnertest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"
)

// threadsBeta begins the name of the beta that a request with a thread has to name.
const threadsBeta = "message-threads-"

// thread is what the API keeps of a conversation after one of its replies, for a request that continues from there.
type thread struct {
	messages      []json.RawMessage // with the reply
	system, tools json.RawMessage
	stored        time.Time
	continued     bool
	inFlight      bool // a request that continues it is being answered
}

// threadMemory says how well the server keeps threads.
type threadMemory struct {
	threads  map[string]*thread // by the id of the reply
	refused  string             // the details of the answer to a thread, if it is refused
	lifetime time.Duration      // 0: for ever
	loss     float64            // the probability that a request meets a thread that is gone
	random   *rand.Rand         // decides on that
}

// RefuseThreads makes the server one that does not keep conversations: a request with a thread is answered 400 with the
// error code thread_unsupported_request, which uses up no reply and is no problem of the test. The features are what the
// answer names as unsupported beside a thread, such as context_management.
func (s *Server) RefuseThreads(features ...string) {
	details := `{"error_code":"thread_unsupported_request"`
	if len(features) > 0 {
		names := make([]string, len(features))
		for i, feature := range features {
			names[i] = quote(feature)
		}
		details += `,"unsupported":[` + strings.Join(names, ",") + "]"
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keeps.refused = details + "}"
}

// Forget makes the server forget what it keeps for threads, as the API does after minutes: after the replies with these
// ids, or after all. A request that continues from there is answered 404 with the error code thread_not_found, which uses
// up no reply and is no problem of the test.
func (s *Server) Forget(messageIDs ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(messageIDs) == 0 {
		clear(s.keeps.threads)
	}
	for _, id := range messageIDs {
		delete(s.keeps.threads, id)
	}
}

// ForgetAfter makes the server forget what it keeps after a reply once that is this old, as the API does after 5 minutes. 0,
// the default, keeps it until the server is closed. A negative lifetime keeps nothing.
func (s *Server) ForgetAfter(lifetime time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keeps.lifetime = lifetime
}

// ForgetAtRandom makes the server forget what a request continues from with this probability, from 0 (the default) to 1: the
// memory of the API is best effort. The same seed and the same order of requests give the same choices.
func (s *Server) ForgetAtRandom(probability float64, seed uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keeps.loss = probability
	s.keeps.random = rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // choices that can be repeated
}

// recall returns what the server still has after a reply, nil if it has forgotten.
func (m *threadMemory) recall(id string) *thread {
	kept := m.threads[id]
	if kept == nil {
		return nil
	}
	expired := m.lifetime != 0 && time.Since(kept.stored) >= m.lifetime
	if expired || m.random != nil && m.random.Float64() < m.loss {
		delete(m.threads, id)
		return nil
	}
	return kept
}

// threadFailure is how the API refuses a thread.
func threadFailure(code, message string) *failure {
	f := &failure{code: http.StatusBadRequest, kind: "invalid_request_error", message: message, details: `{"error_code":` + quote(code) + "}", quiet: true}
	if code == "thread_not_found" {
		f.code, f.kind = http.StatusNotFound, "not_found_error"
	}
	return f
}

// joinThread gives a request that continues a thread the conversation that the server has of it. It says how the API
// refuses the thread, nil if it does not.
func (s *Server) joinThread(q *Request) *failure {
	raw := q.Field("thread")
	if absent(raw) {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !strings.Contains(q.betas(), threadsBeta) {
		return &failure{code: http.StatusBadRequest, kind: "invalid_request_error", message: "thread: Extra inputs are not permitted"}
	}
	if s.keeps.refused != "" {
		f := threadFailure("thread_unsupported_request", "message threads are not supported by this server")
		f.details = s.keeps.refused
		return f
	}
	fields := asObject(raw)
	switch kind := asString(fields["type"]); kind {
	case "create":
		return nil
	case "continue":
		return s.continueThread(q, asString(fields["previous_message_id"]))
	default:
		return &failure{code: http.StatusBadRequest, kind: "invalid_request_error", message: fmt.Sprintf("thread.type: Input should be 'create' or 'continue', got %q", kind)}
	}
}

func (s *Server) continueThread(q *Request, id string) *failure {
	switch {
	case id == "":
		return &failure{code: http.StatusBadRequest, kind: "invalid_request_error", message: "thread.continue.previous_message_id: Field required"}
	case !isList(q.Field("messages")):
		return &failure{code: http.StatusBadRequest, kind: "invalid_request_error", message: "messages: Field required"}
	}
	kept := s.keeps.recall(id)
	switch {
	case kept == nil:
		return threadFailure("thread_not_found", "no thread was found for the message "+id)
	case kept.continued:
		return threadFailure("thread_already_continued", "the message "+id+" has been continued already")
	case kept.inFlight:
		return threadFailure("thread_continue_in_flight", "another request continues from the message "+id)
	}
	if changed := kept.changed(q); len(changed) > 0 {
		return threadFailure("thread_fingerprint_mismatch", strings.Join(changed, ", ")+": differs from the value stored with the thread")
	}
	kept.inFlight = true
	q.joined = kept
	q.whole = slices.Concat(kept.messages, q.Messages())
	return nil
}

// changed returns the parameters that a request sends other than the thread was created with.
func (t *thread) changed(q *Request) []string {
	var names []string
	if differs(q.Field("system"), t.system) {
		names = append(names, "system")
	}
	if differs(q.Field("tools"), t.tools) {
		names = append(names, "tools")
	}
	return names
}

// differs reports whether a parameter is sent, though it is kept, and is another.
func differs(sent, kept json.RawMessage) bool {
	return !absent(sent) && !sameValue(sent, kept)
}

// leaveThread takes note of the answer to a request. What a reply leaves is kept under its id, if it is whole, was not
// refused and is of the model that was asked.
func (s *Server) leaveThread(q *Request) {
	if absent(q.Field("thread")) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if q.joined != nil {
		q.joined.inFlight = false
		q.joined.continued = q.Status == http.StatusOK
	}
	reply := asObject(q.Reply)
	id := asString(reply["id"])
	if id == "" || q.broken || q.refused || asString(reply["stop_reason"]) == "refusal" || byFallback(reply) {
		return
	}
	if s.keeps.threads == nil {
		s.keeps.threads = map[string]*thread{}
	}
	messages, content := q.outlook()
	messages = slices.Clone(messages)
	if len(content) > 0 {
		messages = append(messages, assistantMessage(content))
	}
	s.keeps.threads[id] = &thread{messages: messages, system: q.param("system"), tools: q.param("tools"), stored: time.Now()}
}

// release ends what a request that gets no answer has begun.
func (s *Server) release(q *Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if q.joined != nil {
		q.joined.inFlight = false
	}
}

// byFallback reports whether another model than the one that was asked wrote the reply.
func byFallback(reply object) bool {
	return slices.ContainsFunc(asList(asObject(reply["usage"])["iterations"]), func(raw json.RawMessage) bool {
		return asString(asObject(raw)["type"]) == "fallback_message"
	})
}

func assistantMessage(content []json.RawMessage) json.RawMessage {
	return json.RawMessage(`{"role":"assistant","content":[` + string(bytes.Join(asBytes(content), []byte(","))) + `]}`)
}

func asBytes(raws []json.RawMessage) [][]byte {
	list := make([][]byte, len(raws))
	for i, raw := range raws {
		list[i] = raw
	}
	return list
}

// wholeBody returns the body that would say the same without a thread. The breakpoints of messages that the server keeps
// were those of earlier requests: each request has its own four.
func (q *Request) wholeBody() []byte {
	if q.joined == nil {
		return q.Body
	}
	var body strings.Builder
	body.WriteString("{")
	for _, f := range fieldsOf(string(q.Body)) {
		switch f.key {
		case "thread", "messages", "system", "tools":
		default:
			body.WriteString(quote(f.key) + ":" + f.value(string(q.Body)) + ",")
		}
	}
	for _, name := range []string{"system", "tools"} {
		if value := q.param(name); !absent(value) {
			body.WriteString(quote(name) + ":" + string(value) + ",")
		}
	}
	messages := asBytes(q.whole)
	for i, m := range messages[:len(q.joined.messages)] {
		if bytes.Contains(m, []byte("cache_control")) {
			messages[i] = withoutCacheControl(m)
		}
	}
	return []byte(body.String() + `"messages":[` + string(bytes.Join(messages, []byte(","))) + "]}")
}
