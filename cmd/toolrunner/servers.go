package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// server is an MCP server as the file of -mcp describes it.
type server struct {
	name  string
	given []string // values of variables

	Type     string            `json:"type"`
	Command  string            `json:"command"`
	Args     []string          `json:"args"`
	Env      map[string]string `json:"env"`
	Cwd      string            `json:"cwd"`
	URL      string            `json:"url"`
	Headers  map[string]string `json:"headers"`
	Disabled bool              `json:"disabled"`

	TrustAnnotations bool `json:"trustAnnotations"`
}

// readServers returns the servers of a file that are not disabled, sorted by
// name. What the file refers to is taken from env.
func readServers(path string, env func(string) string) ([]server, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var file struct {
		Servers map[string]server `json:"mcpServers"`
	}
	if err := json.Unmarshal(bytes.TrimPrefix(text, []byte("\uFEFF")), &file); err != nil {
		return nil, decoding(path, text, err)
	}
	if file.Servers == nil {
		return nil, fmt.Errorf("%s: there is no mcpServers in it", path)
	}
	var servers []server
	for name, s := range file.Servers {
		s.name = name
		if s.Disabled {
			continue
		}
		if err := s.complete(env); err != nil {
			return nil, fmt.Errorf("%s: server %q: %w", path, name, err)
		}
		servers = append(servers, s)
	}
	if err := differ(servers); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	slices.SortFunc(servers, func(a, b server) int { return strings.Compare(a.name, b.name) })
	return servers, nil
}

// differ returns an error if the tools of two servers would have one prefix: a rule for
// one server would hold for the other.
func differ(servers []server) error {
	names := make(map[string]string)
	for _, s := range servers {
		key := strings.ToLower(prefix(s.name))
		if other, ok := names[key]; ok {
			first, second := min(other, s.name), max(other, s.name)
			return fmt.Errorf("the servers %q and %q would both name their tools %s...; rename one", first, second, prefix(s.name))
		}
		names[key] = s.name
	}
	return nil
}

// decoding says what is wrong with a text that cannot be decoded, and in which line.
func decoding(path string, text []byte, err error) error {
	offset := int64(-1)
	if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
		offset = syntax.Offset
	}
	if kind := (*json.UnmarshalTypeError)(nil); errors.As(err, &kind) {
		offset = kind.Offset
		err = fmt.Errorf("%s is of the type %s; it has to be %s", cmp.Or(kind.Field, "the whole"), kind.Value, nameOf(kind.Type))
	}
	if offset < 0 || offset > int64(len(text)) {
		return fmt.Errorf("%s: %w", path, err)
	}
	return fmt.Errorf("%s:%d: %w", path, 1+bytes.Count(text[:offset], []byte("\n")), err)
}

// nameOf returns what JSON calls a type.
func nameOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Slice:
		return "an array of strings"
	case reflect.Map, reflect.Struct:
		return "an object"
	case reflect.Bool:
		return "true or false"
	default:
		return "a " + t.String()
	}
}

// The ways to reach a server.
const (
	overStdio = "stdio"
	overHTTP  = "http"
	overSSE   = "sse"
)

// complete puts values in the place of variables and says what is wrong.
func (s *server) complete(env func(string) string) error {
	if err := s.expand(env); err != nil {
		return err
	}
	switch s.Type {
	case "":
		s.Type = overStdio
		if s.Command == "" {
			s.Type = overHTTP
		}
	case "streamable-http", "streamableHttp", "streamable_http":
		s.Type = overHTTP
	case overStdio, overHTTP, overSSE:
	default:
		return fmt.Errorf("its type is %q; it may be stdio, http or sse", s.Type)
	}
	switch {
	case s.Command == "" && s.URL == "":
		return errors.New("it has neither a command nor a url")
	case s.Type == overStdio && s.Command == "":
		return errors.New("it has no command")
	case s.Type == overStdio:
		return nil
	case s.URL == "":
		return errors.New("it has no url")
	}
	if !isHTTP(s.URL) {
		return errors.New("its url is not one that begins with http:// or https://")
	}
	return nil
}

// isHTTP reports whether text is a URL of HTTP.
func isHTTP(text string) bool {
	address, err := url.Parse(text)
	return err == nil && address.Host != "" && (address.Scheme == "http" || address.Scheme == "https")
}

// variable matches a reference to a variable of the environment, as in ${NAME}
// and ${NAME:-default}.
var variable = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)(:-[^}]*)?\}`)

// expand puts values in the place of variables.
func (s *server) expand(env func(string) string) error {
	var missing error
	replace := func(text *string) {
		*text = variable.ReplaceAllStringFunc(*text, func(reference string) string {
			parts := variable.FindStringSubmatch(reference)
			if value := env(parts[1]); value != "" {
				s.given = append(s.given, value)
				return value
			}
			if parts[2] == "" && missing == nil {
				missing = fmt.Errorf("the variable %s is not set", parts[1])
			}
			return strings.TrimPrefix(parts[2], ":-")
		})
	}
	replace(&s.Command)
	replace(&s.Cwd)
	replace(&s.URL)
	for i := range s.Args {
		replace(&s.Args[i])
	}
	for _, values := range []map[string]string{s.Env, s.Headers} {
		for name, value := range values {
			replace(&value)
			values[name] = value
		}
	}
	return missing
}
