package request

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner/internal/history"
	"github.com/toolrunner/toolrunner/internal/wire"
)

// Definition is a tool of the runner as a request has it.
type Definition struct {
	Name        string
	Raw         []byte
	Breakpoints int // the cache_control in it
}

// EncodeTool encodes the definition of a tool, which may be a union. It returns an
// error for one that is no JSON object.
func EncodeTool(tool json.Marshaler) ([]byte, error) {
	data, err := history.EncodeJSON(tool)
	if err != nil {
		return nil, fmt.Errorf("the definition cannot be encoded: %w", err)
	}
	if string(data) == "null" {
		return nil, errors.New("the definition is a union of which no field is set; set one, such as OfTool")
	}
	if err := wire.Members(data, func(_, _ []byte) error { return nil }); err != nil {
		return nil, fmt.Errorf("the definition is not a JSON object: %w", err)
	}
	if err := history.CheckDepth(data); err != nil {
		return nil, fmt.Errorf("the definition: %w", err)
	}
	data, _ = wire.Sound(data)
	return data, nil
}

// appendTools adds the caller's definitions, and those of the runner's tools
// that are not among them.
func (r *Request) appendTools(given []anthropic.BetaToolUnionParam, own definitions) error {
	if len(given)+len(own) == 0 {
		return nil
	}
	r.rest.Append([]byte(`,"tools":[`))
	names := make(map[string]bool, len(given))
	for i, tool := range given {
		definition, err := EncodeTool(tool)
		if err != nil {
			return fmt.Errorf("Params.Tools[%d]: %w", i, err)
		}
		name := wire.StringMember(definition, "name")
		if names[name] {
			return fmt.Errorf("Params.Tools[%d]: the name %q is taken by an earlier tool; names must be unique", i, name)
		}
		names[name] = name != ""
		if i > 0 {
			r.rest.Append(comma)
		}
		r.rest.Append(definition)
	}
	if len(given) > 0 {
		own = slices.DeleteFunc(slices.Clone(own), func(d Definition) bool { return names[d.Name] })
		if len(own) > 0 {
			r.rest.Append(comma)
		}
	}
	r.rest.AppendList(own)
	r.rest.Append([]byte("]"))
	return nil
}

// definitions are tools as a body has them.
type definitions []Definition

func (d definitions) Len() int        { return len(d) }
func (d definitions) At(i int) []byte { return d[i].Raw }

// Breakpoints counts the cache_control that a request has outside of its messages: in
// the parameters, the system prompt as it was set last, and the definitions of own
// that none of the caller's replaces.
func Breakpoints(p *anthropic.BetaMessageNewParams, system *System, own []Definition) int {
	n := system.breakpoints
	if HasCacheControl(p.CacheControl) {
		n++
	}
	given := make(map[string]bool)
	for _, tool := range p.Tools {
		if definition, err := EncodeTool(tool); err == nil {
			n += history.CountBreakpoints(definition)
			given[wire.StringMember(definition, "name")] = true
		}
	}
	for _, tool := range own {
		if !given[tool.Name] {
			n += tool.Breakpoints
		}
	}
	return n
}

// Names reports whether definitions of the caller have a tool of a name, for all that they
// tell: those of a toolset do not tell names.
func Names(given []anthropic.BetaToolUnionParam, name string) bool {
	return slices.ContainsFunc(given, func(tool anthropic.BetaToolUnionParam) bool {
		definition, err := EncodeTool(tool)
		known := wire.StringMember(definition, "name")
		return err == nil && (known == "" || known == name)
	})
}

// HasCacheControl reports whether c says anything.
func HasCacheControl(c anthropic.BetaCacheControlEphemeralParam) bool {
	_, raw := c.Overrides()
	return raw || c.TTL != "" || c.Type != "" || len(c.ExtraFields()) > 0
}
