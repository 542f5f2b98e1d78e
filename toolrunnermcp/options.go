package toolrunnermcp

import (
	"cmp"
	"fmt"
	"log/slog"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolrunner/toolrunner"
)

// Options says how the tools of a server become tools of a runner. The zero
// value takes all of them, and trusts nothing that the server says of them.
type Options struct {
	// Name is what errors and records call the server, such as "files". Empty: "the
	// MCP server".
	Name string

	// Prefix goes before each name, as it is: at most 64 letters, digits,
	// underscores and hyphens. It keeps servers apart that use the same names.
	Prefix string

	// Accept, if not nil, is called for each tool of the server, with what it has
	// become. It may change that, except for its name and its Owner, and returns false
	// to leave the tool out. It must decide alike each time, and may run on any goroutine.
	Accept func(theirs *mcp.Tool, ours *toolrunner.Tool) bool

	// TrustAnnotations believes what the server says of its tools: one with readOnlyHint
	// is ReadOnly, and runs beside other calls; one with idempotentHint is Idempotent.
	// Without it, no tool is either. Every tool that is not read-only is Exclusive: a
	// tool that nothing is known of may have side effects.
	TrustAnnotations bool

	// Timeout is the longest that a call may take, and each request for a page of
	// the list. Zero: no limit but the context's.
	Timeout time.Duration

	// MaxPages is how many pages of the list are read. Zero: 100.
	MaxPages int

	// MaxText is how many bytes of text a result may have. The rest is cut off, and
	// the model reads that it was. Zero: 256 KiB.
	MaxText int

	// MaxMedia is how many bytes of images and PDFs a result may have, in base64. What
	// goes beyond is named, and not shown. Zero: 16 MiB.
	MaxMedia int

	// Progress asks the server to report the progress of calls. The reports go to
	// the ProgressNotificationHandler of the client; their token is the ID of
	// the call.
	Progress bool

	// Logger gets what is repaired, left out or changes, and how a server ended. Nil:
	// nobody does.
	Logger *slog.Logger
}

const (
	maxPrefix       = 64
	defaultMaxPages = 100
	defaultMaxText  = 256 << 10
	defaultMaxMedia = 16 << 20
)

// complete fills in defaults.
func (o *Options) complete() error {
	switch {
	case len(o.Prefix) > maxPrefix || !isLegal(o.Prefix):
		return fmt.Errorf("Options.Prefix is %q; use at most %d letters, digits, underscores and hyphens", o.Prefix, maxPrefix)
	case o.Timeout < 0:
		return fmt.Errorf("Options.Timeout is %v; use 0 for no limit, or a positive duration", o.Timeout)
	}
	for _, n := range []struct {
		name  string
		value *int
		zero  int
	}{
		{"MaxPages", &o.MaxPages, defaultMaxPages},
		{"MaxText", &o.MaxText, defaultMaxText},
		{"MaxMedia", &o.MaxMedia, defaultMaxMedia},
	} {
		if *n.value < 0 {
			return fmt.Errorf("the option Options.%s is %d; use 0 for %d, or a positive number", n.name, *n.value, n.zero)
		}
		*n.value = cmp.Or(*n.value, n.zero)
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Name != "" {
		o.Logger = o.Logger.With(slog.String("server", o.Name))
	}
	return nil
}

// server returns what the server is called in the middle of a sentence.
func (o *Options) server() string {
	if o.Name == "" {
		return "the MCP server"
	}
	return fmt.Sprintf("the MCP server %q", o.Name)
}
