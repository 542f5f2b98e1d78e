package toolrunner

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner/internal/schema"
	"github.com/toolrunner/toolrunner/internal/wire"
)

// Tools reach the set at construction and during the run; a call's name is
// looked up here.

// isToolName reports whether the Messages API accepts name as that of a tool.
func isToolName(name string) bool { return name != "" && len(name) <= 128 && isLegal(name) }

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
	discreet   bool // its handler shows the call to nobody, but for CallFrom

	breakpoints int // the cache_control of the definition
}

// toolset is what can be called now. The definitions that go out as params.tools
// stay as they were at the start, so that the cached prefix of the prompt stays;
// later changes go out as messages.
type toolset struct {
	first   []*registered // in the order given
	byName  map[string]*registered
	gone    map[string]bool // names that were taken away
	changes [][]byte        // blocks of a system message that has not been sent
	queued  []toolChange    // the same, as what they mean
	version int             // grows with each change
}

func newToolset(tools []anthropic.BetaTool) (*toolset, error) {
	first, err := registerAll(tools)
	if err != nil {
		return nil, err
	}
	s := &toolset{first: first, byName: make(map[string]*registered, len(tools))}
	for i, r := range first {
		if s.byName[r.name] != nil {
			return nil, fmt.Errorf("tools[%d]: the name %q is taken by an earlier tool; names must be unique", i, r.name)
		}
		s.byName[r.name] = r
	}
	return s, nil
}

// registerAll calls methods of the caller's tools.
func registerAll(tools []anthropic.BetaTool) ([]*registered, error) {
	all := make([]*registered, len(tools))
	for i, tool := range tools {
		var err error
		if all[i], err = register(tool); err != nil {
			return nil, fmt.Errorf("tools[%d]: %w", i, err)
		}
	}
	return all, nil
}

// lookup returns the tool that answers calls of name, after the changes that
// messages made and those that are queued. It returns nil for a name that is
// not there.
func (s *toolset) lookup(name string, messages ...[]toolChange) *registered {
	available := true
	for _, changes := range messages {
		available = availableAfter(changes, name, available)
	}
	if !availableAfter(s.queued, name, available) {
		return nil
	}
	return s.byName[name]
}

// availableAfter reports whether name can be called after changes, given whether
// it could be before.
func availableAfter(changes []toolChange, name string, before bool) bool {
	for _, c := range slices.Backward(changes) {
		if c.name == name {
			return c.add
		}
	}
	return before
}

// names returns the names that lookup finds, sorted.
func (s *toolset) names(messages ...[]toolChange) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(s.byName)) {
		if s.lookup(name, messages...) != nil {
			names = append(names, name)
		}
	}
	return names
}

// add puts a tool in the place of an earlier one of its name, and queues the
// block that tells the model.
func (s *toolset) add(r *registered) {
	s.byName[r.name] = r
	delete(s.gone, r.name)
	s.queueAddition(r.name, r.definition)
}

// drop takes a tool away without a word to the model.
func (s *toolset) drop(name string) {
	delete(s.byName, name)
	if s.gone == nil {
		s.gone = make(map[string]bool)
	}
	s.gone[name] = true
	s.version++
}

// addDefinition queues a definition that nothing here runs.
func (s *toolset) addDefinition(definition []byte) {
	name := stringMember(definition, "name") // an mcp_toolset has none and takes nothing over
	if name != "" {
		s.drop(name)
	}
	s.queueAddition(name, definition)
}

func (s *toolset) remove(names []string) {
	for _, name := range names {
		s.drop(name)
		block := append([]byte(`{"type":"tool_removal","tool":{"type":"tool_reference","name":`), wire.AppendString(nil, name)...)
		s.changes = append(s.changes, append(block, "}}"...))
		s.queued = append(s.queued, toolChange{name: name})
	}
	s.version++
}

func (s *toolset) queueAddition(name string, definition []byte) {
	block := append([]byte(`{"type":"tool_addition","tool":{"type":"tool_definition","definition":`), definition...)
	s.changes = append(s.changes, append(block, "}}"...))
	s.queued = append(s.queued, toolChange{name: name, add: true})
	s.version++
}

// requeue has changes that went out before go out again, ahead of what is queued.
func (s *toolset) requeue(blocks [][]byte, changes []toolChange) {
	s.changes = append(blocks, s.changes...)
	s.queued = append(changes, s.queued...)
	s.version++
}

// take returns the queued blocks and forgets them.
func (s *toolset) take() [][]byte {
	blocks := s.changes
	s.changes, s.queued = nil, nil
	s.version++
	return blocks
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
		r.discreet = own.isTyped()
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
	if !isToolName(r.name) {
		return nil, fmt.Errorf("the name %q is not one that the Messages API accepts: use 1 to 128 letters, digits, underscores and hyphens", r.name)
	}
	r.breakpoints = countBreakpoints(r.definition)
	return r, nil
}

// foreignHandler runs a tool that is not ours. It gets a copy of the input.
func foreignHandler(tool anthropic.BetaTool) Handler {
	return func(ctx context.Context, call *Call) (*Result, error) {
		content, err := tool.Execute(ctx, call.Input)
		return &Result{Content: content}, err
	}
}
