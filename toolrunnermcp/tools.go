package toolrunnermcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolrunner/toolrunner"
	"github.com/toolrunner/toolrunner/internal/schema"
)

// A session comes in; the tools that a runner is given go out.

// Options says how the tools of a server become tools of a runner. The zero
// value takes all of them as they are.
type Options struct {
	// Prefix goes before each name, as it is: at most 64 letters, digits,
	// underscores and hyphens. It keeps servers apart that use the same names.
	Prefix string

	// Reserved are names that no tool may get, such as those of the runner's
	// other tools: a runner that is given two tools of one name refuses them.
	Reserved []string

	// Accept, if not nil, is called for each tool of the server, with what it has
	// become. It may change that, except for its name, and returns false to leave
	// the tool out. It must decide alike each time, and for a [Watcher] it runs in
	// the background.
	Accept func(theirs *mcp.Tool, ours *toolrunner.Tool) bool

	// Timeout is the longest that a call may take, and each request for a page of
	// the list. Zero: no limit but the context's.
	Timeout time.Duration

	// MaxPages is how many pages of the list are read. Zero: 100.
	MaxPages int

	// Progress asks the server to report the progress of calls. The reports go to
	// the ProgressNotificationHandler of the client; their token is the ID of
	// the call.
	Progress bool

	// Logger gets what is repaired, left out or changes. Nil: nobody does.
	Logger *slog.Logger
}

const (
	maxPrefix       = 64
	defaultMaxPages = 100
)

func (o *Options) validate() error {
	switch {
	case len(o.Prefix) > maxPrefix || !isLegal(o.Prefix):
		return fmt.Errorf("Options.Prefix is %q; use at most %d letters, digits, underscores and hyphens", o.Prefix, maxPrefix)
	case o.Timeout < 0:
		return fmt.Errorf("Options.Timeout is %v; use 0 for no limit, or a positive duration", o.Timeout)
	case o.MaxPages < 0:
		return fmt.Errorf("Options.MaxPages is %d; use 0 for %d, or a positive number", o.MaxPages, defaultMaxPages)
	}
	return nil
}

func (o *Options) logger() *slog.Logger {
	if o.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return o.Logger
}

// Tools lists the tools of a session and returns them as tools for a runner,
// sorted by name. Each is a *[toolrunner.Tool]; it is read-only if the server
// says so. A server without tools has none to return, which is not an error.
//
// A list that does not come to an end is cut, which is reported to the logger.
// An error of the server while it lists is returned, as is that of ctx.
//
// Calls outlive ctx. When the session ends, the tools stay: their calls fail,
// and the model reads why.
func Tools(ctx context.Context, session *mcp.ClientSession, options Options) ([]anthropic.BetaTool, error) {
	tools, _, err := list(ctx, session, options)
	if err != nil {
		return nil, fmt.Errorf("toolrunnermcp: %w", err)
	}
	all := make([]anthropic.BetaTool, len(tools))
	for i, tool := range tools {
		all[i] = tool
	}
	return all, nil
}

// list returns the tools of a session, sorted by name. It reports whether the
// list was read to its end.
func list(ctx context.Context, session *mcp.ClientSession, options Options) ([]*toolrunner.Tool, bool, error) {
	if session == nil {
		return nil, false, errors.New("the session is nil")
	}
	if err := options.validate(); err != nil {
		return nil, false, err
	}
	listed, complete, err := readPages(ctx, session, &options)
	if err != nil {
		return nil, false, fmt.Errorf("listing the tools: %w", err)
	}
	log := options.logger()
	named, duplicates := assignNames(listed, options.Prefix, options.Reserved)
	for _, name := range duplicates {
		log.WarnContext(ctx, "a tool of an MCP server is left out: another has its name", slog.String("tool", name))
	}
	var tools []*toolrunner.Tool
	for _, n := range named {
		tool, notes, err := convert(session, n, &options)
		if err != nil {
			log.WarnContext(ctx, "a tool of an MCP server is left out: the Messages API would refuse its schema", slog.String("tool", n.theirs.Name), slog.Any("error", err))
			continue
		}
		if len(notes) > 0 {
			log.InfoContext(ctx, "the schema of an MCP server's tool is repaired", slog.String("tool", n.theirs.Name), slog.Any("repairs", notes))
		}
		if options.Accept == nil || options.Accept(n.theirs, tool) {
			tools = append(tools, tool)
		}
	}
	slices.SortFunc(tools, func(a, b *toolrunner.Tool) int { return cmp.Compare(a.Name(), b.Name()) })
	return tools, complete, nil
}

// convert returns the tool and what was done to its schema.
func convert(session *mcp.ClientSession, n namedTool, options *Options) (*toolrunner.Tool, []string, error) {
	mended, err := schema.Mend(n.theirs.InputSchema)
	if err != nil {
		return nil, nil, err
	}
	definition := anthropic.BetaToolParam{Name: n.name, InputSchema: mended.Input.Param()}
	if text := describe(n.theirs, mended.Moved); text != "" {
		definition.Description = anthropic.String(text)
	}
	tool := toolrunner.NewRawTool(definition, handler(session, n.theirs.Name, options.Progress))
	tool.Timeout = options.Timeout
	tool.ReadOnly = n.theirs.Annotations != nil && n.theirs.Annotations.ReadOnlyHint
	return tool, mended.Repairs, nil
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
