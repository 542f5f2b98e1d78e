package schema

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// makeStrict gives the schema the shape that strict mode wants: each object closed, each property required, and those
// that were optional nullable.
func makeStrict(schema *jsonValue) error {
	return eachSchema(schema, func(s *jsonValue) error {
		if oneOf := s.get("oneOf"); oneOf != nil && s.get("anyOf") == nil {
			oneOf.key = "anyOf" // the API knows only this one
		}
		if s.get("$ref") != nil {
			return errors.New("strict mode does not accept types that contain themselves")
		}
		if s.get("type") == nil && s.get("anyOf") == nil && s.get("allOf") == nil && s.get("enum") == nil && s.get("const") == nil {
			return errors.New("strict mode does not accept values of any type")
		}
		if !typesOfValue(s.get("type")).has(typeObject) {
			return nil
		}
		if more := s.get("additionalProperties"); more != nil && more.kind != kindFalse {
			return errors.New("strict mode does not accept maps")
		}
		properties := s.get("properties")
		if properties == nil || len(properties.elems) == 0 && s.get("additionalProperties") == nil {
			return errors.New("strict mode does not accept open objects")
		}
		required := jsonArray()
		for i := range properties.elems {
			p := &properties.elems[i]
			if !requires(s, p.key) {
				makeNullable(p)
			}
			required.elems = append(required.elems, jsonString(p.key))
		}
		if len(required.elems) > 0 {
			s.set("required", required)
		}
		s.set("additionalProperties", jsonBool(false))
		return nil
	})
}

// requires reports whether an object asks for that property.
func requires(schema *jsonValue, key string) bool {
	required := schema.get("required")
	return required != nil && slices.ContainsFunc(required.elems, func(v jsonValue) bool { return v.text() == key })
}

// tidySchema makes what is sent out of what is checked: without our own keywords and without the bounds of 64-bit
// numbers, which only say that a number is not absurd; in strict mode also without the keywords that the API refuses
// there, which the description then says.
func tidySchema(schema *jsonValue, strict bool) error {
	return eachSchema(schema, func(s *jsonValue) error {
		s.elems = slices.DeleteFunc(s.elems, func(m jsonValue) bool { return strings.HasPrefix(m.key, "\x00") })
		for _, keyword := range []string{"minimum", "maximum"} {
			if bound := s.get(keyword); bound != nil && isWideBound(bound.raw) {
				s.remove(keyword)
			}
		}
		sortKeywords(s)
		if strict {
			moveToDescription(s)
		}
		return nil
	})
}

// moveToDescription turns keywords that strict mode refuses into words.
func moveToDescription(schema *jsonValue) {
	var kept, moved []jsonValue
	for _, member := range schema.elems {
		if strictAccepts(&member) {
			kept = append(kept, member)
		} else {
			moved = append(moved, member)
		}
	}
	schema.elems = kept
	noteKeywords(schema, moved)
	sortKeywords(schema)
}

// noteKeywords adds what keywords say to the description.
func noteKeywords(schema *jsonValue, keywords []jsonValue) {
	if len(keywords) == 0 {
		return
	}
	var notes []string
	for _, member := range keywords {
		notes = append(notes, fmt.Sprintf("%s: %s", member.key, member.appendTo(nil)))
	}
	note := "{" + strings.Join(notes, ", ") + "}"
	if text := schema.get("description").text(); text != "" {
		note = text + "\n\n" + note
	}
	describe(schema, note)
}

func strictAccepts(member *jsonValue) bool {
	switch member.key {
	case "type", "title", "description", "enum", "const", "properties", "required", "additionalProperties", "items", "anyOf", "allOf":
		return true
	case "minItems":
		return member.raw == "0" || member.raw == "1"
	case "format":
		return slices.Contains([]string{
			"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid",
		}, member.text())
	}
	return false
}
