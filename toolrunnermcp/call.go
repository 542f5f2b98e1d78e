package toolrunnermcp

import (
	"context"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolrunner/toolrunner"
)

// The model's call goes to the server; the server's answer comes back as a result.

// handler returns the handler that calls a tool of the session by the server's
// name for it. The input goes out as it came, digit for digit.
func handler(session *mcp.ClientSession, name string, progress bool) toolrunner.Handler {
	return func(ctx context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
		params := &mcp.CallToolParams{Name: name}
		if len(call.Input) > 0 {
			params.Arguments = call.Input
		}
		if progress && call.ID != "" {
			params.SetProgressToken(call.ID)
		}
		answer, err := session.CallTool(ctx, params)
		switch {
		case err != nil && ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err != nil:
			return nil, callError(err)
		case answer.NeedsInput():
			return nil, errors.New("the MCP server asks for more than the call's input, and nobody here can answer it")
		}
		return resultOf(answer), nil
	}
}

// codeRejected is of errors that the SDK's own transports return in the form of
// a server's answer.
const codeRejected = -32005

// callError returns the error that the model reads for a call without a result.
func callError(err error) error {
	wire := (*jsonrpc.Error)(nil)
	switch {
	case errors.Is(err, mcp.ErrConnectionClosed), errors.Is(err, mcp.ErrSessionMissing):
		return fmt.Errorf("the MCP server is gone, and its tools work no longer: %w", err)
	case errors.As(err, &wire) && wire.Code != codeRejected:
		return &refusal{wire}
	}
	return fmt.Errorf("no answer came from the MCP server, so whether the call took effect is unknown: %w", err)
}

// refusal is an answer of the server that is an error of the protocol. Its text
// is the server's.
type refusal struct{ cause *jsonrpc.Error }

func (r *refusal) Error() string { return r.cause.Message }

func (r *refusal) Unwrap() error { return r.cause }
