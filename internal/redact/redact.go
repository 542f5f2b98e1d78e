// Package redact hides secrets in text: values that it was told of, and what looks
// like a key, a token or a password.
package redact

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
)

const (
	// Mark stands in the place of a secret.
	Mark = "[redacted]"

	shortest = 8   // of a secret: hiding shorter ones would spoil the text
	most     = 256 // values of a set: a signature of each request is a new one
)

// Set is values to be hidden. The zero Set hides none. It is safe for concurrent use.
type Set struct {
	mu     sync.Mutex // guards what follows
	age    []string   // oldest first
	values []string   // longest first, so that no value leaves the rest of a longer one
}

// Add adds values to the set. Those of less than 8 bytes are ignored. The set keeps
// the 256 values that were added last.
func (s *Set) Add(values ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, value := range values {
		if value = strings.TrimSpace(value); len(value) < shortest {
			continue
		}
		if at := slices.Index(s.age, value); at >= 0 {
			s.age = append(slices.Delete(s.age, at, at+1), value)
			continue
		}
		if len(s.age) == most {
			gone := s.age[0]
			s.age = slices.Delete(s.age, 0, 1)
			s.values = slices.DeleteFunc(s.values, func(v string) bool { return v == gone })
		}
		s.age = append(s.age, value)
		at, _ := slices.BinarySearchFunc(s.values, len(value), func(v string, size int) int { return size - len(v) })
		s.values = slices.Insert(s.values, at, value)
	}
}

// AddHeader adds the values of headers that say who is asking.
func (s *Set) AddHeader(header http.Header) {
	for name, values := range header {
		if !headerName().MatchString(name) {
			continue
		}
		for _, value := range values {
			s.Add(value)
			if _, credentials, ok := strings.Cut(value, " "); ok {
				s.Add(credentials)
			}
		}
	}
}

// Known returns text without the values of the set.
func (s *Set) Known(text string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, value := range s.values {
		text = strings.ReplaceAll(text, value, Mark)
	}
	return text
}

// Hide returns text without the values of the set and without what looks like a
// secret. Cut a text after Hide, never before: half a secret is not recognised.
func (s *Set) Hide(text string) string {
	text = s.Known(text)
	for _, l := range looks() {
		text = l.pattern.ReplaceAllString(text, l.with)
	}
	return text
}

// look is what a kind of secret looks like.
type look struct {
	pattern *regexp.Regexp
	with    string
}

// names are what the names of secrets end with.
const names = `(?:pass(?:word|wd|phrase)?|pwd|secret|token|credentials?|signature|(?:api|access|secret|private|auth|account|signing|encryption)[_-]?key(?:[_-]?id)?|authorization)`

//nolint:gochecknoglobals // constants, compiled for the first text
var (
	headerName = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)auth|key|token|secret|cookie|signature|credential`)
	})

	looks = sync.OnceValue(func() []look {
		hide := func(pattern, with string) look { return look{regexp.MustCompile(pattern), with} }
		return []look{
			// Keys in PEM, also where the text is quoted or torn.
			hide(`-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|$)`, Mark),
			// Members of JSON, and of JSON in a JSON string.
			hide(`(?i)(\\"[\w.-]*`+names+`\\"\s*:\s*\\")(?:[^"\\]|\\\\\\?.)+`, "${1}"+Mark),
			hide(`(?i)("[\w.-]*`+names+`"\s*:\s*")(?:[^"\\]|\\.)+`, "${1}"+Mark),
			// Headers, to the end of the line.
			hide(`(?i)(\b(?:(?:proxy-)?authorization|x-api-key|api-key|[\w-]*-(?:auth|token|key|secret|signature)|(?:set-)?cookie)\s*:\s*)[^\s"'\\][^\r\n"'\\]*`, "${1}"+Mark),
			// Names and values, as in queries, forms, and files of variables.
			hide(`(?i)((?:^|[^\w.-])[\w.-]*`+names+`\s?[=:]\s?)(?:"[^"]+"|'[^']+'|[^\s&"',;\\\[][^\s&"',;\\]*)`, "${1}"+Mark),
			hide(`(?i)([?&](?:key|sig|code|auth)=)[^&\s"'\\]+`, "${1}"+Mark),
			// Whoever is named before the host of a URL.
			hide(`(://(?:[^/@\s":\\]*:)?)[^/\s"\\]+@`, "${1}"+Mark+"@"),
			hide(`(?i)(\b(?:bearer|basic) )[\w.~+/=-]{8,}`, "${1}"+Mark),
			// Keys that say whose they are.
			hide(`\b(sk-ant-)[\w-]{4,}`, "${1}"+Mark),
			hide(`\b(?:A(?:KIA|SIA)[0-9A-Z]{16}|(?:gh[pousr]|github_pat|npm|hf)_\w{16,}|glpat-[\w-]{16,}|xox[abeoprs]-[\w-]{10,}|[rsp]k_(?:live|test)_\w{10,}|`+
				`sk-[\w-]{20,}|AIza[\w-]{30,}|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]+)`, Mark),
		}
	})
)
