package toolrunnermcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/toolrunner/toolrunner/internal/schema"
)

// A server's schema becomes one that the Messages API accepts.

// fitted is a schema as it is sent.
type fitted struct {
	param   anthropic.BetaToolInputSchemaParam
	repairs []string // what was done to it
	moved   string   // what is for the description
}

// object is a schema, or another JSON object, as encoding/json decodes it.
type object = map[string]any

// fitSchema returns the schema with everything repaired that can be. The error
// says what the API would refuse.
func fitSchema(theirs any) (fitted, error) {
	var f fitted
	root, err := f.decode(theirs)
	if err != nil {
		return f, err
	}
	delete(root, "$schema")
	if err := f.inlineRef(root); err != nil {
		return f, err
	}
	if err := f.fixType(root); err != nil {
		return f, err
	}
	if err := f.flatten(root); err != nil {
		return f, err
	}
	if modernize(root) {
		f.repair("keywords that are null or of older drafts replaced")
	}
	if _, ok := root["properties"]; !ok {
		root["properties"] = object{}
	}
	text, err := encode(root)
	if err != nil {
		return f, err
	}
	input, err := schema.FromJSON(text)
	if err != nil {
		return f, err
	}
	f.param = input.Param()
	return f, nil
}

func (f *fitted) repair(what string) { f.repairs = append(f.repairs, what) }

// decode returns a copy of the schema, with its numbers as they are written.
func (f *fitted) decode(theirs any) (object, error) {
	if theirs == nil {
		f.repair("schema added")
		return object{"type": "object"}, nil
	}
	text, err := encode(theirs)
	if err != nil {
		return nil, err
	}
	var root any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&root); err != nil {
		return nil, err
	}
	if o, ok := root.(object); ok {
		return o, nil
	}
	return nil, fmt.Errorf("schema must be an object, not %.40s", text)
}

// inlineRef puts what a $ref at the top refers to in its place.
func (f *fitted) inlineRef(root object) error {
	for range 10 { // references to references
		ref, ok := root["$ref"]
		if !ok {
			return nil
		}
		target, ok := resolve(root, ref)
		if !ok {
			return fmt.Errorf("schema has the $ref %v at the top, which cannot be replaced by what it refers to", ref)
		}
		delete(root, "$ref")
		for key, value := range target {
			if _, ok := root[key]; !ok {
				root[key] = value
			}
		}
		f.repair("$ref at the top replaced by what it refers to")
	}
	return errors.New("schema has a $ref at the top that leads from one to another without an end")
}

// resolve returns the object that a local reference leads to.
func resolve(root object, ref any) (object, bool) {
	pointer, _ := ref.(string)
	path, ok := strings.CutPrefix(pointer, "#/")
	if !ok {
		return nil, false
	}
	target := root
	for token := range strings.SplitSeq(path, "/") {
		next, ok := target[strings.NewReplacer("~1", "/", "~0", "~").Replace(token)].(object)
		if !ok {
			return nil, false
		}
		target = next
	}
	return target, true
}

// fixType makes object the only type of the schema.
func (f *fitted) fixType(root object) error {
	switch typ := root["type"].(type) {
	case nil:
		f.repair(`"type":"object" added`)
	case string:
		if typ != "object" {
			return fmt.Errorf("schema takes %s, and the API only an object", typ)
		}
	case []any:
		if !slices.Contains(typ, any("object")) {
			return fmt.Errorf("schema takes %v, and the API only an object", typ)
		}
		f.repair("types other than object removed")
	default:
		return fmt.Errorf("schema has the type %v", typ)
	}
	root["type"] = "object"
	return nil
}

// flatten moves the alternatives at the top into the description, and what they
// say of properties to the top.
func (f *fitted) flatten(root object) error {
	moved := object{}
	for _, keyword := range []string{"allOf", "anyOf", "oneOf"} {
		branches, ok := root[keyword]
		if !ok {
			continue
		}
		moved[keyword] = branches
		delete(root, keyword)
		f.repair(keyword + " at the top moved into the description")
		list, _ := branches.([]any)
		for _, branch := range list {
			lift(root, branch, keyword == "allOf")
		}
	}
	if len(moved) == 0 {
		return nil
	}
	text, err := encode(moved)
	f.moved = string(text)
	return err
}

// lift adds the properties of a branch to the root, which keeps its own.
func lift(root object, branch any, required bool) {
	b, ok := branch.(object)
	if !ok {
		return
	}
	if target, ok := resolve(root, b["$ref"]); ok {
		b = target
	}
	properties, _ := b["properties"].(object)
	if len(properties) > 0 {
		own, _ := root["properties"].(object)
		all := maps.Clone(properties)
		maps.Copy(all, own)
		root["properties"] = all
	}
	if names, ok := b["required"].([]any); ok && required {
		own, _ := root["required"].([]any)
		for _, name := range names {
			if !slices.Contains(own, name) {
				own = append(own, name)
			}
		}
		root["required"] = own
	}
}

// modernize gives keywords whose form has changed since older drafts their new
// one, in s and in the schemas inside it.
func modernize(s object) (changed bool) {
	for _, bound := range [][2]string{{"exclusiveMinimum", "minimum"}, {"exclusiveMaximum", "maximum"}} {
		exclusive, ok := s[bound[0]].(bool)
		if !ok {
			continue
		}
		delete(s, bound[0])
		if limit, ok := s[bound[1]]; ok && exclusive {
			s[bound[0]] = limit
			delete(s, bound[1])
		}
		changed = true
	}
	for _, keyword := range []string{"properties", "required"} {
		if value, ok := s[keyword]; ok && value == nil {
			delete(s, keyword) // a nil map or slice of a server in Go
			changed = true
		}
	}
	if tuple, ok := s["items"].([]any); ok {
		delete(s, "items")
		if len(tuple) > 0 {
			s["prefixItems"] = tuple
		}
		if rest, ok := s["additionalItems"]; ok {
			s["items"] = rest
			delete(s, "additionalItems")
		}
		changed = true
	}
	for inner := range subschemas(s) {
		changed = modernize(inner) || changed
	}
	return changed
}

// subschemas walks the schemas directly inside s.
func subschemas(s object) func(yield func(object) bool) {
	return func(yield func(object) bool) {
		for key, value := range s {
			var inner []any
			switch key {
			case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
				named, _ := value.(object)
				inner = slices.Collect(maps.Values(named))
			case "anyOf", "allOf", "oneOf", "prefixItems":
				inner, _ = value.([]any)
			case "items", "additionalProperties", "propertyNames", "not", "if", "then", "else", "contains":
				inner = []any{value}
			}
			for _, v := range inner {
				if o, ok := v.(object); ok && !yield(o) {
					return
				}
			}
		}
	}
}

// encode encodes v with its keys sorted, and without escapes for HTML.
func encode(v any) ([]byte, error) {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(text.Bytes()), nil
}
