// Package schema makes the schemas of tools' inputs from Go types, checks input against them, and decodes it.
//
// A schema, its rules and the decoder come from one tree, so that they agree: what the check accepts, the decoder takes.
package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"
)

// propertyKey is what the API wants the names of the properties of an input to match.
const propertyKey = `^[a-zA-Z0-9_.-]{1,64}$`

// isPropertyKey reports whether key matches propertyKey, which takes as long to compile as all else here together.
func isPropertyKey(key string) bool {
	return key != "" && len(key) <= 64 && strings.IndexFunc(key, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("_.-", c)
	}) < 0
}

// Input is the schema of a tool's input: the bytes that are sent, and the rules that input is checked against.
// It does not change and may be used by several goroutines.
type Input struct {
	text  json.RawMessage
	rules *rule
	// nullIsAbsent has null stand for an optional property that is not given.
	nullIsAbsent bool
	decoder      *Decoder // of the type that the schema was made from
}

// For makes the schema of a Go type: what encoding/json reads into it, and what its tags add.
//
// A property is required if its jsonschema tag says so, and optional otherwise, whatever its type: as in the official
// runner. null may be given for an optional property. The type must be a struct or a map, or one that describes itself
// as an object; json.RawMessage and any stand for an object of any content.
//
// With strict, the schema has the form that strict mode wants. The rules stay those of the tags, so that a bound that
// had to move into the description is still checked.
func For(t reflect.Type, strict bool) (*Input, error) {
	if t == nil {
		return nil, errors.New("no type: an interface without a value")
	}
	w := newWalker()
	p := w.plan(t)
	tree, err := newSchemaBuilder().document(p)
	if err != nil {
		return nil, err
	}
	if err := checkRoot(&tree); err != nil {
		return nil, fmt.Errorf("schema of %s: %w", t, err)
	}
	if strict {
		if err := makeStrict(&tree); err != nil {
			return nil, fmt.Errorf("schema of %s: %w", t, err)
		}
	}
	rules, err := compileSchema(tree.clone())
	if err != nil {
		return nil, fmt.Errorf("schema of %s: %w", t, err)
	}
	if err := tidySchema(&tree, strict); err != nil {
		return nil, fmt.Errorf("schema of %s: %w", t, err)
	}
	text, err := schemaText(&tree)
	if err != nil {
		return nil, err
	}
	return &Input{text: text, rules: rules, nullIsAbsent: true, decoder: w.decoder(p, refuseKeys)}, nil
}

// FromJSON takes a schema that somebody wrote. It stays as it is but for white space and $schema, which only
// costs tokens. The error says what the API would refuse: it refuses the whole request for one such tool.
func FromJSON(raw json.RawMessage) (*Input, error) {
	tree, err := parseJSON(raw)
	if err != nil {
		return nil, fmt.Errorf("schema is not valid JSON: %w", err)
	}
	if tree.kind != kindObject {
		return nil, fmt.Errorf("schema must be an object, not %s", summary(&tree))
	}
	tidyForeign(&tree)
	if err := checkRoot(&tree); err != nil {
		return nil, err
	}
	rules, err := compileSchema(tree.clone())
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	tree.remove("$schema")
	text, err := schemaText(&tree)
	if err != nil {
		return nil, err
	}
	return &Input{text: text, rules: rules}, nil
}

// FromParam takes the schema of a tool that is not ours. The SDK writes the extra fields of a parameter in random
// order; here they come in the order of our own schemas, so that the same tool is the same bytes each time.
func FromParam(p anthropic.BetaToolInputSchemaParam) (*Input, error) {
	_, written := p.Overrides()
	if !written && p.Properties == nil {
		p.Properties = map[string]any{} // some servers refuse a schema without
	}
	raw, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("schema cannot be encoded: %w", err)
	}
	if written {
		return FromJSON(raw)
	}
	tree, err := parseJSON(raw)
	if err != nil {
		return nil, fmt.Errorf("schema is not valid JSON: %w", err)
	}
	slices.SortFunc(tree.elems, func(a, b jsonValue) int { return strings.Compare(a.key, b.key) })
	sortKeywords(&tree)
	return FromJSON(tree.appendTo(nil))
}

// checkRoot checks what the API asks of the top of a schema alone.
func checkRoot(tree *jsonValue) error {
	for _, keyword := range []string{"oneOf", "anyOf", "allOf", "$ref"} {
		if tree.get(keyword) != nil {
			return fmt.Errorf("schema has %s at the top, which the API does not accept", keyword)
		}
	}
	typ := tree.get("type")
	if typ == nil {
		return errors.New(`schema has no type: the API wants "type":"object" at the top`)
	}
	if typ.text() != "object" {
		return fmt.Errorf(`schema has type %s at the top: the API accepts only "object"`, typ.appendTo(nil))
	}
	properties := tree.get("properties")
	if properties == nil {
		return nil
	}
	for i := range properties.elems {
		if key := properties.elems[i].key; !isPropertyKey(key) {
			return fmt.Errorf("property %q: the API accepts only names that match %s", key, propertyKey)
		}
	}
	return nil
}

// schemaText is the text of a schema exactly as the SDK sends it.
func schemaText(tree *jsonValue) (json.RawMessage, error) {
	return json.Marshal(json.RawMessage(tree.appendTo(nil)))
}

// JSON is the schema as it is sent: for the same type the same bytes each time. Callers must not change it.
func (s *Input) JSON() json.RawMessage { return s.text }

// Param is the schema as a parameter of a request. It encodes to JSON, byte for byte.
func (s *Input) Param() anthropic.BetaToolInputSchemaParam {
	return param.Override[anthropic.BetaToolInputSchemaParam](s.text)
}

// Is reports whether p is the schema, as Param returns it. A nil schema is none.
func (s *Input) Is(p anthropic.BetaToolInputSchemaParam) bool {
	if s == nil {
		return false
	}
	written, _ := p.Overrides()
	text, ok := written.(json.RawMessage)
	return ok && bytes.Equal(text, s.text)
}

// Read parses input and compares it with the schema. The error is an *Error that lists everything that is wrong.
func (s *Input) Read(input json.RawMessage) (*Document, error) {
	read, err := readDocument(input)
	if err != nil {
		return nil, err
	}
	c := checker{nullIsAbsent: s.nullIsAbsent, steps: stepsFor(read.text), digits: digitsFor(read.text)}
	c.value(s.rules, &read.root)
	c.doubles(read)
	if err := c.err(); err != nil {
		return nil, err
	}
	return read, nil
}

// Fair returns the schema for the check of a tool that is not ours. Such tools are mostly written for a decoder that
// takes null for a property that is not given, so that is no fault.
func (s *Input) Fair() *Input {
	fair := *s
	fair.nullIsAbsent = true
	return &fair
}
