package toolrunnertest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// The headers that a recording keeps. All others are left out: keys, cookies and names of organizations are in headers.
func keptRequestHeaders() []string {
	return []string{"Anthropic-Version", "Anthropic-Beta", "Content-Type"}
}

func keptResponseHeaders() []string {
	return []string{"Content-Type", "Retry-After", "Retry-After-Ms", "X-Should-Retry", "Request-Id"}
}

// exchange is what a recording keeps of a request and its response beside their bodies: the content of NNN.json. The
// bodies are in NNN.request.json, and in NNN.response.sse or NNN.response.json.
type exchange struct {
	Method   string      `json:"method"`
	Path     string      `json:"path"`
	Sent     http.Header `json:"request_headers"`
	Status   int         `json:"status"`
	Received http.Header `json:"response_headers"`
	Broken   bool        `json:"broken,omitempty"` // the response did not arrive whole
}

// Record returns a handler that passes requests on to an endpoint, such as
// https://api.anthropic.com, and writes them and their responses into a folder,
// which it empties of an earlier recording at the first response. [Replay] plays
// it. The bodies are written as they are, without the tokens and queries of
// mcp_servers; of the headers, only those that tell nothing about who sent them; of
// the query, only the parameter beta.
func Record(dir, endpoint string) (http.Handler, error) {
	return newRecorder(dir, endpoint)
}

func newRecorder(dir, endpoint string) (*recorder, error) {
	target, err := url.Parse(endpoint)
	if err == nil && (target.Scheme == "" || target.Host == "") {
		err = fmt.Errorf("%q is not the URL of an endpoint", endpoint)
	}
	if err != nil {
		return nil, fmt.Errorf("toolrunnertest: %w", err)
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, fmt.Errorf("toolrunnertest: %w", err)
	}
	r := &recorder{dir: dir}
	r.begin = sync.OnceValue(func() error { return clearRecording(dir) })
	r.proxy = &httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) {
			p.SetURL(target)
			p.Out.Header.Del("Accept-Encoding") // the transport asks for what it can undo
		},
		ModifyResponse: r.received,
		FlushInterval:  -1,
		ErrorHandler:   r.unreachable,
		ErrorLog:       slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
	}
	return r, nil
}

// recordAside makes the recorder write beside its folder, where nothing is lost before publish.
func (r *recorder) recordAside() error {
	aside, err := os.MkdirTemp(filepath.Dir(filepath.Clean(r.dir)), filepath.Base(r.dir)+".recording-")
	if err != nil {
		return fmt.Errorf("toolrunnertest: %w", err)
	}
	r.final, r.dir = r.dir, aside
	return nil
}

// publish puts what was recorded aside in the place of an earlier recording. It does not if something is missing.
func (r *recorder) publish() error {
	defer os.RemoveAll(r.dir) //nolint:errcheck // a temporary folder that is left does no harm
	if err := r.failure(); err != nil {
		return err
	}
	entries, err := os.ReadDir(r.dir)
	if err != nil || len(entries) == 0 {
		return err
	}
	if err := clearRecording(r.final); err != nil {
		return err
	}
	for _, entry := range entries {
		if err := os.Rename(filepath.Join(r.dir, entry.Name()), filepath.Join(r.final, entry.Name())); err != nil {
			return err
		}
	}
	return nil
}

// clearRecording makes dir a folder without a recording.
func clearRecording(dir string) error {
	for _, pattern := range []string{"[0-9][0-9][0-9].json", "[0-9][0-9][0-9].request.json", "[0-9][0-9][0-9].response.*"} {
		old, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return err
		}
		for _, path := range old {
			if err := os.Remove(path); err != nil {
				return err
			}
		}
	}
	return nil
}

// recorder writes each exchange when it is over.
type recorder struct {
	dir   string // where it writes
	final string // where that goes in the end, if it is elsewhere
	begin func() error
	proxy *httputil.ReverseProxy

	mu    sync.Mutex
	count int
	err   error // the first
}

type pendingKey struct{}

// pending is an exchange that is under way.
type pending struct {
	exchange

	number         int
	sent, received []byte
}

// ServeHTTP passes a request on.
func (r *recorder) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	r.pass(w, req, body, func(*pending) {})
}

// pass passes a request with this body on, and calls done once its response has been written down.
func (r *recorder) pass(w http.ResponseWriter, req *http.Request, body []byte, done func(*pending)) {
	r.mu.Lock()
	r.count++
	p := &pending{number: r.count, sent: body, exchange: exchange{
		Method: req.Method, Path: blotQuery(req.URL.RequestURI()), Sent: only(req.Header, keptRequestHeaders()),
	}}
	r.mu.Unlock()
	defer func() { done(p) }() // the proxy panics where the connection breaks
	req = req.WithContext(context.WithValue(req.Context(), pendingKey{}, p))
	req.Body = io.NopCloser(bytes.NewReader(body))
	req.ContentLength = int64(len(body))
	r.proxy.ServeHTTP(w, req)
}

