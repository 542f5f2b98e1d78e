package toolrunner

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"unicode/utf8"

	"go.opentelemetry.io/otel/trace"

	"github.com/toolrunner/toolrunner/internal/redact"
)

// redactor is a handler that takes secrets out of records: those that it has
// seen on requests, and what looks like one.
type redactor struct {
	slog.Handler

	known        *redact.Set
	conversation string // whose records these are; empty: it is not known
}

func newRedactor(h slog.Handler) *redactor { return &redactor{Handler: h, known: &redact.Set{}} }

// Handle passes on the record without the secrets in its text.
func (h *redactor) Handle(ctx context.Context, record slog.Record) error {
	clean := slog.NewRecord(record.Time, record.Level, h.known.Hide(record.Message), record.PC)
	record.Attrs(func(a slog.Attr) bool {
		clean.AddAttrs(h.hide(a))
		return true
	})
	if h.conversation != "" {
		clean.AddAttrs(slog.String("conversation_id", h.conversation))
	}
	if span := trace.SpanContextFromContext(ctx); span.IsValid() {
		clean.AddAttrs(slog.String("trace_id", span.TraceID().String()), slog.String("span_id", span.SpanID().String()))
	}
	return h.Handler.Handle(ctx, clean)
}

// hide returns an attribute without the secrets in its text, which it may be by its name.
func (h *redactor) hide(a slog.Attr) slog.Attr {
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
	clean := h.known.Hide(text)
	if redact.IsName(a.Key) && text != "" {
		clean = redact.Mark
	}
	if clean != text { // otherwise the handler shows the value in its own way
		a.Value = slog.StringValue(clean)
	}
	return a
}

// WithAttrs implements [slog.Handler].
func (h *redactor) WithAttrs(attrs []slog.Attr) slog.Handler {
	clean := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		clean[i] = h.hide(a)
	}
	return &redactor{h.Handler.WithAttrs(clean), h.known, h.conversation}
}

// WithGroup implements [slog.Handler].
func (h *redactor) WithGroup(name string) slog.Handler {
	return &redactor{h.Handler.WithGroup(name), h.known, h.conversation}
}

// excerpt returns the beginning of a text of any length without its secrets, which
// cannot be recognised once they are cut.
func excerpt(known *redact.Set, text string) string {
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

// elide returns JSON without its long strings, and without what is data, such as
// that of an image.
func elide(raw []byte) string {
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

// Format writes a summary: what the parameters hold may be secret.
func (p Params) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "toolrunner.Params{Model: %q, MaxTokens: %d, MaxIterations: %d, ...}", p.Model, p.MaxTokens, p.MaxIterations)
}

// LogValue returns the summary that Format writes, for records.
func (p Params) LogValue() slog.Value { return slog.StringValue(fmt.Sprint(p)) }
