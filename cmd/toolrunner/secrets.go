package main

import (
	"io"
	"net/url"
	"regexp"
	"strings"
)

// What the user has given in confidence, and a server or an error repeats, is not
// printed.

// secretName matches names of variables whose values are secret.
var secretName = regexp.MustCompile(`(?i)key|token|secret|pass|auth|cred`)

// secrets are texts that nobody should read in the output.
type secrets []string

// add adds a secret. What is shorter than any secret is left out: blotting it out
// would only spoil the output.
func (s *secrets) add(values ...string) {
	const shortest = 8
	for _, value := range values {
		if len(value) >= shortest {
			*s = append(*s, value)
		}
	}
}

// addServer adds what the description of a server holds.
func (s *secrets) addServer(d *server) {
	for name, value := range d.Env {
		if secretName.MatchString(name) {
			s.add(value)
		}
	}
	for _, value := range d.Headers {
		s.add(value)
		s.add(strings.Fields(value)...) // a scheme and what belongs to it
	}
	if address, err := url.Parse(d.URL); err == nil {
		s.add(address.RawQuery)
		for _, values := range address.Query() {
			s.add(values...)
		}
		password, _ := address.User.Password()
		s.add(password)
	}
}

// writer returns a writer that blots the secrets out of each write.
func (s *secrets) writer(w io.Writer) io.Writer {
	pairs := make([]string, 0, 2*len(*s))
	for _, secret := range *s {
		pairs = append(pairs, secret, "[secret]")
	}
	return &blotter{w, strings.NewReplacer(pairs...)}
}

type blotter struct {
	w       io.Writer
	secrets *strings.Replacer
}

// Write implements [io.Writer].
func (b *blotter) Write(p []byte) (int, error) {
	if _, err := b.secrets.WriteString(b.w, string(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}
