package toolrunnermcp

import (
	"bytes"
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/schema"
)

// list is what a server listed, and what has become of it.
type list struct {
	theirs []*mcp.Tool // sorted by name, each name once

	mu       sync.Mutex                  // guards the rest
	ours     map[naming]*toolrunner.Tool // nil: left out
	previous map[naming]*toolrunner.Tool // those of the list before
}

// naming is our name of a tool, and its server's.
type naming struct{ ours, theirs string }

// readList reads the list of a session. A list that is cut keeps what the one before had.
func readList(ctx context.Context, session *mcp.ClientSession, options *Options, before *list) (*list, error) {
	theirs, complete, err := readPages(ctx, session, options)
	if err != nil {
		return nil, err
	}
	theirs = slices.DeleteFunc(theirs, func(tool *mcp.Tool) bool { return tool == nil })
	theirs, doubled := distinct(theirs)
	for _, name := range doubled {
		options.Logger.WarnContext(ctx, "a tool of an MCP server is left out: another has its name", slog.String("tool", name))
	}
	l := &list{ours: make(map[naming]*toolrunner.Tool)}
	if before != nil {
		if !complete {
			theirs, _ = distinct(append(theirs, before.theirs...))
		}
		before.mu.Lock()
		l.previous = maps.Clone(before.ours)
		before.mu.Unlock()
	}
	l.theirs = theirs
	return l, nil
}

// distinct sorts tools by name. It returns the first of each name, and the names of those
// that are left out.
func distinct(tools []*mcp.Tool) (first []*mcp.Tool, doubled []string) {
	sorted := slices.Clone(tools)
	slices.SortStableFunc(sorted, func(a, b *mcp.Tool) int { return cmp.Compare(a.Name, b.Name) })
	for i, tool := range sorted {
		if i > 0 && sorted[i-1].Name == tool.Name {
			doubled = append(doubled, tool.Name)
			continue
		}
		first = append(first, tool)
	}
	return first, doubled
}

// tools returns the tools of the list, sorted by name, under names that are not taken.
func (l *list) tools(ctx context.Context, s *Source, taken map[string]bool) []*toolrunner.Tool {
	l.mu.Lock()
	defer l.mu.Unlock()
	named, nameless := assignNames(l.theirs, s.options.Prefix, taken)
	for _, name := range nameless {
		s.options.Logger.WarnContext(ctx, "a tool of an MCP server is left out: no name is free for it", slog.String("tool", name))
	}
	var tools []*toolrunner.Tool
	for _, n := range named {
		if tool := l.tool(ctx, s, n); tool != nil {
			tools = append(tools, tool)
		}
	}
	slices.SortFunc(tools, func(a, b *toolrunner.Tool) int { return cmp.Compare(a.Name(), b.Name()) })
	return tools
}

// tool returns what a tool has become, or nil if it is left out. One that is as it was in
// the list before is the same.
func (l *list) tool(ctx context.Context, s *Source, n namedTool) *toolrunner.Tool {
	key := naming{n.name, n.theirs.Name}
	if tool, ok := l.ours[key]; ok {
		return tool
	}
	tool := s.convert(ctx, n)
	if before := l.previous[key]; tool != nil && same(before, tool) {
		tool = before
	}
	l.ours[key] = tool
	return tool
}

// convert makes a tool of the server's, or returns nil if it is left out.
func (s *Source) convert(ctx context.Context, n namedTool) *toolrunner.Tool {
	log := s.options.Logger
	mended, err := schema.Mend(n.theirs.InputSchema)
	if err != nil {
		log.WarnContext(ctx, "a tool of an MCP server is left out: the Messages API would refuse its schema", slog.String("tool", n.theirs.Name), slog.Any("error", err))
		return nil
	}
	if len(mended.Repairs) > 0 {
		log.InfoContext(ctx, "the schema of an MCP server's tool is repaired", slog.String("tool", n.theirs.Name), slog.Any("repairs", mended.Repairs))
	}
	definition := anthropic.BetaToolParam{Name: n.name, InputSchema: mended.Input.Param()}
	if text := describe(n.theirs, mended.Moved); text != "" {
		definition.Description = anthropic.String(text)
	}
	tool := toolrunner.NewRawTool(definition, s.handler(n.theirs.Name))
	tool.Timeout = s.options.Timeout
	if hints := n.theirs.Annotations; s.options.TrustAnnotations && hints != nil {
		tool.ReadOnly, tool.Idempotent = hints.ReadOnlyHint, hints.IdempotentHint
	}
	tool.Exclusive = !tool.ReadOnly
	if s.options.Accept != nil && !s.options.Accept(n.theirs, tool) {
		return nil
	}
	tool.Definition.Name, tool.Owner = n.name, s
	return tool
}

// describe returns the description of a tool, or else its title, and what its
// schema says beyond what could be sent.
func describe(tool *mcp.Tool, moved string) string {
	text := cmp.Or(tool.Description, tool.Title)
	if text == "" && tool.Annotations != nil {
		text = tool.Annotations.Title
	}
	if moved == "" {
		return text
	}
	if text != "" {
		text += "\n\n"
	}
	return text + "The input must also match this JSON Schema: " + moved
}

// same reports whether two tools are alike to the model and to the runner. The
// handler of the first then does for both.
func same(a, b *toolrunner.Tool) bool {
	if a == nil || a.ReadOnly != b.ReadOnly || a.Idempotent != b.Idempotent || a.Exclusive != b.Exclusive || a.Timeout != b.Timeout {
		return false
	}
	left, err := a.Definition.MarshalJSON()
	if err != nil {
		return false
	}
	right, err := b.Definition.MarshalJSON()
	return err == nil && bytes.Equal(left, right)
}
