package toolrunnermcp

import (
	"context"
	"errors"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolrunner/toolrunner"
)

// The model's call goes to the server; the server's answer comes back as a result.

// handler returns the handler that calls a tool by the server's name for it. The input
// goes out as it came, digit for digit.
func (s *Source) handler(name string) toolrunner.Handler {
	return func(ctx context.Context, call *toolrunner.Call) (*toolrunner.Result, error) {
		params := &mcp.CallToolParams{Name: name}
		if len(call.Input) > 0 {
			params.Arguments = call.Input
		}
		if s.options.Progress && call.ID != "" {
			params.SetProgressToken(call.ID)
		}
		session := s.attached()
		answer, err := session.CallTool(ctx, params)
		switch {
		case err != nil && ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err != nil:
			return nil, s.callError(ctx, session, err)
		case answer.NeedsInput():
			return nil, fmt.Errorf("%s asks for more than the call's input, and nobody here can answer it", s.options.server())
		}
		return s.options.resultOf(answer), nil
	}
}

// codeRejected is of errors that the SDK's own transports return in the form of
// a server's answer.
const codeRejected = -32005

// callError returns the error of a call without a result. The model reads all of it but
// what the server wrote on stderr.
func (s *Source) callError(ctx context.Context, session *mcp.ClientSession, err error) error {
	wire := (*jsonrpc.Error)(nil)
	switch {
	case errors.Is(err, mcp.ErrConnectionClosed), errors.Is(err, mcp.ErrSessionMissing):
		return s.ended(ctx, session, fmt.Errorf("%s is gone, and its tools work no longer: %w", s.options.server(), err))
	case errors.As(err, &wire) && wire.Code != codeRejected:
		return &refusal{wire}
	}
	return s.ended(ctx, session, fmt.Errorf("no answer came from %s, so whether the call took effect is unknown: %w", s.options.server(), err))
}

// ended returns an error of a session that has ended, with the end of what its server
// wrote, which is not for the model.
func (s *Source) ended(ctx context.Context, session *mcp.ClientSession, err error) error {
	words := s.mourn(ctx, session, err)
	if words == "" {
		return err
	}
	told := "Error: " + err.Error()
	return &toolrunner.ToolError{
		Content: []anthropic.BetaToolResultBlockParamContentUnion{text(told)},
		Err:     fmt.Errorf("%w; it wrote:\n%s", err, words),
	}
}

// refusal is an answer of the server that is an error of the protocol. Its text
// is the server's.
type refusal struct{ cause *jsonrpc.Error }

func (r *refusal) Error() string { return r.cause.Message }

func (r *refusal) Unwrap() error { return r.cause }
