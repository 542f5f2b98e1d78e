package telemetry

import (
	"context"
	"time"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// Call is a call whose handler runs. A nil Call reports nothing.
type Call struct {
	run   *Run
	span  trace.Span // nil: there are no spans
	name  string
	input []byte
	began time.Time
}

// CallStart is what is known of a call when its handler starts.
type CallStart struct {
	ID, Name    string
	Toolset     string // empty: it is of none
	Description string // of the tool, as the model reads it
	Iteration   int
	Eager       bool   // it starts while its reply streams
	Input       []byte // JSON; kept until the call ends
}

// StartCall begins the span of a call, and returns ctx with it, for the handler. ctx may
// be the caller's own: a span that is current there is the parent, and the call links to
// the run.
func (r *Run) StartCall(ctx context.Context, start CallStart) (context.Context, *Call) {
	if r == nil {
		return ctx, nil
	}
	c := &Call{run: r, name: start.Name, began: time.Now()}
	if r.tracer == nil {
		return ctx, c
	}
	if r.isRecording {
		c.input = start.Input
	}
	return c.startSpan(ctx, start), c
}

// startSpan begins the span of a call, and returns ctx with it.
func (c *Call) startSpan(ctx context.Context, start CallStart) context.Context {
	r := c.run
	attributes := append(r.common(operationTool), keyTool.String(start.Name), keyToolCall.String(start.ID),
		keyToolType.String("function"), keyIteration.Int(start.Iteration))
	if start.Description != "" && utf8.ValidString(start.Description) { // other text can fail a whole export
		attributes = append(attributes, keyToolText.String(start.Description))
	}
	if start.Toolset != "" {
		attributes = append(attributes, keyToolset.String(start.Toolset))
	}
	if start.Eager {
		attributes = append(attributes, keyEager.Bool(true))
	}
	options := []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindInternal), trace.WithAttributes(attributes...), trace.WithTimestamp(c.began)}
	type started struct {
		ctx  context.Context //nolint:containedctx // on its way out of the guard
		span trace.Span
	}
	s, ok := guarded(ctx, &r.guard, func() started {
		parent, under := trace.SpanContextFromContext(ctx), ctx
		switch {
		case !parent.IsValid():
			under = trace.ContextWithSpan(ctx, r.span)
		case parent.SpanID() != r.identity.SpanID():
			options = append(options, trace.WithLinks(trace.Link{SpanContext: r.identity}))
		}
		under, span := r.tracer.Start(under, operationTool+" "+start.Name, options...)
		return started{under, span}
	})
	if ok {
		ctx, c.span = s.ctx, s.span
	}
	return ctx
}

// WantsResult reports whether the span holds what calls are about.
func (c *Call) WantsResult() bool {
	return c != nil && c.span != nil && c.run.isRecording && wantsContent()
}

// CallEnd is how a call ended.
type CallEnd struct {
	Error       string // the type of its failure; empty: it did not fail
	Interrupted bool   // the run was cancelled: it neither failed nor succeeded
	Result      []byte // the content of the result as JSON; nil: there is none
}

// End ends the span of the call.
func (c *Call) End(ctx context.Context, end CallEnd) {
	if c == nil {
		return
	}
	now := time.Now()
	c.run.meters.call(ctx, &c.run.guard, now.Sub(c.began), c.name, end)
	if c.span == nil {
		return
	}
	c.run.do(ctx, func() {
		defer c.span.End(trace.WithTimestamp(now)) // whatever else panics
		var attributes []attribute.KeyValue
		if c.span.IsRecording() && wantsContent() {
			attributes = contents(c.input, end.Result, maxContent())
		}
		switch {
		case end.Interrupted:
			attributes = append(attributes, keyInterrupted.Bool(true))
		case end.Error != "":
			attributes = append(attributes, keyErrorType.String(end.Error))
			c.span.SetStatus(codes.Error, "")
		default:
			c.span.SetStatus(codes.Ok, "")
		}
		c.span.SetAttributes(attributes...)
	})
}
