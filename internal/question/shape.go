package question

import (
	"encoding/json"
	"strings"
)

// The schema of a tool tells here which members it names.

// maxBranches bounds the schemas that are looked at for one place. What the others
// name is shown as not named: too much is marked, never too little.
const maxBranches = 500

// shape is what a schema says of one place in an input.
type shape struct {
	known    bool // there is a schema, so that what it does not name can be told
	root     map[string]any
	branches []map[string]any // one of them, or several, describe the place
}

// newShape returns what a schema says of the whole input.
func newShape(schema []byte) shape {
	var root map[string]any
	if json.Unmarshal(schema, &root) != nil || root == nil {
		return shape{}
	}
	s := shape{known: true, root: root}
	return s.of(root)
}

// of returns the shape of a place that these schemas describe.
func (s shape) of(schemas ...any) shape {
	place := shape{known: s.known, root: s.root}
	for len(schemas) > 0 && len(place.branches) < maxBranches {
		branch, ok := schemas[0].(map[string]any)
		schemas = schemas[1:]
		if !ok {
			continue
		}
		place.branches = append(place.branches, branch)
		if reference, ok := branch["$ref"].(string); ok {
			schemas = append(schemas, s.resolve(reference))
		}
		for _, keyword := range []string{"anyOf", "oneOf", "allOf"} {
			if list, ok := branch[keyword].([]any); ok {
				schemas = append(schemas, list...)
			}
		}
		for _, keyword := range []string{"if", "then", "else"} {
			schemas = append(schemas, branch[keyword])
		}
	}
	return place
}

// resolve returns the schema that a reference within the root is to, or nil.
func (s shape) resolve(reference string) any {
	path, ok := strings.CutPrefix(reference, "#")
	if !ok {
		return nil
	}
	var at any = s.root
	for step := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		if path == "" {
			break
		}
		object, ok := at.(map[string]any)
		if !ok {
			return nil
		}
		at = object[strings.NewReplacer("~1", "/", "~0", "~").Replace(step)]
	}
	return at
}

// member returns the shape of a member's value, and whether the schema names the
// member, or describes all those that it does not name.
func (s shape) member(name string) (value shape, named bool) {
	var found []any
	for _, branch := range s.branches {
		properties, _ := branch["properties"].(map[string]any)
		if schema, ok := properties[name]; ok {
			found, named = append(found, schema), true
			continue
		}
		if schema, ok := branch["additionalProperties"].(map[string]any); ok && len(schema) > 0 {
			found, named = append(found, schema), true
		}
	}
	return s.of(found...), named
}

// isFree reports whether the schema leaves it to the model which members there are.
func (s shape) isFree() bool {
	for _, branch := range s.branches {
		if properties, _ := branch["properties"].(map[string]any); len(properties) > 0 {
			return false
		}
	}
	return true
}

// items returns the shape of the elements of an array.
func (s shape) items() shape {
	var found []any
	for _, branch := range s.branches {
		found = append(found, branch["items"])
		if list, ok := branch["prefixItems"].([]any); ok {
			found = append(found, list...)
		}
	}
	return s.of(found...)
}
