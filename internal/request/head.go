package request

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner/internal/history"
	"github.com/toolrunner/toolrunner/internal/wire"
)

// Head is the system prompt and the tools of a request, which the API keeps in a message
// thread.
type Head struct {
	system      []byte       // nil: none
	given       [][]byte     // the caller's definitions
	names       []string     // of those that have one
	own         []Definition // of the runner's tools that are not among those
	breakpoints int
}

// Head encodes the system prompt and the tools. Its errors name the field of the
// parameters that cannot be sent.
func (in *Input) Head() (*Head, error) {
	h := &Head{own: in.Definitions}
	if in.Params.System != nil {
		if err := in.System.Set(in.Params.System); err != nil {
			return nil, fmt.Errorf("Params.System: %w", err)
		}
		h.system, h.breakpoints = in.System.raw, in.System.breakpoints
	}
	if len(in.Params.Tools) > 0 {
		if err := h.addGiven(in.Params.Tools); err != nil {
			return nil, err
		}
	}
	for i := range h.own {
		h.breakpoints += h.own[i].Breakpoints
	}
	return h, nil
}

// addGiven adds the caller's definitions, which take the place of the runner's.
func (h *Head) addGiven(tools []anthropic.BetaToolUnionParam) error {
	names := make(map[string]bool, len(tools))
	for i, tool := range tools {
		definition, err := EncodeTool(tool)
		if err != nil {
			return fmt.Errorf("Params.Tools[%d]: %w", i, err)
		}
		name := wire.StringMember(definition, "name")
		if names[name] {
			return fmt.Errorf("Params.Tools[%d]: the name %q is taken by an earlier tool; names must be unique", i, name)
		}
		if names[name] = name != ""; name != "" {
			h.names = append(h.names, name)
		}
		h.given = append(h.given, definition)
		h.breakpoints += history.CountBreakpoints(definition)
	}
	h.own = slices.DeleteFunc(slices.Clone(h.own), func(d Definition) bool { return names[d.Name] })
	return nil
}

// Breakpoints returns how many cache_control a request with parameters p has outside of its
// messages: in the head, and at the top.
func (h *Head) Breakpoints(p *anthropic.BetaMessageNewParams) int {
	if HasCacheControl(p.CacheControl) {
		return h.breakpoints + 1
	}
	return h.breakpoints
}

// Given returns the names of the caller's definitions.
func (h *Head) Given() []string { return h.names }

// HasTools reports whether there is a tool.
func (h *Head) HasTools() bool { return len(h.given)+len(h.own) > 0 }

// Is reports whether other has the same bytes. Nil is like nothing.
func (h *Head) Is(other *Head) bool {
	return h != nil && other != nil && bytes.Equal(h.system, other.system) && slices.EqualFunc(h.given, other.given, bytes.Equal) &&
		slices.EqualFunc(h.own, other.own, func(a, b Definition) bool { return bytes.Equal(a.Raw, b.Raw) })
}

// appendHead adds the system prompt and the tools.
func (r *Request) appendHead(h *Head) {
	if h.system != nil {
		r.rest.Append([]byte(`,"system":`), h.system)
	}
	if !h.HasTools() {
		return
	}
	r.rest.Append([]byte(`,"tools":[`))
	r.rest.AppendList(segments(h.given))
	if len(h.given) > 0 && len(h.own) > 0 {
		r.rest.Append(comma)
	}
	r.rest.AppendList(definitions(h.own))
	r.rest.Append([]byte("]"))
}

// segments are encoded values as a body has them.
type segments [][]byte

func (s segments) Len() int        { return len(s) }
func (s segments) At(i int) []byte { return s[i] }

// definitions are tools as a body has them.
type definitions []Definition

func (d definitions) Len() int        { return len(d) }
func (d definitions) At(i int) []byte { return d[i].Raw }
