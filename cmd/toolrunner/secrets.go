package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/url"
	"regexp"
	"strings"

	"github.com/toolrunner/toolrunner/internal/redact"
)

// What the user has given in confidence, and a server or an error repeats, is not
// printed.

// secretName matches names of variables, flags and members whose values are secret.
var secretName = regexp.MustCompile(`(?i)key|token|secret|pass|auth|cred`)

// randomText matches what is long enough, and mixed enough, to be a key.
var randomText = regexp.MustCompile(`^[\w.~+/=-]{16,}$`)

func looksRandom(text string) bool {
	return randomText.MatchString(text) && strings.ContainsAny(text, "0123456789") && strings.ContainsFunc(text, func(r rune) bool {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
	})
}

// secrets are texts that nobody should read in the output.
type secrets struct {
	redact.Set

	held event // text whose end may begin a secret; nil: there is none
}

// joined returns the events that may be printed now. The end of a text that may begin a
// secret waits for what follows it.
func (s *secrets) joined(e event) (now []event) {
	switch held := s.held.(type) {
	case textAdded:
		if next, ok := e.(textAdded); ok && next.Turn == held.Turn {
			next.Text = held.Text + next.Text
			e = next
		} else {
			now = append(now, held)
		}
	case thinkingAdded:
		if next, ok := e.(thinkingAdded); ok && next.Turn == held.Turn {
			next.Text = held.Text + next.Text
			e = next
		} else {
			now = append(now, held)
		}
	}
	s.held = nil
	split := func(text string) (whole, begun string) {
		text = s.hide(text)
		at := len(text) - s.Begun(text)
		return text[:at], text[at:]
	}
	switch added := e.(type) {
	case textAdded:
		whole, begun := split(added.Text)
		if begun != "" {
			s.held = textAdded{added.Turn, begun}
		}
		if e = (textAdded{added.Turn, whole}); whole == "" && begun != "" {
			return now
		}
	case thinkingAdded:
		whole, begun := split(added.Text)
		if begun != "" {
			s.held = thinkingAdded{added.Turn, begun}
		}
		if e = (thinkingAdded{added.Turn, whole}); whole == "" && begun != "" {
			return now
		}
	}
	return append(now, e)
}

// addServer adds what the description of a server holds: every value that was taken
// from a variable, and what is secret by its place, its name or its looks.
func (s *secrets) addServer(d *server) {
	s.Add(d.given...)
	for name, value := range d.Env {
		if secretName.MatchString(name) {
			s.Add(value)
		}
	}
	for _, value := range d.Headers {
		s.Add(value)
		s.Add(strings.Fields(value)...) // a scheme and what belongs to it
	}
	before := ""
	for _, argument := range d.Args {
		name, value, assigned := strings.Cut(argument, "=")
		switch {
		case assigned && secretName.MatchString(name):
			s.Add(value)
		case strings.HasPrefix(before, "-") && secretName.MatchString(before) && !strings.HasPrefix(argument, "-"), looksRandom(argument) && !strings.Contains(argument, "/"):
			s.Add(argument)
		}
		before = argument
		s.addURL(argument)
	}
	s.addURL(d.URL)
}

// addURL adds what a URL holds in its query, its path and before its host.
func (s *secrets) addURL(text string) {
	address, err := url.Parse(text)
	if err != nil || address.Host == "" {
		return
	}
	s.Add(address.RawQuery)
	for pair := range strings.SplitSeq(address.RawQuery, "&") {
		_, value, _ := strings.Cut(pair, "=")
		decoded, _ := url.QueryUnescape(value)
		s.Add(value, decoded)
	}
	password, _ := address.User.Password()
	_, escaped, _ := strings.Cut(address.User.String(), ":")
	s.Add(password, escaped)
	if looksRandom(address.User.Username()) {
		s.Add(address.User.Username())
	}
	for segment := range strings.SplitSeq(address.EscapedPath(), "/") {
		if decoded, _ := url.PathUnescape(segment); looksRandom(segment) || looksRandom(decoded) {
			s.Add(segment, decoded)
		}
	}
}

// hide returns text without the secrets.
func (s *secrets) hide(text string) string {
	return strings.ReplaceAll(s.Known(text), redact.Mark, "[secret]")
}

// hideJSON returns JSON without the secrets, also where they are written in escapes.
func (s *secrets) hideJSON(line []byte) []byte {
	var out bytes.Buffer
	for len(line) > 0 {
		begin := bytes.IndexByte(line, '"')
		if begin < 0 {
			break
		}
		end := begin + 1
		for end < len(line) && line[end] != '"' {
			if line[end] == '\\' {
				end++
			}
			end++
		}
		end = min(end+1, len(line))
		out.Write(line[:begin])
		out.Write(s.hideString(line[begin:end]))
		line = line[end:]
	}
	out.Write(line)
	return out.Bytes()
}

// hideString is hideJSON for one string, which stays as it is if it holds no secret.
func (s *secrets) hideString(quoted []byte) []byte {
	var text string
	if json.Unmarshal(quoted, &text) != nil {
		return quoted
	}
	hidden := s.hide(text)
	if hidden == text {
		return quoted
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(hidden) // of a string
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

// writer returns a writer that blots the secrets out of each write.
func (s *secrets) writer(w io.Writer) io.Writer { return &blotter{w, s} }

type blotter struct {
	w       io.Writer
	secrets *secrets
}

// Write implements [io.Writer].
func (b *blotter) Write(p []byte) (int, error) {
	if _, err := io.WriteString(b.w, b.secrets.hide(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}
