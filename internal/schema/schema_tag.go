package schema

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// tagKeyword is one keyword of a jsonschema tag.
type tagKeyword struct {
	name  string
	value string
}

// keywordForm says how a keyword is written in a tag.
type keywordForm int

const (
	formUnknown keywordForm = iota
	formFlag                // required
	formBool                // uniqueItems or uniqueItems=true
	formText                // description=free text, commas included
	formNumber              // minimum=1.5
	formCount               // maxLength=80
)

func formOf(keyword string) keywordForm {
	switch keyword {
	case "required", "nullable":
		return formFlag
	case "uniqueItems", "readOnly", "writeOnly", "deprecated":
		return formBool
	case "title", "description", "default", "example", "enum", "pattern", "format", "type":
		return formText
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf":
		return formNumber
	case "minLength", "maxLength", "minItems", "maxItems":
		return formCount
	}
	return formUnknown
}

// parseTag splits a jsonschema tag into its keywords. A keyword begins at the start and after a comma that a known
// keyword follows; any other comma belongs to the value before it. A backslash before a comma keeps it in the value
// whatever follows. What looks like a keyword (a word and =, right after the comma) but is none is an error.
func parseTag(tag string) ([]tagKeyword, error) {
	var keywords []tagKeyword
	for _, segment := range splitTag(tag) {
		name, value, hasValue := strings.Cut(strings.TrimSpace(segment), "=")
		form := formOf(name)
		if form != formUnknown && (hasValue != (form == formFlag) || form == formBool) && (hasValue || form <= formBool) {
			keywords = append(keywords, tagKeyword{name: name, value: value})
			continue
		}
		if len(keywords) == 0 {
			return nil, fmt.Errorf("unknown keyword %q (a description is written description=...)", segment)
		}
		last := &keywords[len(keywords)-1]
		switch {
		case formOf(last.name) != formText && strings.TrimSpace(segment) == "":
		case formOf(last.name) != formText, startsLikeKeyword(segment):
			return nil, fmt.Errorf(`unknown keyword %q (write \\, for a comma inside a value)`, segment)
		case last.name == "enum":
			return nil, fmt.Errorf(`unknown keyword %q (enum= is repeated for each value; write \\, for a comma inside one)`, segment)
		default:
			last.value += "," + segment
		}
	}
	return keywords, nil
}

// splitTag splits on each comma without a backslash before it, and drops the backslash of the others.
func splitTag(tag string) []string {
	var segments []string
	var segment strings.Builder
	for i := 0; i < len(tag); i++ {
		switch {
		case tag[i] == '\\' && i+1 < len(tag) && tag[i+1] == ',':
			segment.WriteByte(',')
			i++
		case tag[i] == ',':
			segments = append(segments, segment.String())
			segment.Reset()
		default:
			segment.WriteByte(tag[i])
		}
	}
	if tag == "" {
		return nil
	}
	return append(segments, segment.String())
}

func startsLikeKeyword(segment string) bool {
	word, _, found := strings.Cut(segment, "=")
	return found && word != "" && strings.IndexFunc(word, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '_'
	}) < 0
}

// applyTag writes the keywords of a tag into the schema of a field. Those that describe one value go to the items
// where the field is a list, as in the official runner.
func applyTag(schema *jsonValue, keywords []tagKeyword) error {
	for _, k := range keywords {
		target := schema
		switch k.name {
		case "required", "nullable", "type": // of the field
			continue
		case "enum", "pattern", "format", "minLength", "maxLength",
			"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf":
			if schema.get("type").text() == "array" {
				target = schema.get("items")
			}
		}
		if err := applyKeyword(target, k); err != nil {
			return err
		}
	}
	return nil
}

