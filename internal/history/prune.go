package history

import (
	"slices"

	"github.com/toolrunner/toolrunner/internal/wire"
)

// This file takes out of a turn what the API refuses once the turn is over: uses of
// server tools that have no result, and never will have one.

// Prune removes the uses of server tools without a result from the turn at the end, and
// messages of which nothing is left. A use stays while calls that it has made are open.
// Calls that were answered stay, as calls of the model.
func (h *History) Prune() {
	lost := h.lostUses()
	if len(lost) == 0 {
		return
	}
	kept := slices.Clone(h.Messages) // others may be reading the old ones
	for i := len(kept) - 1; i >= 0 && len(lost) > 0; i-- {
		if kept[i].Role != RoleAssistant {
			continue
		}
		found, pruned, ok := kept[i].without(lost)
		lost = slices.DeleteFunc(lost, func(id string) bool { return slices.Contains(found, id) })
		switch {
		case len(found) == 0:
		case ok:
			kept[i] = pruned
		default:
			kept = slices.Delete(kept, i, i+1)
		}
	}
	h.Messages = kept
}

// lostUses takes the uses that Prune removes out of those that wait.
func (h *History) lostUses() []string {
	needed := make(map[string]bool)
	for _, use := range h.Open {
		b, _ := ParseBlock(use.Raw) // it was read before
		needed[b.callerID] = true
	}
	var lost, waiting []string
	for _, id := range h.waiting {
		if needed[id] {
			waiting = append(waiting, id)
		} else {
			lost = append(lost, id)
		}
	}
	h.waiting = waiting
	return lost
}

// without returns an assistant message without uses of server tools, and which of them it
// had. It reports false if nothing is left of it.
func (m *Message) without(lost []string) (found []string, pruned Message, ok bool) {
	blocks, _ := m.Blocks() // they were read before
	blocks = slices.DeleteFunc(blocks, func(b Block) bool {
		id, _ := wire.Unquote(b.id)
		is := b.IsServerUse() && slices.Contains(lost, id)
		if is {
			found = append(found, id)
		}
		return is
	})
	if len(found) == 0 {
		return nil, *m, true
	}
	for i := range blocks {
		if b := &blocks[i]; b.Kind == TypeToolUse && slices.Contains(lost, b.callerID) {
			b.Raw, b.callerID = wire.SetMember(b.Raw, "caller", []byte(`{"type":"direct"}`)), ""
		}
	}
	blocks = withoutFinalThinking(blocks)
	draft, ok := assistantMessage(JoinMessage(RoleAssistant, RawsOf(blocks)), blocks)
	draft.Breakpoints = int32(CountBreakpoints(draft.Raw)) //nolint:gosec // a message of that size does not fit into memory
	return found, draft.Message, ok
}
