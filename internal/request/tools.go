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

// NamesOf returns the names of definitions. What cannot be encoded has none.
func NamesOf(tools []anthropic.BetaToolUnionParam) []string {
	var names []string
	for _, tool := range tools {
		if definition, err := EncodeTool(tool); err == nil {
			if name := wire.StringMember(definition, "name"); name != "" {
				names = append(names, name)
			}
		}
	}
	return names
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
