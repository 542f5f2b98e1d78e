package history

import (
	"slices"

	"github.com/toolrunner/toolrunner/internal/wire"
)

// This file counts the cache breakpoints of messages and removes those beyond what a
// request may have.

// MaxBreakpoints is how many cache_control the API takes in one request.
const MaxBreakpoints = 4

// withoutBreakpoints returns a message, or a part of it, without the first n of
// its cache_control.
func withoutBreakpoints(value []byte, n *int) []byte {
	if *n <= 0 || len(value) == 0 {
		return value
	}
	switch value[0] {
	case '[':
		out := []byte{'['}
		_ = wire.Elements(value, func(element []byte) error {
			if len(out) > 1 {
				out = append(out, ',')
			}
			out = append(out, withoutBreakpoints(element, n)...)
			return nil
		})
		return append(out, ']')
	case '{':
		var o wire.Object
		_ = wire.Members(value, func(key, value []byte) error {
			switch string(key) {
			case cacheControl:
				if *n > 0 && value[0] == '{' {
					*n--
					return nil
				}
			case "content", "source", "tool", "definition":
				value = withoutBreakpoints(value, n)
			}
			o = append(o, wire.Member{Key: string(key), Value: value})
			return nil
		})
		return o.AppendTo(nil)
	}
	return value
}

// DropBreakpoints takes n cache_control out of the history, the oldest first,
// and reports how many there were to take.
func (h *History) DropBreakpoints(n int) int {
	dropped := 0
	for i := range h.Messages {
		m := h.Messages[i]
		if dropped >= n || m.Breakpoints == 0 {
			continue
		}
		take := min(n-dropped, int(m.Breakpoints))
		dropped += take
		left := take
		raw := withoutBreakpoints(m.Raw, &left)
		if fresh, ok, err := ReadMessage(raw); err == nil && ok {
			fresh.Breakpoints = m.Breakpoints - int32(take) //nolint:gosec // it is no more than those
			h.Messages = slices.Clone(h.Messages)           // others may be reading the old ones
			h.Messages[i] = fresh.Message
		}
	}
	return dropped
}

// Breakpoints counts the cache_control of the messages.
func (h *History) Breakpoints() int {
	n := 0
	for i := range h.Messages {
		n += int(h.Messages[i].Breakpoints)
	}
	return n
}
