package toolrunner

import (
	"slices"

	"github.com/toolrunner/toolrunner/internal/wire"
)

// Cache breakpoints of the messages reach this file, and leave it at most as
// many as a request may have.

// maxBreakpoints is how many cache_control the API takes in one request.
const maxBreakpoints = 4

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

// dropBreakpoints takes n cache_control out of the history, the oldest first,
// and reports how many there were to take.
func (h *history) dropBreakpoints(n int) int {
	dropped := 0
	for i := range h.messages {
		m := h.messages[i]
		if dropped >= n || m.breakpoints == 0 {
			continue
		}
		take := min(n-dropped, int(m.breakpoints))
		dropped += take
		left := take
		raw := withoutBreakpoints(m.raw, &left)
		if fresh, ok, err := readMessage(raw); err == nil && ok {
			fresh.breakpoints = m.breakpoints - int32(take) //nolint:gosec // it is no more than those
			h.messages = slices.Clone(h.messages)           // others may be reading the old ones
			h.messages[i] = fresh.message
		}
	}
	return dropped
}

// breakpoints counts the cache_control of the messages.
func (h *history) breakpoints() int {
	n := 0
	for i := range h.messages {
		n += int(h.messages[i].breakpoints)
	}
	return n
}
