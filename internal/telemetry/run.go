package telemetry

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// Attribute keys of the GenAI semantic conventions, which no package has at the version
// of OpenTelemetry's API that the SDK requires, and our own.
const (
	keyOperation      = attribute.Key("gen_ai.operation.name")
	keyProvider       = attribute.Key("gen_ai.provider.name")
	keyConversation   = attribute.Key("gen_ai.conversation.id")
	keyRequestModel   = attribute.Key("gen_ai.request.model")
	keyResponseModel  = attribute.Key("gen_ai.response.model")
	keyOutputType     = attribute.Key("gen_ai.output.type")
	keyInputTokens    = attribute.Key("gen_ai.usage.input_tokens")
	keyOutputTokens   = attribute.Key("gen_ai.usage.output_tokens")
	keyFinishReasons  = attribute.Key("gen_ai.response.finish_reasons")
	keyTokenType      = attribute.Key("gen_ai.token.type")
	keyTool           = attribute.Key("gen_ai.tool.name")
	keyToolType       = attribute.Key("gen_ai.tool.type")
	keyToolCall       = attribute.Key("gen_ai.tool.call.id")
	keyToolText       = attribute.Key("gen_ai.tool.description")
	keyArguments      = attribute.Key("gen_ai.tool.call.arguments")
	keyResult         = attribute.Key("gen_ai.tool.call.result")
	keyErrorType      = attribute.Key("error.type")
	keyTruncated      = attribute.Key("anthropic.content.truncated")
	keyToolset        = attribute.Key("anthropic.toolset.name")
	keyOutcome        = attribute.Key("toolrunner.outcome")
	keyLimit          = attribute.Key("toolrunner.limit")
	keyIterations     = attribute.Key("toolrunner.iterations")
	keyIteration      = attribute.Key("toolrunner.iteration")
	keyResumed        = attribute.Key("toolrunner.resumed")
	keyEager          = attribute.Key("toolrunner.call.eager")
	keyInterrupted    = attribute.Key("toolrunner.call.interrupted")
	keyRequestKind    = attribute.Key("toolrunner.request.kind")
	keyResponseID     = attribute.Key("gen_ai.response.id")
	keyCacheRead      = attribute.Key("gen_ai.usage.cache_read.input_tokens")
	keyCacheWrite     = attribute.Key("gen_ai.usage.cache_write.input_tokens")
	keyWritten5m      = attribute.Key("anthropic.usage.cache_creation.ephemeral_5m_input_tokens")
	keyWritten1h      = attribute.Key("anthropic.usage.cache_creation.ephemeral_1h_input_tokens")
	keyFirstChunk     = attribute.Key("gen_ai.response.time_to_first_chunk")
	keyThinking       = attribute.Key("gen_ai.usage.reasoning.output_tokens")
	keyStopReason     = attribute.Key("anthropic.message.stop_reason")
	keyServiceTier    = attribute.Key("anthropic.response.service_tier")
	providerAnthropic = "anthropic"
	operationAgent    = "invoke_agent"
	operationTool     = "execute_tool"
	operationChat     = "chat"
)

// Run is one loop over a conversation. A nil Run reports nothing. Its methods may be
// called by several goroutines.
type Run struct {
	guard

	tracer       trace.Tracer // nil: there are no spans
	span         trace.Span   // nil: there are no spans
	identity     trace.SpanContext
	isRecording  bool
	meters       *meters // nil: there are no metrics
	conversation string
	model        string
	began        time.Time

	mu    sync.Mutex
	ended bool
}

// RunStart is what is known of a run when it begins.
type RunStart struct {
	Conversation string
	Model        string
	JSON         bool   // the last reply is to be JSON
	Resumed      bool   // the conversation comes from a snapshot
	Before       string // the span of the run before, as Run.Trace returns it; empty: none is known
}

// Begin begins a run. It returns nil if nobody looks, but not where a provider blocks, so
// that it is asked once. A span that neither records nor
// has a valid context is none.
func (p Providers) Begin(ctx context.Context, start RunStart) *Run {
	p = p.resolve()
	if p.Tracer == nil && p.Meter == nil {
		return nil
	}
	r := &Run{conversation: start.Conversation, model: start.Model, began: time.Now()}
	if p.Meter != nil {
		r.meters, _ = guarded(ctx, &r.guard, func() *meters { return newMeters(p.Meter) })
	}
	if p.Tracer != nil {
		r.beginSpan(ctx, p.Tracer, start)
	}
	if r.span == nil && r.meters == nil && !r.Blocked() {
		return nil
	}
	return r
}

