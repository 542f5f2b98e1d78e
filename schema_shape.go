package toolrunner

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// eachSchema calls visit for the schema and for each schema inside it, the outer one first.
func eachSchema(schema *jsonValue, visit func(*jsonValue) error) error {
	if schema.kind != kindObject {
		return nil // true and false are schemas too
	}
	if err := visit(schema); err != nil {
		return err
	}
	for i := range schema.elems {
		member := &schema.elems[i]
		switch member.key {
		case "properties", "patternProperties", "$defs", "definitions", "anyOf", "allOf", "oneOf", "prefixItems":
			for j := range member.elems {
				if err := eachSchema(&member.elems[j], visit); err != nil {
					return fmt.Errorf("%s: %w", cmp.Or(member.elems[j].key, member.key), err)
				}
			}
		case "items", "additionalProperties", "propertyNames", "not", "if", "then", "else", "contains", keywordInner:
			if err := eachSchema(member, visit); err != nil {
				return fmt.Errorf("%s: %w", strings.TrimPrefix(member.key, "\x00"), err)
			}
		}
	}
	return nil
}

// makeNullable lets a schema accept null beside what it accepts.
func makeNullable(schema *jsonValue) {
	null := ofType("null")
	typ := schema.get("type")
	switch {
	case typ != nil && typ.kind == kindString && typ.text() != "null":
		schema.set("type", jsonArray(*typ, jsonString("null")))
		if enum := schema.get("enum"); enum != nil {
			appendKeyword(schema, "enum", jsonNull())
		}
	case typ != nil && typ.kind == kindArray:
		if names := typ.elems; !slices.ContainsFunc(names, func(v jsonValue) bool { return v.text() == "null" }) {
			appendKeyword(schema, "type", jsonString("null"))
		}
	case schema.get("anyOf") != nil:
		appendKeyword(schema, "anyOf", null)
	case len(schema.elems) > 0 && typ == nil:
		inner := schema.clone()
		outer := jsonObject()
		if text := inner.get("description"); text != nil {
			outer.set("description", *text)
			inner.remove("description")
		}
		inner.key = ""
		outer.set("anyOf", jsonArray(inner, null))
		outer.key = schema.key
		*schema = outer
	}
}

// makeStrict gives the schema the shape that strict mode wants: each object closed, each property required, and those
// that were optional nullable.
func makeStrict(schema *jsonValue) error {
	return eachSchema(schema, func(s *jsonValue) error {
		if s.get("$ref") != nil {
			return errors.New("strict mode does not accept types that contain themselves")
		}
		if s.get("type") == nil && s.get("anyOf") == nil && s.get("allOf") == nil && s.get("enum") == nil && s.get("const") == nil {
			return errors.New("strict mode does not accept values of any type")
		}
		if !typesOfValue(s.get("type")).has("object") {
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
			if !isRequired(s, p.key) {
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

func isRequired(schema *jsonValue, key string) bool {
	required := schema.get("required")
	return required != nil && slices.ContainsFunc(required.elems, func(v jsonValue) bool { return v.text() == key })
}

// keywordOrder is the order of keywords in a schema made from a Go type, whatever order the tags are in.
var keywordOrder = []string{
	"$ref", "type", "title", "description", "enum", "const", "format", "contentEncoding", "pattern", "minLength", "maxLength",
	"minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "multipleOf", "properties", "required",
	"additionalProperties", "propertyNames", "items", "minItems", "maxItems", "uniqueItems", "anyOf", "default", "examples",
	"readOnly", "writeOnly", "deprecated", "$defs",
}

// tidySchema makes what is sent out of what is checked: without our own keywords and without the bounds of 64-bit
// numbers, which only say that a number is not absurd; in strict mode also without the keywords that the API refuses
// there, which the description then says.
func tidySchema(schema *jsonValue, strict bool) error {
	return eachSchema(schema, func(s *jsonValue) error {
		s.remove(keywordInner)
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

func isWideBound(number string) bool {
	switch number {
	case "-9223372036854775808", "9223372036854775807", "18446744073709551615",
		"-1.7976931348623157e+308", "1.7976931348623157e+308", "-3.4028234663852886e+38", "3.4028234663852886e+38":
		return true
	}
	return false
}

func moveToDescription(schema *jsonValue) {
	var kept []jsonValue
	var moved []string
	for _, member := range schema.elems {
		if strictAccepts(&member) {
			kept = append(kept, member)
		} else {
			moved = append(moved, fmt.Sprintf("%s: %s", member.key, member.appendTo(nil)))
		}
	}
	if len(moved) == 0 {
		return
	}
	schema.elems = kept
	note := "{" + strings.Join(moved, ", ") + "}"
	if text := schema.get("description").text(); text != "" {
		note = text + "\n\n" + note
	}
	describe(schema, note)
	sortKeywords(schema)
}

func sortKeywords(schema *jsonValue) {
	rank := func(v jsonValue) int {
		if i := slices.Index(keywordOrder, v.key); i >= 0 {
			return i
		}
		return len(keywordOrder)
	}
	slices.SortStableFunc(schema.elems, func(a, b jsonValue) int { return rank(a) - rank(b) })
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
