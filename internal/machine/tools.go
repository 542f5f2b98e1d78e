package machine

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/toolrunner/toolrunner/internal/history"
	"github.com/toolrunner/toolrunner/internal/wire"
)

// Tool is a tool that can be called.
type Tool struct {
	Name        string
	Definition  []byte // as sent
	Breakpoints int    // the cache_control in it
	Repeatable  bool   // a call that was interrupted may run again
	Owner       any    // who provides it, by Provide; nil: the program
	Origin      any    // what it was made from, if a second one can be: they are alike
	Impl        any    // what the driver runs
}

// Tools is what can be called now. The definitions that go out as the tools of a
// request stay as they were at the start, so that the cached prefix of the prompt
// stays; later changes go out as messages.
type Tools struct {
	first   []*Tool // in the order given
	byName  map[string]*Tool
	gone    map[string]bool   // names that were taken away
	former  map[string]former // of those, the ones that an owner had
	others  map[string]bool   // names of definitions that are sent as tools and are not ours
	pending []pendingChange   // blocks of a system message that has not been sent, one a name
	version int               // grows with each change
}

// pendingChange is a change that the model has not been told of.
type pendingChange struct {
	raw     []byte
	changes []history.Change // what it means
	fresh   bool             // it adds a tool of a name that the model has never been told of
}

func (p *pendingChange) about(name string) bool {
	return slices.ContainsFunc(p.changes, func(c history.Change) bool { return c.Name == name })
}

// NewTools returns the tools that a run begins with. others are names of definitions that
// are sent as tools and are not ours.
func NewTools(tools []*Tool, others []string) (*Tools, error) {
	t := &Tools{first: tools, byName: make(map[string]*Tool, len(tools))}
	t.setOthers(others)
	for i, tool := range tools {
		if t.byName[tool.Name] != nil {
			return nil, fmt.Errorf("tools[%d]: the name %q is taken by an earlier tool; names must be unique", i, tool.Name)
		}
		t.byName[tool.Name] = tool
	}
	return t, nil
}

// FirstTools returns the tools that go out as the tools of each request. They must not
// be changed.
func (m *Machine) FirstTools() []*Tool { return m.tools.first }

// Lookup returns the tool that answers calls of a name, after the changes that
// messages made and those that wait, or nil.
func (m *Machine) Lookup(name string) *Tool {
	return m.tools.lookup(name, m.s.history.Changes, m.s.queue.Changes)
}

// ToolNames returns the names that Lookup finds, sorted.
func (m *Machine) ToolNames() []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(m.tools.byName)) {
		if m.Lookup(name) != nil {
			names = append(names, name)
		}
	}
	return names
}

// AddTools gives the model more tools, each in the place of an earlier one of its
// name.
func (m *Machine) AddTools(tools []*Tool) {
	m.update(func(s *state) {
		for _, tool := range tools {
			m.tools.put(tool)
			m.tools.queueAddition(s, tool.Name, tool.Definition)
		}
	})
}

// AddDefinitions gives the model tools that nothing here runs.
func (m *Machine) AddDefinitions(definitions [][]byte) {
	m.update(func(s *state) {
		for _, definition := range definitions {
			name := wire.StringMember(definition, "name") // an mcp_toolset has none and takes nothing over
			if name != "" {
				m.tools.drop(name)
				delete(m.tools.former, name)
			}
			m.tools.queueAddition(s, name, definition)
		}
	})
}

// RemoveTools takes tools away from the model. A name that none can have is left out:
// the API would refuse it for good.
func (m *Machine) RemoveTools(names []string) {
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !history.IsToolName(name) })
	if len(names) == 0 {
		return
	}
	m.update(func(*state) {
		for _, name := range names {
			m.tools.drop(name)
			m.tools.queueRemoval(name)
		}
	})
}

// Defines reports whether requests define a tool of a name, among their tools or in a
// message. One that was taken away still is defined.
func (m *Machine) Defines(name string) bool {
	defines := func(c history.Change) bool { return c.Defines() && c.Name == name }
	return m.tools.Defines(name) || slices.ContainsFunc(m.toolChanges(), defines)
}

// toolChanges returns the changes of tools that messages make, or will.
func (m *Machine) toolChanges() []history.Change {
	all := slices.Concat(m.s.history.Changes, m.s.queue.Changes)
	for _, p := range m.tools.pending {
		all = append(all, p.changes...)
	}
	return all
}

