package toolrunnertest

import (
	"net/http"
	"strconv"
	"time"
)

// Reply is one scripted answer. It is an immutable value: every method returns a changed copy, so that a reply can be
// kept, varied and used in several scripts. The zero value is a message without content.
//
// One reply serves both kinds of request: it is sent as JSON, or as an event stream to a request with "stream": true.
type Reply struct {
	spec    spec
	compute func(*Request) Reply // if set, makes the reply from the request; spec is not used
	when    []Condition          // which requests it is for
	expect  []Condition          // what its request has to be
	ignore  []Rule               // rules that are off in its script
}

type spec struct {
	blocks                               []Block
	id, model, stopReason                string
	stopSequence, stopDetails, container string // JSON values, empty where absent
	usage                                *usage
	failure                              *failure // the reply is this error
	raw                                  *string  // the reply is exactly this text
	contentType                          string   // of raw
	recording, recordedStream            string   // the message that File read, and its stream if it was one
	broken                               error    // why the reply cannot be made
	code                                 int
	header                               http.Header
	delay, pause                         time.Duration
	trickle                              bool
	breakOff                             bool // the connection breaks after the body
	chunk                                int
	cutBytes, endEvents, failEvents      limit
	failWith                             failure // the error event after failEvents
}

// limit is a count that may be absent.
type limit struct {
	set bool
	n   int
}

func (l limit) within(n int) int {
	if l.set {
		return max(0, min(l.n, n))
	}
	return n
}

type usage struct{ input, output, cacheCreation, cacheRead int }

type failure struct {
	code          int
	kind, message string
	details       string // JSON, empty where absent
	quiet         bool   // no problem of the test
}

// Message is an assistant message of these blocks.
func Message(blocks ...Block) Reply {
	return Reply{spec: spec{blocks: append([]Block(nil), blocks...)}}
}

// Text is an assistant message of one text block.
func Text(text string) Reply { return Message(Say(text)) }

// Status is an error of the API: an HTTP status with a body such as
// {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_1"}.
func Status(code int, errorType, message string) Reply {
	return Reply{spec: spec{failure: &failure{code: code, kind: errorType, message: message}}}
}

// RawJSON is a reply with exactly this body, as application/json, whether or not a stream was asked for. See
// [Reply.Code] and [Reply.Header] for other statuses and content types.
func RawJSON(body string) Reply {
	return Reply{spec: spec{raw: &body, contentType: "application/json"}}
}

// RawSSE is a reply with exactly this event stream, whether or not a stream was asked for.
func RawSSE(stream string) Reply {
	return Reply{spec: spec{raw: &stream, contentType: contentTypeSSE}}
}

// Func makes the reply from the request when it arrives. It runs on the request's goroutine, so concurrent requests call
// it concurrently. Changes by the methods of Reply apply to what it returns.
func Func(reply func(*Request) Reply) Reply { return Reply{compute: reply} }

// StopReason sets the stop_reason. The default is that of the first tool_use or compaction block, else end_turn.
func (r Reply) StopReason(reason string) Reply {
	return r.with(func(s *spec) { s.stopReason = reason })
}

// StopSequence sets the stop_sequence, and with it the stop_reason stop_sequence.
func (r Reply) StopSequence(sequence string) Reply {
	return r.with(func(s *spec) { s.stopReason, s.stopSequence = "stop_sequence", quote(sequence) })
}

// StopDetails sets the stop_details, which come with a refusal, to this JSON value.
func (r Reply) StopDetails(raw string) Reply {
	return r.with(func(s *spec) { s.stopDetails = raw })
}

// Usage sets input_tokens and output_tokens. The default is 10 and 5.
func (r Reply) Usage(input, output int) Reply {
	return r.withUsage(func(u *usage) { u.input, u.output = input, output })
}

// CacheUsage sets cache_creation_input_tokens and cache_read_input_tokens. The default is 0.
func (r Reply) CacheUsage(creation, read int) Reply {
	return r.withUsage(func(u *usage) { u.cacheCreation, u.cacheRead = creation, read })
}

// ID sets the message's id. The default is msg_1 for the server's first request, msg_2 for its second, and so on.
func (r Reply) ID(id string) Reply { return r.with(func(s *spec) { s.id = id }) }

