package machine

import (
	"cmp"
	"maps"
	"slices"

	"github.com/toolrunner/toolrunner/internal/history"
)

// has reports whether a tool of that name could be called.
func (s *savedTools) has(name string) bool {
	named := func(t savedTool) bool { return t.Name == name }
	return slices.ContainsFunc(s.Added, named) || slices.ContainsFunc(s.First, named) && !slices.Contains(s.Removed, name)
}

// hash returns the hash of the definition that a tool had last.
func (s *savedTools) hash(name string) string {
	for _, tool := range slices.Concat(s.Added, s.First) {
		if tool.Name == name {
			return tool.SHA256
		}
	}
	return ""
}

// restore gives the tools, which are those of this process, the places that they had.
// told is what messages say about them. It returns the names of those that the model
// knows otherwise.
func (t *Tools) restore(saved *savedTools, told []history.Change) (changed []string, err error) {
	if saved == nil {
		return nil, snapshotError(nil, "it has no tools")
	}
	place := make(map[string]int)
	for i, tool := range saved.First {
		place[tool.Name] = i
	}
	known := make(map[string]bool)
	for _, tool := range slices.Concat(saved.First, saved.Added) {
		if now := t.byName[tool.Name]; !known[tool.Name] && (now == nil || now.saved().SHA256 != saved.hash(tool.Name)) {
			changed = append(changed, tool.Name)
		}
		known[tool.Name] = true
	}
	for _, name := range saved.Removed {
		t.drop(name)
	}
	for i, raw := range saved.Changes {
		b, err := history.ParseBlock(raw)
		if err != nil || len(b.Changes) == 0 && b.Kind != history.TypeToolAddition && b.Kind != history.TypeToolRemoval {
			return nil, snapshotError(err, "tools.changes[%d] changes no tool", i)
		}
		t.pending = append(t.pending, pendingChange{raw: raw, changes: b.Changes})
	}
	later := make(map[string]bool) // what messages define, or have defined, is not among the first
	maps.Copy(later, t.gone)
	for _, tool := range saved.Added {
		later[tool.Name] = true
	}
	for _, p := range t.pending {
		told = append(slices.Clip(told), p.changes...)
	}
	for _, c := range told {
		later[c.Name] = later[c.Name] || c.Add
	}
	sent := func(tool *Tool) bool { _, ok := place[tool.Name]; return ok }
	t.first = slices.DeleteFunc(t.first, func(tool *Tool) bool { return later[tool.Name] && !sent(tool) })
	t.first = replaced(t.first, saved.First)
	slices.SortStableFunc(t.first, func(a, b *Tool) int { return cmp.Compare(placeOf(place, a), placeOf(place, b)) })
	return changed, nil
}

// replaced returns tools with the definitions that were sent for those which others
// have replaced since.
func replaced(tools []*Tool, saved []savedTool) []*Tool {
	tools = slices.Clone(tools)
	for _, s := range saved {
		if s.Definition == nil {
			continue
		}
		for i, tool := range tools {
			if tool.Name == s.Name {
				sent := *tool
				sent.Definition, sent.Breakpoints = s.Definition, history.CountBreakpoints(s.Definition)
				tools[i] = &sent
			}
		}
	}
	return tools
}

// placeOf returns where a tool was sent; new ones come last.
func placeOf(place map[string]int, tool *Tool) int {
	if at, ok := place[tool.Name]; ok {
		return at
	}
	return len(place)
}
