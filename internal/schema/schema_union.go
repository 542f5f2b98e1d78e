package schema

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// discriminator is the property that tells the variants of a union apart.
const discriminator = "type"

// union is implemented by a type that holds one of several structs: a value of each, by what its discriminator says.
type union interface {
	JSONVariants() map[string]any
}

// variant is one struct of a union.
type variant struct {
	name    string
	typ     reflect.Type // the struct
	pointer bool         // the union holds a pointer to it
	plan    *plan        // of the struct
}

// held is the type of what the union holds.
func (v *variant) held() reflect.Type {
	if v.pointer {
		return reflect.PointerTo(v.typ)
	}
	return v.typ
}

// isUnion reports whether t is a union itself: a struct around an embedded one has its methods, but is none.
func isUnion(t reflect.Type) bool {
	if t.Kind() != reflect.Struct || !implements[union](t) {
		return false
	}
	for i := range t.NumField() {
		if t.Field(i).Anonymous {
			return false
		}
	}
	return true
}

// variantsOf asks a union for its variants.
func variantsOf(t reflect.Type) (variants []variant, err error) {
	defer func() {
		if r := recover(); r != nil {
			variants, err = nil, fmt.Errorf("the variants of %s: panic: %v", t, r)
		}
	}()
	u, ok := reflect.TypeAssert[union](reflect.New(t))
	if !ok {
		return nil, fmt.Errorf("%s has no variants", t)
	}
	return listVariants(u.JSONVariants())
}

// listVariants puts variants into the order of their names, and says what is wrong with them.
func listVariants(values map[string]any) ([]variant, error) {
	if len(values) == 0 {
		return nil, errors.New("a union needs variants")
	}
	taken := map[reflect.Type]string{}
	var variants []variant
	for _, name := range slices.Sorted(maps.Keys(values)) {
		t := reflect.TypeOf(values[name])
		switch {
		case name == "":
			return nil, fmt.Errorf("the variant %v has no name", t)
		case t == nil:
			return nil, fmt.Errorf("variant %q is nil: give a value of its type", name)
		}
		v := variant{name: name, typ: t}
		if t.Kind() == reflect.Pointer && t.Name() == "" {
			v.typ, v.pointer = t.Elem(), true
		}
		switch {
		case v.typ.Kind() != reflect.Struct:
			return nil, fmt.Errorf("variant %q: %s is no struct", name, t)
		case hasOwnJSON(v.typ) || implements[encoding.TextUnmarshaler](v.typ) || implements[encoding.TextMarshaler](v.typ):
			return nil, fmt.Errorf("variant %q: %s has its own JSON form, so it is no object", name, t)
		case taken[v.typ] != "":
			return nil, fmt.Errorf("variants %q and %q have the same type %s", taken[v.typ], name, v.typ)
		}
		taken[v.typ] = name
		variants = append(variants, v)
	}
	return variants, nil
}

func describeUnion(b *schemaBuilder, p *plan) (jsonValue, error) {
	branches := jsonArray()
	for i := range p.variants {
		v := &p.variants[i]
		branch, err := b.describeVariant(v)
		if err != nil {
			return branch, fmt.Errorf("variant %q: %w", v.name, err)
		}
		branches.elems = append(branches.elems, branch)
	}
	return jsonObject(branches.as("anyOf")), p.err
}

// describeVariant writes out the struct of a variant with the discriminator as its first property.
func (b *schemaBuilder) describeVariant(v *variant) (jsonValue, error) {
	schema, err := describeStruct(b, v.plan)
	if err != nil {
		return schema, err
	}
	properties, required := schema.get("properties"), schema.get("required")
	if properties.get(discriminator) != nil {
		return schema, fmt.Errorf("%s has a property %q of its own, which tells the variants apart", v.typ, discriminator)
	}
	is := ofType("string")
	is.set("const", jsonString(v.name))
	properties.elems = slices.Insert(properties.elems, 0, is.as(discriminator))
	if required == nil {
		schema.set("required", jsonArray(jsonString(discriminator)))
	} else {
		required.elems = slices.Insert(required.elems, 0, jsonString(discriminator))
	}
	return schema, nil
}

// unionName names a definition for the interface that the union holds, as the union's own name is long.
func unionName(t reflect.Type) string {
	if isUnion(t) {
		if f, ok := t.FieldByName("Value"); ok && f.Type.Name() != "" {
			return f.Type.Name()
		}
	}
	return t.Name()
}

// pickVariant finds the variant of an object, or says what its discriminator has to be.
func pickVariant(variants []variant, object *jsonValue) (v variant, fault string) {
	var names []jsonValue
	is := object.get(discriminator)
	for _, v := range variants {
		if is.text() == v.name {
			return v, ""
		}
		names = append(names, jsonString(v.name))
	}
	if is == nil {
		return v, "missing; expected " + enumText(names)
	}
	return v, fmt.Sprintf("expected %s, got %s", enumText(names), summary(is))
}

// withoutDiscriminator is an object without its first property of that name.
func (v jsonValue) withoutDiscriminator() jsonValue {
	v.elems = slices.Clone(v.elems)
	if i := indexOfKey(v.elems, discriminator); i >= 0 {
		v.elems = slices.Delete(v.elems, i, i+1)
	}
	return v
}

// DecodeVariant decodes an object into the variant that its property "type" names. It is as lenient as encoding/json.
func DecodeVariant(data []byte, values map[string]any) (any, error) {
	variants, err := listVariants(values)
	if err != nil {
		return nil, err
	}
	object, err := parseJSON(data)
	if err != nil {
		return nil, err
	}
	if object.kind != kindObject {
		return nil, &Error{faults: []string{describeFault(nil, "expected object, got "+summary(&object))}}
	}
	v, fault := pickVariant(variants, &object)
	if fault != "" {
		return nil, &Error{faults: []string{describeFault([]pathStep{{key: discriminator}}, fault)}}
	}
	object = object.withoutDiscriminator()
	into := reflect.New(v.typ)
	if d := newDecoder(v.typ, matchKeys); !d.whole {
		err = d.fill(&object, into.Elem())
	} else {
		err = unmarshal(object.appendTo(nil), into.Interface())
	}
	if err != nil {
		return nil, err
	}
	if v.pointer {
		return into.Interface(), nil
	}
	return into.Elem().Interface(), nil
}

// EncodeVariant encodes a value of a variant, or a pointer to one, as an object that DecodeVariant reads. Nil is null.
func EncodeVariant(value any, values map[string]any) ([]byte, error) {
	of := reflect.ValueOf(value)
	if !of.IsValid() || of.Kind() == reflect.Pointer && of.IsNil() {
		return []byte("null"), nil
	}
	variants, err := listVariants(values)
	if err != nil {
		return nil, err
	}
	t := reflect.Indirect(of).Type()
	i := slices.IndexFunc(variants, func(v variant) bool { return v.typ == t })
	if i < 0 {
		return nil, fmt.Errorf("%s is none of the variants", t)
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false) // the encoder around this one does, if it is to
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	members := bytes.TrimSpace(text.Bytes())[1:]
	out := append([]byte(`{"`+discriminator+`":`), quoteJSON(variants[i].name)...)
	if members[0] != '}' {
		out = append(out, ',')
	}
	return append(out, members...), nil
}
