package toolrunnertest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	contentTypeSSE = "text/event-stream; charset=utf-8"
	defaultChunk   = 16
)

// response is a reply in the form in which it goes to one request.
type response struct {
	status  int
	header  http.Header
	body    []string        // the parts that Trickle sends one by one
	message json.RawMessage // the message as a plain reply has it; nil if there is none
	broken  bool            // the message does not arrive whole
	err     error           // the reply could not be made; the response says so

	delay, pause time.Duration
	trickle      bool
	cut          limit
}

// render makes the response to the request that arrived as number n, counted from 1.
func (r Reply) render(q *Request, n int) response {
	for r.compute != nil {
		r = r.compute(q)
	}
	s := r.spec
	var out response
	switch {
	case s.broken != nil:
		out = failure{code: http.StatusInternalServerError, kind: "api_error", message: "toolrunnertest: " + s.broken.Error()}.response(n)
		out.err = s.broken
	case s.raw != nil:
		out = response{status: http.StatusOK, header: contentType(s.contentType), body: []string{*s.raw}}
		if s.contentType == contentTypeSSE {
			out.body, out.message = splitEvents(*s.raw), accumulate(*s.raw)
		} else if json.Valid([]byte(*s.raw)) {
			out.message = json.RawMessage(*s.raw)
		}
	case s.failure != nil:
		out = s.failure.response(n)
	case q.Stream():
		out = s.stream(q, n)
	case s.failEvents.set:
		out = s.failWith.response(n)
	default:
		message := s.message(q, n)
		out = response{status: http.StatusOK, header: contentType("application/json"), body: []string{message}, message: json.RawMessage(message)}
	}
	out.status = cmp.Or(s.code, out.status)
	out.header.Set("request-id", requestID(n))
	maps.Copy(out.header, s.header)
	if out.status != http.StatusOK {
		out.message = nil
	}
	out.delay, out.pause, out.trickle = s.delay, s.pause, s.trickle
	if s.cutBytes.set && s.cutBytes.n < len(strings.Join(out.body, "")) {
		out.cut, out.broken = s.cutBytes, true
	}
	if s.breakOff {
		out.cut, out.broken = limit{true, len(strings.Join(out.body, ""))}, true
	}
	return out
}

func contentType(value string) http.Header {
	return http.Header{"Content-Type": {value}}
}

func requestID(n int) string { return "req_" + strconv.Itoa(n) }

func (f failure) body(n int) string {
	details := ""
	if f.details != "" {
		details = `,"details":` + f.details
	}
	return fmt.Sprintf(`{"type":"error","error":{"type":%s,"message":%s%s},"request_id":%s}`,
		quote(f.kind), quote(f.message), details, quote(requestID(n)))
}

func (f failure) response(n int) response {
	return response{status: f.code, header: contentType("application/json"), body: []string{f.body(n)}}
}

// message is the reply as a plain message.
func (s *spec) message(q *Request, n int) string {
	if s.recording != "" {
		return s.recording
	}
	content := make([]string, len(s.blocks))
	for i, b := range s.blocks {
		content[i] = b.raw
	}
	u := s.tokens()
	return `{` + s.identity(q, n) + `,"content":[` + strings.Join(content, ",") + `],` + s.ending() +
		`,"usage":{` + u.fields(u.output) + `,"service_tier":"standard"}}`
}

// stream is the reply as the events that the API would send, ended where the script says so.
func (s *spec) stream(q *Request, n int) response {
	events := s.events(q, n)
	out := response{status: http.StatusOK, header: contentType(contentTypeSSE), message: json.RawMessage(s.message(q, n))}
	keep := min(s.endEvents.within(len(events)), s.failEvents.within(len(events)))
	out.body = events[:keep:keep]
	out.broken = keep < len(events)
	if s.failEvents.set {
		out.body = append(out.body, event("error", s.failWith.body(n)))
		out.broken = true
	}
	return out
}

func (s *spec) events(q *Request, n int) []string {
	if s.recordedStream != "" {
		return splitEvents(s.recordedStream)
	}
	start, delta, usage := s.frame(q, n)
	events := []string{event("message_start", `{"type":"message_start","message":`+start+`}`), event("ping", `{"type":"ping"}`)}
	size := cmp.Or(s.chunk, defaultChunk)
	if size < 0 {
		size = int(^uint(0) >> 1)
	}
	for i, b := range s.blocks {
		start, deltas := b.start(size)
		index := strconv.Itoa(i)
		events = append(events, event("content_block_start", `{"type":"content_block_start","index":`+index+`,"content_block":`+start+`}`))
		for _, d := range deltas {
			events = append(events, event("content_block_delta", `{"type":"content_block_delta","index":`+index+`,"delta":`+d+`}`))
		}
		events = append(events, event("content_block_stop", `{"type":"content_block_stop","index":`+index+`}`))
	}
	return append(
		events,
		event("message_delta", `{"type":"message_delta","delta":`+delta+`,"usage":`+usage+`}`),
		event("message_stop", `{"type":"message_stop"}`),
	)
}

// frame is what a stream has around the blocks: the message as it starts, and what its end adds to it.
func (s *spec) frame(q *Request, n int) (start, delta, usage string) {
	if s.recording != "" {
		delta, usage = closing(s.recording)
		return opening(s.recording), delta, usage
	}
	u := s.tokens()
	start = `{` + s.identity(q, n) + `,"content":[],"stop_reason":null,"stop_sequence":null,"usage":{` +
		u.fields(min(1, u.output)) + `,"service_tier":"standard"}}`
	return start, `{` + s.ending() + `}`, `{` + u.fields(u.output) + `}`
}

// identity is what a message has before it has content.
func (s *spec) identity(q *Request, n int) string {
	return `"model":` + quote(cmp.Or(s.model, q.Model())) + `,"id":` + quote(cmp.Or(s.id, "msg_"+strconv.Itoa(n))) +
		`,"type":"message","role":"assistant"`
}

// ending is what a message has once its content is complete.
func (s *spec) ending() string {
	ending := `"stop_reason":` + quote(s.reason()) + `,"stop_sequence":` + cmp.Or(s.stopSequence, "null")
	if s.stopDetails != "" {
		ending += `,"stop_details":` + s.stopDetails
	}
	if s.container != "" {
		ending += `,"container":` + s.container
	}
	return ending
}

func (s *spec) reason() string {
	if s.stopReason != "" {
		return s.stopReason
	}
	for _, b := range s.blocks {
		switch b.kind {
		case "tool_use", "compaction":
			return b.kind
		}
	}
	return "end_turn"
}

func (u usage) fields(output int) string {
	return fmt.Sprintf(`"input_tokens":%d,"cache_creation_input_tokens":%d,"cache_read_input_tokens":%d,"output_tokens":%d`,
		u.input, u.cacheCreation, u.cacheRead, output)
}

// event is one event of a stream. A raw block may span lines; each is a data line then, which readers join again.
func event(name, data string) string {
	lines := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(data)
	return "event: " + name + "\ndata: " + strings.ReplaceAll(lines, "\n", "\ndata: ") + "\n\n"
}
