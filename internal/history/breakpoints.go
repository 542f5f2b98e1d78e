package history

import (
	"bytes"
	"slices"
	"strings"

	"github.com/toolrunner/toolrunner/internal/wire"
)

// This file counts the cache breakpoints of messages and removes those beyond what a
// request may have.

// MaxBreakpoints is how many cache_control the API takes in one request.
const MaxBreakpoints = 4

const cacheControl = "cache_control"

// CountBreakpoints counts the cache_control of a message, a tool or a block, the
// blocks and definitions in it included. The input of a call is no place for one.
func CountBreakpoints(raw []byte) int {
	// Where a quote or a common letter comes first, the search is 50 times slower.
	if !bytes.Contains(raw, []byte(strings.TrimPrefix(cacheControl, "cache")+`"`)) {
		return 0
	}
	s := breakpointScan{data: raw}
	s.value(0)
	return s.found
}

// withoutBreakpoints returns a message, or a part of it, without the first n of
// its cache_control.
func withoutBreakpoints(value []byte, n *int) []byte {
	if *n <= 0 {
		return value
	}
	s := breakpointScan{data: value, drop: *n, copies: true, out: make([]byte, 0, len(value))}
	s.value(0)
	*n = s.drop
	return s.out
}

// breakpointScan reads valid JSON once, however deep it is nested. If it copies, it
// leaves out the first cache_control that it finds.
type breakpointScan struct {
	data   []byte
	found  int
	drop   int // how many are still to be left out
	copies bool
	out    []byte
}

// value reads the value at i, and returns the index after it.
func (s *breakpointScan) value(i int) int {
	if i = wire.SkipSpace(s.data, i); i < len(s.data) && (!s.copies || s.drop > 0) {
		switch s.data[i] {
		case '{':
			return s.items(i, '}', s.member)
		case '[':
			return s.items(i, ']', func(i int, separator string) int {
				s.copy(separator)
				return s.value(i)
			})
		}
	}
	return s.pass(i)
}

// items reads what is between the brackets at i: item reads one of them, which the
// separator comes before.
func (s *breakpointScan) items(i int, closing byte, item func(i int, separator string) int) int {
	s.copy(string(s.data[i]))
	before, separator := len(s.out), ""
	for i = wire.SkipSpace(s.data, i+1); i < len(s.data); i = wire.SkipSpace(s.data, i) {
		switch c := s.data[i]; c {
		case closing:
			s.copy(string(closing))
			return i + 1
		case ',':
			i++
		default:
			i = item(i, separator)
			if len(s.out) > before {
				separator = ","
			}
		}
	}
	return i
}

// member reads the member of an object at i.
func (s *breakpointScan) member(i int, separator string) int {
	end := wire.SkipKnown(s.data, i)
	literal := s.data[i:end]
	if i = wire.SkipSpace(s.data, end); i < len(s.data) && s.data[i] == ':' {
		i = wire.SkipSpace(s.data, i+1)
	}
	key, _ := wire.Content(literal)
	if bytes.IndexByte(key, '\\') >= 0 && wire.Valid(literal) {
		key = wire.AppendUnquoted(nil, key)
	}
	switch string(key) {
	case cacheControl:
		if i < len(s.data) && s.data[i] == '{' {
			if s.found++; s.drop > 0 {
				s.drop--
				return wire.SkipKnown(s.data, i)
			}
		}
	case "content", "source", "tool", "definition":
		s.copy(separator, string(literal), ":")
		return s.value(i)
	}
	s.copy(separator, string(literal), ":")
	return s.pass(i)
}

// pass reads the value at i as it is.
func (s *breakpointScan) pass(i int) int {
	end := wire.SkipKnown(s.data, i)
	if s.copies {
		s.out = append(s.out, s.data[i:end]...)
	}
	return end
}

func (s *breakpointScan) copy(texts ...string) {
	if !s.copies {
		return
	}
	for _, text := range texts {
		s.out = append(s.out, text...)
	}
}

// DropBreakpoints takes n cache_control out of the messages from an index on, the oldest
// first, and reports how many there were to take.
func (h *History) DropBreakpoints(from, n int) int {
	dropped := 0
	for i := from; i < len(h.Messages) && dropped < n; i++ {
		m := h.Messages[i]
		if m.Breakpoints == 0 {
			continue
		}
		take := min(n-dropped, int(m.Breakpoints))
		left := take
		raw := withoutBreakpoints(m.Raw, &left)
		if fresh, ok, err := ReadMessage(raw); err == nil && ok {
			fresh.Breakpoints = m.Breakpoints - int32(take) //nolint:gosec // it is no more than those
			fresh.Images, fresh.Side = m.Images, m.Side
			if dropped == 0 {
				h.Messages = slices.Clone(h.Messages) // others may be reading the old ones
			}
			h.Messages[i] = fresh.Message
			dropped += take
		}
	}
	return dropped
}

// Breakpoints counts the cache_control of messages.
func Breakpoints(messages []Message) int {
	n := 0
	for i := range messages {
		n += int(messages[i].Breakpoints)
	}
	return n
}
