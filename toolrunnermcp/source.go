package toolrunnermcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolrunner/toolrunner"
)

// Source is the tools of one MCP server. It reads the server's list once for all runners,
// and again when the server says that the list has changed.
//
//	source, err := toolrunnermcp.NewSource(toolrunnermcp.Options{Prefix: "files_"})
//	client := mcp.NewClient(me, source.ClientOptions(nil))
//	session, err := client.Connect(ctx, transport, nil)
//	err = source.Attach(session)
//	tools, err := source.AppendTools(ctx, own)
//
// Its methods may be called from any goroutine. Make one with [NewSource], and one for
// each server; any number of them may serve one runner.
type Source struct {
	options Options
	stderr  *tail
	reading chan struct{} // holds a token while the list is read
	changed chan struct{} // holds a token if followers are to be told
	running sync.WaitGroup

	mu        sync.Mutex // guards the rest
	session   *mcp.ClientSession
	stale     bool  // the list has changed since it was read, or was not read
	list      *list // as read last; nil: it was not
	followers map[*follower]bool
	stop      context.CancelFunc // of the goroutine that tells followers; nil: there is none
	reported  bool               // the logger was told that the session has ended
	closed    bool
}

// NewSource returns a source without a session. It returns an error for options that make
// no sense.
func NewSource(options Options) (*Source, error) {
	if err := options.complete(); err != nil {
		return nil, fmt.Errorf("toolrunnermcp: %w", err)
	}
	return &Source{options: options, reading: make(chan struct{}, 1), changed: make(chan struct{}, 1), followers: make(map[*follower]bool)}, nil
}

// ClientOptions returns options of an MCP client that has the source told when the server
// changes its list: a copy of base, whose own handler is called too. Nil is the zero
// value. Without them, the source never reads the list again by itself.
func (s *Source) ClientOptions(base *mcp.ClientOptions) *mcp.ClientOptions {
	var options mcp.ClientOptions
	if base != nil {
		options = *base
	}
	next := options.ToolListChangedHandler
	options.ToolListChangedHandler = func(ctx context.Context, request *mcp.ToolListChangedRequest) {
		s.listChanged(request.Session)
		if next != nil {
			next(ctx, request)
		}
	}
	return &options
}

func (s *Source) listChanged(session *mcp.ClientSession) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.session == nil || s.session == session {
		s.stale = true
		s.wake()
	}
}

// wake has the followers told, once for all changes that come meanwhile.
func (s *Source) wake() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// Attach makes session the one that the tools are listed and called by. The caller opens
// and closes it. Another session may take its place, such as after the server ended: the
// tools that runners have then work again.
//
// Attach returns an error for a nil session, and after Close.
func (s *Source) Attach(session *mcp.ClientSession) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case session == nil:
		return errors.New("toolrunnermcp: the session is nil")
	case s.closed:
		return errClosed
	case s.session == session:
		return nil
	}
	s.session, s.stale, s.reported = session, true, false
	s.wake()
	return nil
}

var errClosed = errors.New("toolrunnermcp: the source is closed")

// Stderr returns a writer for what the server writes on its standard error, such as
// [os/exec.Cmd].Stderr. The source keeps the last 2,000 bytes. If the server ends,
// they are in the error of a call, which the model does not read, and in the logger's record.
func (s *Source) Stderr() io.Writer {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stderr == nil {
		s.stderr = &tail{}
	}
	return s.stderr
}

// Tools returns the tools of the server, sorted by name. Their Owner is the source. A
// server without tools has none to return, which is not an error.
//
// The list is read when nobody has read it yet, or when the server has said that it
// changed. One that does not come to an end is cut, which is reported to the logger. An
// error of the server while it lists is returned, as is that of ctx.
//
// Calls outlive ctx. When the session ends, the tools stay: their calls fail, and the
// model reads why.
func (s *Source) Tools(ctx context.Context) ([]*toolrunner.Tool, error) {
	return s.toolsBeside(ctx, nil)
}

// AppendTools appends the tools of the server to others of a runner, and returns all.
// A tool whose name is among those of the others gets another one. It is otherwise like Tools.
func (s *Source) AppendTools(ctx context.Context, tools []anthropic.BetaTool) ([]anthropic.BetaTool, error) {
	taken := make(map[string]bool, len(tools))
	for _, tool := range tools {
		if tool != nil {
			taken[tool.Name()] = true
		}
	}
	own, err := s.toolsBeside(ctx, taken)
	if err != nil {
		return nil, err
	}
	all := append(make([]anthropic.BetaTool, 0, len(tools)+len(own)), tools...)
	for _, tool := range own {
		all = append(all, tool)
	}
	return all, nil
}

func (s *Source) toolsBeside(ctx context.Context, taken map[string]bool) ([]*toolrunner.Tool, error) {
	l, err := s.read(ctx)
	if err != nil {
		return nil, fmt.Errorf("toolrunnermcp: %w", err)
	}
	return l.tools(ctx, s, taken), nil
}

// read returns the list of now. Whoever comes while it is read waits for it.
func (s *Source) read(ctx context.Context) (*list, error) {
	select {
	case s.reading <- struct{}{}:
		defer func() { <-s.reading }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	s.mu.Lock()
	session, known, stale, closed := s.session, s.list, s.stale, s.closed
	s.stale = s.stale && session == nil
	s.mu.Unlock()
	switch {
	case closed:
		return nil, errors.New("the source is closed")
	case session == nil:
		return nil, errors.New("the source has no session; call Attach")
	case known != nil && !stale:
		return known, nil
	}
	read, err := readList(ctx, session, &s.options, known)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.stale = true
		return nil, fmt.Errorf("listing the tools of %s: %w", s.options.server(), err)
	}
	s.list = read
	return read, nil
}

// attached returns the session that calls go to.
func (s *Source) attached() *mcp.ClientSession {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.session
}

// Close ends all that Follow began, and returns when it has ended. The runners keep the
// tools that they have, and the session stays open.
func (s *Source) Close() {
	s.mu.Lock()
	s.closed = true
	for f := range s.followers {
		delete(s.followers, f)
	}
	s.end()
	s.mu.Unlock()
	s.running.Wait()
}

// end ends the goroutine that tells followers. The caller holds mu.
func (s *Source) end() {
	if s.stop != nil {
		s.stop()
		s.stop = nil
	}
}
