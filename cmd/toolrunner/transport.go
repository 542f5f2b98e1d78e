package main

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// transport returns the way to the server. What its process writes on stderr
// goes to last.
func (s *server) transport(ctx context.Context, last io.Writer) mcp.Transport {
	client := &http.Client{Transport: &headers{s.Headers, s.URL, http.DefaultTransport}}
	switch s.Type {
	case overHTTP:
		return &mcp.StreamableClientTransport{Endpoint: s.URL, HTTPClient: client}
	case overSSE:
		return &mcp.SSEClientTransport{Endpoint: s.URL, HTTPClient: client}
	}
	command := exec.CommandContext(context.WithoutCancel(ctx), s.Command, s.Args...)
	command.Dir = s.Cwd
	command.Env = withoutKeys(os.Environ())
	for name, value := range s.Env {
		command.Env = append(command.Env, name+"="+value)
	}
	command.Stderr = last
	inGroup(command)
	return &mcp.CommandTransport{Command: command, TerminateDuration: endTime}
}

// withoutKeys returns the environment without what is for the API alone.
func withoutKeys(environment []string) []string {
	var kept []string
	for _, pair := range environment {
		if !strings.HasPrefix(strings.ToUpper(pair), "ANTHROPIC_") {
			kept = append(kept, pair)
		}
	}
	return kept
}

// headers adds headers to the requests that go to a server, and to no other that
// it may redirect to.
type headers struct {
	values map[string]string
	url    string
	next   http.RoundTripper
}

// RoundTrip implements [http.RoundTripper].
func (h *headers) RoundTrip(r *http.Request) (*http.Response, error) {
	server, err := url.Parse(h.url)
	if err == nil && r.URL.Scheme == server.Scheme && r.URL.Host == server.Host {
		r = r.Clone(r.Context())
		for name, value := range h.values {
			r.Header.Set(name, value)
		}
	}
	return h.next.RoundTrip(r)
}
