package toolrunner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"

	"github.com/toolrunner/toolrunner/internal/history"
	"github.com/toolrunner/toolrunner/internal/machine"
	"github.com/toolrunner/toolrunner/internal/request"
	"github.com/toolrunner/toolrunner/internal/schema"
	"github.com/toolrunner/toolrunner/internal/wire"
)

// registered is a tool as the runner runs it.
type registered struct {
	name       string
	definition []byte // as sent
	handler    Handler
	schema     *schema.Input // nil: input is not checked
	timeout    time.Duration
	readOnly   bool
	repeatable bool // a call that was interrupted may run again
	exclusive  bool
	owner      any
	sent       *sentTool // shared with the copies of a tool; nil for tools that have none
	discreet   bool      // its handler shows the call to nobody, but for CallFrom
}

// registerAll calls methods of the caller's tools.
func registerAll(tools []anthropic.BetaTool) ([]*machine.Tool, error) {
	all := make([]*machine.Tool, len(tools))
	for i, tool := range tools {
		r, err := register(tool)
		if err != nil {
			return nil, fmt.Errorf("tools[%d]: %w", i, err)
		}
		all[i] = &machine.Tool{
			Name: r.name, Definition: r.definition, Breakpoints: history.CountBreakpoints(r.definition),
			Repeatable: r.repeatable, Owner: r.owner, Impl: r,
		}
		if r.sent != nil {
			all[i].Origin = r.sent
		}
	}
	return all, nil
}

// implOf returns the tool that the machine has, or nil.
func implOf(tool *machine.Tool) *registered {
	if tool == nil {
		return nil
	}
	return tool.Impl.(*registered)
}

// register checks a tool and encodes its definition.
func register(tool anthropic.BetaTool) (*registered, error) {
	if isNil(tool) {
		return nil, errors.New("the tool is nil")
	}
	alone := false
	if e, ok := tool.(*exclusiveTool); ok {
		tool, alone = e.BetaTool, true
	}
	r := &registered{name: tool.Name(), exclusive: alone}
	var err error
	if own, ok := tool.(*Tool); ok {
		if r.definition, r.schema, err = own.encoded(); err != nil {
			return nil, fmt.Errorf("tool %q: %w", r.name, err)
		}
		r.handler, r.timeout, r.readOnly, r.exclusive = own.Handler, own.Timeout, own.ReadOnly, own.Exclusive
		r.repeatable = own.ReadOnly || own.Idempotent
		r.discreet, r.sent = own.isTyped(), own.sent
		if r.owner = own.Owner; r.owner != nil && !reflect.ValueOf(r.owner).Comparable() {
			return nil, fmt.Errorf("tool %q: its Owner is a %T, which cannot be compared; use a pointer", r.name, r.owner)
		}
		if own.Handler == nil {
			return nil, fmt.Errorf("tool %q has no Handler", r.name)
		}
	} else {
		input, err := schema.FromParam(tool.InputSchema())
		if err != nil {
			return nil, fmt.Errorf("tool %q: %w", r.name, err)
		}
		if r.definition, err = encodeDefinition(definition(r.name, tool.Description(), input.Param()), input); err != nil {
			return nil, fmt.Errorf("tool %q: %w", r.name, err)
		}
		r.handler, r.schema = foreignHandler(tool), input.Fair()
	}
	if !history.IsToolName(r.name) {
		return nil, fmt.Errorf("the name %q is not one that the Messages API accepts: use 1 to 128 letters, digits, underscores and hyphens", r.name)
	}
	return r, nil
}

// foreignHandler runs a tool that is not ours. It gets a copy of the input.
func foreignHandler(tool anthropic.BetaTool) Handler {
	return func(ctx context.Context, call *Call) (*Result, error) {
		content, err := tool.Execute(ctx, call.Input)
		return &Result{Content: content}, err
	}
}

// Exclusive returns tools whose calls run alone and in the model's order: the calls
// before one have ended, the calls after it have not begun. It is for tools that are
// not a [Tool] and change something that their calls share, such as the SDK's agent
// toolset, which edits files. For a [Tool] it returns a copy with Tool.Exclusive set.
//
// The returned tools have a Close method that closes the wrapped tool if that is an
// [io.Closer], so agenttoolset.CloseAll works with them. Other runners run them as
// they run any tool. The slice that is passed stays as it is.
func Exclusive(tools ...anthropic.BetaTool) []anthropic.BetaTool {
	alone := make([]anthropic.BetaTool, len(tools))
	for i, tool := range tools {
		switch own, ok := tool.(*Tool); {
		case isNil(tool): // New refuses it
			alone[i] = tool
		case ok:
			changed := *own
			changed.Exclusive = true
			alone[i] = &changed
		default:
			alone[i] = &exclusiveTool{tool}
		}
	}
	return alone
}

// exclusiveTool is a tool that is not ours and runs alone.
type exclusiveTool struct{ anthropic.BetaTool }

// Close closes the tool, if it can be closed.
func (t *exclusiveTool) Close() error {
	if closer, ok := t.BetaTool.(io.Closer); ok {
		return closer.Close()
	}
	return nil
}

// isNil reports whether there is no tool.
func isNil(tool anthropic.BetaTool) bool {
	v := reflect.ValueOf(tool)
	return !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()
}

// isNative reports whether the tool's definition is one of the API's own.
func (t *Tool) isNative() bool { return !param.IsOmitted(t.Native) }

// nativeName returns the name of one of the API's own tools, or nothing if it has none.
func nativeName(tool anthropic.BetaToolUnionParam) string {
	if name := tool.GetName(); name != nil {
		return *name
	}
	definition, err := request.EncodeTool(tool) // it may be raw JSON
	if err != nil {
		return ""
	}
	return wire.StringMember(definition, "name")
}

// encodeNative returns the definition as it is sent.
func (t *Tool) encodeNative() ([]byte, error) {
	if !reflect.ValueOf(t.Definition).IsZero() {
		return nil, errors.New("has both a Definition and a Native one; leave Definition empty")
	}
	n := &t.Native
	_, raw := n.Overrides()
	switch {
	case raw, n.OfMemoryTool20250818 != nil, n.OfBashTool20241022 != nil, n.OfBashTool20250124 != nil,
		n.OfTextEditor20241022 != nil, n.OfTextEditor20250124 != nil, n.OfTextEditor20250429 != nil, n.OfTextEditor20250728 != nil,
		n.OfComputerUseTool20241022 != nil, n.OfComputerUseTool20250124 != nil, n.OfComputerUseTool20251124 != nil:
		return request.EncodeTool(t.Native)
	case n.OfTool != nil:
		return nil, errors.New("has a definition of its own in Native; use Definition")
	}
	return nil, errors.New("has in Native a tool that the API runs itself, or a toolset; put it into Params.Tools")
}