// Model sets the message's model. The default is the one that the request names.
func (r Reply) Model(model string) Reply { return r.with(func(s *spec) { s.model = model }) }

// Container says which container the reply ran in.
func (r Reply) Container(id string) Reply {
	return r.with(func(s *spec) { s.container = `{"id":` + quote(id) + `,"expires_at":"2100-01-01T00:00:00Z"}` })
}

// Code sets the HTTP status.
func (r Reply) Code(status int) Reply { return r.with(func(s *spec) { s.code = status }) }

// Header sets a header of the response, such as retry-after.
func (r Reply) Header(key, value string) Reply {
	return r.with(func(s *spec) {
		s.header = s.header.Clone()
		if s.header == nil {
			s.header = http.Header{}
		}
		s.header.Set(key, value)
	})
}

// RetryAfter sets the retry-after header, and retry-after-ms where seconds do not tell it exactly.
func (r Reply) RetryAfter(d time.Duration) Reply {
	r = r.Header("Retry-After", strconv.FormatInt(int64((d+time.Second-1)/time.Second), 10))
	if d%time.Second != 0 {
		r = r.Header("Retry-After-Ms", strconv.FormatInt(d.Milliseconds(), 10))
	}
	return r
}

// Delay waits before the response begins. A request that is cancelled meanwhile gets none, but has used up the reply.
func (r Reply) Delay(d time.Duration) Reply { return r.with(func(s *spec) { s.delay = d }) }

// Trickle sends each event of a stream as soon as it is written, with a pause of d between events. Without it a stream
// leaves in as few packets as it fits.
func (r Reply) Trickle(d time.Duration) Reply {
	return r.with(func(s *spec) { s.trickle, s.pause = true, d })
}

// Chunk sets how many bytes of text, thinking or input one delta of a stream carries at most, at least one character
// each; 0 or less is everything at once. The default is 16.
func (r Reply) Chunk(bytes int) Reply {
	return r.with(func(s *spec) {
		s.chunk = bytes
		if bytes <= 0 {
			s.chunk = -1
		}
	})
}

// CutAt breaks the connection after n bytes of the response's body. A body that is not longer stays whole.
func (r Reply) CutAt(n int) Reply { return r.with(func(s *spec) { s.cutBytes = limit{true, n} }) }

// EndAfter ends a stream properly after n events, though the message is not complete. A plain reply is not affected.
func (r Reply) EndAfter(n int) Reply { return r.with(func(s *spec) { s.endEvents = limit{true, n} }) }

// ErrorEvent ends a stream after n events with an error event, as the API does when it fails in the middle. A plain
// request gets the error as an HTTP status, for there it is known before the response begins.
func (r Reply) ErrorEvent(n int, errorType, message string) Reply {
	return r.with(func(s *spec) {
		s.failEvents = limit{true, n}
		s.failWith = failure{code: statusOf(errorType), kind: errorType, message: message}
	})
}

// with returns a copy changed by change. What a spec points to is never changed in place.
func (r Reply) with(change func(*spec)) Reply {
	if compute := r.compute; compute != nil {
		r.compute = func(q *Request) Reply { return compute(q).with(change) }
		return r
	}
	change(&r.spec)
	return r
}

func (r Reply) withUsage(change func(*usage)) Reply {
	return r.with(func(s *spec) {
		u := s.tokens()
		change(&u)
		s.usage = &u
	})
}

func (s *spec) tokens() usage {
	if s.usage == nil {
		return usage{input: 10, output: 5}
	}
	return *s.usage
}

// statusOf is the HTTP status that the API gives to an error type.
func statusOf(errorType string) int {
	switch errorType {
	case "invalid_request_error":
		return http.StatusBadRequest
	case "authentication_error":
		return http.StatusUnauthorized
	case "billing_error":
		return http.StatusPaymentRequired
	case "permission_error":
		return http.StatusForbidden
	case "not_found_error":
		return http.StatusNotFound
	case "request_too_large":
		return http.StatusRequestEntityTooLarge
	case "rate_limit_error":
		return http.StatusTooManyRequests
	case "timeout_error":
		return http.StatusGatewayTimeout
	case "overloaded_error":
		return 529
	default:
		return http.StatusInternalServerError
	}
}
