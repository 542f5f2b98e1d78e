package redact

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"unicode/utf8"

	"go.opentelemetry.io/otel/trace"
)

// Handler is a handler that takes secrets out of records: those that it has
// seen on requests, and what looks like one.
type Handler struct {
	slog.Handler

	Known        *Set
	Conversation string // whose records these are; empty: it is not known
}

// NewHandler returns a handler that passes records on to h.
func NewHandler(h slog.Handler) *Handler { return &Handler{Handler: h, Known: &Set{}} }

// Handle passes on the record without the secrets in its text.
func (h *Handler) Handle(ctx context.Context, record slog.Record) error {
	clean := slog.NewRecord(record.Time, record.Level, h.Known.Hide(record.Message), record.PC)
	record.Attrs(func(a slog.Attr) bool {
		clean.AddAttrs(h.hide(a))
		return true
	})
	if h.Conversation != "" {
		clean.AddAttrs(slog.String("conversation_id", h.Conversation))
	}
	if span := trace.SpanContextFromContext(ctx); span.IsValid() {
		clean.AddAttrs(slog.String("trace_id", span.TraceID().String()), slog.String("span_id", span.SpanID().String()))
	}
	return h.Handler.Handle(ctx, clean)
}

// hide returns an attribute without the secrets in its text, which it may be by its name.
func (h *Handler) hide(a slog.Attr) slog.Attr {
	a.Value = a.Value.Resolve()
	kind := a.Value.Kind()
	if kind == slog.KindGroup {
		group := slices.Clone(a.Value.Group())
		for i := range group {
			group[i] = h.hide(group[i])
		}
		a.Value = slog.GroupValue(group...)
	}
	if kind != slog.KindString && kind != slog.KindAny {
		return a
	}
	text := fmt.Sprintf("%+v", a.Value.Any())
	clean := h.Known.Hide(text)
	if IsName(a.Key) && text != "" {
		clean = Mark
	}
	if clean != text { // otherwise the handler shows the value in its own way
		a.Value = slog.StringValue(clean)
	}
	return a
}

// WithAttrs implements [slog.Handler].
func (h *Handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	clean := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		clean[i] = h.hide(a)
	}
	return &Handler{h.Handler.WithAttrs(clean), h.Known, h.Conversation}
}

// WithGroup implements [slog.Handler].
func (h *Handler) WithGroup(name string) slog.Handler {
	return &Handler{h.Handler.WithGroup(name), h.Known, h.Conversation}
}

// Excerpt returns the beginning of a text of any length without its secrets, which
// cannot be recognised once they are cut.
func Excerpt(known *Set, text string) string {
	const most, looked = 1000, 64 << 10
	text = known.Hide(text[:min(len(text), looked)])
	if len(text) <= most {
		return text
	}
	cut := most
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "..."
}

// Elide returns JSON without its long strings, and without what is data, such as
// that of an image.
func Elide(raw []byte) string {
	const most = 1000
	out := make([]byte, 0, min(len(raw), 4*most))
	isData := false // the value that comes next
	for i := 0; i < len(raw); i++ {
		if raw[i] != '"' {
			if raw[i] != ':' && raw[i] != ' ' {
				isData = false
			}
			out = append(out, raw[i])
			continue
		}
		start := i
		for i++; i < len(raw) && raw[i] != '"'; i++ {
			if raw[i] == '\\' {
				i++
			}
		}
		text := raw[start:min(i+1, len(raw))]
		if len(text) > most || isData {
			out = append(strconv.AppendInt(append(out, '<'), int64(len(text)), 10), " bytes>"...)
		} else {
			out = append(out, text...)
		}
		isData = string(text) == `"data"` && i+1 < len(raw) && raw[i+1] == ':'
	}
	return string(out)
}
