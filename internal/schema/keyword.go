package schema

import (
	"fmt"
	"strings"
)

// format is the form that JSON Schema gives the value of a keyword.
type format int

const (
	formatFree       format = iota // anything: also of keywords that are not known
	formatText                     // a string
	formatAnchor                   // a name for a place in a schema
	formatFlag                     // true or false
	formatCount                    // a whole number from 0
	formatNumber                   // a number
	formatList                     // an array of anything
	formatTypes                    // the name of a type, or an array of them
	formatNames                    // an array of names, none twice
	formatNamedNames               // an object of arrays of names
	formatSchema                   // a schema
	formatSchemas                  // an array of schemas, not empty
	formatNamed                    // an object of schemas
	formatEither                   // an object of schemas or arrays of names
	formatFlags                    // an object of booleans
)

func formatOf(keyword string) format {
	switch keyword {
	case "$id", "$schema", "$ref", "$dynamicRef", "$recursiveRef", "$comment", "title", "description", "pattern", "format",
		"contentEncoding", "contentMediaType":
		return formatText
	case "$anchor", "$dynamicAnchor", "$recursiveAnchor":
		return formatAnchor
	case "uniqueItems", "readOnly", "writeOnly", "deprecated":
		return formatFlag
	case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains":
		return formatCount
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf":
		return formatNumber
	case "enum", "examples":
		return formatList
	case "type":
		return formatTypes
	case "required":
		return formatNames
	case "dependentRequired":
		return formatNamedNames
	case "items", "additionalProperties", "propertyNames", "not", "if", "then", "else", "contains", "unevaluatedItems",
		"unevaluatedProperties", "contentSchema", keywordInner:
		return formatSchema
	case "anyOf", "allOf", "oneOf", "prefixItems":
		return formatSchemas
	case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
		return formatNamed
	case "dependencies":
		return formatEither
	case "$vocabulary":
		return formatFlags
	}
	return formatFree
}

// isSchema reports whether v has the outer form of a schema.
func (v *jsonValue) isSchema() bool {
	return v.kind == kindObject || v.kind == kindTrue || v.kind == kindFalse
}

// subschemas lists the schemas in the value of a keyword.
func subschemas(k *jsonValue) []jsonValue {
	switch formatOf(k.key) {
	case formatSchema:
		return []jsonValue{*k}
	case formatSchemas, formatNamed, formatEither:
		return k.elems
	default:
	}
	return nil
}

// checkFormat returns an error for a keyword of another shape than JSON Schema gives it, schemas inside aside.
func checkFormat(k *jsonValue) error {
	want, ok := "", true
	switch formatOf(k.key) {
	case formatText:
		want, ok = "a string", k.kind == kindString && (k.key != "$id" || !strings.Contains(strings.TrimSuffix(k.text(), "#"), "#"))
	case formatAnchor:
		want, ok = "a name of letters, digits, '_', '-' and '.'", isAnchor(k.text())
	case formatFlag:
		want, ok = "a boolean", k.kind == kindTrue || k.kind == kindFalse
	case formatCount:
		d := decimal{}
		if k.kind == kindNumber {
			d = parseDecimal(k.raw)
		}
		want, ok = "a count", k.kind == kindNumber && d.sign() >= 0 && d.isInteger()
	case formatNumber:
		want, ok = "a number", k.kind == kindNumber
		if d := k; ok && k.key == "multipleOf" {
			want, ok = "a number above zero, of at most 400 digits", parseDecimal(d.raw).sign() > 0 && len(parseDecimal(d.raw).digits) <= 400
		}
	case formatList:
		want, ok = "an array", k.kind == kindArray
	case formatTypes:
		return checkTypes(k)
	case formatNames:
		want, ok = "an array of names, none twice", areNames(k)
	case formatNamedNames:
		want, ok = "an object of arrays of names, none twice", k.kind == kindObject
		for i := range k.elems {
			ok = ok && areNames(&k.elems[i])
		}
	case formatEither, formatFlags:
		want, ok = "an object of schemas or of lists", k.kind == kindObject
		for i := range k.elems {
			v := &k.elems[i]
			ok = ok && (v.isBool() || formatOf(k.key) == formatEither && (v.isSchema() || areNames(v)))
		}
	case formatSchema:
		if k.kind == kindArray && k.key == "items" {
			return fmt.Errorf("must be one schema (a schema for each position is prefixItems)")
		}
	case formatSchemas:
		want, ok = "an array of schemas", k.kind == kindArray && len(k.elems) > 0
	case formatNamed:
		want, ok = "an object of schemas", k.kind == kindObject
	default:
	}
	if !ok {
		return fmt.Errorf("must be %s, not %s", want, summary(k))
	}
	return nil
}

func checkTypes(k *jsonValue) error {
	names := k.elems
	if k.kind == kindString {
		names = []jsonValue{*k}
	}
	var all typeSet
	for i := range names {
		one := typesOf(names[i].text())
		if one == 0 || all.has(one) {
			return fmt.Errorf("%s is not a type, or given twice", summary(&names[i]))
		}
		all |= one
	}
	if all == 0 {
		return fmt.Errorf("must be a type or an array of types, not %s", summary(k))
	}
	return nil
}

func areNames(v *jsonValue) bool {
	for i := range v.elems {
		if v.elems[i].kind != kindString {
			return false
		}
	}
	return v.kind == kindArray && len(withoutDoubles(v.elems)) == len(v.elems)
}

// withoutDoubles returns the values without those that were there before.
func withoutDoubles(values []jsonValue) []jsonValue {
	seen := make(map[string]struct{}, len(values))
	var kept []jsonValue
	for i := range values {
		text := string(values[i].canonical(nil))
		if _, ok := seen[text]; !ok {
			seen[text] = struct{}{}
			kept = append(kept, values[i])
		}
	}
	return kept
}

func isAnchor(name string) bool {
	return name != "" && strings.IndexFunc(name, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("_.-", c)
	}) < 0 && !strings.ContainsRune("0123456789.-", rune(name[0]))
}
