// Package redact hides secrets in text: values that it was told of, and what looks
// like a key, a token or a password.
package redact

import (
	"net/http"
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

// Begun returns how many bytes at the end of text may be the beginning of a value of the
// set, whose rest is still to come.
func (s *Set) Begun(text string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	begun := 0
	for _, value := range s.values {
		for n := min(len(value)-1, len(text)); n > begun; n-- {
			if strings.HasSuffix(text, value[:n]) {
				begun = n
			}
		}
	}
	return begun
}

// Hide returns text without the values of the set and without what looks like a
// secret. Cut a text after Hide, never before: half a secret is not recognised.
func (s *Set) Hide(text string) string {
	text = s.Known(text)
	for _, l := range looks() {
		text = l.pattern.ReplaceAllString(text, l.with)
	}
	return hideNamed(text)
}

// IsName reports whether a value of that name is a secret.
func IsName(name string) bool { return named().MatchString(name + "=") }
