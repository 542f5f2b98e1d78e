package toolrunnermcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The pages of a server's list become one list, however the server pages.

// readPages follows the cursors of tools/list. It reports false if it gave up
// before the end: a server may send cursors for ever.
func readPages(ctx context.Context, session *mcp.ClientSession, options *Options) ([]*mcp.Tool, bool, error) {
	var tools []*mcp.Tool
	params := &mcp.ListToolsParams{}
	seen := make(map[string]bool)
	for range options.MaxPages {
		page, err := readPage(ctx, session, params, options.Timeout)
		if wire := (*jsonrpc.Error)(nil); errors.As(err, &wire) && wire.Code == jsonrpc.CodeMethodNotFound && params.Cursor == "" {
			return nil, true, nil // it has no tools at all
		}
		if err != nil {
			return nil, false, err
		}
		tools = append(tools, page.Tools...)
		if page.NextCursor == "" {
			return tools, true, nil
		}
		if seen[page.NextCursor] {
			options.Logger.WarnContext(ctx, "the list of an MCP server's tools is cut: a cursor came again", slog.String("cursor", page.NextCursor), slog.Int("tools", len(tools)))
			return tools, false, nil
		}
		seen[page.NextCursor] = true
		params = &mcp.ListToolsParams{Cursor: page.NextCursor}
	}
	options.Logger.WarnContext(ctx, "the list of an MCP server's tools is cut: it has more pages than Options.MaxPages", slog.Int("tools", len(tools)))
	return tools, false, nil
}

// readPage reads one page. The SDK may answer from a cache, without a look at ctx.
func readPage(ctx context.Context, session *mcp.ClientSession, params *mcp.ListToolsParams, timeout time.Duration) (*mcp.ListToolsResult, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, timeout, fmt.Errorf("it did not answer within %v: %w", timeout, context.DeadlineExceeded))
		defer cancel()
	}
	page, err := session.ListTools(ctx, params)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return page, err
}
