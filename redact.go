package toolrunner

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// Records reach this file on their way out; what is secret or long does not leave
// it.

// redactor is a handler that takes secrets out of records: those that it has
// seen on requests, and what looks like one.
type redactor struct {
	slog.Handler

	known *secrets
}

// secrets are values that no record may hold.
type secrets struct {
	mu     sync.Mutex // guards values
	values []string
}

const redacted = "[redacted]"

// looksSecret matches keys, tokens, and passwords of URLs wherever they come from;
// the groups are what stays. It is compiled for the first record.
var looksSecret = sync.OnceValue(func() *regexp.Regexp { //nolint:gochecknoglobals // a constant
	return regexp.MustCompile(
		`(sk-ant-)[\w-]{4,}` +
			`|(?i)(\b(?:bearer|basic) )[\w.~+/=-]{8,}` +
			`|(\\?"(?:authorization_token|api_?key|x-api-key|authorization)\\?"\s*:\s*\\?")[^"\\]+` +
			`|([?&](?:key|api_key|token|access_token)=)[^&\s"]+` +
			`|(://[^/@\s":]*:)[^/@\s"]+@`)
})

func newRedactor(h slog.Handler) *redactor { return &redactor{h, &secrets{}} }

// Handle passes on the record without the secrets in its text.
func (h *redactor) Handle(ctx context.Context, record slog.Record) error {
	clean := slog.NewRecord(record.Time, record.Level, record.Message, record.PC)
	record.Attrs(func(a slog.Attr) bool {
		if a.Value.Kind() == slog.KindString {
			a.Value = slog.StringValue(h.known.hide(a.Value.String()))
		}
		clean.AddAttrs(a)
		return true
	})
	return h.Handler.Handle(ctx, clean)
}

func (s *secrets) hide(text string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, value := range s.values {
		text = strings.ReplaceAll(text, value, redacted)
	}
	return looksSecret().ReplaceAllString(text, "$1$2$3$4$5"+redacted)
}

// add has a value hidden from now on. Short ones are words.
func (s *secrets) add(value string) {
	const least = 8
	s.mu.Lock()
	defer s.mu.Unlock()
	if value = strings.TrimSpace(value); len(value) >= least && !slices.Contains(s.values, value) {
		s.values = append(s.values, value)
	}
}

// addHeader adds what a header holds to say who is asking.
func (s *secrets) addHeader(header http.Header) {
	for name, values := range header {
		name = strings.ToLower(name)
		if !strings.Contains(name, "auth") && !strings.Contains(name, "key") && !strings.Contains(name, "token") &&
			!strings.Contains(name, "secret") && !strings.Contains(name, "cookie") {
			continue
		}
		for _, value := range values {
			s.add(value)
			if _, credentials, ok := strings.Cut(value, " "); ok {
				s.add(credentials)
			}
		}
	}
}

// excerpt returns the beginning of a text of any length.
func excerpt(text string) string {
	const most = 1000
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
