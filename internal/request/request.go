// Package request makes the body of a request: the SDK encodes the parameters, and
// system, tools, thinking and messages follow as bytes that are encoded already.
package request

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"

	"github.com/toolrunner/toolrunner/internal/history"
	"github.com/toolrunner/toolrunner/internal/wire"
)

// Kind says what a request asks for.
type Kind uint8

const (
	// Turn asks for a reply to the history.
	Turn Kind = iota
	// Compaction asks the API to compact the history.
	Compaction
	// Summary asks the model for a summary of the history, which its last message
	// asks for.
	Summary
)

// Input is what a request is made of. Nothing in it is changed.
type Input struct {
	Kind           Kind
	Params         anthropic.BetaMessageNewParams           // Messages, Thread and Compaction are empty
	DropToolChoice bool                                     // leave a forced tool choice out
	Compaction     anthropic.BetaCompactionConfigUnionParam // of a Compaction; zero: a summary
	Summarizer     Summarizer                               // of a Summary

	Definitions []Definition      // of the runner's tools; Params.Tools are sent in their place
	Messages    []history.Message // at least one
	Thread      Thread
	Container   string  // of the last reply that had one
	System      *System // keeps the encoded system prompt from one request to the next
}

// Request is one request. Its fields may be set until it is sent.
type Request struct {
	// Params is what the SDK encodes.
	Params anthropic.BetaMessageNewParams
	// OnBegin, if not nil, is called once, before the first attempt.
	OnBegin func(*http.Request)
	// OnRetry, if not nil, is called before each attempt but the first, with the
	// response to the one before, or nil.
	OnRetry func(before *http.Response)
	// OnRejected, if not nil, is called with the response to an attempt that the API wants
	// to be repeated, before the SDK waits and perhaps does so.
	OnRejected func(*http.Response)
	// OnResponse, if not nil, is called with the response to each attempt, before its body
	// is read.
	OnResponse func(*http.Response)
	// MaxResponse is how many bytes of a response are read; 0: all. See TooLarge.
	MaxResponse int64
	// OnHeader, if not nil, is called with the headers of each attempt.
	OnHeader func(http.Header)

	thread   Thread
	rest     wire.Body // what follows Params, up to the end of the object
	messages int
	attempts int
	departed bool           // it may have reached the API
	sent     *wire.Body     // by the last attempt
	response *http.Response // to it
	body     limitedBody    // of the response
}

// New puts a request together, with the head of in. Its errors name the field of the
// parameters that cannot be sent.
func New(in Input, head *Head) (*Request, error) {
	r := &Request{Params: in.Params, thread: in.Thread}
	if in.DropToolChoice {
		r.Params.ToolChoice = anthropic.BetaToolChoiceUnionParam{}
	}
	r.rest.Grow(16)
	if err := r.shape(&in, head); err != nil {
		return nil, err
	}
	r.Params.System, r.Params.Tools = nil, nil
	r.adoptContainer(in.Container)
	if err := r.fixFormats(); err != nil {
		return nil, fmt.Errorf("the schema of the output format: %w", err)
	}
	if err := r.appendThinking(); err != nil {
		return nil, fmt.Errorf("Params.Thinking: %w", err)
	}
	if len(in.Messages) == 0 {
		return nil, errors.New("there are no messages; give Params.Messages to New, or call AppendMessages")
	}
	r.appendThread()
	if in.Thread.Previous == "" {
		r.appendHead(head)
		r.appendMessages(in.Messages)
	} else {
		r.appendMessages(in.Messages[in.Thread.Kept:])
	}
	return r, nil
}

// Messages returns the number of messages in the body.
func (r *Request) Messages() int { return r.messages }

// Thread returns how the request gives the API the history.
func (r *Request) Thread() Thread { return r.thread }

// Size returns the number of bytes in the body that the SDK does not encode.
func (r *Request) Size() int64 { return r.rest.Size() }

// Attempts returns how many times the request has been sent.
func (r *Request) Attempts() int { return r.attempts }

// Response returns the response to the last attempt, or nil.
func (r *Request) Response() *http.Response { return r.response }

// shape gives the request the parameters that its kind asks for.
func (r *Request) shape(in *Input, head *Head) error {
	switch in.Kind {
	case Compaction:
		if err := CheckCompactable(&r.Params); err != nil {
			return err
		}
		compact(&r.Params)
		r.Params.Compaction = configOr(in.Compaction)
	case Summary:
		in.Summarizer.shape(&r.Params, head.HasTools())
	default:
	}
	return nil
}

// adoptContainer runs the request where the last one ran, unless the caller chose a
// container: server tools that are bound to one refuse to go on elsewhere.
func (r *Request) adoptContainer(id string) {
	c := &r.Params.Container
	switch {
	case id == "":
	case c.OfContainers != nil:
		if !c.OfContainers.ID.Valid() {
			pinned := *c.OfContainers
			pinned.ID = anthropic.String(id)
			c.OfContainers = &pinned
		}
	case !c.OfString.Valid():
		c.OfString = anthropic.String(id)
	}
}

// appendThinking moves the thinking from the parameters to what follows them, as
// the SDK writes warnings about it to standard error.
func (r *Request) appendThinking() error {
	given := r.Params.Thinking
	r.Params.Thinking = anthropic.BetaThinkingConfigParamUnion{}
	if param.IsOmitted(given) {
		return nil
	}
	thinking, err := history.EncodeJSON(given)
	if err != nil {
		return err
	}
	if string(thinking) != "null" {
		r.rest.Append([]byte(`,"thinking":`), thinking)
	}
	return nil
}

func (r *Request) appendMessages(messages []history.Message) {
	r.messages = len(messages)
	r.rest.Append([]byte(`,"messages":[`))
	if last := len(messages) - 1; last >= 0 {
		r.rest.AppendList(earlier(messages[:last]))
		if last > 0 {
			r.rest.Append(comma)
		}
		r.rest.Append(trimEnd(messages[last]))
	}
	r.rest.Append([]byte("]}"))
}

// earlier are the messages before the last, as a body has them.
type earlier []history.Message

func (e earlier) Len() int        { return len(e) }
func (e earlier) At(i int) []byte { return e[i].Raw }

var comma = []byte(",") //nolint:gochecknoglobals // a constant; slices cannot be one