func (r *Run) beginSpan(ctx context.Context, provider trace.TracerProvider, start RunStart) {
	attributes := append(r.common(operationAgent), keyRequestModel.String(start.Model))
	if start.JSON {
		attributes = append(attributes, keyOutputType.String("json"))
	}
	if start.Resumed {
		attributes = append(attributes, keyResumed.Bool(true))
	}
	options := []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindInternal), trace.WithAttributes(attributes...), trace.WithTimestamp(r.began)}
	if before, ok := parseTrace(start.Before); ok {
		options = append(options, trace.WithLinks(trace.Link{SpanContext: before}))
	}
	type started struct {
		tracer      trace.Tracer
		span        trace.Span
		identity    trace.SpanContext
		isRecording bool
	}
	s, ok := guarded(ctx, &r.guard, func() started {
		tracer := provider.Tracer(scope)
		_, span := tracer.Start(ctx, operationAgent, options...)
		return started{tracer, span, span.SpanContext(), span.IsRecording()}
	})
	if ok && (s.isRecording || s.identity.IsValid()) {
		r.tracer, r.span, r.identity, r.isRecording = s.tracer, s.span, s.identity, s.isRecording
	}
}

// common returns what each span of the run has, with room for more.
func (r *Run) common(operation string) []attribute.KeyValue {
	return append(make([]attribute.KeyValue, 0, 12),
		keyOperation.String(operation), keyProvider.String(providerAnthropic), keyConversation.String(r.conversation))
}

// Context returns ctx with the span of the run as the current one.
func (r *Run) Context(ctx context.Context) context.Context {
	if r == nil || r.span == nil {
		return ctx
	}
	return trace.ContextWithSpan(ctx, r.span)
}

// IsTraced reports whether the run has a span that records, so that events are worth
// their attributes.
func (r *Run) IsTraced() bool { return r != nil && r.isRecording }

// Event adds an event to the span of the run.
func (r *Run) Event(ctx context.Context, name string, attributes ...attribute.KeyValue) {
	if r.IsTraced() {
		r.do(ctx, func() { r.span.AddEvent("toolrunner."+name, trace.WithAttributes(attributes...)) })
	}
}

// RunEnd is how a run ended.
type RunEnd struct {
	Outcome      string
	Limit        string // that was reached; empty: none
	Completed    bool
	Error        string // the type of what it failed with; empty: it did not fail
	Iterations   int
	StopReason   string // of the last reply; empty: there was none
	InputTokens  int64  // of this run, those of caches included
	OutputTokens int64
}

// End ends the run. Only the first call counts.
func (r *Run) End(ctx context.Context, end RunEnd) {
	if r == nil || !r.endOnce() {
		return
	}
	now := time.Now()
	r.meters.run(ctx, &r.guard, now.Sub(r.began), r.model, end.Error)
	if r.span == nil {
		return
	}
	attributes := append(make([]attribute.KeyValue, 0, 8), keyOutcome.String(end.Outcome), keyIterations.Int(end.Iterations),
		keyInputTokens.Int64(end.InputTokens), keyOutputTokens.Int64(end.OutputTokens))
	if end.Limit != "" {
		attributes = append(attributes, keyLimit.String(end.Limit))
	}
	if end.StopReason != "" {
		attributes = append(attributes, keyFinishReasons.StringSlice([]string{end.StopReason}))
	}
	r.do(ctx, func() {
		defer r.span.End(trace.WithTimestamp(now)) // whatever else panics
		r.span.SetAttributes(attributes...)
		switch {
		case end.Error != "":
			r.span.SetAttributes(keyErrorType.String(end.Error))
			r.span.SetStatus(codes.Error, "")
		case end.Completed:
			r.span.SetStatus(codes.Ok, "")
		}
	})
}

func (r *Run) endOnce() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	first := !r.ended
	r.ended = true
	return first
}

// Blocked reports whether a provider took too long, and got nothing more.
func (r *Run) Blocked() bool { return r != nil && r.blocked.Load() }

// Trace returns the identity of the run's span, by which a later run links to it. It is
// empty if there is none.
func (r *Run) Trace() string {
	if r == nil || !r.identity.IsValid() {
		return ""
	}
	return r.identity.TraceID().String() + "-" + r.identity.SpanID().String() + "-" + r.identity.TraceFlags().String()
}

// parseTrace reads what Run.Trace has returned.
func parseTrace(text string) (trace.SpanContext, bool) {
	const traceDigits, spanDigits = 32, 16
	if len(text) != traceDigits+spanDigits+4 || text[traceDigits] != '-' || text[traceDigits+1+spanDigits] != '-' {
		return trace.SpanContext{}, false
	}
	traceID, err := trace.TraceIDFromHex(text[:traceDigits])
	if err != nil {
		return trace.SpanContext{}, false
	}
	spanID, err := trace.SpanIDFromHex(text[traceDigits+1:][:spanDigits])
	if err != nil {
		return trace.SpanContext{}, false
	}
	config := trace.SpanContextConfig{TraceID: traceID, SpanID: spanID, Remote: true}
	if text[len(text)-1] == '1' {
		config.TraceFlags = trace.FlagsSampled
	}
	return trace.NewSpanContext(config), true
}
