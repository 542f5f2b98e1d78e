package toolrunnermcp

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	maxStderr = 2000            // bytes that are kept
	endTime   = 2 * time.Second // for a server that has hung up to end
)

// tail keeps the end of what is written.
type tail struct {
	mu   sync.Mutex // guards text
	text []byte
}

// Write implements [io.Writer].
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p[max(0, len(p)-maxStderr):]...)
	if n := len(t.text) - maxStderr; n > 0 {
		t.text = append(t.text[:0], t.text[n:]...)
	}
	return len(p), nil
}

// String returns what was kept.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.ToValidUTF8(string(bytes.TrimSpace(t.text)), "")
}

// LastWords returns the end of what the server has written to Stderr.
func (s *Source) LastWords() string {
	s.mu.Lock()
	stderr := s.stderr
	s.mu.Unlock()
	if stderr == nil {
		return ""
	}
	return stderr.String()
}

// mourn returns the end of what the server of a session wrote, if it has ended. It waits for
// the server to have written it, and tells the logger once.
func (s *Source) mourn(ctx context.Context, session *mcp.ClientSession, cause error) string {
	over := errors.Is(cause, mcp.ErrConnectionClosed) || errors.Is(cause, mcp.ErrSessionMissing)
	s.mu.Lock()
	hears := s.stderr != nil
	s.mu.Unlock()
	if hears {
		over = hasEnded(ctx, session) || over
	}
	if !over {
		return ""
	}
	words := s.LastWords()
	s.mu.Lock()
	known := s.reported || s.session != session
	s.reported = s.reported || s.session == session
	s.mu.Unlock()
	if !known {
		s.options.Logger.WarnContext(ctx, "an MCP server has ended: its tools work no longer", slog.Any("error", cause), slog.String("stderr", words))
	}
	return words
}

// hasEnded waits for a session to end, but not long.
func hasEnded(ctx context.Context, session *mcp.ClientSession) bool {
	ended := make(chan struct{})
	go func() { // as long as the session
		defer close(ended)
		_ = session.Wait()
	}()
	late := time.NewTimer(endTime)
	defer late.Stop()
	select {
	case <-ended:
		return true
	case <-late.C:
	case <-ctx.Done():
	}
	return false
}
