package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os/exec"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/toolrunnermcp"
)

// A server is connected to; its tools go into the kit.

// connection is a server that has been connected to.
type connection struct {
	*mcp.ClientSession

	server  string
	source  *toolrunnermcp.Source // of its tools
	process *exec.Cmd             // nil: it is not ours
}

const (
	connectTime = time.Minute     // for a server to start and to answer
	endTime     = 2 * time.Second // for its process to end by itself
)

// connect connects to all servers at once. If one fails, the error names it, and
// the others are returned all the same.
func connect(ctx context.Context, servers []server, r *reporter) ([]connection, error) {
	connected := make([]connection, len(servers))
	failed := make([]error, len(servers))
	var starting sync.WaitGroup
	for i := range servers {
		starting.Go(func() { connected[i], failed[i] = servers[i].connect(ctx, r) })
	}
	starting.Wait()
	var all []connection
	for i, s := range connected {
		if failed[i] == nil {
			all = append(all, s)
		}
	}
	return all, errors.Join(failed...)
}

// connect starts the server, if it is a process, and shakes hands with it.
func (s *server) connect(ctx context.Context, r *reporter) (connection, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	late := time.AfterFunc(connectTime, func() { cancel(fmt.Errorf("no answer within %v", connectTime)) })
	defer late.Stop() // and not cancel, which would end the stream of the session
	source, err := toolrunnermcp.NewSource(toolrunnermcp.Options{
		Prefix:           prefix(s.name),
		TrustAnnotations: s.TrustAnnotations,
		Progress:         true,
		Logger:           slog.New(slog.NewTextHandler(warner{s.name, r}, &slog.HandlerOptions{Level: slog.LevelWarn, ReplaceAttr: plainly})),
	})
	if err != nil {
		return connection{}, fmt.Errorf("MCP server %q: %w", s.name, err)
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "toolrunner", Version: version()}, source.ClientOptions(&mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, n *mcp.ProgressNotificationClientRequest) {
			if id, ok := n.Params.ProgressToken.(string); ok {
				r.report(callProgress{id, n.Params.Message, n.Params.Progress, n.Params.Total})
			}
		},
	}))
	way := s.transport(ctx, source.Stderr())
	var process *exec.Cmd
	if local, ok := way.(*mcp.CommandTransport); ok {
		process = local.Command
		started(ctx, process)
	}
	connected, err := client.Connect(ctx, way, nil)
	if err == nil {
		if err = source.Attach(connected); err == nil {
			return connection{connected, s.name, source, process}, nil
		}
	}
	if process != nil {
		endGroup(process, true)
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if said := source.LastWords(); said != "" {
		err = fmt.Errorf("%w; it wrote:\n%s", err, said)
	}
	return connection{}, fmt.Errorf("MCP server %q: %w", s.name, err)
}

// addServers adds the tools of the servers, each under the name of its server.
func (k *kit) addServers(ctx context.Context) error {
	for _, s := range k.servers {
		before := len(k.tools)
		tools, err := s.source.AppendTools(ctx, k.tools)
		if err != nil {
			return fmt.Errorf("MCP server %q: %w", s.server, err)
		}
		k.tools = tools
		for _, tool := range tools[before:] {
			own, ok := tool.(*toolrunner.Tool)
			k.readOnly[tool.Name()] = ok && own.ReadOnly
		}
	}
	return nil
}

// prefix returns what the names of a server's tools begin with.
func prefix(server string) string {
	const most = 62 // of 64 that a prefix may have
	legal := strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, server)
	return legal[:min(len(legal), most)] + "__"
}

// disconnect ends all connections at once. How one ends interests nobody any more.
func disconnect(connections []connection) {
	var ending sync.WaitGroup
	for _, s := range connections {
		ending.Go(func() { endWith(s.process, s.Close) })
	}
	ending.Wait()
}

// warner reports the records of a logger about a server.
type warner struct {
	server string
	r      *reporter
}

// Write implements [io.Writer].
func (w warner) Write(record []byte) (int, error) {
	w.r.report(warned{fmt.Sprintf("MCP server %q: %s", w.server, bytes.TrimSpace(record))})
	return len(record), nil
}

// plainly leaves out of a record what the user knows.
func plainly(_ []string, attr slog.Attr) slog.Attr {
	if attr.Key == slog.TimeKey || attr.Key == slog.LevelKey {
		return slog.Attr{}
	}
	return attr
}

// version returns the version of this program.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Version
	}
	return ""
}
