package schema

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxSchemaParts bounds the schema of one type: types that are used in several places are written out in each, which
// can grow without limit.
const maxSchemaParts = 5_000

// errOwnJSON is returned for a type that has its own JSON form and does not describe it.
var errOwnJSON = errors.New("has its own JSON form: give it a method JSONSchema() json.RawMessage, " +
	`or its field a tag jsonschema:"type=..."`)

// schemaBuilder turns Go types into schemas. A type that contains itself becomes a definition; any other is written
// out wherever it is used, so that what a field says about it stays there.
type schemaBuilder struct {
	open  map[reflect.Type]bool   // being described further up
	names map[reflect.Type]string // definitions
	taken map[string]bool         // names of definitions
	defs  jsonValue
	parts int
}

func newSchemaBuilder() *schemaBuilder {
	return &schemaBuilder{
		open: map[reflect.Type]bool{}, names: map[reflect.Type]string{}, taken: map[string]bool{}, defs: jsonObject(),
	}
}

// document describes a type as a whole. Numbers carry the bounds of their Go type even where they are too wide to be worth
// sending; see tidySchema.
func (b *schemaBuilder) document(p *plan) (jsonValue, error) {
	for p.typ.Kind() == reflect.Pointer && p.typ.Name() == "" {
		p = p.elem
	}
	t := p.typ
	if t == reflect.TypeFor[json.RawMessage]() || t.Kind() == reflect.Interface && t.NumMethod() == 0 {
		return jsonObject(jsonString("object").as("type"), jsonObject().as("properties")), nil
	}
	schema, err := b.schema(p)
	if err != nil {
		return schema, err
	}
	if name, ok := b.names[t]; ok { // the top must be an object itself, not a reference to one
		schema = b.defs.get(name).clone()
	}
	schema.key = ""
	if schema.get("anyOf") != nil {
		return schema, fmt.Errorf("%s is one of several: the API does not accept that at the top, so put it into a field of a struct", t)
	}
	if typ := schema.get("type").text(); typ != "object" {
		return schema, fmt.Errorf("%s has a schema of type %q: the input of a tool is an object", t, typ)
	}
	if schema.get("properties") == nil {
		schema.set("properties", jsonObject())
	}
	if len(b.defs.elems) > 0 {
		schema.set("$defs", b.defs)
	}
	return schema, nil
}

func (b *schemaBuilder) schema(p *plan) (jsonValue, error) {
	t := p.typ
	if b.open[t] && b.names[t] == "" {
		b.names[t] = b.definitionName(t)
	}
	if name, ok := b.names[t]; ok {
		return jsonObject(jsonString("#/$defs/" + name).as("$ref")), nil
	}
	if b.parts++; b.parts > maxSchemaParts {
		return jsonValue{}, fmt.Errorf("the schema has more than %d parts", maxSchemaParts)
	}
	if t.Name() != "" {
		b.open[t] = true
		defer delete(b.open, t)
	}
	schema, ok, err := selfDescribed(p)
	if !ok && err == nil {
		schema, err = p.describe(b, p)
	}
	if err != nil {
		return schema, err
	}
	if name, ok := b.names[t]; ok { // it turned out to contain itself
		b.defs.set(name, schema)
		return jsonObject(jsonString("#/$defs/" + name).as("$ref")), nil
	}
	return schema, nil
}

// definitionName is the name of the type in letters that need no escape, made unique by a number.
func (b *schemaBuilder) definitionName(t reflect.Type) string {
	var clean strings.Builder
	for _, word := range strings.FieldsFunc(unionName(t), func(r rune) bool { return strings.ContainsRune("[],*(){}; ", r) }) {
		word = word[strings.LastIndexByte(word, '/')+1:]
		word = word[strings.LastIndexByte(word, '.')+1:]
		if clean.Len() > 0 {
			clean.WriteByte('_')
		}
		for _, r := range word {
			if r < 0x80 && (r == '_' || r == '-' || '0' <= r && r <= '9' || 'A' <= r && r <= 'Z' || 'a' <= r && r <= 'z') {
				clean.WriteRune(r)
			}
		}
	}
	name := clean.String()
	for n := 2; name == "" || b.taken[name]; n++ {
		name = clean.String() + "_" + strconv.Itoa(n)
	}
	b.taken[name] = true
	return name
}

// refuse is the description of a type that has none.
func refuse(why string) func(*schemaBuilder, *plan) (jsonValue, error) {
	return func(_ *schemaBuilder, p *plan) (jsonValue, error) { return jsonValue{}, fmt.Errorf(why, p.typ) }
}

// says is the description of a type by the same keywords each time.
func says(keywords ...jsonValue) func(*schemaBuilder, *plan) (jsonValue, error) {
	return func(*schemaBuilder, *plan) (jsonValue, error) { return jsonObject(slices.Clone(keywords)...), nil }
}

