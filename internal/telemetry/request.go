package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// Request is a request that has a span, which the SDK has made. The SDK decodes no reply of
// the runner's, so what a reply says of itself is added here. A nil Request reports nothing.
type Request struct {
	run   *Run
	span  trace.Span
	began time.Time
}

// Request gives the span of a request, if its context has one, what leads from it to the
// run's records.
func (r *Run) Request(sent *http.Request, iteration int, kind string) *Request {
	if !r.IsTraced() {
		return nil
	}
	q, _ := guarded(sent.Context(), &r.guard, func() *Request { //nolint:contextcheck // the request has it
		span := trace.SpanFromContext(sent.Context())
		if span.SpanContext().SpanID() == r.identity.SpanID() {
			return nil
		}
		span.SetAttributes(keyIteration.Int(iteration), keyRequestKind.String(kind))
		return &Request{r, span, time.Now()}
	})
	return q
}

// Observe has the span learn from the body of a response while that is read: the SDK ends
// the span at the body's end.
func (q *Request) Observe(ctx context.Context, response *http.Response) {
	if q == nil || response.Body == nil || response.StatusCode != http.StatusOK {
		return
	}
	o := &observed{ReadCloser: response.Body, tell: func(a ...attribute.KeyValue) {
		if len(a) > 0 {
			q.run.do(ctx, func() { q.span.SetAttributes(a...) })
		}
	}}
	o.streams = strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream")
	o.began = q.began
	response.Body = o
}

// observed is a body that tells what is said in it of the reply.
type observed struct {
	io.ReadCloser

	tell    func(...attribute.KeyValue)
	streams bool
	began   time.Time
	chunk   bool   // content has come
	kept    []byte // what is still to be looked at: the message, or a line of a stream
	skips   bool   // the line is of no interest
}

// maxLine bounds the lines that are looked at: what counts is in short ones.
const maxLine = 64 << 10

func (o *observed) Read(p []byte) (int, error) {
	n, err := o.ReadCloser.Read(p)
	if o.streams {
		o.lines(p[:n])
	} else {
		o.kept = append(o.kept, p[:n]...)
	}
	if err == io.EOF {
		o.tell(aboutReply(o.kept)...)
		o.kept = nil
	}
	return n, err
}

// lines looks at each line of a stream once it is complete.
func (o *observed) lines(data []byte) {
	for len(data) > 0 {
		end := bytes.IndexByte(data, '\n')
		part := data
		if end >= 0 {
			part = data[:end]
		}
		if o.skips = o.skips || len(o.kept)+len(part) > maxLine; !o.skips {
			o.kept = append(o.kept, part...)
		}
		if end < 0 {
			return
		}
		o.line(o.kept)
		o.kept, o.skips = o.kept[:0], false
		data = data[end+1:]
	}
}

func (o *observed) line(line []byte) {
	data, ok := bytes.CutPrefix(line, []byte("data:"))
	switch {
	case !ok:
	case bytes.Contains(data, []byte(`"message_start"`)), bytes.Contains(data, []byte(`"message_delta"`)):
		o.tell(aboutReply(data)...)
	case !o.chunk && bytes.Contains(data, []byte(`"content_block_delta"`)):
		o.chunk = true
		o.tell(keyFirstChunk.Float64(time.Since(o.began).Seconds()))
	}
}

// about is what a message, or an event, says of a reply.
type about struct {
	Message *about `json:"message"` // of a message_start

	ID         string  `json:"id"`
	Model      string  `json:"model"`
	StopReason *string `json:"stop_reason"`
	Delta      struct {
		StopReason *string `json:"stop_reason"`
	} `json:"delta"`
	Usage struct {
		Input      *int64  `json:"input_tokens"`
		CacheRead  *int64  `json:"cache_read_input_tokens"`
		CacheWrite *int64  `json:"cache_creation_input_tokens"`
		Output     *int64  `json:"output_tokens"`
		Tier       *string `json:"service_tier"`
		Written    struct {
			FiveMinutes *int64 `json:"ephemeral_5m_input_tokens"`
			Hour        *int64 `json:"ephemeral_1h_input_tokens"`
		} `json:"cache_creation"`
		Details struct {
			Thinking *int64 `json:"thinking_tokens"`
		} `json:"output_tokens_details"`
	} `json:"usage"`
}

// aboutReply returns the attributes that the SDK sets for the replies that it decodes.
func aboutReply(object []byte) []attribute.KeyValue {
	var a about
	if json.Unmarshal(object, &a) != nil {
		return nil
	}
	if a.Message != nil {
		a = *a.Message
	}
	var list []attribute.KeyValue
	texts := []struct {
		key   attribute.Key
		value *string
	}{{keyResponseID, &a.ID}, {keyResponseModel, &a.Model}, {keyStopReason, a.StopReason}, {keyStopReason, a.Delta.StopReason}, {keyServiceTier, a.Usage.Tier}}
	for _, text := range texts {
		if text.value != nil && *text.value != "" {
			list = append(list, text.key.String(*text.value))
		}
	}
	u := &a.Usage
	if u.Input != nil {
		all := *u.Input // the conventions count those of caches as well
		for _, cached := range []*int64{u.CacheRead, u.CacheWrite} {
			if cached != nil {
				all += *cached
			}
		}
		u.Input = &all
	}
	counts := []struct {
		key   attribute.Key
		value *int64
	}{
		{keyInputTokens, u.Input},
		{keyCacheRead, u.CacheRead},
		{keyCacheWrite, u.CacheWrite},
		{keyOutputTokens, u.Output},
		{keyThinking, u.Details.Thinking},
		{keyWritten5m, u.Written.FiveMinutes},
		{keyWritten1h, u.Written.Hour},
	}
	for _, count := range counts {
		if count.value != nil {
			list = append(list, count.key.Int64(*count.value))
		}
	}
	return list
}
