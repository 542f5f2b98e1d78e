package schema

import (
	"encoding"
	"encoding/json"
	"fmt"
	"math/big"
	"reflect"
)

// oracle decodes by encoding/json, after a fitter has rewritten the input: slow, and plainly right. Decoders are compared
// with it.
func oracle(d *Decoder, read *Document, into any) error {
	if d.whole {
		return unmarshal([]byte(read.root.raw), into)
	}
	f := fitter{keys: d.keys}
	text := f.fit(reflect.TypeOf(into), &read.root)
	if f.err != nil {
		return f.err
	}
	return unmarshal(text.appendTo(nil), into)
}

// fitter compares input with a Go type before encoding/json sees it, which is lenient about keys and strict about
// numbers where JSON is the other way round.
type fitter struct {
	keys keyPolicy
	err  error
}

// asWritten is a value whose text does not change.
func asWritten(v *jsonValue) jsonValue { return jsonValue{kind: kindNumber, key: v.key, raw: v.raw} }

func (f *fitter) fit(t reflect.Type, v *jsonValue) jsonValue {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t == reflect.TypeFor[big.Int]() || isIntegerKind(t.Kind()) && !hasOwnJSON(t):
		if text := v.integer(maxDigits); text != "" {
			return jsonNumber(text).as(v.key)
		}
	case t.Kind() == reflect.Interface:
	case hasOwnJSON(t) || implements[encoding.TextUnmarshaler](t):
		if isUnion(t) && v.kind == kindObject {
			return f.union(t, v)
		}
	case t.Kind() == reflect.Struct && v.kind == kindObject:
		return f.object(t, v)
	case t.Kind() == reflect.Map && v.kind == kindObject, t.Kind() == reflect.Slice && v.kind == kindArray:
		return f.elements(t.Elem(), v, len(v.elems))
	case t.Kind() == reflect.Array && v.kind == kindArray:
		return f.elements(t.Elem(), v, t.Len())
	}
	return asWritten(v)
}

func (f *fitter) elements(t reflect.Type, v *jsonValue, n int) jsonValue {
	fitted := jsonValue{kind: v.kind, key: v.key}
	for i := range v.elems {
		elem := asWritten(&v.elems[i])
		if i < n {
			elem = f.fit(t, &v.elems[i])
		}
		fitted.elems = append(fitted.elems, elem)
	}
	return fitted
}

func (f *fitter) object(t reflect.Type, v *jsonValue) jsonValue {
	fields := map[string]structField{}
	for _, field := range structFields(t) {
		if !field.hidden() {
			fields[field.name] = field
		}
	}
	fitted := jsonObject().as(v.key)
	for i := range v.elems {
		member := &v.elems[i]
		field, ok := fields[member.key]
		switch {
		case !ok && f.keys == dropKeys:
			continue
		case !ok && f.keys == refuseKeys:
			f.err = fmt.Errorf("unknown property %s", member.key)
		case ok && f.keys == refuseKeys && indexOfKey(v.elems[:i], member.key) >= 0:
			f.err = fmt.Errorf("%s given more than once", member.key)
		}
		if !ok || field.quoted {
			fitted.elems = append(fitted.elems, asWritten(member))
		} else {
			fitted.elems = append(fitted.elems, f.fit(field.typ, member))
		}
	}
	return fitted
}

// union fits a value to the variant that it names.
func (f *fitter) union(t reflect.Type, v *jsonValue) jsonValue {
	variants, err := variantsOf(t)
	if err != nil {
		return asWritten(v)
	}
	variant, fault := pickVariant(variants, v)
	if fault != "" {
		f.err = fmt.Errorf("%s", fault)
		return asWritten(v)
	}
	inner := v.withoutDiscriminator()
	fitted := f.object(variant.typ, &inner)
	fitted.elems = append(fitted.elems, jsonString(variant.name).as(discriminator))
	return fitted
}

// Decode decodes input as a tool made from the type of into does.
func Decode(input json.RawMessage, into any) error {
	return newDecoder(reflect.TypeOf(into).Elem(), refuseKeys).Decode(input, nil, into)
}