// decodedText is the description of a string whose decoder is particular.
func decodedText(keyword, value, decoder string) func(*schemaBuilder, *plan) (jsonValue, error) {
	return says(jsonString("string").as("type"), jsonString(value).as(keyword), jsonString(decoder).as(keywordDecoder))
}

func describeElem(b *schemaBuilder, p *plan) (jsonValue, error) { return b.schema(p.elem) }

func describeOwn(_ *schemaBuilder, p *plan) (jsonValue, error) {
	return jsonValue{}, fmt.Errorf("type %s %w", p.typ, errOwnJSON)
}

func describeInteger(_ *schemaBuilder, p *plan) (jsonValue, error) {
	schema := integerSchema(p.typ)
	if p.typ == reflect.TypeFor[time.Duration]() {
		describe(&schema, "Duration in nanoseconds.")
	}
	return schema, nil
}

func describeFloat(_ *schemaBuilder, p *plan) (jsonValue, error) {
	limit := math.MaxFloat64
	if p.typ.Bits() == 32 {
		limit = math.MaxFloat32
	}
	schema, text := ofType("number"), strconv.FormatFloat(limit, 'g', -1, p.typ.Bits()) // as encoding/json writes it
	schema.set("minimum", jsonNumber("-"+text))
	schema.set("maximum", jsonNumber(text))
	return schema, nil
}

func describeList(b *schemaBuilder, p *plan) (jsonValue, error) {
	items, err := b.element(p)
	if err != nil {
		return items, err
	}
	schema := jsonObject(jsonString("array").as("type"), items.as("items"))
	if p.typ.Kind() == reflect.Array {
		schema.set("minItems", jsonNumber(strconv.Itoa(p.typ.Len())))
		schema.set("maxItems", jsonNumber(strconv.Itoa(p.typ.Len())))
	}
	return schema, nil
}

// element describes what a list or a map holds. A union that holds nothing is null there, which passes the check, though a
// model is not told to write it.
func (b *schemaBuilder) element(p *plan) (jsonValue, error) {
	schema, err := b.schema(p.elem)
	if err == nil && p.elem.variants != nil {
		schema.set(keywordNilable, jsonBool(true))
	}
	return schema, err
}

func describeMap(b *schemaBuilder, p *plan) (jsonValue, error) {
	values, err := b.element(p)
	if err != nil {
		return values, err
	}
	schema := jsonObject(jsonString("object").as("type"), values.as("additionalProperties"))
	switch key := p.typ.Key(); {
	case p.key == nil:
		return schema, fmt.Errorf("type %s has keys that are neither text nor integers", p.typ)
	case isIntegerKind(key.Kind()) && !implements[encoding.TextUnmarshaler](key):
		names := quotedSchema(integerSchema(key), nil)
		names.remove("type") // names are strings anyway
		schema.set("propertyNames", names)
	}
	return schema, nil
}

func describeStruct(b *schemaBuilder, p *plan) (jsonValue, error) {
	properties, required := jsonObject(), jsonArray()
	for i := range p.fields {
		f := &p.fields[i]
		if f.unseen {
			continue
		}
		schema, isRequired, err := b.fieldSchema(f)
		if err != nil {
			return schema, fmt.Errorf("%s.%s: %w", p.typ, f.goName, err)
		}
		if f.fallback != nil && !slices.Contains(p.fallbacks, f) {
			p.fallbacks = append(p.fallbacks, f)
		}
		properties.set(f.name, schema)
		if isRequired {
			required.elems = append(required.elems, jsonString(f.name))
		}
	}
	schema := jsonObject(jsonString("object").as("type"), properties.as("properties"))
	if len(required.elems) > 0 {
		schema.set("required", required)
	}
	schema.set("additionalProperties", jsonBool(false))
	return schema, nil
}

func (b *schemaBuilder) fieldSchema(f *planField) (schema jsonValue, required bool, err error) {
	if f.unsettable {
		return schema, false, errors.New("is reached through an embedded pointer to an unexported struct, which cannot be decoded")
	}
	if f.outerTag != "" {
		return schema, false, fmt.Errorf("jsonschema tag %q of the embedded struct: only \"-\" has a meaning there", f.outerTag)
	}
	if _, ok := f.tag.Lookup("jsonschema_extras"); ok {
		return schema, false, errors.New("tag jsonschema_extras is not supported")
	}
	tag, ok := f.tag.Lookup("jsonschema")
	if !ok && strings.Contains(string(f.tag), "jsonschema:") {
		return schema, false, fmt.Errorf("tag `%s` is not one that Go can read; a backslash in it is written twice", f.tag)
	}
	keywords, err := parseTag(tag)
	if err != nil {
		return schema, false, fmt.Errorf("jsonschema tag: %w", err)
	}
	if schema, err = b.taggedType(f, keywords); err != nil {
		return schema, false, err
	}
	if text := f.tag.Get("jsonschema_description"); text != "" {
		describe(&schema, text)
	}
	untagged := schema.clone()
	if err := applyTag(&schema, keywords); err != nil {
		return schema, false, fmt.Errorf("jsonschema tag: %w", err)
	}
	if fallback := schema.get("default"); fallback != nil && untagged.get("default") == nil {
		if err := f.fallBackTo(fallback); err != nil {
			return schema, false, fmt.Errorf("jsonschema tag: default=%s: %w", fallback.appendTo(nil), err)
		}
	}
	if f.quoted {
		schema = quotedSchema(schema, untagged.elems)
	}
	if f.typ == reflect.TypeFor[time.Duration]() || f.typ == reflect.PointerTo(reflect.TypeFor[time.Duration]()) {
		noteUnit(&schema)
	}
	for _, k := range keywords {
		switch k.name {
		case "required":
			required = true
		case "nullable":
			f.nullable = true
			makeNullable(&schema)
		}
	}
	return schema, required, nil
}

