package schema

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"reflect"
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
	// fields of the structs that were met, for the decoder
	fields fieldTable
}

func newSchemaBuilder() *schemaBuilder {
	return &schemaBuilder{
		open: map[reflect.Type]bool{}, names: map[reflect.Type]string{}, taken: map[string]bool{}, defs: jsonObject(),
		fields: fieldTable{},
	}
}

// document describes t as a whole. Numbers carry the bounds of their Go type even where they are too wide to be worth
// sending; see tidySchema.
func (b *schemaBuilder) document(t reflect.Type) (jsonValue, error) {
	for t.Kind() == reflect.Pointer && t.Name() == "" {
		t = t.Elem()
	}
	if t == reflect.TypeFor[json.RawMessage]() || t.Kind() == reflect.Interface && t.NumMethod() == 0 {
		return openObject(), nil
	}
	schema, err := b.schema(t)
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

func openObject() jsonValue {
	return jsonObject(jsonString("object").as("type"), jsonObject().as("properties"))
}

func (b *schemaBuilder) schema(t reflect.Type) (jsonValue, error) {
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
	schema, err := b.describe(t)
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

// describe writes the schema of one type; the parts of it go through schema.
func (b *schemaBuilder) describe(t reflect.Type) (jsonValue, error) {
	switch t {
	case reflect.TypeFor[time.Time]():
		return jsonObject(jsonString("string").as("type"), jsonString("date-time").as("format")), nil
	case reflect.TypeFor[time.Duration]():
		schema := integerSchema(t)
		schema.set("description", jsonString("Duration in nanoseconds."))
		return schema, nil
	case reflect.TypeFor[json.RawMessage]():
		return jsonObject(), nil
	case reflect.TypeFor[json.Number]():
		return ofType("number"), nil
	case reflect.TypeFor[big.Int]():
		return ofType("integer"), nil
	}
	if t.Kind() == reflect.Pointer {
		return b.schema(t.Elem())
	}
	if isUnion(t) {
		return b.describeUnion(t)
	}
	if schema, ok, err := selfDescribed(t); ok || err != nil {
		return schema, err
	}
	if hasOwnJSON(t) {
		return jsonValue{}, fmt.Errorf("type %s %w", t, errOwnJSON)
	}
	if t.Kind() != reflect.Interface && implements[encoding.TextUnmarshaler](t) {
		return ofType("string"), nil
	}
	if t.Kind() != reflect.Interface && t.Kind() != reflect.String && implements[encoding.TextMarshaler](t) {
		return jsonValue{}, fmt.Errorf("type %s has MarshalText and no UnmarshalText: it cannot be decoded", t)
	}
	return b.describeKind(t)
}

func (b *schemaBuilder) describeKind(t reflect.Type) (jsonValue, error) {
	switch k := t.Kind(); {
	case isIntegerKind(k):
		return integerSchema(t), nil
	case k == reflect.Bool:
		return ofType("boolean"), nil
	case k == reflect.String:
		return ofType("string"), nil
	case k == reflect.Float32 || k == reflect.Float64:
		limit := math.MaxFloat64
		if k == reflect.Float32 {
			limit = math.MaxFloat32
		}
		schema := ofType("number")
		schema.set("minimum", jsonNumber(strconv.FormatFloat(-limit, 'g', -1, 64)))
		schema.set("maximum", jsonNumber(strconv.FormatFloat(limit, 'g', -1, 64)))
		return schema, nil
	case k == reflect.Interface && t.NumMethod() == 0:
		return jsonObject(), nil
	case k == reflect.Slice && isByteSlice(t):
		return jsonObject(jsonString("string").as("type"), jsonString("base64").as("contentEncoding")), nil
	case k == reflect.Slice || k == reflect.Array:
		return b.describeList(t)
	case k == reflect.Map:
		return b.describeMap(t)
	case k == reflect.Struct:
		return b.describeStruct(t)
	case k == reflect.Interface:
		return jsonValue{}, fmt.Errorf("interface type %s has no schema: a OneOf lists what it can hold", t)
	}
	return jsonValue{}, fmt.Errorf("type %s has no JSON form", t)
}

func (b *schemaBuilder) describeList(t reflect.Type) (jsonValue, error) {
	items, err := b.schema(t.Elem())
	if err != nil {
		return items, err
	}
	schema := jsonObject(jsonString("array").as("type"), items.as("items"))
	if t.Kind() == reflect.Array {
		schema.set("minItems", jsonNumber(strconv.Itoa(t.Len())))
		schema.set("maxItems", jsonNumber(strconv.Itoa(t.Len())))
	}
	return schema, nil
}

func (b *schemaBuilder) describeMap(t reflect.Type) (jsonValue, error) {
	values, err := b.schema(t.Elem())
	if err != nil {
		return values, err
	}
	schema := jsonObject(jsonString("object").as("type"), values.as("additionalProperties"))
	switch key := t.Key(); {
	case implements[encoding.TextUnmarshaler](key), key.Kind() == reflect.String:
	case isIntegerKind(key.Kind()):
		names := quotedSchema(integerSchema(key))
		names.remove("type") // names are strings anyway
		schema.set("propertyNames", names)
	default:
		return schema, fmt.Errorf("type %s has keys that are neither text nor integers", t)
	}
	return schema, nil
}

func (b *schemaBuilder) describeStruct(t reflect.Type) (jsonValue, error) {
	properties, required := jsonObject(), jsonArray()
	for _, f := range b.fields.add(t) {
		schema, isRequired, err := b.fieldSchema(f)
		if err != nil {
			return schema, fmt.Errorf("%s.%s: %w", t, f.goName, err)
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

func (b *schemaBuilder) fieldSchema(f structField) (schema jsonValue, required bool, err error) {
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
	if err := applyTag(&schema, keywords); err != nil {
		return schema, false, fmt.Errorf("jsonschema tag: %w", err)
	}
	if f.quoted {
		schema = quotedSchema(schema)
	}
	if f.typ == reflect.TypeFor[time.Duration]() || f.typ == reflect.PointerTo(reflect.TypeFor[time.Duration]()) {
		noteUnit(&schema)
	}
	for _, k := range keywords {
		switch k.name {
		case "required":
			required = true
		case "nullable":
			makeNullable(&schema)
		}
	}
	return schema, required, nil
}

// taggedType is the schema of the field's type, or of the type that the tag states for a type with its own JSON form.
func (b *schemaBuilder) taggedType(f structField, keywords []tagKeyword) (jsonValue, error) {
	schema, err := b.schema(f.typ)
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

// quotedSchema describes a string with JSON text inside.
func quotedSchema(inner jsonValue) jsonValue {
	schema := ofType("string")
	for _, keyword := range []string{"title", "description"} {
		if text := inner.get(keyword); text != nil {
			schema.set(keyword, *text)
		}
	}
	switch inner.get("type").text() {
	case "integer":
		pattern := `^(0|-?[1-9][0-9]*)$`
		if low := inner.get("minimum"); low != nil && parseDecimal(low.raw).sign() >= 0 {
			pattern = `^(0|[1-9][0-9]*)$`
		}
		schema.set("pattern", jsonString(pattern))
	case "number":
		schema.set("pattern", jsonString(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`))
	case "boolean":
		schema.set("enum", jsonArray(jsonString("true"), jsonString("false")))
	}
	schema.set(keywordInner, inner)
	return schema
}

// isByteSlice reports whether encoding/json writes the slice as base64.
func isByteSlice(t reflect.Type) bool {
	elem := t.Elem()
	return elem.Kind() == reflect.Uint8 && !implements[json.Marshaler](elem) && !implements[encoding.TextMarshaler](elem)
}
