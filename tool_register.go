package toolrunner

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner/internal/history"
	"github.com/toolrunner/toolrunner/internal/machine"
	"github.com/toolrunner/toolrunner/internal/schema"
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
