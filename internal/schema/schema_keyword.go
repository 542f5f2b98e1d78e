package schema

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// These keywords are ours and never sent.
const (
	// keywordInner is a schema for the JSON text inside a string, which is how encoding/json reads fields with the string
	// option and map keys that are integers.
	keywordInner = "\x00inner"
	// keywordNilable is said of an element that may be null, as its Go type has a nil.
	keywordNilable = "\x00nilable"
	// keywordDecoder says what the decoder of the Go type insists on, which JSON Schema leaves to the reader.
	keywordDecoder = "\x00decoder"
	decodesTime    = "time"
	decodesBase64  = "base64"
	decodesBig     = "big"
)

func ofType(name string) jsonValue { return jsonObject(jsonString(name).as("type")) }

// describe sets the description, beside whatever the schema already says.
func describe(schema *jsonValue, text string) { schema.set("description", jsonString(text)) }

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
		if formatOf(member.key) == formatSchema {
			if err := eachSchema(member, visit); err != nil {
				return inside(member.key, err)
			}
			continue
		}
		for j := range subschemas(member) {
			if err := eachSchema(&member.elems[j], visit); err != nil {
				return inside(cmp.Or(member.elems[j].key, member.key), err)
			}
		}
	}
	return nil
}

// inside says in which keyword or property something is wrong, unless that is said of many already.
func inside(key string, err error) error {
	if key = strings.TrimPrefix(key, "\x00"); key == "" || len(err.Error()) > 2*maxFaultText {
		return err
	}
	return fmt.Errorf("%s: %w", abbreviate(key, maxKeyText), err)
}

// appendKeyword adds an item to a keyword whose value is a list.
func appendKeyword(schema *jsonValue, keyword string, item jsonValue) {
	list := jsonArray()
	if old := schema.get(keyword); old != nil {
		list = *old
	}
	list.elems = append(list.elems, item)
	schema.set(keyword, list)
}

// makeNullable lets a schema accept null beside what it accepts: in its type if that alone decides, else as an
// alternative.
func makeNullable(schema *jsonValue) {
	typ := schema.get("type")
	composed := slices.ContainsFunc(schema.elems, func(m jsonValue) bool {
		return slices.Contains([]string{"$ref", "const", "allOf", "anyOf", "oneOf"}, m.key)
	})
	alternatives := schema.get("anyOf")
	switch {
	case len(schema.elems) == 0 || typesOfValue(typ).has(typeNull):
	case alternatives != nil && typ == nil && isPlainChoice(schema):
		alternatives.elems = append(slices.Clone(alternatives.elems), ofType("null"))
	case typ != nil && !composed:
		types := jsonArray(slices.Clone(typ.elems)...)
		if typ.kind == kindString {
			types = jsonArray(*typ)
		}
		types.elems = append(types.elems, jsonString("null"))
		schema.set("type", types)
		if schema.get("enum") != nil {
			appendKeyword(schema, "enum", jsonNull())
		}
	default:
		inner := schema.clone().as("")
		outer := jsonObject().as(schema.key)
		if text := inner.get("description"); text != nil {
			outer.set("description", *text)
			inner.remove("description")
		}
		outer.set("anyOf", jsonArray(inner, ofType("null")))
		*schema = outer
	}
}

// isPlainChoice reports whether a schema is a list of alternatives and words about it, and nothing else.
func isPlainChoice(schema *jsonValue) bool {
	return !slices.ContainsFunc(schema.elems, func(m jsonValue) bool {
		return !slices.Contains([]string{"anyOf", "title", "description", "default", "examples", "deprecated"}, m.key)
	})
}

// keywordRank is the place of a keyword in a schema made from a Go type, whatever order the tags are in.
func keywordRank(keyword string) int {
	order := [...]string{
		"$ref", "type", "title", "description", "enum", "const", "format", "contentEncoding", "pattern", "minLength", "maxLength",
		"minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "multipleOf", "properties", "required",
		"additionalProperties", "propertyNames", "items", "minItems", "maxItems", "uniqueItems", "anyOf", "default", "examples",
		"readOnly", "writeOnly", "deprecated", "$defs",
	}
	if i := slices.Index(order[:], keyword); i >= 0 {
		return i
	}
	return len(order)
}

func sortKeywords(schema *jsonValue) {
	slices.SortStableFunc(schema.elems, func(a, b jsonValue) int { return keywordRank(a.key) - keywordRank(b.key) })
}

// isWideBound reports whether a bound is one of a 64-bit number or a float, so wide that it says nothing to a model.
func isWideBound(number string) bool {
	switch number {
	case "-9223372036854775808", "9223372036854775807", "18446744073709551615",
		"-1.7976931348623157e+308", "1.7976931348623157e+308", "-3.4028235e+38", "3.4028235e+38":
		return true
	}
	return false
}