// received begins to copy a response, and writes the exchange once its body is closed.
func (r *recorder) received(res *http.Response) error {
	p, ok := res.Request.Context().Value(pendingKey{}).(*pending)
	if !ok {
		return nil
	}
	p.Status, p.Received = res.StatusCode, only(res.Header, keptResponseHeaders())
	res.Body = &copied{body: res.Body, done: func(body []byte, whole bool) {
		p.received, p.Broken = body, !whole
		r.save(p)
	}}
	return nil
}

// maxExchanges is how many exchanges the names of files have room for.
const maxExchanges = 999

func (r *recorder) save(p *pending) {
	meta, err := json.MarshalIndent(p.exchange, "", "  ")
	if p.number > maxExchanges {
		err = fmt.Errorf("there are more than %d exchanges", maxExchanges)
	}
	if err == nil {
		err = r.begin()
	}
	name := filepath.Join(r.dir, fmt.Sprintf("%03d", p.number))
	kind := ".response.json"
	if p.streamed() {
		kind = ".response.sse"
	}
	for _, file := range []struct {
		suffix string
		data   []byte
	}{{".request.json", blotBody(p.sent)}, {kind, p.received}, {".json", append(meta, '\n')}} {
		if err == nil {
			err = os.WriteFile(name+file.suffix, file.data, 0o600)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = cmp.Or(r.err, err)
}

func (p *pending) streamed() bool {
	return strings.HasPrefix(p.Received.Get("Content-Type"), "text/event-stream")
}

// message returns the message that was received, nil if it was none.
func (p *pending) message() json.RawMessage {
	switch {
	case p.Status != http.StatusOK:
		return nil
	case p.streamed():
		return accumulate(string(p.received))
	case json.Valid(p.received):
		return p.received
	}
	return nil
}

// unreachable answers where the endpoint does not. If it is not the program that has gone, the recording lacks something.
func (r *recorder) unreachable(w http.ResponseWriter, _ *http.Request, err error) {
	if !errors.Is(err, context.Canceled) {
		r.mu.Lock()
		r.err = cmp.Or(r.err, err)
		r.mu.Unlock()
	}
	w.WriteHeader(http.StatusBadGateway)
}

// failure returns what could not be recorded.
func (r *recorder) failure() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// only returns the headers of these names.
func only(header http.Header, names []string) http.Header {
	kept := http.Header{}
	for key, values := range header {
		if slices.Contains(names, key) {
			kept[key] = values
		}
	}
	return kept
}

// blotted stands for what a recording does not keep.
const blotted = "BLOTTED"

// blotQuery blots the parameters of a URI or URL that may be secrets: all but beta.
func blotQuery(uri string) string {
	path, query, found := strings.Cut(uri, "?")
	if !found {
		return uri
	}
	parts := strings.Split(query, "&")
	for i, part := range parts {
		if key, _, _ := strings.Cut(part, "="); key != "beta" {
			parts[i] = key + "=" + blotted
		}
	}
	return path + "?" + strings.Join(parts, "&")
}

// blotBody blots the secrets of MCP servers: their tokens, and what their URLs have beside the host and the path. All
// other bytes stay.
func blotBody(body []byte) json.RawMessage {
	servers := asList(asObject(body)["mcp_servers"])
	if len(servers) == 0 {
		return body
	}
	list := make([]string, len(servers))
	for i, raw := range servers {
		server := string(raw)
		fields := asObject(raw)
		if !absent(fields["authorization_token"]) {
			server = set(server, "authorization_token", quote(blotted))
		}
		if address, err := url.Parse(asString(fields["url"])); err == nil && (address.RawQuery != "" || address.User != nil) {
			if address.User != nil {
				address.User = url.User(blotted)
			}
			server = set(server, "url", quote(blotQuery(address.String())))
		}
		list[i] = server
	}
	return json.RawMessage(set(string(body), "mcp_servers", "["+strings.Join(list, ",")+"]"))
}

// copied is a body that keeps what is read from it.
type copied struct {
	body  io.ReadCloser
	read  bytes.Buffer
	whole bool
	done  func(body []byte, whole bool)
}

func (c *copied) Read(p []byte) (int, error) {
	n, err := c.body.Read(p)
	c.read.Write(p[:n])
	c.whole = c.whole || err == io.EOF
	return n, err
}

func (c *copied) Close() error {
	c.done(c.read.Bytes(), c.whole)
	return c.body.Close()
}
