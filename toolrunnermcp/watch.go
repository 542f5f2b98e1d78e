package toolrunnermcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolrunner/toolrunner"
)

// A server says that its list of tools has changed; the runners that have its
// tools are told what is new.

// Watcher keeps the tools of runners in step with servers that change theirs. It
// must be there before the session is:
//
//	var watcher toolrunnermcp.Watcher
//	defer watcher.Close()
//	client := mcp.NewClient(me, &mcp.ClientOptions{ToolListChangedHandler: watcher.ToolListChanged})
//
// The zero value is ready, and its methods may be called from any goroutine. One
// watcher serves any number of sessions and runners.
type Watcher struct {
	mu         sync.Mutex
	followings map[*following]bool
	closed     bool

	running sync.WaitGroup
}

// ToolListChanged is for [mcp.ClientOptions].ToolListChangedHandler. A handler of
// the caller's own calls it. It does not wait for anything.
func (w *Watcher) ToolListChanged(_ context.Context, request *mcp.ToolListChangedRequest) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for f := range w.followings {
		if f.session == request.Session {
			f.wake()
		}
	}
}

// Watch lists the tools of session again, now and whenever it says that they have
// changed, and adds to the runner and removes from it what differs from tools:
// the ones that [Tools] returned with the same options and the runner was given.
// The runner tells the model with its next request, which needs the beta that
// [toolrunner.Runner.AddTools] names.
//
// It goes on, in the background, until ctx ends or the watcher is closed. When
// the list cannot be read, the runner keeps its tools, and the logger is told;
// from a list that is cut nothing is removed.
//
// Watch returns an error, and does nothing, if the watcher is closed, or runner,
// session or options make no sense.
func (w *Watcher) Watch(ctx context.Context, runner *toolrunner.Runner, session *mcp.ClientSession, tools []anthropic.BetaTool, options Options) error {
	if err := options.validate(); err != nil {
		return fmt.Errorf("toolrunnermcp: %w", err)
	}
	if runner == nil || session == nil {
		return errors.New("toolrunnermcp: the runner and the session of a watch must not be nil")
	}
	known := make(map[string]*toolrunner.Tool, len(tools))
	for _, tool := range tools {
		if own, ok := tool.(*toolrunner.Tool); ok {
			known[own.Name()] = own
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return errors.New("toolrunnermcp: the watcher is closed")
	}
	ctx, cancel := context.WithCancel(ctx)
	f := &following{runner, session, options, known, make(chan struct{}, 1), cancel}
	f.wake() // for what has changed since the tools were listed
	if w.followings == nil {
		w.followings = make(map[*following]bool)
	}
	w.followings[f] = true
	w.running.Go(func() {
		defer w.forget(f)
		f.run(ctx)
	})
	return nil
}

// Close ends all that Watch began, and returns when it has ended. The tools of
// the runners stay as they are, and so do the sessions.
func (w *Watcher) Close() {
	w.mu.Lock()
	w.closed = true
	for f := range w.followings {
		f.cancel()
	}
	w.mu.Unlock()
	w.running.Wait()
}

func (w *Watcher) forget(f *following) {
	f.cancel()
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.followings, f)
}

// following is a runner that follows a session.
type following struct {
	runner  *toolrunner.Runner
	session *mcp.ClientSession
	options Options
	known   map[string]*toolrunner.Tool // what the runner has of the session, by name
	changed chan struct{}               // holds a token if the list is to be read
	cancel  context.CancelFunc
}

// wake has the list read, once for all changes that came meanwhile.
func (f *following) wake() {
	select {
	case f.changed <- struct{}{}:
	default:
	}
}

func (f *following) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.changed:
		}
		if err := f.update(ctx); err != nil && ctx.Err() == nil {
			f.options.logger().WarnContext(ctx, "the changed tools of an MCP server cannot be had: the runner keeps the ones it has", slog.Any("error", err))
		}
	}
}

// update makes the runner's tools those of the session.
func (f *following) update(ctx context.Context) error {
	tools, complete, err := list(ctx, f.session, f.options)
	if err != nil {
		return err
	}
	var added []anthropic.BetaTool
	var addedNames, removedNames []string
	listed := make(map[string]bool, len(tools))
	for _, tool := range tools {
		listed[tool.Name()] = true
		if !same(f.known[tool.Name()], tool) {
			added = append(added, tool)
			addedNames = append(addedNames, tool.Name())
		}
	}
	for name := range f.known {
		if complete && !listed[name] {
			removedNames = append(removedNames, name)
		}
	}
	slices.Sort(removedNames)
	if len(added)+len(removedNames) == 0 || ctx.Err() != nil {
		return nil //nolint:nilerr // it was closed meanwhile
	}
	if err := f.runner.AddTools(added...); err != nil {
		return err
	}
	f.runner.RemoveToolsByNames(removedNames...)
	for _, tool := range tools {
		f.known[tool.Name()] = tool
	}
	for _, name := range removedNames {
		delete(f.known, name)
	}
	f.options.logger().InfoContext(ctx, "the tools of an MCP server have changed", slog.Any("added", addedNames), slog.Any("removed", removedNames))
	return nil
}

// same reports whether two tools are alike to the model and to the runner. The
// handler of the first then does for both.
func same(a, b *toolrunner.Tool) bool {
	if a == nil || a.ReadOnly != b.ReadOnly || a.Exclusive != b.Exclusive || a.Timeout != b.Timeout {
		return false
	}
	left, err := a.Definition.MarshalJSON()
	if err != nil {
		return false
	}
	right, err := b.Definition.MarshalJSON()
	return err == nil && bytes.Equal(left, right)
}