// fallBackTo sets the default of a field. It must be a value of its type.
func (f *planField) fallBackTo(value *jsonValue) error {
	tree, err := parseJSON(value.appendTo(nil))
	if err != nil {
		return err
	}
	f.fallback = &tree
	return (&Decoder{plan: f.plan, big: true}).fill(f.fallback, reflect.New(f.typ).Elem())
}

// taggedType is the schema of the field's type, or of the type that the tag states for a type with its own JSON form.
func (b *schemaBuilder) taggedType(f *planField, keywords []tagKeyword) (jsonValue, error) {
	schema, err := b.schema(f.plan)
	for _, k := range keywords {
		if k.name != "type" {
			continue
		}
		if !errors.Is(err, errOwnJSON) {
			return schema, fmt.Errorf("jsonschema tag: type=%s: the Go type says what it is", k.value)
		}
		if typesOf(k.value) == 0 {
			return schema, fmt.Errorf("jsonschema tag: type=%s: unknown type", k.value)
		}
		schema, err = ofType(k.value), nil
	}
	if f.quoted && err == nil && (hasOwnJSON(f.typ) || implements[encoding.TextUnmarshaler](f.typ)) {
		err = errors.New("the string option does not go with a type that has its own JSON form")
	}
	return schema, err
}

// noteUnit makes sure that a description of a duration names the unit, which nobody would guess.
func noteUnit(schema *jsonValue) {
	text := schema.get("description").text()
	if !strings.Contains(strings.ToLower(text), "nanosecond") {
		describe(schema, text+" (in nanoseconds)")
	}
}

func integerSchema(t reflect.Type) jsonValue {
	lowest, highest := "0", strconv.FormatUint(math.MaxUint64>>(64-t.Bits()), 10)
	if t.Kind() <= reflect.Int64 {
		lowest = strconv.FormatInt(math.MinInt64>>(64-t.Bits()), 10)
		highest = strconv.FormatInt(math.MaxInt64>>(64-t.Bits()), 10)
	}
	schema := ofType("integer")
	schema.set("minimum", jsonNumber(lowest))
	schema.set("maximum", jsonNumber(highest))
	return schema
}

// quotedSchema describes a string with JSON text inside. What is said of the value beyond what the type says, which is
// known, goes into the words of the text: as texts, or into the description.
func quotedSchema(inner jsonValue, known []jsonValue) jsonValue {
	sortKeywords(&inner)
	schema := ofType("string")
	var said []jsonValue
	for _, member := range inner.elems {
		i := indexOfKey(known, member.key)
		switch member.key {
		case "title", "description", "readOnly", "writeOnly", "deprecated":
			schema.set(member.key, member)
		case "default":
			schema.set("default", jsonString(string(member.appendTo(nil))))
		case "enum", "examples":
			for i := range member.elems {
				appendKeyword(&schema, member.key, jsonString(string(member.elems[i].appendTo(nil))))
			}
		default:
			if known != nil && (i < 0 || known[i].raw != member.raw) {
				said = append(said, member)
			}
		}
	}
	switch typ := inner.get("type").text(); {
	case schema.get("enum") != nil:
	case typ == "integer":
		pattern := `^(0|-?[1-9][0-9]*)$`
		if low := inner.get("minimum"); low != nil && parseDecimal(low.raw).sign() >= 0 {
			pattern = `^(0|[1-9][0-9]*)$`
		}
		schema.set("pattern", jsonString(pattern))
	case typ == "number":
		schema.set("pattern", jsonString(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`))
	case typ == "boolean":
		schema.set("enum", jsonArray(jsonString("true"), jsonString("false")))
	}
	noteKeywords(&schema, said)
	schema.set(keywordInner, inner)
	return schema
}

// isByteSlice reports whether encoding/json writes the slice as base64.
func isByteSlice(t reflect.Type) bool {
	elem := t.Elem()
	return elem.Kind() == reflect.Uint8 && !implements[json.Marshaler](elem) && !implements[encoding.TextMarshaler](elem)
}