func applyKeyword(schema *jsonValue, k tagKeyword) error {
	if typ := schema.get("type").text(); !keywordFits(k.name, typ) {
		return fmt.Errorf("keyword %q does not fit a value of type %q", k.name, typ)
	}
	switch formOf(k.name) {
	case formNumber:
		return applyBound(schema, k)
	case formCount:
		if _, err := strconv.ParseUint(k.value, 10, 31); err != nil {
			return fmt.Errorf("%s=%s: not a count", k.name, k.value)
		}
		schema.set(k.name, jsonNumber(k.value))
	case formBool:
		on, err := strconv.ParseBool(k.value)
		if k.value != "" && err != nil {
			return fmt.Errorf("%s=%s: not true or false", k.name, k.value)
		}
		schema.set(k.name, jsonBool(on || k.value == ""))
	default:
		return applyText(schema, k)
	}
	return nil
}

// keywordFits reports whether a keyword says something about values of that type.
func keywordFits(keyword, typ string) bool {
	switch keyword {
	case "minLength", "maxLength", "pattern", "format":
		return typ == "string"
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf":
		return typ == "integer" || typ == "number"
	case "minItems", "maxItems", "uniqueItems":
		return typ == "array"
	case "enum":
		return typ == "string" || typ == "integer" || typ == "number" || typ == "boolean"
	}
	return true
}

func applyText(schema *jsonValue, k tagKeyword) error {
	switch k.name {
	case "title", "format":
		schema.set(k.name, jsonString(k.value))
	case "description":
		describe(schema, k.value)
	case "pattern":
		if _, err := regexp.Compile(k.value); err != nil {
			return fmt.Errorf("pattern=%s: %w", k.value, err)
		}
		schema.set(k.name, jsonString(k.value))
	case "enum":
		value, err := tagValue(schema, strings.TrimSpace(k.value))
		if err != nil {
			return fmt.Errorf("enum=%s: %w", k.value, err)
		}
		appendKeyword(schema, "enum", value)
	case "example":
		value, err := tagValue(schema, k.value)
		if err != nil {
			return fmt.Errorf("example=%s: %w", k.value, err)
		}
		appendKeyword(schema, "examples", value)
	case "default":
		return applyDefault(schema, k)
	}
	return nil
}

// applyDefault sets the default; for a list, each default= adds an item.
func applyDefault(schema *jsonValue, k tagKeyword) error {
	of := schema
	if schema.get("type").text() == "array" && !strings.HasPrefix(k.value, "[") {
		of = schema.get("items")
	}
	value, err := tagValue(of, k.value)
	if err != nil {
		return fmt.Errorf("default=%s: %w", k.value, err)
	}
	if of == schema {
		schema.set("default", value)
	} else {
		appendKeyword(schema, "default", value)
	}
	return nil
}

// tagValue reads the text of a tag as a value of the schema's type.
func tagValue(schema *jsonValue, text string) (jsonValue, error) {
	typ := schema.get("type").text()
	if typ == "string" {
		return jsonString(text), nil
	}
	value, err := parseJSON([]byte(text))
	if err != nil {
		return value, fmt.Errorf("not a JSON value of type %q", typ)
	}
	if want := typesOf(typ); typ != "" && !want.allow(&value) {
		return value, fmt.Errorf("not of type %q", typ)
	}
	return value, nil
}

// applyBound sets a numeric keyword. The bounds that come from the Go type stay where they are narrower.
func applyBound(schema *jsonValue, k tagKeyword) error {
	value, err := parseJSON([]byte(k.value))
	if err != nil || value.kind != kindNumber {
		return fmt.Errorf("%s=%s: not a number", k.name, k.value)
	}
	bound := parseDecimal(value.raw)
	if k.name == "multipleOf" && bound.sign() <= 0 {
		return fmt.Errorf("%s=%s: not above zero", k.name, k.value)
	}
	within := map[string]string{
		"minimum": "minimum", "exclusiveMinimum": "minimum", "maximum": "maximum", "exclusiveMaximum": "maximum",
	}[k.name]
	if old := schema.get(within); old != nil {
		narrower := bound.compare(parseDecimal(old.raw))
		if within == "maximum" {
			narrower = -narrower
		}
		if narrower < 0 {
			return nil
		}
		schema.remove(within)
	}
	schema.set(k.name, value)
	return nil
}