// CheckReferences says which part of the state refers to a tool that requests do not
// define, for all that given knows of Params.Tools.
func (m *Machine) CheckReferences(given func(name string) bool) error {
	defined := func(name string) bool { return m.Defines(name) || given(name) }
	check := func(where string, i int, raw []byte) error {
		if err := history.CheckResultReferences(raw, defined); err != nil {
			return snapshotError(err, "%s[%d]", where, i)
		}
		return nil
	}
	for where, messages := range map[string][]history.Message{"messages": m.s.history.Messages, "queue": m.s.queue.Messages} {
		for i := range messages {
			if err := check(where, i, messages[i].Raw); err != nil {
				return err
			}
		}
	}
	for i, call := range slices.Concat(m.s.open, m.s.discarded) {
		if err := cmp.Or(check("calls", i, call.block), check("calls", i, call.failure)); err != nil {
			return err
		}
	}
	for _, c := range m.toolChanges() {
		if c.Add && c.Refers && !defined(c.Name) {
			return snapshotError(nil, "it adds the tool %q, which is not among the tools; pass it to Resume", c.Name)
		}
	}
	return nil
}

// Defines reports whether a tool of a name is among those that a run begins with, or was
// added.
func (t *Tools) Defines(name string) bool {
	return t.byName[name] != nil || slices.ContainsFunc(t.first, func(tool *Tool) bool { return tool.Name == name })
}

// lookup returns the tool that answers calls of name after changes.
func (t *Tools) lookup(name string, messages ...[]history.Change) *Tool {
	available := true
	for _, changes := range messages {
		available = availableAfter(changes, name, available)
	}
	for _, p := range t.pending {
		available = availableAfter(p.changes, name, available)
	}
	if !available {
		return nil
	}
	return t.byName[name]
}

// availableAfter reports whether name can be called after changes, given whether it
// could be before.
func availableAfter(changes []history.Change, name string, before bool) bool {
	for _, c := range slices.Backward(changes) {
		if c.Name == name {
			return c.Add
		}
	}
	return before
}

// put makes a tool the one of its name.
func (t *Tools) put(tool *Tool) {
	t.byName[tool.Name] = tool
	delete(t.gone, tool.Name)
	delete(t.former, tool.Name)
}

// drop takes a tool away without a word to the model. Its owner does not bring it back.
func (t *Tools) drop(name string) {
	if tool := t.byName[name]; tool != nil && tool.Owner != nil {
		t.remember(name, former{owner: tool.Owner, withheld: true})
	} else if had, ok := t.former[name]; ok {
		had.withheld = true
		t.former[name] = had
	}
	delete(t.byName, name)
	if t.gone == nil {
		t.gone = make(map[string]bool)
	}
	t.gone[name] = true
	t.version++
}

// forget takes away the tools that changes have taken away.
func (t *Tools) forget(changes []history.Change) {
	for name := range t.byName {
		if t.lookup(name, changes) == nil {
			t.drop(name)
		}
	}
}

func (t *Tools) queueAddition(s *state, name string, definition []byte) {
	block := append([]byte(`{"type":"tool_addition","tool":{"type":"tool_definition","definition":`), definition...)
	block = append(block, "}}"...)
	change := history.Change{Name: name, Add: true}
	before := t.unqueue(name)
	if before != nil && !before.changes[0].Add && t.knows(s, name, definition, block) {
		t.version++
		return // it was taken away and has come back, and the model has heard of neither
	}
	fresh := name != "" && (before == nil && !t.isKnown(s, name) || before != nil && before.fresh)
	t.queue(pendingChange{block, []history.Change{change}, fresh})
}

func (t *Tools) queueRemoval(name string) {
	if before := t.unqueue(name); before != nil && before.fresh {
		if was := t.former[name]; was.owner != nil && !was.withheld {
			delete(t.gone, name)
			delete(t.former, name)
		}
		t.version++
		return // the model has never heard of it
	}
	block := append([]byte(`{"type":"tool_removal","tool":{"type":"tool_reference","name":`), wire.AppendString(nil, name)...)
	t.queue(pendingChange{append(block, "}}"...), []history.Change{{Name: name}}, false})
}

// queue has the model told with the next request that can hold it.
func (t *Tools) queue(p pendingChange) {
	t.pending = append(t.pending, p)
	t.version++
}

