package machine

import (
	"bytes"
	"maps"
	"slices"
)

// former is what is known of a tool that was taken away.
type former struct {
	owner    any
	withheld bool // by somebody else: the owner does not bring it back
}

func (t *Tools) remember(name string, was former) {
	if t.former == nil {
		t.former = make(map[string]former)
	}
	t.former[name] = was
}

// SetOthers says which names the definitions have that are sent as tools and are not
// of the machine.
func (m *Machine) SetOthers(names []string) { m.tools.setOthers(names) }

func (t *Tools) setOthers(names []string) {
	t.others = nil
	for _, name := range names {
		if t.others == nil {
			t.others = make(map[string]bool, len(names))
		}
		t.others[name] = true
	}
}

// Provide makes tools the ones of owner: tools that owner does not have are added, those
// that differ replaced, and its other ones taken away. The model is told where a
// definition differs. A tool that was taken away by somebody else is left out.
//
// A name that somebody else has, or had before, is taken. Provide then returns all taken
// names, in the order of tools, and changes nothing.
func (m *Machine) Provide(owner any, tools []*Tool) (taken []string) {
	var added []*Tool
	keeps := make(map[string]bool, len(tools))
	for _, tool := range tools {
		keeps[tool.Name] = true
		switch now := m.tools.byName[tool.Name]; {
		case m.isTaken(owner, tool.Name):
			taken = append(taken, tool.Name)
		case now == nil && m.tools.former[tool.Name].withheld, now != nil && now.Origin != nil && now.Origin == tool.Origin:
		default:
			added = append(added, tool)
		}
	}
	var removed []string
	for _, name := range slices.Sorted(maps.Keys(m.tools.byName)) {
		if m.tools.byName[name].Owner == owner && !keeps[name] {
			removed = append(removed, name)
		}
	}
	if len(taken) > 0 || len(added)+len(removed) == 0 {
		return taken
	}
	m.update(func(s *state) {
		for _, name := range removed {
			m.tools.drop(name)
			m.tools.remember(name, former{owner: owner})
			m.tools.queueRemoval(name)
		}
		for _, tool := range added {
			now := m.tools.byName[tool.Name]
			m.tools.put(tool)
			if now == nil || !bytes.Equal(now.Definition, tool.Definition) {
				m.tools.queueAddition(s, tool.Name, tool.Definition)
			}
		}
	})
	m.tools.version++
	return nil
}

// isTaken reports whether somebody other than owner has or had a name.
func (m *Machine) isTaken(owner any, name string) bool {
	if now := m.tools.byName[name]; now != nil {
		return now.Owner != owner
	}
	if was, ok := m.tools.former[name]; ok {
		return was.owner != owner
	}
	return m.tools.gone[name] || m.tools.isKnown(&m.s, name)
}