// unqueue takes back the change of a name that waits, and returns it, or nil.
func (t *Tools) unqueue(name string) *pendingChange {
	i := slices.IndexFunc(t.pending, func(p pendingChange) bool { return p.about(name) })
	if name == "" || i < 0 {
		return nil
	}
	before := t.pending[i]
	t.pending = slices.Delete(t.pending, i, i+1)
	return &before
}

// isKnown reports whether the model has been told of a name, or somebody is about to.
func (t *Tools) isKnown(s *state, name string) bool {
	named := func(c history.Change) bool { return c.Name == name }
	return t.others[name] || slices.ContainsFunc(t.first, func(tool *Tool) bool { return tool.Name == name }) ||
		slices.ContainsFunc(s.history.Changes, named) || slices.ContainsFunc(s.queue.Changes, named)
}

// knows reports whether the model has a tool with this definition, by the messages and
// the tools that were sent. block is what would tell it.
func (t *Tools) knows(s *state, name string, definition, block []byte) bool {
	named := func(c history.Change) bool { return c.Name == name }
	switch {
	case slices.ContainsFunc(s.queue.Changes, named):
		return false
	case slices.ContainsFunc(s.history.Changes, named):
		told := changesOf(s.history.Messages)
		last := lastOf(told, name)
		return last >= 0 && bytes.Equal(told[last].Raw, block)
	}
	return slices.ContainsFunc(t.first, func(tool *Tool) bool {
		return tool.Name == name && bytes.Equal(tool.Definition, definition)
	})
}

// restate queues changes that messages make and others do not, ahead of those that
// wait: of each tool the last one, unless the other messages have one of their own.
func (t *Tools) restate(messages, others []history.Message) {
	before, now := changesOf(messages), changesOf(others)
	var again []pendingChange
	for i, b := range before {
		switch {
		case holds(now, b.Raw), b.name != "" && lastOf(before, b.name) != i:
			continue
		case b.name != "":
			if at := lastOf(now, b.name); at >= 0 && !holds(before, now[at].Raw) {
				continue
			}
		}
		if b.name != "" && slices.ContainsFunc(t.pending, func(p pendingChange) bool { return p.about(b.name) }) {
			continue // what waits is later
		}
		again = append(again, pendingChange{raw: b.Raw, changes: b.Changes})
	}
	if len(again) > 0 {
		t.pending = append(again, t.pending...)
		t.version++
	}
}

// toolChange is a block that changes the tools.
type toolChange struct {
	history.Block
	name string // of the client tool that it is about, if it is
}

// changesOf returns the blocks of system messages that change the tools.
func changesOf(messages []history.Message) []toolChange {
	var all []toolChange
	add := func(b history.Block) {
		if b.Kind != history.TypeToolAddition && b.Kind != history.TypeToolRemoval {
			return
		}
		change := toolChange{Block: b}
		if len(b.Changes) > 0 {
			change.name = b.Changes[0].Name
		}
		all = append(all, change)
	}
	for i := range messages {
		if messages[i].Role == history.RoleUser || messages[i].Role == history.RoleAssistant && i > 0 {
			continue // a compaction comes first
		}
		blocks, _ := messages[i].Blocks() // they were read before
		for _, b := range blocks {
			if b.Kind == history.TypeCompaction {
				b.EachToolChange(add)
				continue
			}
			add(b)
		}
	}
	return all
}

// holds reports whether a block is among changes.
func holds(changes []toolChange, raw []byte) bool {
	return slices.ContainsFunc(changes, func(c toolChange) bool { return bytes.Equal(c.Raw, raw) })
}

// lastOf returns where the last change of a tool is, or -1.
func lastOf(changes []toolChange, name string) int {
	for i, c := range slices.Backward(changes) {
		if c.name == name {
			return i
		}
	}
	return -1
}

// take returns the changes that wait as a message, and forgets them. A history that
// ends with a message of the assistant takes none: they wait for one of the user.
func (t *Tools) take(h *history.History) (history.Draft, bool) {
	if len(t.pending) == 0 || h.Last() == nil || h.LastReply() != nil {
		return history.Draft{}, false
	}
	var blocks [][]byte
	var changes []history.Change
	for _, p := range t.pending {
		blocks, changes = append(blocks, p.raw), append(changes, p.changes...)
	}
	draft := history.Draft{Message: history.JoinMessage(history.RoleSystem, blocks), Changes: changes}
	t.pending = nil
	t.version++
	return draft, true
}
